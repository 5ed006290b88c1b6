"""A comparison on a terminal: the conclusion first, what changed most, and how long it is."""

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
    assert ("PHI" in text) is exact
    # Published figures say how to get exact ones.
    assert ("--exact" in text) is not exact
