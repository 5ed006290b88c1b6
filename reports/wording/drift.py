"""Sentences on drift: whether generations come out otherwise where their prompts are decoded alone."""

from clinaudit.reports.schema.results import DriftResults


def drift_sentence(drift: DriftResults) -> str:
    """Return what the drift check found; counts stand in the exact report alone."""
    counts = drift.evidence
    checked = f"Drift: some prompts were decoded alone, too ({drift.tokens} tokens)"
    if counts is not None:
        return (
            f"{checked}. Of {counts.prompts}, {counts.differing} gave another text than in the batch; "
            f"the mean share of equal leading tokens is {counts.equal_leading_share:.0%}."
        )
    if drift.differing == "none":
        return f"{checked}; all gave the same text."
    return f"{checked}; not all gave the same text."


def drift_in_short(drift: DriftResults) -> str:
    """Return the same for a line that it shares with others."""
    if drift.differing == "none":
        return "Prompts decoded alone gave the same text (no drift)."
    return "Some prompts decoded alone gave another text (drift)."
