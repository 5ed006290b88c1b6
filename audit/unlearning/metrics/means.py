"""Means of scores by who a question is of and what it asks, with intervals over patients; MU and AFE (AMNESIA, 5.2).

A metric is averaged over the answers of a group first; then the harmonic mean of the averages is taken, so that a
single 0 among answers does no harm, and an average of 0 makes it 0. How intervals are made: docs/unlearning.md.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from operator import attrgetter
from typing import Final

import numpy as np

from clinaudit.audit.statistics.grouping import grouped
from clinaudit.audit.statistics.patient_means import (
    Values,
    change_of_columns,
    change_of_harmonic_means,
    columns_of,
    harmonic_mean_of,
    places_of,
    values_of,
)
from clinaudit.audit.unlearning.benchmark.files import Bench
from clinaudit.audit.unlearning.benchmark.records import QUESTION_KINDS, QUESTION_USES, Question, Scores, Split
from clinaudit.audit.unlearning.benchmark.taxonomy import OTHER
from clinaudit.audit.unlearning.metrics.answer_scores import EMPTY_OR_SINGLE, NO_TOKENS
from clinaudit.reports.schema.numbers import PatientEstimate
from clinaudit.reports.schema.unlearning_scores import (
    AnswerFigures,
    AnswerGroup,
    Figure,
    PatientRole,
    QuestionKind,
    QuestionUse,
)

GroupKey = tuple[AnswerGroup, QuestionKind, QuestionUse]
#: Metrics of single answers, of which a group has the mean.
MEANS: Final = ("rouge_l", "em", "cs", "es", "te", "te_words", "ls", "ls_echo_free", "ls_reference")
#: The parts of model utility (AMNESIA, equation 2), and those of answer forget efficacy (equation 3), each as 1 - part.
MU_PARTS: Final = ("rouge_l", "em", "cs", "te", "es")
AFE_PARTS: Final = ("rouge_l", "em", "cs", "es")
#: Harmonic mean -> its parts, and whether they are inverted. Without exact memorization, which needs the model itself.
HARMONIC: Final[Mapping[str, tuple[tuple[str, ...], bool]]] = {
    "mu": (MU_PARTS, False),
    "afe": (AFE_PARTS, True),
    "mu_without_em": (tuple(part for part in MU_PARTS if part != "em"), False),
    "afe_without_em": (tuple(part for part in AFE_PARTS if part != "em"), True),
}
NO_ANSWER_HAS_IT: Final = "no answer of this group has it"
#: Metrics that only arithmetic here uses: entropy with undefined ones as 0, and whether it is exactly 0.
_TE_OR_ZERO: Final = "te_or_zero"
_DEGRADED: Final = "ds"


def summarize(
    scores: Sequence[Scores], bench: Bench, groups: Mapping[AnswerGroup, Collection[str]], *, seed: int = 0
) -> dict[GroupKey, AnswerFigures]:
    """Return the means of one model's scores by the patients' group, kind and use; empty groups are left out.

    `groups` are as `groups_of` returns them. Raises `ValueError` for scores of several models, or without any.
    """
    by_id = {question.qa_id: question for question in bench.questions}
    return {key: summarize_group(own, by_id, seed=seed) for key, own in _grouped(scores, by_id, groups).items()}


def summarize_changes(
    scores: Sequence[Scores],
    before: Sequence[Scores],
    bench: Bench,
    groups: Mapping[AnswerGroup, Collection[str]],
    *,
    seed: int = 0,
) -> dict[GroupKey, dict[str, Figure]]:
    """Return by group, kind and use how far each mean of `summarize` is from that of another model's scores.

    The changes are paired: of the same questions of the same patients. A metric counts where both models have it.
    """
    by_id = {question.qa_id: question for question in bench.questions}
    known = {score.qa_id: score for score in before}
    both = [score for score in scores if score.qa_id in known]
    return {
        key: _changes([known[score.qa_id] for score in own], own, by_id, seed=seed)
        for key, own in _grouped(both, by_id, groups).items()
    }


def _grouped(
    scores: Sequence[Scores], by_id: Mapping[str, Question], groups: Mapping[AnswerGroup, Collection[str]]
) -> dict[GroupKey, list[Scores]]:
    """Return the scores of each group in the order of the groups, kinds and uses; empty groups are left out."""
    if len({score.model for score in scores}) != 1:
        raise ValueError("the scores of exactly one model are summarized")
    by_asked = grouped(scores, lambda score: (by_id[score.qa_id].kind, by_id[score.qa_id].use))
    found = {
        (group, kind, use): [score for score in by_asked.get((kind, use), ()) if by_id[score.qa_id].patient_id in own]
        for group, own in groups.items()
        for kind in QUESTION_KINDS
        for use in QUESTION_USES
    }
    return {key: own for key, own in found.items() if own}


def groups_of(bench: Bench, split: Split, *, set_aside: Collection[str] = ()) -> dict[AnswerGroup, set[str]]:
    """Return the patients of each group.

    The disease of a retained patient is the category that the split went by, each patient's first (AMNESIA, Figure 4).
    Who has none of the taxonomy shares it with nobody.
    """
    category_of = {patient.patient_id: patient.category for patient in bench.patients}
    forgotten = {category_of[patient] for patient in split.forget} - {OTHER}
    roles = roles_of(bench, split, set_aside=set_aside)
    groups: dict[AnswerGroup, set[str]] = {
        group: {patient for patient, role in roles.items() if role == group}
        for group in ("forget", "retain", "never_trained")
    }
    same = {patient for patient in groups["retain"] if category_of[patient] in forgotten}
    return {**groups, "same": same, "others": groups["retain"] - same}


def roles_of(bench: Bench, split: Split, *, set_aside: Collection[str] = ()) -> dict[str, PatientRole]:
    """Return the role of each patient of the benchmark in a split."""
    roles: dict[str, PatientRole] = {patient.patient_id: "never_trained" for patient in bench.patients}
    roles.update(dict.fromkeys(split.forget, "forget"))
    roles.update(dict.fromkeys(split.retain, "retain"))
    roles.update(dict.fromkeys(set_aside, "set_aside"))
    return roles


def summarize_group(scores: Sequence[Scores], by_id: Mapping[str, Question], *, seed: int = 0) -> AnswerFigures:
    """Return the means of any answers, of at least one; `by_id` holds their questions.

    The metrics are those of `MEANS`, `ds` and `HARMONIC`.
    """
    if not scores:
        raise ValueError("there is no answer to summarize")
    has_tokens = _has_tokens(scores)
    patients = places_of([by_id[score.qa_id].patient_id for score in scores])
    values = _values(scores, has_tokens=has_tokens)
    # The same draws for all metrics.
    table = dict(zip(values, columns_of(list(values.values()), patients, seed=seed), strict=True))
    reasons = {metric: _reason(scores, metric) for metric in MEANS} | {_DEGRADED: NO_TOKENS}
    metrics = {metric: table[metric].mean(reason) for metric, reason in reasons.items()}
    parts = {}
    for name, (wanted, is_inverted) in HARMONIC.items():
        there = [part for part in wanted if not table[_read(part)].is_empty]
        if "em" in wanted and "em" not in there:
            metrics[name] = PatientEstimate(value=None, n=len(scores), reason=_reason(scores, "em"))
            continue
        metrics[name] = harmonic_mean_of([table[_read(part)] for part in there], is_inverted=is_inverted)
        parts[name] = ["te_words" if part == "te" and not has_tokens else part for part in there]
    entropy = "te" if has_tokens else "te_words"
    return AnswerFigures(
        patients=int(patients.max()) + 1,
        answers=len(scores),
        metrics={metric: Figure.of(found) for metric, found in metrics.items()},
        parts=parts,
        empty_or_single=sum(score.reasons.get(entropy) == EMPTY_OR_SINGLE for score in scores),
        without_keywords=sum(score.ls is None for score in scores),
    )


def _changes(
    before: Sequence[Scores], after: Sequence[Scores], by_id: Mapping[str, Question], *, seed: int
) -> dict[str, Figure]:
    """Return the change of each metric; both hold the same questions in one order."""
    has_tokens = _has_tokens(before) and _has_tokens(after)
    patients = places_of([by_id[score.qa_id].patient_id for score in after])
    held = [_values(scores, has_tokens=has_tokens) for scores in (before, after)]
    has = {metric: np.isfinite(values + held[1][metric]) for metric, values in held[0].items()}
    masked = [np.where(has[metric], values, np.nan) for side in held for metric, values in side.items()]
    drawn = columns_of(masked, patients, seed=seed)
    tables = [dict(zip(has, drawn[at : at + len(has)], strict=True)) for at in (0, len(has))]
    scores = [*after, *before]
    found = {
        metric: change_of_columns(*(table[metric] for table in tables), reason=_reason(scores, metric))
        for metric in (*MEANS, _DEGRADED)
    }
    for name, (wanted, is_inverted) in HARMONIC.items():
        there = [part for part in wanted if not tables[0][_read(part)].is_empty]
        if "em" in wanted and "em" not in there:
            found[name] = PatientEstimate(value=None, n=len(after), reason=_reason(scores, "em"))
            continue
        sides = ([table[_read(part)] for part in there] for table in tables)
        found[name] = change_of_harmonic_means(*sides, is_inverted=is_inverted)
    return {metric: Figure.of(change) for metric, change in found.items()}


def _has_tokens(scores: Sequence[Scores]) -> bool:
    return all(score.reasons.get("te") != NO_TOKENS for score in scores)


def _read(part: str) -> str:
    """Return the column that a part of a harmonic mean is read from."""
    return _TE_OR_ZERO if part == "te" else part


def _values(scores: Sequence[Scores], *, has_tokens: bool) -> dict[str, Values]:
    """Return the values of each metric, one an answer, not a number where undefined."""
    readers: dict[str, Callable[[Scores], float | None]] = {metric: attrgetter(metric) for metric in MEANS}
    if has_tokens:
        readers[_TE_OR_ZERO] = lambda score: score.te or 0.0
        readers[_DEGRADED] = lambda score: float(score.te == 0.0)
    else:
        # Words stand in for tokens, and nothing for what needs tokens.
        readers |= {"te": lambda _: None, _TE_OR_ZERO: lambda score: score.te_words or 0.0, _DEGRADED: lambda _: None}
    return {metric: values_of(read(score) for score in scores) for metric, read in readers.items()}


def _reason(scores: Sequence[Scores], metric: str) -> str:
    return next((score.reasons[metric] for score in scores if metric in score.reasons), NO_ANSWER_HAS_IT)
