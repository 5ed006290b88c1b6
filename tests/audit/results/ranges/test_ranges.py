"""Every exact number of a run lies in what is published of it, leaf by leaf, and its interval in the published one.

Generic: it walks both results files of an audit. A new exact number fails here until it has a
published one, or a reason in `support.results.paired_leaves` why not.
"""

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from scipy.stats import binom
from support.results.filled_results import all_null, exact_of, filled, published_of
from support.results.paired_leaves import Pair, holds, interval_holds, is_count, pair_leaves

from clinaudit.audit.results.ranges.corpus import derive_population, derive_shares
from clinaudit.audit.results.ranges.memorization import templated_range
from clinaudit.audit.results.ranges.results import average_over_tiers, derive
from clinaudit.audit.statistics.intervals import resampled_share
from clinaudit.reports.schema.disclosure import PairResults
from clinaudit.reports.schema.memorization import SECTION_KINDS
from clinaudit.reports.schema.numbers import CountRange, EstimateRange
from clinaudit.reports.tally.leaves import Count, Inside, OfText, Partition, PartitionWithMean
from clinaudit.reports.tally.tally import PopulationTally, Tally

#: Decimals to which ends are rounded outwards.
PLACES = 4


def documents_of(run: Path) -> list[dict[str, Any]]:
    """Return the exact and the published results of a run."""
    return [json.loads((run / name).read_text()) for name in ("evidence/results.json", "results.json")]


def numbers_of(exact: dict[str, Any], published: dict[str, Any]) -> list[Pair]:
    """Return the pairs of numbers; each has a counterpart, and no evidence is published."""
    pairs = list(pair_leaves(exact, published))
    assert [path for path in pairs if isinstance(path, str)] == []
    return [pair for pair in pairs if isinstance(pair, Pair)]


@pytest.fixture(scope="module")
def numbers(audited: Path) -> list[Pair]:
    return numbers_of(*documents_of(audited))


@pytest.mark.slow
def test_every_exact_number_lies_in_its_class_or_range(numbers: list[Pair]) -> None:
    assert sum(is_count(pair.published) for pair in numbers) > 400
    assert sum(isinstance(pair.published, dict) and not is_count(pair.published) for pair in numbers) > 100
    assert [pair for pair in numbers if not holds(pair, intervals=False)] == []


@pytest.mark.slow
def test_the_intervals_of_the_rules_lie_in_theirs(numbers: list[Pair]) -> None:
    decided = [pair for pair in numbers if pair.path.startswith("decision/") and isinstance(pair.exact, dict)]
    # Of values per 1,000 queries the exact interval is a bootstrap's, which may be wider than that of the bins.
    judged = [pair for pair in decided if (pair.exact.get("confidence_high") or 2) <= 1]
    assert judged
    assert [pair for pair in judged if not interval_holds(pair)] == []


@pytest.mark.slow
def test_every_range_is_rounded_outwards(numbers: list[Pair]) -> None:
    ranges = [p.published for p in numbers if isinstance(p.published, dict) and p.published.get("value", 0) is None]
    names = ("low", "high", "confidence_low", "confidence_high")
    ends = [end for range_ in ranges for name in names if (end := range_[name]) is not None]
    assert len(ends) > 100
    assert [end for end in ends if abs(end - round(end, PLACES)) > 1e-12] == []


@pytest.mark.slow
def test_every_number_of_an_audit_is_held_with_its_interval(numbers: list[Pair]) -> None:
    assert len(numbers) >= 800
    assert [pair for pair in numbers if not holds(pair)] == []


@pytest.mark.slow
def test_what_has_no_counterpart_or_lies_outside_is_found(audited: Path) -> None:
    exact, published = documents_of(audited)
    tier = next(iter(exact["memorization"]))
    exact["memorization"][tier]["train"]["new_patients"] = 3
    published["memorization"][tier]["train"]["evidence"] = {"generations": 3}
    exact["completeness"]["generations"]["planned"]["low"] += 2000
    exact["completeness"]["generations"]["planned"]["high"] += 2000
    found = list(pair_leaves(exact, published))
    paths = [path for path in found if isinstance(path, str)]
    assert sorted(paths) == [f"memorization/{tier}/train/{name}" for name in ("evidence", "new_patients")]
    outside = [pair.path for pair in found if isinstance(pair, Pair) and not holds(pair)]
    assert outside == ["completeness/generations/planned"]


@pytest.mark.parametrize(("successes", "trials"), [(0, 58), (1, 58), (4, 58), (57, 58), (58, 58), (20, 40), (3, 9)])
def test_a_bootstrap_of_a_share_ends_within_its_bounds(successes: int, trials: int) -> None:
    low, high = resampled_share(np.array([float(successes)]), np.array([float(trials)]))[:, 0]
    drawn = binom.ppf((0.025, 0.975), trials, successes / trials) / trials
    assert low <= drawn[0] <= drawn[1] <= high
    # By hand: of 58 with one failure, 36% of the resamples have none; and 2% have more than four (Poisson: 1.9%).
    if (successes, trials) == (57, 58):
        assert high == 1.0
        assert 53 / 58 < low < 55 / 58


def counts_of(node: Any, path: str = "") -> Iterator[tuple[str, dict[str, int]]]:
    if isinstance(node, dict):
        if set(node) == {"low", "high"}:
            yield path, node
            return
        for key, item in node.items():
            yield from counts_of(item, f"{path}/{key}")
    elif isinstance(node, list):
        for place, item in enumerate(node):
            yield from counts_of(item, f"{path}/{place}")


