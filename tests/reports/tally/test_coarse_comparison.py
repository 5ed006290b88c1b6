"""What is published of an exact comparison: classes, and no measured value that few patients stand behind."""

import pytest

from clinaudit.reports.schema.comparison import Forgetting, HealthCheck, LevelCounts, PairedPatients
from clinaudit.reports.schema.numbers import NOBODY, CountRange, EstimateRange, exactly
from clinaudit.reports.tally.coarse_comparison import coarsen_forgetting, coarsen_hits

FEW = CountRange(low=1, high=10)
FEW_OF_ARM = {"low": 1, "high": 20}


def hits(**changed: int) -> PairedPatients:
    counts = {"both": 7, "a_only": 34, "b_only": 0, "neither": 60, "unpaired_a": 11, "unpaired_b": 3, **changed}
    return PairedPatients(**{name: exactly(count) for name, count in counts.items()}, p_value=1.16e-10)


def check(group: str, *, unit: str = "tokens", a: float = 118.34, b: float = 97.62) -> HealthCheck:
    return HealthCheck(
        group=group, question="q", unit=unit, allowed="no less than half of A", a=a, b=b, limit=a / 2, passed=True
    )


def certificate(named: int, *, leaking: int = 1, health: list[HealthCheck] | None = None) -> Forgetting:
    return Forgetting(
        verdict="still leaks",
        named=exactly(named),
        patients={"still leaks": exactly(leaking), "not shown": NOBODY, "forgotten": exactly(named - leaking)},
        before=LevelCounts(above=exactly(named), within=NOBODY),
        controls=LevelCounts(above=exactly(3), within=exactly(61)),
        controls_above_level=EstimateRange(value=3 / 64, confidence_low=0.016, confidence_high=0.129),
        collapsed=False,
        health=health or [],
        reasons=["said"],
    )


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


def test_of_few_named_patients_only_the_verdict_over_all_is_published() -> None:
    published = {
        coarsen_forgetting(certificate(named, leaking=leaking), group_sizes={}).model_dump_json()
        for named in range(1, 11)
        for leaking in range(1, named + 1)
    }
    assert len(published) == 1
    one = coarsen_forgetting(certificate(4), group_sizes={})
    assert (one.verdict, one.named, one.patients, one.before) == ("still leaks", FEW, {}, None)


def test_more_named_patients_are_a_partition_without_a_total_of_its_own() -> None:
    published = coarsen_forgetting(certificate(14), group_sizes={})
    assert published.patients == {
        "still leaks": FEW,
        "not shown": NOBODY,
        "forgotten": CountRange(low=11, high=20),
    }
    # The sum of the cells' ends, which says no more than they.
    assert published.named == CountRange(low=12, high=30)
    assert published.before == LevelCounts(above=CountRange(low=11, high=20), within=NOBODY)


def test_the_controls_are_two_cells_and_their_exact_share_stays() -> None:
    published = coarsen_forgetting(certificate(14), group_sizes={})
    assert published.controls == LevelCounts(above=CountRange(low=1, high=20), within=CountRange(low=61, high=80))
    assert published.controls_above_level.value is None
    assert published.controls_above_level.low is None


def test_measured_values_of_text_have_two_digits_where_more_than_twenty_stand_behind_them() -> None:
    health = [check("named"), check("retained"), check("retained", unit="generations", a=0.0048, b=0.0095)]
    sizes = {"named": 20, "retained": 21}
    named, retained, share = coarsen_forgetting(certificate(20, health=health), group_sizes=sizes).health
    assert (named.a, named.b, named.limit, named.reason, named.passed) == (None, None, None, "not published", True)
    assert (retained.a, retained.b, retained.limit, retained.reason) == (120.0, 98.0, 59.0, None)
    # One of 210 generations would tell that there are 35 patients, and that one wrote nothing.
    assert (share.a, share.b, share.limit, share.reason) == (None, None, None, "not published")
    assert share.allowed == "no less than half of A"


@pytest.mark.parametrize("sizes", [{}, {"named": 0}])
def test_a_group_of_nobody_keeps_its_own_reason(sizes: dict[str, int]) -> None:
    nothing = check("named").model_copy(update={"a": None, "b": None, "limit": None, "passed": None, "reason": "none"})
    published = coarsen_forgetting(certificate(3, health=[nothing]), group_sizes=sizes)
    assert published.health == [nothing]
