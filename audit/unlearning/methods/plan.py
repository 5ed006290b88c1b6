"""The plan of an unlearning: a method with its coefficients, what it trains, and how.

Owns the default coefficients' choice. Loads no network.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from clinaudit.audit.choices import UnlearningMethod
from clinaudit.audit.unlearning.methods.objective import Objective
from clinaudit.audit.unlearning.methods.objectives import GradDiff, KlMin, Rmu, SimNpo
from clinaudit.audit.unlearning.methods.trained_network import Scope
from clinaudit.audit.unlearning.methods.training_plan import DEFAULT_TRAINING, TrainingPlan
from clinaudit.errors import UsageError

#: Learning rates that are tried where one is to be chosen, the paper's first, higher ones for small models [choice].
RATE_GRID: Final = (2e-5, 2e-4, 6e-4, 2e-3, 6e-3)
#: The methods whose means open-unlearning takes otherwise than the paper.
_HAVE_PARITY: Final = ("kl_min", "rmu")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnlearningPlan:
    """How to unlearn."""

    method: UnlearningMethod
    objective: Objective
    scope: Scope
    #: None: the layer that stands where layer 7 of 32 does.
    layer: int | None = None
    #: The learning rates to choose from; empty: that of `training`.
    rates: tuple[float, ...] = ()
    training: TrainingPlan = DEFAULT_TRAINING

    def record(self) -> dict[str, Any]:
        """Return the plan as `unlearn.json` holds it."""
        shown = asdict(self)
        shown["rates"] = list(self.rates)
        return shown


def plan_unlearning(
    method: UnlearningMethod,
    *,
    seed: int,
    scope: Scope | None = None,
    layer: int | None = None,
    has_parity: bool = False,
    chooses_rate: bool = False,
    training: TrainingPlan = DEFAULT_TRAINING,
) -> UnlearningPlan:
    """Return the plan of a method with its default coefficients; `scope` None: the method's own.

    `seed` is that of RMU's direction. With `has_parity` KL-Min and RMU take their means as open-unlearning does; raises
    `UsageError` with it for a method whose means are alike in both.
    """
    if has_parity and method not in _HAVE_PARITY:
        raise UsageError(f"--parity goes with {' and '.join(_HAVE_PARITY)}; {method} is as open-unlearning has it")
    made: Mapping[UnlearningMethod, Objective] = {
        "grad_diff": GradDiff(),
        "kl_min": KlMin(positions="all" if has_parity else "label"),
        "sim_npo": SimNpo(),
        "rmu": Rmu(seed=seed, averages="crossed" if has_parity else "row"),
    }
    objective = made[method]
    return UnlearningPlan(
        method=method,
        objective=objective,
        scope=objective.default_scope if scope is None else scope,
        layer=layer,
        rates=RATE_GRID if chooses_rate else (),
        training=training,
    )
