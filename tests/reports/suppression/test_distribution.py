"""Small cells in the distribution over patients: hidden bins, shares, deciles and tails."""

import itertools

import pytest

from clinaudit.audit.statistics.patient_distribution import describe_distribution
from clinaudit.reports.schema.groups import PatientDistribution
from clinaudit.reports.suppression.distribution import suppress_distribution, tells_bin
from clinaudit.reports.suppression.small_cells import LARGEST_HIDDEN


def spread_of(counts: list[int]) -> PatientDistribution:
    """Patients by bin: none, up to 1%, 10%, 50%, 100%."""
    fractions = itertools.chain(
        *([value] * count for value, count in zip((0, 0.005, 0.05, 0.3, 0.8), counts, strict=True))
    )
    return describe_distribution({str(i): [value] for i, value in enumerate(fractions)}, seed=0)


@pytest.mark.parametrize(
    ("counts", "total", "tells"),
    [
        # 0.2 for the twenty, 0.1 for the one leave 0.3: room for two more.
        ([60, 0, 20, 1, 0], 0.6, False),
        # 0.19 is left: for one more, not for two.
        ([60, 0, 20, 1, 0], 0.49, True),
        ([60, 0, 20, 3, 0], 0.51, False),
        ([60, 0, 20, 0, 0], 0.21, False),
    ],
)
def test_a_small_sum_tells_how_few_patients_can_be_in_a_bin(counts: list[int], total: float, tells: bool) -> None:
    assert tells_bin(spread_of(counts), total) == tells


def test_bins_of_few_patients_are_hidden_together_with_a_second():
    spread = suppress_distribution(spread_of([100, 30, 20, 12, 4]), patients=166, total=40.0, hides_patients=False)
    assert [item.patients for item in spread.bins] == [100, 30, 20, None, None]
    shares = {item.threshold: item.share for item in spread.above}
    # Both hidden bins lie above 10%, so that their sum is no secret; above 50% one of them does.
    assert shares[0.1].value == pytest.approx(16 / 166)
    assert (shares[0.5].value, shares[0.5].low, shares[0.5].high) == (
        None,
        pytest.approx(1 / 166),
        pytest.approx(15 / 166),
    )
    assert spread.worst_tenth.value is not None


def test_patients_with_any_are_a_total_that_gives_nothing_back():
    # 62 with any is shown elsewhere: the bin of none must not be the second one hidden.
    spread = suppress_distribution(spread_of([20, 3, 25, 34, 0]), patients=82, total=40.0, hides_patients=False)
    assert [item.patients for item in spread.bins] == [20, None, 25, None, 0]


def test_few_with_any_are_hidden_altogether():
    seen = {
        suppress_distribution(
            spread_of([166 - few, few, 0, 0, 0]), patients=166, total=40.0, hides_patients=False
        ).model_dump_json()
        for few in range(1, LARGEST_HIDDEN + 1)
    }
    assert len(seen) == 1
    spread = PatientDistribution.model_validate_json(seen.pop())
    assert {item.patients for item in spread.bins} == {None}
    assert spread.worst_tenth.value is None


def test_no_decile_or_tail_rests_on_fewer_than_eleven():
    small = suppress_distribution(spread_of([30, 30, 30, 0, 0]), patients=90, total=40.0, hides_patients=False)
    told = {item.share: item.fraction for item in small.deciles}
    assert told[0.1] is None
    assert told[0.9] is None
    assert told[0.5] == pytest.approx(0.01)
    assert small.worst_tenth.value is None
    hidden = suppress_distribution(spread_of([100, 30, 20, 12, 12]), patients=174, total=40.0, hides_patients=True)
    assert {item.patients for item in hidden.bins} == {None}
    assert {item.share.n for item in hidden.above} == {None}
