"""The bootstrap over whole patients, of several means at once. Knows nothing of what the means are of.

The means of a harmonic mean must be of one and the same resample of patients: they rise and fall together.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from clinaudit.audit.statistics.intervals import RESAMPLES, divide_or_nan

#: Resampled cells held in memory at a time (8 bytes each).
_CHUNK_CELLS: Final = 2_000_000


def resample_means(
    sums: NDArray[np.float64], counts: NDArray[np.float64], *, seed: int, resamples: int = RESAMPLES
) -> NDArray[np.float64]:
    """Return the mean of each metric in each resample of the patients, `(resamples, metrics)`.

    `sums` and `counts` are `(patients, metrics)`: of a patient's answers, the sum of a metric and how many have it. A
    patient is drawn with all of its answers. Not a number where nobody drawn has the metric. Raises `ValueError`
    without a patient.
    """
    patients = len(sums)
    if not patients or sums.shape != counts.shape:
        raise ValueError("sums and counts must hold one row for each of at least one patient")
    rng = np.random.default_rng(seed)
    means = np.empty((resamples, sums.shape[1]))
    step = max(1, _CHUNK_CELLS // patients)
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        drawn = rng.integers(0, patients, size=(size, patients)) + patients * np.arange(size)[:, None]
        times = np.bincount(drawn.ravel(), minlength=size * patients).reshape(size, patients).astype(np.float64)
        means[start : start + size] = divide_or_nan(times @ sums, times @ counts)
    return means
