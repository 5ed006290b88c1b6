"""Sizes of tiers, splits and cohorts: which of them together would count few patients or few sets."""

from collections.abc import Mapping

import pytest
from support.results.planted_disclosure import pair_from
from support.results.planted_memorization import memorization_of
from support.results.planted_people import population

from clinaudit.reports.schema.cohorts import CohortSummary
from clinaudit.reports.schema.corpus import CorpusSummary
from clinaudit.reports.schema.disclosure import DisclosureResults
from clinaudit.reports.schema.estimate import ARMS, Arm, Estimate
from clinaudit.reports.schema.results import Results, StageCompleteness
from clinaudit.reports.suppression.tier_sizes import find_hidden_splits, find_hidden_tiers

SETS = ((40, 0, 40, 10, 0), (20, 0, 40, 30, 0))


def results_of(
    tiers: Mapping[str, tuple[int, int]],
    *,
    splits: tuple[int, int] = (300, 300),
    cell: int | None = None,
    excluded: Mapping[str, int] | None = None,
    dropped: Mapping[str, int] | None = None,
) -> Results:
    """`tiers`: patients in train and nontrain; `dropped`: sets of the second tier, by reason."""
    sizes: dict[Arm, int] = dict(zip(ARMS, splits, strict=True))
    cells = (
        {}
        if cell is None
        else dict.fromkeys((f"{arm}_{status}" for arm in ARMS for status in ("positive", "negative")), cell)
    )
    cohort = CohortSummary(
        status="balanced",
        reason=None,
        matcher="psm",
        prevalence=Estimate(value=0.5),
        cells=cells,
        balance=[],
        excluded={},
    )
    pair = pair_from(SETS, SETS).model_copy(update={"dropped_sets": dict(dropped or {})})
    return Results(
        memorization={
            tier: {arm: memorization_of(0.5, 0.1, 60, n=n) for arm, n in zip(ARMS, sizes_of_tier, strict=True)}
            for tier, sizes_of_tier in tiers.items()
        },
        corpus=CorpusSummary(
            counterfactual=True,
            labels="table",
            splits={arm: population(size) for arm, size in sizes.items()},
            cohorts={},
            warnings=[],
        ),
        cohorts={} if cell is None else {"hiv": cohort},
        completeness={"priors": StageCompleteness(planned=1000, done=1000, failed=0, excluded=dict(excluded or {}))},
        disclosure=DisclosureResults(by_diagnosis={"hiv": {list(tiers)[-1]: pair}}),
    )


@pytest.mark.parametrize(
    ("sizes", "dropped", "is_hidden"),
    [
        # Forty missing of sets of four: at least ten sets, and few are at most ten.
        ((180, 180), 10, True),
        # Twenty of one arm, of whom a set has two.
        ((180, 200), 10, True),
        # Five sets at least, ten at most.
        ((190 - 1, 189), 6, False),
        ((180, 180), 15, False),
    ],
)
def test_sizes_that_tell_of_nearly_ten_dropped_sets_are_hidden(
    sizes: tuple[int, int], dropped: int, is_hidden: bool
) -> None:
    results = results_of(
        {"public": (200, 200), "encounter": sizes}, cell=100, dropped={"no distinguishing fact": dropped}
    )
    assert ("encounter" in find_hidden_tiers(results)) == is_hidden


@pytest.mark.parametrize(
    ("splits", "tiers", "excluded", "hidden"),
    [
        # 155 of 160 are seen at some tier.
        ((160, 300), {"public": (155, 200), "encounter": (130, 200)}, {}, {"train"}),
        ((160, 300), {"public": (140, 200), "encounter": (130, 200)}, {}, set()),
        # 35 are missing besides the 160, of train for all that is known: five are left over.
        ((200, 300), {"encounter": (160, 200)}, {"encounter: a": 35}, {"train"}),
        # The same for two reasons together.
        ((200, 300), {"encounter": (160, 200)}, {"encounter: a": 15, "encounter: b": 20}, {"train"}),
        # 500 of both splits, less 460, less 35.
        ((200, 300), {"encounter": (180, 280)}, {"encounter: a": 35}, {"train", "nontrain"}),
        # All of them are seen missing at the tier.
        ((200, 300), {"public": (180, 280), "encounter": (160, 280)}, {"encounter: a": 20}, set()),
        ((200, 300), {"public": (160, 200)}, {"encounter: a": 35}, set()),
    ],
)
def test_splits_are_hidden_where_few_are_known_to_be_no_targets(
    splits: tuple[int, int], tiers: Mapping[str, tuple[int, int]], excluded: Mapping[str, int], hidden: set[str]
) -> None:
    assert find_hidden_splits(results_of(tiers, splits=splits, excluded=excluded)) == hidden
