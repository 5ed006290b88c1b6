"""The exact report's numbers: those of the evidence, in the records of the published ones."""

from collections.abc import Iterator
from typing import Any

import pytest
from support.results.filled_results import all_null, filled

from clinaudit.audit.publication.exact_content import exact_parts, exact_results
from clinaudit.audit.ranges.results import publish
from clinaudit.reports.suppression.coarse import coarsen

#: What is shown of an exact number: as much as a float of it is kept.
CLOSE = 1e-9


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
    results = filled(cell=30)
    exact = dict(counts_of(exact_results(results).model_dump(mode="json")))
    shown = dict(counts_of(publish(coarsen(results)).model_dump(mode="json")))
    assert len(exact) > 1000
    assert all(count["low"] == count["high"] for path, count in exact.items() if "/completeness/" not in path)
    # Sums over many tables are no cells; of the bins of identifiers some are one (test_coarse_identifiers).
    for path in {
        path for path in exact.keys() & shown.keys() if "/identifiers/" not in path or "/by_patient/" not in path
    }:
        assert shown[path]["low"] <= exact[path]["low"] <= exact[path]["high"] <= shown[path]["high"], path


def test_estimates_are_the_evidence_s_own_with_their_intervals() -> None:
    results = filled()
    exact = exact_results(results)
    for diagnosis, tiers in results.disclosure.by_diagnosis.items():
        for tier, pair in tiers.items():
            assert pair.delta is not None
            shown = exact.disclosure.by_diagnosis[diagnosis][tier]
            assert shown.delta is not None
            assert shown.delta["auroc_all"].value == pair.delta.auroc_all.value
            assert shown.delta["auroc_all"].confidence_low == pair.delta.auroc_all.low
            assert shown.train["ppv"].confidence_high == pair.train.ppv.high


@pytest.mark.parametrize("results", [filled(nontrain=False), all_null()])
def test_what_was_not_measured_stays_so(results: Any) -> None:
    parts = exact_parts(results)
    assert parts.tests == {diagnosis: {} for diagnosis in results.disclosure.by_diagnosis}
    exact = exact_results(results)
    pair = exact.disclosure.by_diagnosis["hiv"]["public"]
    assert pair.delta is None or pair.delta["auroc_all"].value is None


def test_the_parts_hold_tests_spread_and_the_paper_s_rows() -> None:
    results = filled()
    parts = exact_parts(results)
    assert parts.tests["hiv"]["public"].p_holm == 0.21
    distribution = results.memorization["encounter"]["train"].distribution
    assert distribution is not None
    assert parts.spread["encounter"]["train"].worst_tenth.value == pytest.approx(distribution.worst_tenth.value, CLOSE)
    assert parts.paper_view["encounter"]["train"].rows == 1200
    assert [row.patients for row in parts.groups["public"]["train"]][:1] == [4]
    assert parts.overlap["hiv"][0].positive_candidates == 100
