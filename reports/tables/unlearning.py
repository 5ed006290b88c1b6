"""Tables of an unlearning evaluation: leakage (AMNESIA, Table 2), MU and AFE, and the trials.

Owns what stands in which column. Figures are exact, of groups; one that is not there is a dash, and its reason stands
below the table. What was not tried has no table.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from clinaudit.reports.schema.answer_check import AnswerCheck
from clinaudit.reports.schema.unlearning import EvaluatedSplit, UnlearningEvaluation
from clinaudit.reports.schema.unlearning_evaluation import RobustnessDocument, Trial
from clinaudit.reports.schema.unlearning_scores import KINDS, USES, AnswerGroup, QuestionKind
from clinaudit.reports.tables.table import Table
from clinaudit.reports.wording.numbers import number_text
from clinaudit.reports.wording.unlearning import (
    METRICS,
    NO_ANSWERS,
    NONE,
    TRAITS,
    TRIALS,
    FigureCells,
    Mark,
    System,
    find_answers,
    find_before,
    kinds_asked,
    leakage_marks,
    list_systems,
    split_title,
)
from clinaudit.reports.wording.unlearning import USES as USE_WORDS

#: Harmonic mean -> whose it is, what the table of its parts is called, and the parts, as they are.
_PARTS: Final[Mapping[str, tuple[AnswerGroup, str, tuple[str, ...]]]] = {
    "mu": (
        "retain",
        "MU of retained patients, and what it is made of",
        ("rouge_l", "em", "cs", "te", "es"),
    ),
    "afe": (
        "forget",
        "AFE of forgotten patients, and what it is made of: 1 less each of these",
        ("rouge_l", "em", "cs", "es"),
    ),
}
_GROUPS: Final[Mapping[str, str]] = {
    "forget": "forgotten patients",
    "retain": "retained patients",
    "never_trained": "patients never trained on",
}


@dataclass(frozen=True, slots=True)
class MarkedCell:
    """One cell of a marked table."""

    text: str
    mark: Mark = ""


@dataclass(frozen=True, slots=True)
class MarkedTable:
    """A table whose lowest and highest cells are marked; each row is its name and its cells."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[MarkedCell, ...]], ...]
    note: str = ""


def leakage_table(evaluation: UnlearningEvaluation, level: str, splits: Sequence[EvaluatedSplit]) -> MarkedTable:
    """Return LS and DS of forgotten patients by size of the split (Table 2), the methods' lowest and highest marked."""
    cells, kinds = FigureCells(), kinds_asked(evaluation)
    places = [(split.name, kind) for split in splits for kind in kinds]
    marks = {place: leakage_marks(evaluation, *place) for place in places}
    rows = []
    for system in list_systems(evaluation):
        if any(split.name in system.models for split in splits):
            own = tuple(
                MarkedCell(
                    _leakage(evaluation, cells, system, *place), marks[place].get(system.models.get(place[0], ""), "")
                )
                for place in places
            )
            rows.append((system.label, own))
    compared: tuple[tuple[str, AnswerGroup, str], ...] = (
        ("LS of patients never trained on, before", "never_trained", "ls"),
        ("LS of the reference answers", "forget", "ls_reference"),
    )
    for label, group, metric in compared:
        beside = (_beside(evaluation, cells, split, kind, group=group, metric=metric) for split, kind in places)
        rows.append((label, tuple(map(MarkedCell, beside))))
    columns = ("Model", *(f"{split.percent}%, {kind}" for split in splits for kind in kinds))
    note = cells.note(
        "LS (DS) of questions trained on. LS: weight of the patient’s keywords that stand in the answer; compare it"
        " with that of patients never trained on, not with 0, and with that of the reference answers, which say all and"
        " no more. DS: answers of one token over and over. Bold: lowest LS of the methods; underlined: highest."
    )
    return MarkedTable(f"{level}: leakage of forgotten patients", columns, tuple(rows), note)


def _leakage(
    evaluation: UnlearningEvaluation, cells: FigureCells, system: System, split: str, kind: QuestionKind
) -> str:
    if split not in system.models:
        return ""
    answers = find_answers(evaluation, split, system, "forget", kind)
    if answers is None:
        return cells.none(NO_ANSWERS)
    leaked, degraded = (cells.text(answers.metrics[name], interval=False, share=True) for name in ("ls", "ds"))
    return f"{leaked} ({degraded})"


def _beside(
    evaluation: UnlearningEvaluation,
    cells: FigureCells,
    split: str,
    kind: QuestionKind,
    *,
    group: AnswerGroup,
    metric: str,
) -> str:
    answers = find_answers(evaluation, split, find_before(evaluation), group, kind)
    if answers is None:
        return cells.none(NO_ANSWERS)
    return cells.text(answers.metrics[metric], interval=False, share=True)


def collapse_table(evaluation: UnlearningEvaluation, split: EvaluatedSplit) -> Table:
    """Return whether answers still read as before, a row a model and group: five questions beside DS."""
    rows: list[tuple[str, ...]] = []
    columns: tuple[str, ...] = ()
    for system in list_systems(evaluation):
        if split.name not in system.models:
            continue
        by_group: dict[str, list[AnswerCheck]] = {}
        for check in evaluation.figures[split.name][system.models[split.name]].collapse:
            by_group.setdefault(check.group, []).append(check)
        for group, checks in by_group.items():
            columns = tuple(f"{check.question}: {check.allowed}" for check in checks)
            rows.append((f"{system.label}, {_GROUPS[group]}", *map(_checked, checks)))
    note = (
        "Before (A) → after (B), of all greedy answers. A model that writes noise or nothing leaks nothing, and has a"
        " DS of 0; it has not forgotten, but collapsed. Neither has one that falls silent about those alone whom it was"
        " to forget."
    )
    title = f"{split_title(split)}: do answers still read as before?"
    return Table(title, ("Model, and whose questions", *columns), tuple(rows), note)


