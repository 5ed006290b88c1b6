"""What follows from an exact tally: ranges of no width, the measured estimates, and what only the evidence holds."""

from collections.abc import Iterator
from typing import Any

import pytest
from support.results.filled_results import all_null, filled, published_of

from clinaudit.audit.results.ranges.results import derive
from clinaudit.reports.tally.tally import Tally


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
    exact = dict(counts_of(derive(tally).model_dump(mode="json")))
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
    exact = list(kept(derive(tally).model_dump(mode="json")))
    # Refusals and the judge's figures are not planted.
    assert sum(item is not None for item in exact) > 150


def test_estimates_are_the_measured_ones_with_their_intervals() -> None:
    exact = derive(filled())
    for tiers in exact.disclosure.by_diagnosis.values():
        for shown in tiers.values():
            measured = shown.evidence
            assert measured is not None
            assert measured.delta is not None
            assert shown.delta is not None
            assert shown.delta["auroc_all"].value == measured.delta.auroc_all.value
            assert shown.delta["auroc_all"].confidence_low == measured.delta.auroc_all.low
            assert shown.train["ppv"].confidence_high == measured.train.ppv.high


@pytest.mark.parametrize("tally", [filled(nontrain=False), all_null()])
def test_what_was_not_measured_stays_so(tally: Tally) -> None:
    pair = derive(tally).disclosure.by_diagnosis["hiv"]["public"]
    assert pair.delta is None or pair.delta["auroc_all"].value is None
