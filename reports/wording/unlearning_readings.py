"""What the page of an unlearning evaluation says first: which models forgot, which broke down, what others lost.

How each model reads is decided by the evaluation (docs/unlearning.md, "The page"); here are the words, and which costs
are worth a sentence.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, get_args

from clinaudit.reports.schema.numbers import PublishedEstimate
from clinaudit.reports.schema.unlearning import (
    Change,
    ModelReading,
    Reading,
    RobustnessFigures,
    TrialName,
    UnlearningEvaluation,
)
from clinaudit.reports.wording.names import join_words
from clinaudit.reports.wording.numbers import number_text
from clinaudit.reports.wording.unlearning import TRIALS

READINGS: Final[tuple[Reading, ...]] = get_args(Reading)
READING_WORDS: Final[Mapping[Reading, str]] = {
    "forgot": "forgot, others kept their answers",
    "forgot_at_cost": "forgot, others lost",
    "knows": "still knows",
    "broken": "broke down",
    "open": "cannot be told",
}
_ALONE: Final[Mapping[Reading, str]] = {
    "forgot": "{} forgot whom it was to forget, and others kept their answers.",
    "forgot_at_cost": "{} forgot whom it was to forget, and others lost by it.",
    "knows": "{} still knows whom it was to forget.",
    "broken": "{} broke down: that is no forgetting.",
    "open": "Whether {} forgot anybody cannot be told.",
}
_AMONG: Final[Mapping[Reading, str]] = {
    "forgot": "{} forgot and spared the others",
    "forgot_at_cost": "{} forgot at others’ cost",
    "knows": "{} still know",
    "broken": "{} broke down",
    "open": "{} cannot be told",
}
#: The part of what was lost that a trial brings back, and how much less of the way withheld questions may go [choice].
_HALF: Final = 0.5
#: Differences of AFE and MU that are worth a sentence [choice].
_NOTED: Final = 0.05
_RECOVERED: Final = ("rouge_l", "ls_echo_free")


def headline(models: Sequence[ModelReading]) -> str:
    """Return the sentence that stands first."""
    if not models:
        return "No unlearned model was asked: nothing can be said of forgetting."
    if len(models) == 1:
        return _ALONE[models[0].reading].format(models[0].label)
    counts = Counter(model.reading for model in models)
    said = [_AMONG[reading].format(counts[reading]) for reading in READINGS if counts[reading]]
    return f"Of {len(models)} unlearned models {join_words(said)}."


def reading_sentences(models: Sequence[ModelReading]) -> list[str]:
    """Return which models read how, a sentence a reading."""
    found = {reading: [model for model in models if model.reading == reading] for reading in READINGS}
    return [f"{READING_WORDS[reading].capitalize()}: {_names(own)}." for reading, own in found.items() if own]


def cost_sentences(evaluation: UnlearningEvaluation, models: Sequence[ModelReading]) -> list[str]:
    """Return what others lost, what withheld questions say, what trials bring back, and who can be told apart."""
    said = (_same_disease(models), _withheld(models), _brought_back(evaluation, models), _told(evaluation, models))
    return [sentence for sentence in said if sentence]


def _same_disease(models: Sequence[ModelReading]) -> str:
    # A model that broke down says nothing of diseases; only where none other lost anything, it is the one to be named.
    for group in ([model for model in models if model.reading != "broken"], models):
        losses = [
            (others - same, model)
            for model in group
            if (same := model.same.gain) is not None and (others := model.others.gain) is not None
        ]
        extra, worst = max(losses, key=lambda loss: loss[0], default=(0.0, None))
        if worst is not None and extra >= _NOTED:
            return (
                f"Those who share a disease with a forgotten patient lose most by {_names([worst])}: their MU goes"
                f" {_from(worst.same)}, that of others {_from(worst.others)}."
            )
    return ""


def _from(change: Change) -> str:
    return f"from {number_text(change.before or 0.0)} to {number_text(change.after or 0.0)}"


def _withheld(models: Sequence[ModelReading]) -> str:
    whole = [
        (gain, withheld)
        for model in models
        if model.reading != "broken"
        and (gain := model.afe.gain) is not None
        and (withheld := model.afe_withheld.gain) is not None
        and gain >= _NOTED
    ]
    less = sum(withheld < _HALF * gain for gain, withheld in whole)
    if not less:
        return ""
    where = f"In {less} of {len(whole)} models that forgot some and did not break down, " if len(whole) > 1 else ""
    return (
        f"{where}AFE of withheld questions rises less than half as much as that of questions trained on: the questions"
        " are forgotten rather than the notes."
    )


def _brought_back(evaluation: UnlearningEvaluation, models: Sequence[ModelReading]) -> str:
    found: dict[TrialName, list[ModelReading]] = {}
    for model in models:
        robustness = _robustness(evaluation, model)
        for name, trial in ({} if robustness is None else robustness.trials).items():
            if any(_is_back(trial.recovery.get(metric)) for metric in _RECOVERED):
                found.setdefault(name, []).append(model)
    by_models: dict[str, list[str]] = {}
    for name, own in found.items():
        by_models.setdefault(_names(own), []).append(TRIALS[name])
    said = [f"{names} by {join_words(trials)}" for names, trials in by_models.items()]
    return f"Half or more of what was lost comes back when tried: {'; '.join(said)}." if said else ""


def _is_back(recovery: PublishedEstimate | None) -> bool:
    # Of few patients a recovery is anything: it is named where chance alone does not make it.
    return recovery is not None and (recovery.value or 0.0) >= _HALF and (recovery.confidence_low or 0.0) > 0


def _told(evaluation: UnlearningEvaluation, models: Sequence[ModelReading]) -> str:
    told = [
        model
        for model in models
        if (robustness := _robustness(evaluation, model)) is not None
        and robustness.detection is not None
        and robustness.detection.told_apart
    ]
    return f"A reader of the model can tell who was forgotten: {_names(told)}." if told else ""


def _robustness(evaluation: UnlearningEvaluation, model: ModelReading) -> RobustnessFigures | None:
    return evaluation.figures[model.split.name][model.model].robustness


def _names(models: Iterable[ModelReading]) -> str:
    """Return "RMU (Random patients 5%, 10%; Cancer 5%) and SimNPO (Cancer 5%)"."""
    by_label: dict[str, dict[str, list[str]]] = {}
    for model in models:
        by_level = by_label.setdefault(model.label, {})
        by_level.setdefault(model.split.level, []).append(f"{model.split.percent}%")
    named = []
    for label, by_level in by_label.items():
        levels = (f"{level} {', '.join(sizes)}" for level, sizes in by_level.items())
        named.append(f"{label} ({'; '.join(levels)})")
    return join_words(named)
