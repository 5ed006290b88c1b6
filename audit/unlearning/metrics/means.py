"""Means of scores by who a question is of and what it asks, with intervals over patients; MU and AFE (AMNESIA, 5.2).

A patient has several answers, which are drawn together; two intervals are united, so that a figure which is the same
for every patient has a width, too (docs/unlearning-scores.md). A metric is averaged over the answers of a group first;
then the harmonic mean of the averages is taken, so that a single 0 among answers does no harm, and an average of 0
makes it 0.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from clinaudit.audit.statistics.intervals import (
    RESAMPLES,
    clopper_pearson_of_mean,
    divide_or_nan,
    interval_of,
    interval_of_resamples,
    newcombe_difference,
    wider_of,
)
from clinaudit.audit.unlearning.benchmark.files import Bench
from clinaudit.audit.unlearning.benchmark.records import QUESTION_KINDS, QUESTION_USES, Question, Scores, Split
from clinaudit.audit.unlearning.benchmark.taxonomy import OTHER
from clinaudit.audit.unlearning.metrics.answer_scores import EMPTY_OR_SINGLE, NO_TOKENS
from clinaudit.reports.schema.numbers import Estimate
from clinaudit.reports.schema.unlearning_scores import PatientRole, QuestionKind, QuestionUse

#: Resampled cells held in memory at a time (8 bytes each).
_CHUNK_CELLS: Final = 2_000_000


def resample_means(
    sums: NDArray[np.float64], counts: NDArray[np.float64], *, seed: int, resamples: int = RESAMPLES
) -> NDArray[np.float64]:
    """Return the mean of each metric in each resample of the patients, `(resamples, metrics)`.

    `sums` and `counts` are `(patients, metrics)`: of a patient's answers, the sum of a metric and how many have it. A
    patient is drawn with all of its answers. Not a number where nobody drawn has the metric. Raises `ValueError`
    without a patient.
    """
    patients = len(sums)
    if not patients or sums.shape != counts.shape:
        raise ValueError("sums and counts must hold one row for each of at least one patient")
    rng = np.random.default_rng(seed)
    means = np.empty((resamples, sums.shape[1]))
    step = max(1, _CHUNK_CELLS // patients)
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        drawn = rng.integers(0, patients, size=(size, patients)) + patients * np.arange(size)[:, None]
        times = np.bincount(drawn.ravel(), minlength=size * patients).reshape(size, patients).astype(np.float64)
        means[start : start + size] = divide_or_nan(times @ sums, times @ counts)
    return means


Values = NDArray[np.float64]
#: The place of each answer's patient among the patients: `(answers,)`.
Places = NDArray[np.int64]


def places_of(patient_ids: Sequence[str]) -> Places:
    """Return each answer's patient as a number from 0."""
    _, places = np.unique(np.array(patient_ids), return_inverse=True)
    return np.asarray(places, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class _Column:
    """One metric's values, not a number where an answer has none, and its means in resamples of patients."""

    values: Values
    patients: Places
    resampled: Values

    @property
    def is_empty(self) -> bool:
        """Whether no answer has it."""
        return not np.isfinite(self.values).any()

    def mean(self, reason: str) -> Estimate:
        """Return the mean over the answers that have it, with the wider of two intervals over patients."""
        if self.is_empty:
            return Estimate(value=None, n=0, reason=reason)
        has = np.isfinite(self.values)
        low, high = bounds_of_mean(self.values, self.patients)
        resampled = interval_of_resamples(self.resampled)
        if resampled is not None:
            low, high = wider_of((low, high), resampled)
        return Estimate(value=float(self.values[has].mean()), low=low, high=high, n=int(has.sum()))


def mean_of_answers(values: Values, patients: Places, *, seed: int, reason: str) -> Estimate:
    """Return the mean of a metric in [0, 1] over the answers that have it; `n` counts these.

    `values` holds one an answer, not a number where it has none. `reason` is why there is no mean where none has one.
    """
    if not np.isfinite(values).any():
        return Estimate(value=None, n=0, reason=reason)
    return _Column(values, patients, resampled_means([values], patients, seed=seed)[:, 0]).mean(reason)


def change_of_answers(before: Values, after: Values, patients: Places, *, seed: int, reason: str) -> Estimate:
    """Return the mean of `after - before` over the answers that have the metric both times; `n` counts these.

    The interval unites the bootstrap over patients with the mean rise and the mean fall, each with its Clopper-Pearson
    interval, joined by square-and-add (Newcombe 1998), as in `paired_difference`: where nobody changed, the bootstrap
    degenerates to a point.
    """
    change = after - before
    has = np.isfinite(change)
    if not has.any():
        return Estimate(value=None, n=0, reason=reason)
    rise, fall = (
        _estimate_of_mean(np.where(has, np.maximum(part, 0.0), np.nan), patients) for part in (change, -change)
    )
    low, high = newcombe_difference(rise, fall)
    resampled = interval_of_resamples(resampled_means([change], patients, seed=seed)[:, 0])
    if resampled is not None:
        low, high = wider_of((low, high), resampled)
    return Estimate(value=float(change[has].mean()), low=max(-1.0, low), high=min(1.0, high), n=int(has.sum()))


def bounds_of_mean(values: Values, patients: Places) -> tuple[float, float]:
    """Return the Clopper-Pearson bounds of a mean, each patient counted as one value."""
    return interval_of(_estimate_of_mean(values, patients))


def resampled_means(columns: Sequence[Values], patients: Places, *, seed: int) -> Values:
    """Return the mean of each column in each resample of patients, `(resamples, columns)`: the same draws for all."""
    values = np.stack(columns, axis=1)
    has = np.isfinite(values)
    sums, counts = (np.zeros((int(patients.max()) + 1, values.shape[1])) for _ in range(2))
    np.add.at(sums, patients, np.where(has, values, 0.0))
    np.add.at(counts, patients, has)
    return resample_means(sums, counts, seed=seed)


def _estimate_of_mean(values: Values, patients: Places) -> Estimate:
    has = np.isfinite(values)
    count = len(np.unique(patients[has]))
    return clopper_pearson_of_mean(float(values[has].mean()) * count, count)


#: `never_trained`: patients of the benchmark that the model was not trained on. Their leakage score is the floor.
SummaryRole = Literal["forget", "retain", "never_trained"]
SUMMARY_ROLES: Final[tuple[SummaryRole, ...]] = get_args(SummaryRole)
#: Retained patients with the disease of a forgotten one, and the others (AMNESIA, Figure 4).
CategorySide = Literal["same", "others"]
CATEGORY_SIDES: Final[tuple[CategorySide, ...]] = get_args(CategorySide)
GroupKey = tuple[SummaryRole | CategorySide, QuestionKind, QuestionUse]
#: Metrics of single answers, of which a group has the mean.
MEANS: Final = (
    "rouge_l",
    "em",
    "cs",
    "es",
    "es_reverse",
    "te",
    "te_words",
    "ls",
    "ls_echo_free",
    "cs_before",
    "ls_reference",
)
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


@dataclass(frozen=True, slots=True)
class GroupSummary:
    """The means of one group of answers."""

    patients: int
    answers: int
    #: Of `MEANS`, `ds` and `HARMONIC`: the value with its 95% interval over patients; `n` counts answers.
    metrics: Mapping[str, Estimate]
    #: Harmonic mean -> the metrics that it is made of; those that no answer has are left out.
    parts: Mapping[str, tuple[str, ...]]
    #: Answers of fewer than two tokens (words, where there are no token ids): their entropy is undefined.
    empty_or_single: int
    #: Answers to questions without keywords: they have no leakage score.
    without_keywords: int


def summarize(
    scores: Sequence[Scores],
    bench: Bench,
    group_of: Mapping[str, str],
    names: Sequence[SummaryRole | CategorySide],
    *,
    seed: int = 0,
) -> dict[GroupKey, GroupSummary]:
    """Return the means of one model's scores by the patients' group, kind and use; empty groups are left out.

    `group_of` is by patient, as `roles_of` or `sides_of` return it. Raises `ValueError` for scores of several models,
    or without any.
    """
    if len({score.model for score in scores}) != 1:
        raise ValueError("the scores of exactly one model are summarized")
    by_id = {question.qa_id: question for question in bench.questions}
    groups: dict[tuple[str, str, str], list[Scores]] = {}
    for score in scores:
        question = by_id[score.qa_id]
        groups.setdefault((group_of.get(question.patient_id, ""), question.kind, question.use), []).append(score)
    return {
        (name, kind, use): summarize_group(groups[name, kind, use], by_id, seed=seed)
        for name in names
        for kind in QUESTION_KINDS
        for use in QUESTION_USES
        if (name, kind, use) in groups
    }


def sides_of(bench: Bench, split: Split, *, set_aside: Collection[str] = ()) -> dict[str, CategorySide]:
    """Return of retained patients whether a forgotten patient has their disease (AMNESIA, Figure 4).

    The disease is the category that the split went by, each patient's first. Who has none of the taxonomy shares it
    with nobody.
    """
    category_of = {patient.patient_id: patient.category for patient in bench.patients}
    forgotten = {category_of[patient] for patient in split.forget} - {OTHER}
    retained = (patient for patient, role in roles_of(bench, split, set_aside=set_aside).items() if role == "retain")
    return {patient: "same" if category_of[patient] in forgotten else "others" for patient in retained}


def roles_of(bench: Bench, split: Split, *, set_aside: Collection[str] = ()) -> dict[str, PatientRole]:
    """Return the role of each patient of the benchmark in a split."""
    roles: dict[str, PatientRole] = {patient.patient_id: "never_trained" for patient in bench.patients}
    roles.update(dict.fromkeys(split.forget, "forget"))
    roles.update(dict.fromkeys(split.retain, "retain"))
    roles.update(dict.fromkeys(set_aside, "set_aside"))
    return roles


def summarize_group(scores: Sequence[Scores], by_id: Mapping[str, Question], *, seed: int = 0) -> GroupSummary:
    """Return the means of any answers, of at least one; `by_id` holds their questions."""
    if not scores:
        raise ValueError("there is no answer to summarize")
    has_tokens = all(score.reasons.get("te") != NO_TOKENS for score in scores)
    patients = places_of([by_id[score.qa_id].patient_id for score in scores])
    values = _values(scores, has_tokens=has_tokens)
    # The same draws for all metrics.
    drawn = resampled_means(list(values.values()), patients, seed=seed)
    table = {name: _Column(own, patients, drawn[:, place]) for place, (name, own) in enumerate(values.items())}
    reasons = {metric: _reason(scores, metric) for metric in MEANS} | {_DEGRADED: NO_TOKENS}
    metrics = {metric: table[metric].mean(reason) for metric, reason in reasons.items()}
    parts = {}
    for name, (wanted, is_inverted) in HARMONIC.items():
        read = {part: _TE_OR_ZERO if part == "te" else part for part in wanted}
        there = [part for part in wanted if not table[read[part]].is_empty]
        if "em" in wanted and "em" not in there:
            metrics[name] = Estimate(value=None, n=len(scores), reason=_reason(scores, "em"))
            continue
        metrics[name] = _harmonic_mean([table[read[part]] for part in there], is_inverted=is_inverted)
        parts[name] = tuple("te_words" if part == "te" and not has_tokens else part for part in there)
    entropy = "te" if has_tokens else "te_words"
    return GroupSummary(
        patients=int(patients.max()) + 1,
        answers=len(scores),
        metrics=metrics,
        parts=parts,
        empty_or_single=sum(score.reasons.get(entropy) == EMPTY_OR_SINGLE for score in scores),
        without_keywords=sum(score.ls is None for score in scores),
    )


def _values(scores: Sequence[Scores], *, has_tokens: bool) -> dict[str, Values]:
    """Return the values of each metric, one an answer, not a number where undefined."""
    readers: dict[str, Callable[[Scores], float | None]] = {metric: attrgetter(metric) for metric in MEANS}
    if has_tokens:
        readers[_TE_OR_ZERO] = lambda score: score.te or 0.0
        readers[_DEGRADED] = lambda score: float(score.te == 0.0)
    else:
        # Words stand in for tokens, and nothing for what needs tokens.
        readers |= {"te": lambda _: None, _TE_OR_ZERO: lambda score: score.te_words or 0.0, _DEGRADED: lambda _: None}
    return {metric: _array(read(score) for score in scores) for metric, read in readers.items()}


def _array(values: Iterable[float | None]) -> Values:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _harmonic_mean(columns: Sequence[_Column], *, is_inverted: bool) -> Estimate:
    """Return the harmonic mean of means, or of 1 less each.

    The interval unites the bootstrap's with the harmonic means of all parts' lower and of all their upper Beta bounds:
    it never falls where a part rises, so that those hold wherever the parts' own bounds do.
    """
    means = np.array([np.nanmean(column.values) for column in columns])
    resampled = np.stack([column.resampled for column in columns], axis=1)
    bounds = np.array([bounds_of_mean(column.values, column.patients) for column in columns])
    if is_inverted:
        means, resampled, bounds = 1 - means, 1 - resampled, 1 - bounds[:, ::-1]
    # At once: each call of scipy's takes a millisecond.
    found = harmonic_mean(np.vstack([means, bounds.T, resampled]))
    value, low, high = map(float, found[:3])
    interval = interval_of_resamples(found[3:])
    if interval is not None:
        low, high = wider_of((low, high), interval)
    return Estimate(value=value, low=low, high=high, n=len(columns[0].values))


def harmonic_mean(values: Values) -> Values:
    """Return the harmonic mean along the last axis; 0 where a value is 0, not a number where one is none."""
    from scipy.stats import hmean

    # 1 less a mean may fall below 0 by rounding.
    return np.asarray(hmean(np.clip(values, 0.0, 1.0), axis=-1))


def _reason(scores: Sequence[Scores], metric: str) -> str:
    return next((score.reasons[metric] for score in scores if metric in score.reasons), NO_ANSWER_HAS_IT)
