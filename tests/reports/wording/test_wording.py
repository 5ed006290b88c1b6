"""Words of the report: labels, what a band says, and who was asked about."""

import pytest
from support.results.filled_results import filled

from clinaudit.reports.schema.estimate import Estimate
from clinaudit.reports.schema.results import Results
from clinaudit.reports.suppression.small_cells import band
from clinaudit.reports.wording.findings import asked_sentence
from clinaudit.reports.wording.names import display_title, display_words
from clinaudit.reports.wording.numbers import estimate_text, short_estimate_text


@pytest.mark.parametrize(
    ("estimate", "signed", "long", "short"),
    [
        (band(0.008, 0.992), False, "suppressed (the band says almost nothing)", "suppressed"),
        (band(0.0, 0.79), False, "0.0% to 79% (suppressed)", "[0.0% to 79%]"),
        (band(-0.82, 0.82), True, "suppressed (the band says almost nothing)", "suppressed"),
        (band(-0.4, 0.5), True, "−40% to +50% (suppressed)", "[−40% to +50%]"),
        (band(1.0, 1.0), False, "100% (exact count suppressed)", "100% (exact count suppressed)"),
    ],
)
def test_a_band_is_printed_where_it_says_something(estimate: Estimate, signed: bool, long: str, short: str) -> None:
    assert estimate_text(estimate, share=True, signed=signed) == long
    assert short_estimate_text(estimate, share=True, signed=signed) == short


def test_labels_keep_capitals_where_they_belong() -> None:
    assert (display_title("abortion"), display_words("abortion"), display_words("hiv")) == (
        "Abortion",
        "abortion",
        "HIV",
    )
    assert display_title("american indian or alaska native") == "American Indian or Alaska Native"


def test_the_patients_asked_about_are_counted_where_cohorts_were_matched() -> None:
    results = filled()
    most = max(arms["train"].patients or 0 for arms in results.memorization.values())
    assert f"up to {most} train and" in asked_sentence(results)
    assert asked_sentence(results.model_copy(update={"cohorts": {}})) == ""
    assert asked_sentence(Results()) == ""
