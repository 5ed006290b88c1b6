"""Whether samples and real texts tell the same of systems (PII-Bench, F.4.2, Tables 15 to 17).

Owns the two formulas. Knows no system.
"""

from collections.abc import Sequence


def performance_consistency(on_samples: float, on_real: float) -> float:
    """Return PCS, 1 less the two F1's difference in parts of the larger (Eq. 21); of two zeros 1 **[choice]**."""
    largest = max(on_samples, on_real)
    return 1 - abs(on_samples - on_real) / largest if largest else 1.0


def ranking_consistency(on_samples: Sequence[float], on_real: Sequence[float]) -> float | None:
    """Return Spearman's rho of the systems' F1 on samples and on real texts, in one order.

    None below two systems, and where all score alike on a side: there is no ranking then. Raises `ValueError` where the
    lengths differ.
    """
    if len(on_samples) != len(on_real):
        raise ValueError("every system has a score on both sides")
    if len(set(on_samples)) < 2 or len(set(on_real)) < 2:
        return None
    from scipy.stats import spearmanr

    return float(spearmanr(on_samples, on_real).statistic)
