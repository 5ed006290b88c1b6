"""What is said of membership, in every output: a figure of the whole split, never of one patient."""

from typing import Final

from clinaudit.reports.schema.membership import BlindFeature, MembershipResults, MembershipScore
from clinaudit.reports.wording.names import join_words
from clinaudit.reports.wording.numbers import estimate_text, is_measured

SCORE_TITLES: Final[dict[MembershipScore, str]] = {
    "ratio": "likelihood under the model against that under the control model",
    "min_k_plus_plus": "Min-K%++",
    "loss": "likelihood under the model",
}
_FEATURES: Final[dict[BlindFeature, str]] = {
    "words": "words",
    "lengths": "lengths of notes",
    "number": "number of notes",
    "dates": "dates of visits",
}
_CHANCE: Final = 0.5


def membership_sentence(results: MembershipResults) -> str:
    """Return in one sentence whether the model tells who was trained on, or why that is not known."""
    if results.is_interpretable is False:
        return f"Whether the model tells who was trained on cannot be said: {difference_text(results)}."
    if not is_measured(results.auroc):
        return f"Whether the model tells who was trained on was not measured: {results.auroc.reason}."
    beside = "more than" if (results.auroc.confidence_low or 0.0) > _CHANCE else "not shown to be more than"
    return (
        "Of a patient trained on and one never seen, the model finds the notes of the former more familiar with a"
        f" probability of {estimate_text(results.auroc, interval=True)}, {beside} the 0.5 of chance."
    )


def difference_text(results: MembershipResults) -> str:
    """Return by what the arms are told apart without the model."""
    if results.is_interpretable:
        return "without the model, the notes do not tell both groups apart"
    if not results.differ_in:
        return "without the model, words, lengths, number and dates of the notes together tell both groups apart"
    words = join_words([_FEATURES[name] for name in results.differ_in])
    return f"without the model, both groups are told apart by {words} alone"
