"""A comparison on a terminal: the conclusion first, what changed most, and how long it is."""

import re

import pytest
from support.compared_results import compared

from clinaudit.reports.terminal.comparison import comparison_text
from clinaudit.reports.wording.comparison import verdicts_sentence


@pytest.mark.parametrize("exact", [False, True])
def test_the_conclusion_comes_first_and_no_line_is_too_wide(exact: bool) -> None:
    content = compared(exact=exact, certified=False)
    text = comparison_text(content)
    paragraphs = [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]
    assert content.rules is not None
    assert paragraphs[0] == f"{verdicts_sentence(content.rules)} {content.conclusion}"
    assert paragraphs[1].startswith("Read from the evidence" if exact else "Read from the published tables")
    assert max(map(len, text.splitlines())) <= 100
    assert len(text.splitlines()) <= 40


def test_the_largest_changes_are_printed_and_the_others_counted() -> None:
    content = compared(exact=True, certified=False)
    text = comparison_text(content)
    assert re.search(r"^Patients with own text +\+ history +−\d+% \(", text, re.M)
    (told,) = (line for line in text.splitlines() if "(--out lists all)" in line)
    printed = [line for line in text.splitlines() if re.search(r" [+−]\d", line)]
    assert int(told.split()[0]) == len(content.changes) - len(printed)
    assert len(printed) <= 20
    same = content.model_copy(update={"changes": [change for change in content.changes if change.direction == 0][:3]})
    assert "3 figures without a shown change (--out lists all)" in comparison_text(same)
    assert "Nothing was measured in both runs." in comparison_text(content.model_copy(update={"changes": []}))


def test_exact_figures_say_that_they_are_phi_and_published_ones_how_to_get_exact_ones() -> None:
    published, exact = comparison_text(compared()), comparison_text(compared(exact=True))
    assert "PHI" in exact
    assert "PHI" not in published
    assert "--exact" in published
    assert "--exact" not in exact


def test_the_certificate_stands_with_its_verdict_and_its_counts() -> None:
    text = comparison_text(compared())
    assert "Named patients: ✗ STILL LEAKS" in text
    assert "Named: 14." in text
    assert "Named: 14: still leaks 1, not shown 0, forgotten 13." in comparison_text(compared(exact=True))