def _checked(check: AnswerCheck) -> str:
    if check.passed is None:
        return f"? {check.reason}"
    before, after = (NONE if value is None else number_text(value) for value in (check.a, check.b))
    return f"{'✓' if check.passed else '✗'} {before}\u00a0→\u00a0{after}"


def parts_table(evaluation: UnlearningEvaluation, split: EvaluatedSplit, mean: str) -> Table:
    """Return `mu` of retained patients, or `afe` of forgotten ones, with what it is made of."""
    cells, (group, title, parts) = FigureCells(), _PARTS[mean]
    rows: list[tuple[str, ...]] = []
    for system in list_systems(evaluation):
        for kind in KINDS:
            for use in USES:
                answers = find_answers(evaluation, split.name, system, group, kind, use)
                if answers is None:
                    continue
                shown = (cells.mean(answers, metric) for metric in (mean, *parts))
                rows.append((f"{system.label}, {kind}, {USE_WORDS[use]}", f"{answers.patients:,}", *shown))
    columns = ("Model and questions", "Patients", *(METRICS[part] for part in (mean, *parts)))
    return Table(f"{split_title(split)}: {title}", columns, tuple(rows), cells.note())


def disease_table(evaluation: UnlearningEvaluation, split: EvaluatedSplit) -> Table:
    """Return MU of retained patients by whether a forgotten one has their disease (Figure 4), questions trained on."""
    cells = FigureCells()
    rows: list[tuple[str, ...]] = []
    for system in list_systems(evaluation):
        for kind in KINDS:
            found = [find_answers(evaluation, split.name, system, side, kind) for side in ("same", "others")]
            if any(found):
                shown = (
                    text
                    for answers in found
                    for text in (NONE if answers is None else f"{answers.patients:,}", cells.mean(answers, "mu"))
                )
                rows.append((f"{system.label}, {kind}", *shown))
    columns = ("Model and questions", "With the disease", "Their MU", "Others", "MU of others")
    return Table(f"{split_title(split)}: retained patients by disease", columns, tuple(rows), cells.note())


#: What the tables are of; the document has more.
TRIED_METRICS: Final = ("rouge_l", "ls_echo_free")
_TOLD: Final = {True: "yes", False: "not shown", None: NONE}


def trials_table(evaluation: UnlearningEvaluation, split: EvaluatedSplit, metric: str) -> Table:
    """Return a metric of tried models' answers on forgotten patients, sampled and under each trial; a row a model."""
    cells = FigureCells()
    found = _robustness(evaluation, split)
    # All models are sampled as often.
    ks = list(found[0][1].sampling.forget.at(metric))
    rows = []
    for label, own in found:
        tried, sampled = own.trials(), own.sampling.forget.at(metric)
        above = own.sampling.above_never_trained.at(metric)
        rows.append(
            (
                label,
                *(cells.text(sampled[k], interval=False) for k in ks),
                cells.text(above[ks[-1]]),
                *(_trial(cells, tried[trial], metric) for trial in TRIALS),
            )
        )
    heads = (*(f"leak@{k}" for k in ks), f"leak@{ks[-1]} above never trained on")
    columns = ("Model", *heads, *(words[:1].upper() + words[1:] for words in TRIALS.values()))
    note = cells.note(
        f"{METRICS[metric]} of what is answered on forgotten patients. leak@k: the largest expected among k sampled"
        " answers. Of a trial: before → after; in brackets how much more that is than of patients never trained on who"
        " were tried likewise."
    )
    return Table(f"{split_title(split)}: {METRICS[metric]} when forgetting is tried", columns, tuple(rows), note)


def detection_table(evaluation: UnlearningEvaluation, split: EvaluatedSplit) -> Table:
    """Return how far a reader of the model can tell forgotten from never-trained patients."""
    cells = FigureCells()
    rows = tuple(
        (
            label,
            _TOLD[robustness.detectability.told_apart],
            *(cells.text(robustness.detectability.traits[trait].auroc) for trait in TRAITS),
        )
        for label, robustness in _robustness(evaluation, split)
    )
    note = cells.note(
        "AUROC: how often a forgotten patient has more of it than one never trained on; 0.5 is best, and 0 tells as"
        " much as 1. Told apart: shown at 5%, over all traits; a dash where too few patients could show it."
    )
    columns = ("Model", "Told apart", *(words.capitalize() for words in TRAITS.values()))
    return Table(f"{split_title(split)}: can a reader of the model tell who was forgotten", columns, rows, note)


def _robustness(evaluation: UnlearningEvaluation, split: EvaluatedSplit) -> list[tuple[str, RobustnessDocument]]:
    """Return the label of each system that was tried, and what its forgetting withstands."""
    models = [(one.label, one.models.get(split.name)) for one in list_systems(evaluation)]
    figures = evaluation.figures[split.name]
    return [
        (label, robustness)
        for label, model in models
        if model is not None and (robustness := figures[model].robustness) is not None
    ]


def _trial(cells: FigureCells, trial: Trial, metric: str) -> str:
    if trial.reason is not None:
        return cells.none(trial.reason)
    before, after = (cells.text(by_metric[metric], interval=False) for by_metric in (trial.before, trial.after))
    above = trial.above_never_trained.get(metric)
    beside = "" if above is None or above.value is None else f" ({number_text(above.value, signed=True)})"
    return f"{before}\u00a0→\u00a0{after}{beside}"
