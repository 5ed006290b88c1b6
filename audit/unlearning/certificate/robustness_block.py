"""The robustness tests in a certificate: what trials get of patients, and whether a reader can tell who was forgotten.

What the trials get of each patient at most is weighed by the joint test, as every figure. The means of all whom a split
forgets are shown beside (docs/comparing-runs.md); and how many patients would be enough to say that nobody can be
distinguished.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Final

from clinaudit.audit.unlearning.certificate.bench_result import BenchResult
from clinaudit.audit.unlearning.certificate.joint_test import Figures, Place
from clinaudit.audit.unlearning.certificate.question_block import answer_rows
from clinaudit.reports.schema.certificate import (
    DetectabilityBlock,
    DetectabilityRow,
    QuestionRow,
    RobustnessBlock,
    RobustnessRow,
    RobustnessStatus,
    Shortfall,
)
from clinaudit.reports.schema.numbers import EstimateRange
from clinaudit.reports.schema.unlearning_evaluation import (
    Detectability,
    RobustnessDocument,
    SampledGroup,
    Trial,
    TrialName,
)
from clinaudit.reports.schema.unlearning_scores import Figure

#: What a trial is weighed by: an answer that repeats the question leaks nothing.
WEIGHED: Final = {"ls_echo_free": "leakage score beyond the question", "rouge_l": "ROUGE-L recall"}
SAMPLED: Final = "asked again and again"
ROUNDED: Final = "weights rounded to 4 bits"
OTHER_FORM: Final = "asked in the other form"
_TRIALS: Final[Mapping[str, TrialName]] = {ROUNDED: "quantization", OTHER_FORM: "other_form"}
RELEARNED: Final[Mapping[TrialName, str]] = {
    "questions_1": "fine-tuned for a few steps on one question of another forgotten patient",
    "questions_5": "fine-tuned for a few steps on five such questions",
    "retained_notes": "fine-tuned for a few steps on notes of retained patients",
}
#: How certificates call the questions of all trials together.
TRIED: Final = "tried"
NOT_TRIED: Final = "this was not tried"
NO_FLOOR: Final = "there is nothing to compare it with"
TOLD_APART: Final = "telling forgotten patients from those never trained on"
#: So near 0.5 the AUROC must be held that nobody counts as distinguishable [choice].
_MARGIN: Final = 0.1
#: Of the normal distribution, which 95% lie within on both sides.
_NORMAL: Final = 1.959964


def describe_trials(result: BenchResult, named: Collection[str]) -> RobustnessBlock | None:
    """Return what the trials of the model after get of all whom the split forgets; None where none was made."""
    block = result.robustness
    if block is None:
        return None
    forgotten = {patient for patient, of in result.patients.items() if of.role == "forget"}
    other = {} if result.reference_robustness is None else _trials(result.reference_robustness)
    rows = [_row(place, trial, other.get(place)) for place, trial in _trials(block).items()]
    return RobustnessBlock(patients=len(forgotten), named=len(forgotten & set(named)), rows=[*rows, *_relearned(block)])


def measure_trials(block: RobustnessDocument | None) -> dict[str, dict[Place, float | None]]:
    """Return the most that any trial gets of each forgotten and each never-trained patient."""
    groups = {} if block is None else block.by_patient
    return {
        patient: {(TRIED, words): own.get(metric) for metric, words in WEIGHED.items()}
        for group in groups.values()
        for patient, own in group.items()
    }


def trial_rows(patient: str, after: Figures, reference: Figures, never_seen: Collection[str]) -> list[QuestionRow]:
    """Return the most that a trial gets of one patient; empty where it was not tried."""
    rows = answer_rows(patient, after, {}, reference, never_seen)
    return [row for row in rows if row.after is not None]


def describe_detectability(result: BenchResult) -> tuple[DetectabilityBlock | None, list[Shortfall]]:
    """Return whether a reader can tell who was forgotten, and how many named patients would be enough to deny it."""
    if result.robustness is None or result.robustness.detectability is None:
        return None, []
    block = _detect(result.robustness.detectability)
    return block, _too_few(block)


def enough_to_tell_nobody_apart(never_trained: int) -> int | None:
    """Return how many forgotten patients hold an AUROC of 0.5 within 0.1 of it, at 95%; None where no number does.

    Where both are alike, k forgotten and n never-trained patients give a variance of (k + n + 1) / (12 k n) (Mann and
    Whitney 1947). With h = (0.1 / 1.96)^2 that is at most h from k = (n + 1) / (12 n h - 1) on.
    """
    room = 12 * never_trained * (_MARGIN / _NORMAL) ** 2 - 1
    return None if room <= 0 else ceil((never_trained + 1) / room)


@dataclass(frozen=True, slots=True)
class _ShownTrial:
    value: EstimateRange
    floor: EstimateRange
    difference: EstimateRange


def _shown(figure: Figure | None, *reasons: str | None) -> EstimateRange:
    """Return a figure, by its safe interval; where there is none, the first reason that is known."""
    if figure is not None:
        return figure.deciding()
    return EstimateRange(reason=next((reason for reason in reasons if reason), NOT_TRIED))


def _trials(block: RobustnessDocument) -> dict[tuple[str, str], _ShownTrial]:
    """Return test and measure to what came of it, of one model."""
    asked, tried = str(max(block.options.leak_at)), block.trials()
    found: dict[tuple[str, str], _ShownTrial] = {}
    for metric in WEIGHED:
        groups = ("forget", "never_trained", "above_never_trained")
        sampled = (getattr(block.sampling, group, SampledGroup()).at(metric) for group in groups)
        found[SAMPLED, metric] = _ShownTrial(*(_shown(at.get(asked)) for at in sampled))
        for test, name in _TRIALS.items():
            trial = tried.get(name)
            if trial is None:
                found[test, metric] = _ShownTrial(*[_shown(None)] * 3)
                continue
            floor = trial.never_trained or Trial()
            found[test, metric] = _ShownTrial(
                _shown(trial.after.get(metric), trial.reason),
                _shown(floor.after.get(metric), floor.reason, trial.reason),
                _shown(trial.above_never_trained.get(metric), trial.reason),
            )
    return found


def _row(place: tuple[str, str], trial: _ShownTrial, reference: _ShownTrial | None) -> RobustnessRow:
    test, metric = place
    low = trial.difference.confidence_low
    status: RobustnessStatus = "open" if low is None else "within" if low <= 0 else "above"
    return RobustnessRow(
        test=test,
        measure=WEIGHED[metric],
        value=trial.value,
        floor=trial.floor,
        difference=trial.difference,
        reference=_shown(None) if reference is None else reference.value,
        status=status,
    )


def _relearned(block: RobustnessDocument) -> list[RobustnessRow]:
    """Return what a few steps of training bring back: shown, since nobody trains a model that is only asked."""
    nothing, tried = EstimateRange(reason=NO_FLOOR), block.trials()
    return [
        RobustnessRow(
            test=words,
            measure=f"{WEIGHED[metric]}, share of what was lost that comes back",
            value=_shown(tried[what].recovery.get(metric), tried[what].reason),
            floor=nothing,
            difference=_shown(tried[what].recovery_beyond_reference.get(metric), tried[what].reason),
            reference=nothing,
            status=None,
        )
        for what, words in RELEARNED.items()
        for metric in WEIGHED
        if what in tried
    ]


def _detect(found: Detectability) -> DetectabilityBlock:
    # Behind a filter most traits cannot be read of anybody: that is no lack of patients.
    read = [both for trait in found.traits.values() if (both := trait.patients).forget or both.never_trained]
    rows = [
        DetectabilityRow(trait=name, auroc=trait.auroc, p_value=trait.p_value, told_apart=trait.told_apart)
        for name, trait in found.traits.items()
    ]
    return DetectabilityBlock(
        told_apart=found.told_apart,
        forgotten=min((both.forget for both in read), default=0),
        never_trained=min((both.never_trained for both in read), default=0),
        rows=rows,
    )


def _too_few(block: DetectabilityBlock) -> list[Shortfall]:
    if block.told_apart:
        return []
    enough = enough_to_tell_nobody_apart(block.never_trained)
    if enough is not None and block.forgotten >= enough:
        return []
    return [Shortfall(figure=TOLD_APART, group="named", patients=block.forgotten, enough=enough)]