def test_every_count_is_exact_and_lies_within_its_published_class() -> None:
    tally = filled(cell=30)
    exact = dict(counts_of(exact_of(tally).model_dump(mode="json")))
    shown = dict(counts_of(published_of(tally).model_dump(mode="json")))
    assert len(exact) > 1000
    assert all(count["low"] == count["high"] for path, count in exact.items() if "/completeness/" not in path)
    # Sums over many tables are no cells; of the bins of identifiers some are one (test_coarse_identifiers).
    for path in {
        path for path in exact.keys() & shown.keys() if "/identifiers/" not in path or "/by_patient/" not in path
    }:
        assert shown[path]["low"] <= exact[path]["low"] <= exact[path]["high"] <= shown[path]["high"], path


def test_nothing_of_the_evidence_is_published() -> None:
    def kept(node: Any) -> Iterator[Any]:
        if isinstance(node, dict):
            for key, item in node.items():
                if key.endswith("evidence"):
                    yield item
                else:
                    yield from kept(item)
        elif isinstance(node, list):
            for item in node:
                yield from kept(item)

    tally = filled(cell=30)
    assert set(kept(published_of(tally).model_dump(mode="json"))) == {None}
    exact = list(kept(exact_of(tally).model_dump(mode="json")))
    # Refusals and the judge's figures are not planted.
    assert sum(item is not None for item in exact) > 130


def test_estimates_are_the_measured_ones_with_their_intervals() -> None:
    exact = exact_of(filled())
    for tiers in exact.disclosure.by_diagnosis.values():
        for shown in tiers.values():
            measured = shown.evidence
            assert measured is not None
            assert measured.delta is not None
            assert shown.delta is not None
            assert shown.delta["auroc_all"].value == measured.delta.auroc_all.value
            assert shown.delta["auroc_all"].confidence_low == measured.delta.auroc_all.low
            assert shown.train["ppv"].confidence_high == measured.train.ppv.high


@pytest.mark.parametrize("make", [partial(filled, nontrain=False), all_null])
def test_what_was_not_measured_stays_so(make: Callable[[], Tally]) -> None:
    pair = derive(make()).disclosure.by_diagnosis["hiv"]["public"]
    assert pair.delta is None or pair.delta["auroc_all"].value is None


def shares(*values: float | None) -> dict[str, float | None]:
    return dict(zip(SECTION_KINDS, values, strict=True))


def test_a_section_s_templated_share_is_as_wide_as_its_percents_are_rounded() -> None:
    # Revealing 4% (3.5 to 4.5; the empty kind up to 0.5), templated 27% (26 to 28).
    found = templated_range(shares(0.04, 0.0, 0.02, 0.25), rounding=0.005)
    assert found is not None
    assert found.low == pytest.approx(26 / (26 + 5), abs=1e-4)
    assert found.high == pytest.approx(28 / (28 + 3.5), abs=1e-4)
    exact = templated_range(shares(0.04, 0.0, 0.02, 0.25), rounding=0.0)
    assert exact is not None
    assert exact.value == pytest.approx(27 / 31)


def test_it_is_said_only_where_all_four_kinds_are_shown() -> None:
    assert templated_range(shares(0.04, None, 0.02, 0.25), rounding=0.005) is None
    nothing = templated_range(shares(0.0, 0.0, 0.0, 0.0), rounding=0.005)
    assert nothing is not None
    assert nothing.reason


def test_notes_and_patients_a_practice_follow_from_classes() -> None:
    people = {"female": CountRange(low=101, high=110), "male": CountRange(low=21, high=30)}
    coarse = PopulationTally(
        age_bands=PartitionWithMean({}, {}, None),
        sex=Partition(people),
        race=Partition({}),
        notes=Inside(None),
        tokens=Inside(None),
        text={"notes_per_patient": OfText(2.5), "tokens_per_patient": OfText(900.0)},
        practices=Inside(Count(CountRange(low=1, high=10))),
        practice_patients=Inside(Count(CountRange(low=131, high=140))),
        is_placed=True,
        evidence=Inside(None),
    )
    found = derive_population(coarse, is_exact=False)
    assert (found.patients.low, found.patients.high) == (122, 140)
    assert found.patients_per_practice == EstimateRange(low=13.1, high=140.0)
    # 2.45 to 2.55 notes a patient.
    assert found.notes_per_practice is not None
    assert found.notes_per_practice.low == pytest.approx(2.45 * 12.2, abs=1e-4)
    assert found.notes_per_practice.high == pytest.approx(2.55 * 140, abs=1e-4)


def test_shares_of_a_partition_have_no_interval() -> None:
    cells = {"a": CountRange(low=11, high=20), "b": CountRange(low=1, high=10), "c": CountRange(low=0, high=0)}
    found = derive_shares(cells, None)
    assert found["a"].low == pytest.approx(11 / 21, abs=1e-4)
    assert found["a"].high == pytest.approx(20 / 21, abs=1e-4)
    assert found["a"].confidence_low is None
    assert found["c"].value == 0


def test_the_average_over_tiers_leaves_out_those_without_the_figure() -> None:
    first, second, none = (
        SimpleNamespace(train={"mention_rate": estimate}, nontrain=None)
        for estimate in (
            EstimateRange(low=0.2, high=0.4),
            EstimateRange(low=0.5, high=0.6, confidence_low=0.3, confidence_high=0.9),
            EstimateRange(reason="nobody"),
        )
    )
    found = average_over_tiers(cast("list[PairResults]", [first, second, none]), "mention_rate")
    assert found == {"train": EstimateRange(low=0.35, high=0.5)}
