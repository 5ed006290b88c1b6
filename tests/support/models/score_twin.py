"""Scores of a text from the definition: one plain forward pass, the whole softmax in float64; and texts to score."""

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from clinaudit.audit.runtime.model.engines.protocol import ScoreRequest
from clinaudit.audit.runtime.run.store import TokenScores

#: How far an engine's numbers in float32 may be from each other and from the twin's, in nats (docs/methods.md, 1).
TOLERANCE = 5e-5
Columns = dict[str, npt.NDArray[np.floating[Any]]]


def scores_by_definition(network: Any, requests: Sequence[ScoreRequest]) -> Columns:
    """Return by key log p, and mean and standard deviation of log p, of each scored token: (3, tokens scored)."""
    import torch

    found = {}
    for request in requests:
        with torch.no_grad():
            logits = network(torch.tensor([request.token_ids]), use_cache=False).logits[0]
        rows = logits.double().log_softmax(dim=-1).numpy()
        columns = []
        for place in range(request.first, len(request.token_ids)):
            logs = rows[place - 1]
            p = np.exp(logs)
            mean = (p * logs).sum()
            columns.append((logs[request.token_ids[place]], mean, np.sqrt((p * (logs - mean) ** 2).sum())))
        found[request.key] = np.array(columns).T
    return found


def by_key(scores: Sequence[TokenScores]) -> Columns:
    """Return what an engine said in the same form; one row where it gives the tokens' own log p alone."""
    found: Columns = {}
    for one in scores:
        rows = [row for row in (one.log_probs, one.means, one.deviations) if row is not None]
        assert all(row.dtype == np.float32 for row in rows)
        found[one.key] = np.stack(rows)
    assert len(found) == len(scores)
    return found


def largest_difference(some: Columns, others: Columns) -> float:
    """Return the largest over all texts and tokens, of the rows that both have."""
    assert some.keys() == others.keys()
    differences = []
    for key, rows in some.items():
        both = min(len(rows), len(others[key]))
        assert rows.shape[1] == others[key].shape[1]
        differences.append(np.abs(rows[:both] - others[key][:both]).max())
    return float(max(differences))


def texts_to_score(vocabulary: int, context: int, *, count: int = 14) -> list[ScoreRequest]:
    """Return texts of mixed lengths: one of two tokens, one of the whole context, some scored from the middle on."""
    rng = random.Random(7)

    def text(length: int) -> tuple[int, ...]:
        return tuple(rng.randrange(1, vocabulary) for _ in range(length))

    lengths = [rng.randrange(3, context // 2) for _ in range(count)]
    return [
        *(ScoreRequest(f"k{i}", text(n), 1 if i % 3 else n // 2) for i, n in enumerate(lengths)),
        ScoreRequest("two", text(2), 1),
        ScoreRequest("last alone", text(context - 3), context - 4),
        ScoreRequest("full", text(context), 1),
    ]
