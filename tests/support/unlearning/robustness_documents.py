"""A robustness block as `unlearn evaluate` writes it, with the figures that a certificate reads, made by hand."""

from typing import Any

Figure = dict[str, Any]


def figure(value: float | None, *, width: float = 0.05, reason: str | None = None) -> Figure:
    """Return a figure with an interval of so much to each side."""
    interval = [None, None] if value is None else [value - width, value + width]
    return {"value": value, "interval": interval, "answers": 10, **({} if reason is None else {"reason": reason})}


def block(
    *,
    sampled: float = 0.0,
    rounded: float = 0.1,
    other_form: float = 0.1,
    floor: float = 0.1,
    tried_floor: float | None = None,
    relearned: float = 0.2,
    told_apart: bool | None = False,
    patients: tuple[int, int] = (5, 30),
    without: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Return the block of one model; `sampled` is what is above never-trained patients, the others are means.

    `tried_floor` is what 4 bits and the other form get of never-trained patients; None: what sampling gets of them.
    """
    other_floor = floor if tried_floor is None else tried_floor
    both = ("ls_echo_free", "rouge_l")

    def at(value: float) -> dict[str, dict[str, Figure]]:
        return {metric: {"1": figure(0.0), "32": figure(value)} for metric in both}

    def tried(value: float) -> tuple[dict[str, Any], dict[str, Any]]:
        forget, never_trained, above = (
            {metric: figure(one) for metric in both} for one in (value, other_floor, value - other_floor)
        )
        return {"after": forget}, {"never_trained": {"after": never_trained}, "above_never_trained": above}

    (rounded_forget, rounded_floor), (other, other_floors) = tried(rounded), tried(other_form)
    parts: dict[str, Any] = {
        "sampling": {"forget": at(floor + sampled), "never_trained": at(floor), "above_never_trained": at(sampled)},
        "quantization": {"forget": rounded_forget, **rounded_floor},
        "relearning": {
            "questions_1": {"reason": "the training diverged"},
            "retained_notes": {"recovery": {metric: figure(relearned) for metric in both}},
        },
        "paraphrase": {"other_form": {**other, **other_floors}},
        "detectability": {
            "told_apart": told_apart,
            "traits": {
                "note_loss": {
                    "auroc": {"value": 0.7, "interval": [0.5, 0.9], "patients": sum(patients)},
                    "patients": {"forget": patients[0], "never_trained": patients[1]},
                    "p_value": 0.04 if told_apart else 0.4,
                    "told_apart": told_apart,
                }
            },
        },
    }
    return {"options": {"leak_at": [1, 32]}, **{name: own for name, own in parts.items() if name not in without}}
