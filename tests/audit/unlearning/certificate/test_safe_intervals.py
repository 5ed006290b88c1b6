"""A certificate goes by safe intervals, whatever narrower ones the evidence shows."""

from typing import Any

import pytest
from support.unlearning.robustness_documents import block, figure

from clinaudit.audit.unlearning.certificate.bench_result import BenchResult
from clinaudit.audit.unlearning.certificate.robustness_block import SAMPLED, describe_trials
from clinaudit.reports.schema.unlearning_evaluation import RobustnessDocument


def narrowed(of: dict[str, Any]) -> dict[str, Any]:
    """Return a figure as evidence has it from 80 patients on: half as wide, with its own interval beside."""
    low, high = of["interval"]
    quarter = (high - low) / 4
    return {**of, "interval": [low + quarter, high - quarter], "method": "bootstrap", "bounds": [low, high]}


def result(held: dict[str, Any]) -> BenchResult:
    return BenchResult(
        model="after",
        split="random:10",
        form="addressed",
        seed=0,
        patients={},
        after=(),
        robustness=RobustnessDocument.model_validate(held),
    )


def test_rows_of_trials_are_the_same_with_a_narrower_interval_in_the_evidence() -> None:
    # 0.04 ± 0.05 above never-trained patients is within them; ± 0.025 alone would be above.
    held = block(sampled=0.04)
    narrow = block(sampled=0.04)
    for group in ("forget", "never_trained", "above_never_trained"):
        for by_k in narrow["sampling"][group].values():
            by_k.update({k: narrowed(one) for k, one in by_k.items()})
    assert narrow["sampling"]["above_never_trained"]["rouge_l"]["32"]["interval"][0] > 0
    plain, other = (describe_trials(result(one), []) for one in (held, narrow))
    assert plain is not None
    assert other is not None
    assert [row.model_dump() for row in other.rows] == [row.model_dump() for row in plain.rows]
    assert {row.status for row in other.rows if row.test == SAMPLED} == {"within"}


@pytest.mark.parametrize("value", [None, 0.3])
def test_evidence_of_before_is_read_as_it_was(value: float | None) -> None:
    held = {**figure(value, reason="why"), "answers": 10}
    document = RobustnessDocument.model_validate({"quantization": {"forget": {"after": {"rouge_l": held}}}})
    assert document.quantization is not None
    found = document.quantization.forget.after["rouge_l"]
    assert (found.method, found.deciding()) == (None, found)
