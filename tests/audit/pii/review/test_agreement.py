"""How far reviewers agree, computed by hand; and what most of them say of a sample, which becomes the sample."""

from collections.abc import Sequence

import pytest
from scipy.stats import beta
from support.pii.marked_samples import review, review_of, sample_of

from clinaudit.audit.pii.review.agreement import AgreementReport, measure_reviews, rate_detection, rate_relevance
from clinaudit.audit.pii.review.outcome import Resolution, resolve_sample
from clinaudit.audit.pii.review.review_file import ReviewedEntity, SampleReview, check_places

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
    marked = "[A full_name|Mae] is [A age|34], from Bern."
    report = repeated(DRAFT, [marked, marked, "[A full_name|Mae] is 34, from Bern."], times=10)
    found = report.agreement["detection"]
    # Items agree by 1, 1/3 and 1; of nine answers 3 are names, 2 ages, 4 nothing: by chance (9 + 4 + 16) / 81.
    assert found.observed == pytest.approx(7 / 9)
    assert found.kappa == pytest.approx((63 - 29) / (81 - 29))
    assert (found.samples, found.incomplete, found.items) == (10, 0, 30)
    # Every resample gives the same: the interval is that of a mean of 7/9 over ten samples.
    low, high = beta.ppf(0.025, 70 / 9, 10 - 70 / 9 + 1), beta.ppf(0.975, 70 / 9 + 1, 10 - 70 / 9)
    assert found.kappa_low == pytest.approx((low - 29 / 81) / (52 / 81))
    assert found.kappa_high == pytest.approx((high - 29 / 81) / (52 / 81))
    # Nobody needs anything: one answer throughout.
    relevance = report.agreement["query_related"]
    assert (relevance.observed, relevance.kappa) == (1.0, None)
    assert "one and the same answer" in (relevance.reason or "")
    assert report.for_expert == []


@pytest.mark.parametrize(("times", "is_told"), [(3, False), (9, False), (10, True)])
def test_full_agreement_on_few_samples_says_little(times: int, is_told: bool) -> None:
    found = repeated(DRAFT, [DRAFT, DRAFT, DRAFT], times=times).agreement["detection"]
    assert (found.observed, found.samples) == (1.0, times)
    if not is_told:
        assert (found.kappa, found.kappa_low, found.kappa_high) == (None, None, None)
        assert "too few samples to say" in (found.reason or "")
        return
    assert found.kappa == pytest.approx(1.0)
    # Three kinds of answer, each as often: chance is 1/3. Clopper and Pearson's low end of 10 of 10 is 0.025^(1/10).
    assert found.kappa_low == pytest.approx((0.025**0.1 - 1 / 3) / (2 / 3))
    assert found.kappa_high == pytest.approx(1.0)


def test_a_kappa_that_one_sample_of_many_decides_is_not_told() -> None:
    draft = {f"s{at}": "[A age|34]" for at in range(30)} | {"s30": "[A age*|34] [A height|170 cm]"}
    reviews = [review(name, *(review_of(marked, key=key) for key, marked in draft.items())) for name in "ab"]
    samples = {key: sample_of(marked, key=key) for key, marked in draft.items()}
    found = measure_reviews(samples, reviews, digest="d", seed=0).agreement["query_related"]
    assert (found.observed, found.kappa, found.samples) == (1.0, None, 31)
    assert "in nearly all of them" in (found.reason or "")


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
    assert found.kappa == pytest.approx((26 / 28 - 0.5) / 0.5)
    assert found.kappa_low is not None
    assert found.kappa_low < found.kappa < (found.kappa_high or 0)


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


SAID = "[A full_name|Mae] is [A age*|34], from [A city|Bern], age 34."
FULLER = "[A full_name|Mae] is [A age*|34], from [A city|Bern], age [A age*|34]."


def resolve(*items: SampleReview) -> Resolution:
    return resolve_sample(sample_of(SAID), items, check=check_places)


def test_two_of_three_correct_a_sample() -> None:
    found = resolve(review_of(FULLER), review_of(SAID), review_of(FULLER))
    assert found.open == ()
    assert found.is_changed
    assert found.sample == sample_of(FULLER)
    assert [entity.occurrence for entity in found.sample.subjects[0].entities] == [0, 0, 0, 1]


def test_a_sample_that_all_accept_is_as_it_was() -> None:
    sample = sample_of(SAID)
    found = resolve(review_of(SAID), review_of(SAID))
    assert (found.sample, found.open, found.is_changed) == (sample, (), False)


def test_two_who_differ_leave_it_open_by_place_and_without_its_words() -> None:
    other = "[A full_name|Mae] is [A age|34], from [A landmark|Bern], age 34."
    found = resolve(review_of(SAID), review_of(other))
    assert found.sample == sample_of(SAID)
    assert found.open == (
        "characters 16 to 20: no majority on what stands there",
        "the entity first at character 7: no majority on whether it is needed",
    )
    assert not any("Bern" in reason for reason in found.open)


def test_a_review_without_the_second_step_makes_no_majority() -> None:
    found = resolve(review_of(FULLER), review_of(FULLER, done=False))
    assert found.open == ("reviewed in full by 1, which makes no majority",)


def test_what_the_majority_takes_away_is_needed_no_more() -> None:
    less = "[A full_name|Mae] is 34, from [A city*|Bern], age 34."
    found = resolve(review_of(less), review_of(less))
    assert found.sample == sample_of(less)


def test_a_version_that_is_not_sound_stays_open() -> None:
    items = [review_of(FULLER), review_of(FULLER)]
    found = resolve_sample(sample_of(SAID), items, check=lambda _: ["the query names it"])
    assert found.sample == sample_of(SAID)
    assert found.open == ("the majority's version is not sound: the query names it",)


def test_what_two_share_stays_shared_and_who_is_added_is_in_it() -> None:
    sample = sample_of("[A full_name|Mae] and [B full_name|Ivo] work at [A company|Acme].")
    acme = next(entity for entity in sample.subjects[0].entities if entity.text == "Acme")
    alone = review_of("[A full_name|Mae] and [B full_name|Ivo] work at [A company|Acme].")
    also = ReviewedEntity(start=acme.start, end=acme.end, category="company", subject="B")
    shared = alone.model_copy(update={"entities": [*alone.entities, also]})
    found = resolve_sample(sample, [shared, shared, alone], check=check_places)
    assert found.open == ()
    assert [entity.text for entity in found.sample.subjects[1].entities] == ["Ivo", "Acme"]
    assert found.sample.subjects[1].entities[1].start == acme.start
    # A second time all agree: nothing changes.
    again = resolve_sample(found.sample, [shared, shared], check=check_places)
    assert (again.sample, again.is_changed) == (found.sample, False)
