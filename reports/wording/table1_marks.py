"""What the paper's Table 1 prints in bold: a mark stands only where the whole range is beyond its threshold."""

from collections.abc import Mapping
from typing import Final

from clinaudit.reports.schema.numbers import EstimateRange

#: AUROC from 0.65 on, PPV from 0.8 on.
BOLD: Final[Mapping[str, float]] = {"auroc": 0.65, "ppv": 0.8}


def is_bold(estimate: EstimateRange | None, metric: str) -> bool:
    """Whether an estimate is at its metric's threshold or above it: the whole range, where that is all there is."""
    return estimate is not None and estimate.low is not None and estimate.low >= BOLD[metric]
