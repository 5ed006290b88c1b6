"""Pages of the docs say what the code says: the metrics of the registry, and the small counts that are hidden."""

import re
from pathlib import Path

import pytest

from clinaudit.reports.estimates.frame import METRICS
from clinaudit.reports.estimates.small_cells import MOST
from clinaudit.reports.exports import metrics_list
from clinaudit.reports.schema.run_results import Rule

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"


def test_the_page_is_what_the_registry_makes_of_it():
    page = PAGE.read_text(encoding="utf-8")
    assert page == page.partition("\n## ")[0] + metrics_list(), "run scripts/write-metrics"


def test_every_metric_has_a_section_a_title_of_its_own_and_a_whole_sentence():
    titles = [metric.title for metric in METRICS.values()]
    assert len(set(titles)) == len(titles)
    for metric in METRICS.values():
        assert metric.section
        assert metric.sentence.endswith(".")
        # A table of one metric shows its sentence alone.
        assert not metric.sentence.startswith("The same")
        assert metric.part_of in {"", *METRICS}


ROOT = Path(__file__).parents[2]
EXPLAIN = ("docs/methods.md", "docs/for-compliance-officers.md", "docs/how-it-works.md", "docs/hipaa.md")


@pytest.mark.parametrize("page", EXPLAIN)
def test_a_page_that_explains_small_counts_names_the_ones_that_are_hidden(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert f"1 to {MOST}" in text
    assert {int(number) for number in re.findall(r"\b(?:no|of|where) (?:a )?count of 1 to (\d+)", text)} <= {MOST}
    assert {int(number) for number in re.findall(r"`<(\d+)` (?:patients|stands)", text)} <= {MOST + 1}


def test_no_field_of_a_rule_is_a_number_of_patients():
    assert {name for name, field in Rule.model_fields.items() if field.annotation in (int, float)} == {"limit"}
