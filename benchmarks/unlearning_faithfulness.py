"""Is a metric to be trusted: does it tell models that saw the patients from models that never did.

Owns the AUROC of a metric over models: the faithfulness in the meta-evaluation of OpenUnlearning (Dorna et al. 2025,
arXiv 2506.12618). A metric that cannot tell both kinds of model apart says nothing of unlearning either. Knows nothing
of how models are trained.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from clinaudit.audit.statistics.auroc import FEWEST, auroc_of_values
from clinaudit.reports.schema.numbers import Estimate

#: Metrics that are high where a model knows nothing: of these the AUROC is that of what is lacking to 1.
RISES_WITH_FORGETTING: Final = frozenset({"afe", "afe_without_em"})
TOO_FEW_MODELS: Final = f"fewer than {FEWEST} models of one of the kinds have it"


@dataclass(frozen=True, slots=True)
class Faithfulness:
    """How well one metric tells both kinds of model apart."""

    #: The probability that a model which saw the patients scores above one which did not, ties counting half: 1 is
    #: best, 0.5 is chance. `n` counts models.
    auroc: Estimate
    #: Models that have the metric.
    with_patients: int
    without_patients: int


def measure_faithfulness(
    with_patients: Sequence[Mapping[str, float | None]], without_patients: Sequence[Mapping[str, float | None]]
) -> dict[str, Faithfulness]:
    """Return metric -> its faithfulness; each mapping holds the metrics of one model over the same patients' questions.

    Models that lack a metric are left out of it. Raises `ValueError` where there is no model of a kind.
    """
    if not with_patients or not without_patients:
        raise ValueError("models of both kinds are needed")
    metrics = dict.fromkeys(metric for model in (*with_patients, *without_patients) for metric in model)
    found = {}
    for metric in metrics:
        saw, never = (
            [
                -value if metric in RISES_WITH_FORGETTING else value
                for one in models
                if (value := one.get(metric)) is not None
            ]
            for models in (with_patients, without_patients)
        )
        told = auroc_of_values(saw, never, fewest=FEWEST, reason=TOO_FEW_MODELS)
        found[metric] = Faithfulness(told.auroc, len(saw), len(never))
    return found
