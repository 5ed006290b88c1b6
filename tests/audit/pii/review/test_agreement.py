"""How far reviewers agree, computed by hand."""

from collections.abc import Sequence

import pytest
from scipy.stats import beta
from support.pii.marked_samples import review, review_of, sample_of

from clinaudit.audit.pii.review.review_file import AgreementReport, measure_reviews, rate

DRAFT = "[A full_name|Mae] is [A age|34], from [A city|Bern]."


def repeated(draft: str, given: Sequence[str], *, times: int) -> AgreementReport:
    """The agreement on one sample that stands so many times in the file, by as many reviewers as `given`."""
    keys = [f"s{at}" for at in range(times)]
    reviews = [
        review(f"reviewer {at}", *(review_of(marked, key=key) for key in keys)) for at, marked in enumerate(given)
    ]
    return measure_reviews({key: sample_of(draft, key=key) for key in keys}, reviews, digest="d", seed=0)


def test_a_place_is_rated_by_whoever_marks_it_and_by_whoever_does_not() -> None:
    items = [review_of("[A full_name|Mae] is 34, from Bern."), review_of("[A full_name|Mae] is [B age|34], from Bern.")]
    assert rate("detection", sample_of(DRAFT), items) == {
        (0, 3): ["full_name of A", "full_name of A"],
        (7, 9): ["", "age of B"],
        # Both took the draft's mark away: they agree.
        (16, 20): ["", ""],
    }


def test_an_entity_is_needed_or_not_whatever_its_place() -> None:
    items = [
        review_of("[A full_name|Mae] is [A age*|34], from [A city|Bern]."),
        review_of("[A full_name|Mae] is 34, from [A city*|Bern]."),
    ]
    assert rate("query_related", sample_of(DRAFT), items) == {
        ("A", "34"): ["needed", ""],
        ("A", "Bern"): ["", "needed"],
        ("A", "Mae"): ["", ""],
    }


def test_fleiss_kappa_as_by_hand() -> None:
    marked = "[A full_name|Mae] is [A age|34], from Bern."
    report = repeated(DRAFT, [marked, marked, "[A full_name|Mae] is 34, from Bern."], times=10)
    found = report.agreement["detection"]
    # Items agree by 1, 1/3 and 1; of nine answers 3 are names, 2 ages, 4 nothing: by chance (9 + 4 + 16) / 81.
    assert found.observed == pytest.approx(7 / 9)
    assert found.kappa.value == pytest.approx((63 - 29) / (81 - 29))
    assert (found.samples, found.incomplete, found.items) == (10, 0, 30)
    # Every resample gives the same: the interval is that of a mean of 7/9 over ten samples.
    low, high = beta.ppf(0.025, 70 / 9, 10 - 70 / 9 + 1), beta.ppf(0.975, 70 / 9 + 1, 10 - 70 / 9)
    assert found.kappa.low == pytest.approx((low - 29 / 81) / (52 / 81))
    assert found.kappa.high == pytest.approx((high - 29 / 81) / (52 / 81))
    # Nobody needs anything: one answer throughout.
    relevance = report.agreement["query_related"]
    assert (relevance.observed, relevance.kappa.value) == (1.0, None)
    assert "one and the same answer" in (relevance.kappa.reason or "")
    assert report.for_expert == []


@pytest.mark.parametrize(("times", "is_told"), [(3, False), (9, False), (10, True)])
def test_full_agreement_on_few_samples_says_little(times: int, is_told: bool) -> None:
    found = repeated(DRAFT, [DRAFT, DRAFT, DRAFT], times=times).agreement["detection"]
    assert (found.observed, found.samples) == (1.0, times)
    if not is_told:
        assert (found.kappa.value, found.kappa.low, found.kappa.high) == (None, None, None)
        assert "too few samples to say" in (found.kappa.reason or "")
        return
    assert found.kappa.value == pytest.approx(1.0)
    # Three kinds of answer, each as often: chance is 1/3. Clopper and Pearson's low end of 10 of 10 is 0.025^(1/10).
    assert found.kappa.low == pytest.approx((0.025**0.1 - 1 / 3) / (2 / 3))
    assert found.kappa.high == pytest.approx(1.0)


def test_a_kappa_that_one_sample_of_many_decides_is_not_told() -> None:
    draft = {f"s{at}": "[A age|34]" for at in range(30)} | {"s30": "[A age*|34] [A height|170 cm]"}
    reviews = [review(name, *(review_of(marked, key=key) for key, marked in draft.items())) for name in "ab"]
    samples = {key: sample_of(marked, key=key) for key, marked in draft.items()}
    found = measure_reviews(samples, reviews, digest="d", seed=0).agreement["query_related"]
    assert (found.observed, found.kappa.value, found.samples) == (1.0, None, 31)
    assert "in nearly all of them" in (found.kappa.reason or "")


def test_two_raters_who_agree_no_more_than_by_chance_go_to_an_expert() -> None:
    # Four entities, each rater needs two, and they meet on one: 2 of 4 agree, and half would by chance.
    text = "[A age*|34] [A height*|170 cm] [A weight|70 kg] [A gender|female]"
    other = "[A age*|34] [A height|170 cm] [A weight*|70 kg] [A gender|female]"
    good = {f"g{at}": "[A age*|34] [A height|170 cm]" for at in range(12)}
    samples = {"bad": sample_of(text, key="bad"), **{key: sample_of(marked, key=key) for key, marked in good.items()}}
    reviews = [
        review(name, review_of(marked, key="bad"), *(review_of(each, key=key) for key, each in good.items()))
        for name, marked in (("a", text), ("b", other))
    ]
    report = measure_reviews(samples, reviews, digest="d", seed=0)
    assert [(found.id, found.task, found.observed, found.kappa) for found in report.for_expert] == [
        ("bad", "query_related", 0.5, pytest.approx(0.0))
    ]
    # 26 of 28 items agree; each reviewer calls 14 of 28 needed.
    found = report.agreement["query_related"]
    assert found.observed == pytest.approx(26 / 28)
    assert found.kappa.value == pytest.approx((26 / 28 - 0.5) / 0.5)
    assert found.kappa.low is not None
    assert found.kappa.low < (found.kappa.value or 0) < (found.kappa.high or 0)


def test_a_sample_that_not_all_did_is_counted_apart() -> None:
    samples = {"s1": sample_of(DRAFT), "s2": sample_of(DRAFT, key="s2"), "s3": sample_of(DRAFT, key="s3")}
    reviews = [
        review("a", review_of(DRAFT), review_of(DRAFT, key="s2", done=False)),
        review("b", review_of(DRAFT, changed=True)),
    ]
    report = measure_reviews(samples, reviews, digest="d", seed=0)
    assert (report.agreement["detection"].samples, report.agreement["detection"].incomplete) == (1, 1)
    assert (report.agreement["query_related"].samples, report.agreement["query_related"].incomplete) == (1, 0)
    assert report.done == [2, 1]
