"""Agreement of reviewers, computed by hand."""

import pytest
from support.pii.marked_samples import review, review_of, sample_of

from clinaudit.audit.pii.review.agreement import measure_reviews, rate_detection, rate_relevance

DRAFT = "[A full_name|Mae] is [A age|34], from [A city|Bern]."


def test_a_place_is_rated_by_whoever_marks_it_and_by_whoever_does_not() -> None:
    items = [
        review_of("[A full_name|Mae] is 34, from Bern."),
        review_of("[A full_name|Mae] is [B age|34], from Bern."),
    ]
    assert rate_detection(sample_of(DRAFT), items) == {
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
    assert rate_relevance(sample_of(DRAFT), items) == {
        ("A", "34"): ["needed", ""],
        ("A", "Bern"): ["", "needed"],
        ("A", "Mae"): ["", ""],
    }


def test_fleiss_kappa_as_by_hand() -> None:
    items = [
        review_of("[A full_name|Mae] is [A age|34], from Bern."),
        review_of("[A full_name|Mae] is [A age|34], from Bern."),
        review_of("[A full_name|Mae] is 34, from Bern."),
    ]
    report = measure_reviews(
        {"s1": sample_of(DRAFT)}, [review(name, item) for name, item in zip("abc", items, strict=True)],
        digest="d", seed=0,
    )  # fmt: skip
    found = report.agreement["detection"]
    # Items agree by 1, 1/3 and 1; nine answers are 3 names, 2 ages, 4 nothing: by chance (9 + 4 + 16) / 81.
    assert found.observed == pytest.approx(7 / 9)
    assert found.kappa == pytest.approx((63 - 29) / (81 - 29))
    assert (found.samples, found.incomplete, found.items) == (1, 0, 3)
    # Nobody needs anything: one answer throughout.
    relevance = report.agreement["query_related"]
    assert (relevance.observed, relevance.kappa) == (1.0, None)
    assert relevance.reason is not None
    assert report.for_expert == []


def test_two_raters_who_agree_no_more_than_by_chance_go_to_an_expert() -> None:
    # Four entities, each rater needs two, and they meet on one: 2 of 4 agree, and half would by chance.
    text = "[A age*|34] [A height*|170 cm] [A weight|70 kg] [A gender|female]"
    other = "[A age*|34] [A height|170 cm] [A weight*|70 kg] [A gender|female]"
    good = {f"g{at}": "[A age*|34] [A height|170 cm]" for at in range(3)}
    samples = {"bad": sample_of(text, key="bad"), **{key: sample_of(marked, key=key) for key, marked in good.items()}}
    reviews = [
        review(name, review_of(marked, key="bad"), *(review_of(each, key=key) for key, each in good.items()))
        for name, marked in (("a", text), ("b", other))
    ]
    report = measure_reviews(samples, reviews, digest="d", seed=0)
    assert [(found.id, found.task, found.observed, found.kappa) for found in report.for_expert] == [
        ("bad", "query_related", 0.5, pytest.approx(0.0))
    ]
    # Eight of ten items agree; ten answers each: a 5, b 5 needed of 10.
    found = report.agreement["query_related"]
    assert found.observed == pytest.approx(0.8)
    assert found.kappa == pytest.approx((0.8 - 0.5) / 0.5)
    assert found.kappa_low is not None
    assert found.kappa_low < 0.6 < (found.kappa_high or 0)


def test_a_sample_that_not_all_did_is_counted_apart() -> None:
    samples = {"s1": sample_of(DRAFT), "s2": sample_of(DRAFT, key="s2"), "s3": sample_of(DRAFT, key="s3")}
    reviews = [
        review("a", review_of(DRAFT), review_of(DRAFT, key="s2", done=False)),
        review("b", review_of(DRAFT, changed=True)),
    ]
    report = measure_reviews(samples, reviews, digest="d", seed=0)
    assert (report.agreement["detection"].samples, report.agreement["detection"].incomplete) == (1, 1)
    assert (report.agreement["query_related"].samples, report.agreement["query_related"].incomplete) == (1, 0)
    assert (report.done, report.left_as_they_were) == ([2, 1], [2, 0])


def test_without_a_sample_that_all_did_there_is_no_agreement() -> None:
    samples = {"s1": sample_of(DRAFT), "s2": sample_of(DRAFT, key="s2")}
    reviews = [review("a", review_of(DRAFT)), review("b", review_of(DRAFT, key="s2"))]
    found = measure_reviews(samples, reviews, digest="d", seed=0).agreement["detection"]
    assert (found.observed, found.kappa, found.incomplete) == (None, None, 2)
