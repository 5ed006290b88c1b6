"""Scores of patients with and without a diagnosis, drawn at random."""

import numpy as np

SCORES = (0.0, 0.5, 1.0)


def draw(seed: int, positives: int = 60, negatives: int = 80) -> tuple[list[float], list[float]]:
    rng = np.random.default_rng(seed)
    return (
        rng.choice(SCORES, positives, p=(0.1, 0.5, 0.4)).tolist(),
        rng.choice(SCORES, negatives, p=(0.3, 0.5, 0.2)).tolist(),
    )
