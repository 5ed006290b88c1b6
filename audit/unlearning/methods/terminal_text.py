"""Which learning rate was chosen, in plain text for whoever chooses. Owns the words; chooses nothing."""

from collections.abc import Mapping
from typing import Any

from clinaudit.reports.terminal.layout import align_columns


def rate_text(learning_rate: float, choice: Mapping[str, Any]) -> str:
    """Return the rates that were tried and the one chosen; `choice` as `evidence/unlearn.json` holds it."""
    rows = [("learning rate", "loss: retained, set aside", "to be forgotten")]
    rows.append(("before", _loss(choice["tuning_loss_before"]), ""))
    rates = [one["learning_rate"] for one in choice["tried"]]
    rows += [
        (f"{one['learning_rate']:g}", _loss(one["tuning_loss"]), _loss(one["forget_loss"])) for one in choice["tried"]
    ]
    chosen = f"chosen: {learning_rate:g}, the largest with which the retained lose {choice['most_rise']:g} at most"
    if learning_rate == max(rates):
        chosen += "; the largest of all, so a larger one (--learning-rate) may forget more"
    return f"{align_columns(rows)}\n{chosen}"


def _loss(value: float | None) -> str:
    return "diverged" if value is None else f"{value:.3f}"
