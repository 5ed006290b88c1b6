"""What most reviewers say becomes the sample; what they are split on stays open."""

from support.pii.marked_samples import review_of, sample_of

from clinaudit.audit.pii.review.outcome import resolve_sample
from clinaudit.audit.pii.review.review_file import ReviewedEntity, check_places

DRAFT = "[A full_name|Mae] is [A age*|34], from [A city|Bern], age 34."
FULLER = "[A full_name|Mae] is [A age*|34], from [A city|Bern], age [A age*|34]."


def test_two_of_three_correct_a_sample() -> None:
    found = resolve_sample(
        sample_of(DRAFT), [review_of(FULLER), review_of(DRAFT), review_of(FULLER)], check=check_places
    )
    assert found.open == ()
    assert found.is_changed
    assert found.sample == sample_of(FULLER)
    assert [entity.occurrence for entity in found.sample.subjects[0].entities] == [0, 0, 0, 1]


def test_a_sample_that_all_accept_is_as_it_was() -> None:
    sample = sample_of(DRAFT)
    found = resolve_sample(sample, [review_of(DRAFT), review_of(DRAFT)], check=check_places)
    assert (found.sample, found.open, found.is_changed) == (sample, (), False)


def test_two_who_differ_leave_it_open_by_place_and_without_its_words() -> None:
    other = "[A full_name|Mae] is [A age|34], from [A landmark|Bern], age 34."
    found = resolve_sample(sample_of(DRAFT), [review_of(DRAFT), review_of(other)], check=check_places)
    assert found.sample == sample_of(DRAFT)
    assert found.open == (
        "characters 16 to 20: no majority on what stands there",
        "the entity first at character 7: no majority on whether it is needed",
    )
    assert not any("Bern" in reason for reason in found.open)


def test_a_review_without_the_second_step_makes_no_majority() -> None:
    found = resolve_sample(sample_of(DRAFT), [review_of(FULLER), review_of(FULLER, done=False)], check=check_places)
    assert found.open == ("reviewed in full by 1, which makes no majority",)


def test_what_the_majority_takes_away_is_needed_no_more() -> None:
    less = "[A full_name|Mae] is 34, from [A city*|Bern], age 34."
    found = resolve_sample(sample_of(DRAFT), [review_of(less), review_of(less)], check=check_places)
    assert found.sample == sample_of(less)


def test_a_version_that_is_not_sound_stays_open() -> None:
    items = [review_of(FULLER), review_of(FULLER)]
    found = resolve_sample(sample_of(DRAFT), items, check=lambda _: ["the query names it"])
    assert found.sample == sample_of(DRAFT)
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
