"""A comparison on a terminal: the conclusion first, which figures were read, and no line beyond 100 columns."""

import pytest
from support.results.compared_results import compared

from clinaudit.reports.terminal.comparison import comparison_text
from clinaudit.reports.wording.comparison import verdicts_sentence


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("leaks_from", [3, 6])
def test_the_conclusion_comes_first_and_no_line_is_too_wide(exact: bool, leaks_from: int) -> None:
    content = compared(exact=exact, leaks_from=leaks_from, certified=False)
    text = comparison_text(content)
    paragraphs = [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]
    assert content.rules is not None
    assert paragraphs[0] == f"{verdicts_sentence(content.rules)} {content.conclusion}"
    assert paragraphs[0].startswith(f"Verdict: fail → {'fail' if leaks_from == 3 else 'inconclusive'}. Rules: ")
    told = [line for line in text.splitlines() if "without a shown change" in line]
    assert told == [
        f"Repeated text: {12 if leaks_from == 3 else 9} rows without a shown change (compare.html lists all)"
    ]
    assert paragraphs[1].startswith("Read from the evidence" if exact else "Read from the published figures")
    assert max(map(len, text.splitlines())) <= 100
    assert "…" not in text


def test_exact_figures_say_that_they_are_phi_and_published_ones_how_to_get_exact_ones() -> None:
    published, exact = comparison_text(compared()), comparison_text(compared(exact=True))
    assert "PHI" in exact
    assert "PHI" not in published
    assert "--exact" in published
    assert "--exact" not in exact


def test_the_certificate_stands_with_its_verdict_and_classes() -> None:
    text = comparison_text(compared())
    assert "Named patients: ✗ STILL LEAKS" in text
    assert "Named: 11–20: still leaks 1–10, not shown 0, forgotten 11–20." in text
    assert "Named: 14: still leaks 1, not shown 0, forgotten 13." in comparison_text(compared(exact=True))
