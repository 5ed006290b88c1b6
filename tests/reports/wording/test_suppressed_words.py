"""What a reader is told where counts of memorized text are hidden: bounds that are not compared."""

from support.results.planted_memorization import memorization_of
from support.results.published_tiers import published

from clinaudit.reports.wording.captions import gradient_caption
from clinaudit.reports.wording.findings import headline_sentences, not_measured_sentences


def test_the_headline_is_a_bound_where_few_patients_stand_behind_it() -> None:
    few = memorization_of(0.05, 0.001, 60).model_copy(update={"attributable_patients": 1})
    results = published(memorization_of(0.6, 0.28, 140), few)
    bound = "at most 7.0% (exact figure suppressed)"
    assert f"not trained on, the same figure is {bound}" in " ".join(headline_sentences(results))
    assert f"28% in train and {bound} in nontrain; the ranges do not overlap" in gradient_caption(results)
    assert any(
        "only as a bound" in gap and "Appointment details (nontrain)" in gap for gap in not_measured_sentences(results)
    )

    results = published(few)
    assert f"on average {bound} is patient-attributable" in headline_sentences(results)[0]


def test_a_bound_in_the_gradient_is_not_compared() -> None:
    results = published(memorization_of(0.03, 0.001, 6))
    caption = gradient_caption(results)
    assert "is 6.0% (Public demographics) and at most 13% (exact figure suppressed) (Appointment details)." in caption
    assert "rises" not in caption
