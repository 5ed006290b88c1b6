"""Whether samples and real texts tell the same of systems (PII-Bench, F.4.2, Tables 15 to 17).

Owns the two formulas, and what they are taken of: systems that were scored on both. Knows no file.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from clinaudit.reports.schema.pii_bench import BENCH_METRICS, BENCH_TASKS, BenchTask

Json = dict[str, Any]
#: Systems below which their order says nothing: of three, one order in six is the very same by chance.
FEWEST_SYSTEMS: Final = 4
_TOO_FEW: Final = f"too few systems to say; at least {FEWEST_SYSTEMS} are needed that were scored on both"
_NO_ORDER: Final = "all systems score alike on one of the two: there is no order"


def performance_consistency(on_samples: float, on_real: float) -> float:
    """Return PCS, 1 less the two F1's difference in parts of the larger (Eq. 21); of two zeros 1 **[choice]**."""
    largest = max(on_samples, on_real)
    return 1 - abs(on_samples - on_real) / largest if largest else 1.0


def ranking_consistency(on_samples: Sequence[float], on_real: Sequence[float]) -> float | None:
    """Return Spearman's rho of the systems' F1 on samples and on real texts, in one order.

    None where all score alike on a side: there is no ranking then. Raises `ValueError` where the lengths differ.
    """
    if len(on_samples) != len(on_real):
        raise ValueError("every system has a score on both sides")
    if len(set(on_samples)) < 2 or len(set(on_real)) < 2:
        return None
    from scipy.stats import spearmanr

    return float(spearmanr(on_samples, on_real).statistic)


def compare_with_real(on_samples: Mapping[str, Json], on_real: Mapping[str, Json]) -> dict[BenchTask, Json]:
    """Return for each task what samples and real texts tell of the systems scored on both, by metric.

    Both hold `systems` of a document of scores. A task that no system was asked on both sides is not there.
    """
    compared: dict[BenchTask, Json] = {}
    for task in BENCH_TASKS:
        pairs = {
            system: (on_samples[system][task], on_real[system][task])
            for system in on_samples
            if on_samples[system][task] is not None and on_real.get(system, {}).get(task) is not None
        }
        if pairs:
            f1 = {
                metric: [(here[metric]["f1"], there[metric]["f1"]) for here, there in pairs.values()]
                for metric in BENCH_METRICS
            }
            compared[task] = {
                "performance": {
                    system: {metric: performance_consistency(*f1[metric][place]) for metric in BENCH_METRICS}
                    for place, system in enumerate(pairs)
                },
                "ranking": {metric: _rank(f1[metric]) for metric in BENCH_METRICS},
            }
    return compared


def _rank(pairs: Sequence[tuple[float, float]]) -> Json:
    ranked: Json = {"rho": None, "systems": len(pairs), "reason": _TOO_FEW}
    if len(pairs) < FEWEST_SYSTEMS:
        return ranked
    rho = ranking_consistency([here for here, _ in pairs], [there for _, there in pairs])
    return ranked | {"rho": rho, "reason": _NO_ORDER if rho is None else None}
