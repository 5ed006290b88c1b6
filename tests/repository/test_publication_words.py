"""What is said of publication: every page that explains it names the rule of the code."""

import re
from pathlib import Path

import pytest

from clinaudit.reports.estimates.small_cells import MOST
from clinaudit.reports.schema.verdict import Rule

ROOT = Path(__file__).parents[2]
EXPLAIN = ("docs/methods.md", "docs/faq.md", "docs/for-irb-reviewers.md", "docs/how-it-works.md", "docs/hipaa.md")


@pytest.mark.parametrize("page", EXPLAIN)
def test_a_page_that_explains_small_counts_names_the_ones_that_are_hidden(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert f"1 to {MOST}" in text
    assert {int(number) for number in re.findall(r"\b(?:no|of|where) (?:a )?count of 1 to (\d+)", text)} <= {MOST}
    assert {int(number) for number in re.findall(r"`<(\d+)` (?:patients|stands)", text)} <= {MOST + 1}


def test_no_field_of_a_rule_is_a_number_of_patients() -> None:
    assert {name for name, field in Rule.model_fields.items() if field.annotation in (int, float)} == {"limit"}
