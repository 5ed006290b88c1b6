"""Tokens that are drawn from a predicted distribution: a draw depends on its seed and its place in the text alone.

Each token is the inverse of the distribution at one number (inverse transform sampling), so that batch, order and
resumption change no draw. One stream for a whole batch, as the library has it, would.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from torch import Tensor


def uniform_numbers(seed: int, count: int) -> npt.NDArray[np.float64]:
    """Return the numbers in [0, 1) at which a text's tokens are drawn, one a token; the first ones of any count agree.

    Texts of one seed have the same numbers: who draws several gives each a seed of its own.
    """
    return np.random.default_rng(seed).random(count)


def draw_tokens(logits: "Tensor", numbers: Sequence[float], *, temperatures: Sequence[float]) -> "Tensor":
    """Return one token a row (b,), drawn from the softmax of `logits` (b, v) at the row's number and temperature."""
    import torch

    # On the CPU: a GPU's running sum is not the same each time. In float64, since a float32 sum leaves out tails.
    scores = logits.cpu().double()
    # The largest is 0, so that no temperature, however small, makes it infinite.
    scores = (scores - scores.amax(dim=-1, keepdim=True)) / torch.tensor(temperatures, dtype=torch.float64)[:, None]
    sums = scores.softmax(dim=-1).cumsum(dim=-1)
    at = torch.tensor(numbers, dtype=torch.float64)[:, None] * sums[:, -1:]
    drawn = torch.searchsorted(sums, at, right=True).clamp(max=logits.shape[-1] - 1)
    return drawn[:, 0].to(logits.device)
