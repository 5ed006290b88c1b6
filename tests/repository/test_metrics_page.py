"""docs/metrics.md says what the registry says."""

from pathlib import Path

from clinaudit.reports.estimates.registry import METRICS
from clinaudit.reports.exports.metrics_page import metrics_page

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"


def test_the_page_is_what_the_registry_makes_of_it() -> None:
    assert PAGE.read_text(encoding="utf-8") == metrics_page(), "run scripts/write-metrics"


def test_every_metric_has_a_section_a_title_of_its_own_and_a_whole_sentence() -> None:
    titles = [metric.title for metric in METRICS.values()]
    assert len(set(titles)) == len(titles)
    for metric in METRICS.values():
        assert metric.section
        assert metric.sentence.endswith(".")
        # A table of one metric shows its sentence alone.
        assert not metric.sentence.startswith("The same")
        assert metric.part_of in {"", *METRICS}
