"""Statistics of samples, against numbers counted by hand; and the paper's own rows."""

from support.pii.plain_samples import sample_of, statistics_of

from clinaudit.audit.pii.benchmark.sample import Entity
from clinaudit.audit.pii.benchmark.statistics import SampleCounter


def test_means_and_types_are_counted_by_hand() -> None:
    one = sample_of("Ann Lee, 41, of Oslo.", {"Ann Lee": "full_name", "41": "age", "Oslo": "city"}, needed=("41",))
    other = sample_of("Bo, Oslo.", {"Bo": "nickname", "Oslo": "city"}, needed=("Oslo",), sample="q2")
    both = sample_of("A1 x B2", {"A1": "full_name"}, {"B2": "full_name"}, sample="q3")
    found = statistics_of([one, other, both])
    assert list(found) == ["all", "single", "multi"]
    single = found["single"]
    assert (single.samples, single.subjects, single.entities, single.needed_entities) == (2, 1.0, 2.5, 1.0)
    assert (single.description_chars, single.query_chars) == ((21 + 9) / 2, len("What is advised?"))
    assert {name: number for name, number in single.types.items() if number} == {"PER": 2, "DEM": 1, "LOC": 2}
    assert (found["multi"].subjects, found["multi"].entities) == (2.0, 2.0)


def test_an_entity_that_stands_twice_counts_once_a_subject() -> None:
    sample = sample_of("Ann and Ann", {"Ann": "full_name"})
    again = Entity(text="Ann", type="PER", category="full_name", start=8, end=11, occurrence=1, name_origin="en_US")
    subject = sample.subjects[0].model_copy(update={"entities": [*sample.subjects[0].entities, again]})
    counter = SampleCounter()
    counter.add(sample.model_copy(update={"subjects": [subject, subject.model_copy(update={"id": "s9"})]}))
    assert {row.subset: row.entities for row in counter.statistics()} == {"all": 2, "single": 2}
    assert dict(counter.name_origins) == {"en_US": 2}
