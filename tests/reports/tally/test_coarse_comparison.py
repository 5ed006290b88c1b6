"""What is published of an exact comparison: classes."""

from clinaudit.reports.schema.comparison import PairedPatients
from clinaudit.reports.schema.numbers import exactly
from clinaudit.reports.tally.coarse_comparison import coarsen_hits

FEW_OF_ARM = {"low": 1, "high": 20}


def hits(**changed: int) -> PairedPatients:
    counts = {"both": 7, "a_only": 34, "b_only": 0, "neither": 60, "unpaired_a": 11, "unpaired_b": 3, **changed}
    return PairedPatients(**{name: exactly(count) for name, count in counts.items()}, p_value=1.16e-10)


def test_each_cell_is_its_class_and_the_p_value_is_gone() -> None:
    published = coarsen_hits(hits())
    assert published.model_dump(mode="json") == {
        "both": FEW_OF_ARM,
        "a_only": {"low": 21, "high": 40},
        "b_only": 0,
        "neither": {"low": 41, "high": 60},
        "unpaired_a": FEW_OF_ARM,
        "unpaired_b": FEW_OF_ARM,
        "p_value": None,
    }


def test_all_counts_of_one_class_are_published_alike() -> None:
    assert len({coarsen_hits(hits(both=both)).model_dump_json() for both in range(1, 21)}) == 1
    assert coarsen_hits(hits(both=21)) != coarsen_hits(hits(both=20))
