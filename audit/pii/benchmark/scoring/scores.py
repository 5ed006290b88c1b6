"""The scores of one sample in the three tasks (PII-Bench, F.1), and those of all predictions as one frame of items.

Owns the gold sets of a sample, what is compared in each task, and that a sample without an answer scores 0 and is
counted. Texts are compared after Unicode NFKC and trimming, case kept; duplicates collapse.

PII-Bench gives an F1 of task 3 in Table 4 and no formula **[choice]**: here it is that of the set of masked texts
against all texts less those needed. Over-masking and leak stand apart, since they hurt different people.

Tasks 2 and 3 have one set of texts and no types, so that their strict and entity-only scores are the same numbers.
Owns as well precision, recall and F1 of sets, the optimal assignment of subjects and its averages, and the fuzzy scores
(Eqs. 14 to 16). **[choice]** Two empty sets agree (1); of one empty set and one that is not, all is 0.

**[choice]** Codes, quantities and dates are compared by character: rouge-score's own words are letters and digits, so
that "@ab_c" or "$4,200" would lose characters, and a number with one wrong digit would be all wrong. All else is
compared by word, case folded. Unlike rouge-score's own words, ours may hold letters beyond a to z.
"""

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from clinaudit.audit.pii.benchmark.sample import (
    Domain,
    Entity,
    PredictedEntity,
    PredictedSubject,
    Prediction,
    Sample,
    Subset,
    comparable_text,
)
from clinaudit.audit.pii.taxonomy import PiiType
from clinaudit.reports.schema.pii_bench import BENCH_TASKS, BenchTask

Item = TypeVar("Item")
#: The weight of the entity-only F1 in the assignment. It decides between assignments of equal strict F1 alone: sums of
#: strict F1 that differ at all differ by more than this for subjects of any size that occurs.
_TIE_WEIGHT: Final = 1e-8
#: Sums that differ by less are equal: 100 times the rounding error of a sum of 20 numbers up to 1.
_ROUNDING: Final = 1e-13


class TypedText(NamedTuple):
    """An entity as strict scores compare it."""

    text: str
    type: PiiType


class Scores(NamedTuple):
    """Precision, recall and F1, each from 0 to 1."""

    precision: float
    recall: float
    f1: float


NOTHING_RIGHT: Final = Scores(0.0, 0.0, 0.0)
_ALL_RIGHT: Final = Scores(1.0, 1.0, 1.0)


def score_sets(predicted: AbstractSet[Item], gold: AbstractSet[Item]) -> Scores:
    """Return precision, recall and F1 of a set (Eqs. 1 to 6, 11 to 13)."""
    if not predicted or not gold:
        return NOTHING_RIGHT if predicted or gold else _ALL_RIGHT
    shared = len(predicted & gold)
    # F1 in one division, so that equal sets give exactly 1.
    return Scores(shared / len(predicted), shared / len(gold), 2 * shared / (len(predicted) + len(gold)))


def texts_of(entities: Iterable[TypedText]) -> frozenset[str]:
    """Return the texts of entities, without their types."""
    return frozenset(entity.text for entity in entities)


def match_subjects(
    predicted: Sequence[AbstractSet[TypedText]], gold: Sequence[AbstractSet[TypedText]]
) -> list[tuple[int, int]]:
    """Return the one-to-one matching M* that maximises the sum of strict F1 (Eq. 7), as (predicted, gold) by gold.

    As many are matched as the smaller side has. **[choice]** Of several such matchings the one with the largest sum of
    entity-only F1; of several of those, the one that gives the first gold subject the earliest predicted one, then the
    second, and so on (none counts as later than any).
    """
    if not predicted or not gold:
        return []
    weights = np.array(
        [[score_sets(p, g).f1 + _TIE_WEIGHT * score_sets(texts_of(p), texts_of(g)).f1 for g in gold] for p in predicted]
    )
    return _first_best_assignment(weights)


def _first_best_assignment(weights: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Return the first of all assignments of largest weight `(rows, columns)`, as (row, column) by column."""

    def largest_sum(rows: Sequence[int], columns: Sequence[int]) -> float:
        part = weights[np.ix_(rows, columns)]
        return float(part[linear_sum_assignment(part, maximize=True)].sum())

    rows, columns = list(range(weights.shape[0])), list(range(weights.shape[1]))
    pairs: list[tuple[int, int]] = []
    left = largest_sum(rows, columns)
    while columns and rows:
        column = columns.pop(0)
        for row in rows:
            others = [other for other in rows if other != row]
            rest = largest_sum(others, columns)
            if weights[row, column] + rest >= left - _ROUNDING:
                pairs.append((row, column))
                rows, left = others, rest
                break
    return pairs


def average_over_subjects(
    predicted: Sequence[AbstractSet[TypedText]],
    gold: Sequence[AbstractSet[TypedText]],
    matching: Sequence[tuple[int, int]],
    score_pair: Callable[[AbstractSet[TypedText], AbstractSet[TypedText]], Scores],
) -> Scores:
    """Return a sample's scores over matched subjects (Eqs. 8 to 10); whoever is unmatched adds 0.

    The sums are divided by the number of predicted subjects, of gold subjects, and by the larger of the two: F1 is no
    harmonic mean of the other two.
    """
    if not predicted or not gold:
        return NOTHING_RIGHT if predicted or gold else _ALL_RIGHT
    scores = [score_pair(predicted[p], gold[g]) for p, g in matching]
    return Scores(
        sum(score.precision for score in scores) / len(predicted),
        sum(score.recall for score in scores) / len(gold),
        sum(score.f1 for score in scores) / max(len(predicted), len(gold)),
    )


#: Types that are compared by character.
CHARACTER_TYPES: Final[frozenset[PiiType]] = frozenset({"CODE", "QUANTITY", "DATETIME"})
_WORD: Final = re.compile(r"[^\W_]+")
#: Pairs of texts kept with their similarity.
_PAIRS_KEPT: Final = 1 << 16


class _Tokenizer:
    def __init__(self, *, by_character: bool) -> None:
        self._by_character = by_character

    def tokenize(self, text: str) -> list[str]:
        return list(text) if self._by_character else _WORD.findall(text.casefold())


@cache
def _scorer(*, by_character: bool) -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(["rougeL"], tokenizer=_Tokenizer(by_character=by_character))


@lru_cache(maxsize=_PAIRS_KEPT)
def rouge_l(predicted: str, gold: str, *, by_character: bool) -> float:
    """Return Rouge-L's F (Lin 2004) of two texts, 0 to 1; equal texts give 1, whatever they hold."""
    if predicted == gold:
        return 1.0
    return float(_scorer(by_character=by_character).score(gold, predicted)["rougeL"].fmeasure)


def typed_similarity(predicted: TypedText, gold: TypedText) -> float:
    """Return the Rouge-L of two entities of one type, 0 where their types differ **[choice]**.

    In the paper's Table 6 the fuzzy score lies below the entity-only one: it cannot be blind to types.
    """
    if predicted.type != gold.type:
        return 0.0
    return rouge_l(predicted.text, gold.text, by_character=gold.type in CHARACTER_TYPES)


def score_overlap(
    predicted: AbstractSet[Item], gold: AbstractSet[Item], similarity: Callable[[Item, Item], float]
) -> Scores:
    """Return the mean of each predicted item's best similarity, of each gold item's, and their harmonic mean.

    Eqs. 14 to 16. `similarity` is of a predicted and a gold item, and 1 for equal ones. Both sets empty: 1; one of
    them: 0 **[choice]**.
    """
    if not predicted or not gold:
        return score_sets(predicted, gold)
    # `fsum`: a set has no order, and the same answers must give the same bits in every run.
    precision = math.fsum(_best(item, gold, similarity) for item in predicted) / len(predicted)
    recall = math.fsum(_best(item, predicted, lambda g, p: similarity(p, g)) for item in gold) / len(gold)
    both = precision + recall
    return Scores(precision, recall, 2 * precision * recall / both if both else 0.0)


def _best(item: Item, others: AbstractSet[Item], similarity: Callable[[Item, Item], float]) -> float:
    # Most items are found as they are, and then no pair is compared.
    return 1.0 if item in others else max(similarity(item, other) for other in others)


#: One number of one sample: every figure, table and document is a view of such rows. `grouping` and `group` as in
#: `BenchFigure`. `value` is the sum of `count` values from 0 to 1; of count 0, there was nothing to measure.
ITEMS: Final = {
    **dict.fromkeys(("system", "sample", "domain", "task", "grouping", "group", "metric"), pl.String),
    "value": pl.Float64,
    "count": pl.Int64,
}
ItemRow = tuple[str, str, str, str, str, str, str, float, int]
#: `unparsed`: the system has a row for the sample, and no answer in it that could be read; `missing`: it has no row.
ANSWERS: Final = ("given", "unparsed", "missing")
#: Of each task the field of a prediction that answers it.
ANSWER_FIELDS: Final[Mapping[BenchTask, str]] = {
    "detection": "subjects",
    "query_related": "query_related",
    "masking": "masked",
}


class GoldAnswers(NamedTuple):
    """The gold sets of one sample."""

    sample: str
    subset: Subset
    domain: Domain
    #: The entities of each subject: task 1.
    subjects: tuple[frozenset[TypedText], ...]
    #: The texts without which the question cannot be answered, E_q: task 2.
    needed: frozenset[str]
    #: The other texts, E without E_q, which are to be masked: task 3.
    unneeded: frozenset[str]


def gold_of(sample: Sample) -> GoldAnswers:
    """Return the gold sets of a sample."""
    subjects = tuple(typed_texts(subject.entities) for subject in sample.subjects)
    needed = frozenset(comparable_text(entity.text) for entity in sample.query_related)
    unneeded = texts_of(entity for entities in subjects for entity in entities) - needed
    return GoldAnswers(sample.id, sample.subset, sample.domain, subjects, needed, unneeded)


def typed_texts(entities: Iterable[Entity | PredictedEntity]) -> frozenset[TypedText]:
    """Return entities as strict scores compare them; duplicates collapse."""
    return frozenset(TypedText(comparable_text(entity.text), entity.type) for entity in entities)


class TaskScores(NamedTuple):
    """The scores of one sample in one task."""

    #: Texts and types, within matched subjects; of tasks 2 and 3 the texts.
    strict_f1: Scores
    #: Texts alone, within the same matched subjects; of tasks 2 and 3 the same numbers.
    ent_f1: Scores
    #: Partial matches by Rouge-L.
    rouge_l_f: Scores


NO_ANSWER: Final = TaskScores(NOTHING_RIGHT, NOTHING_RIGHT, NOTHING_RIGHT)


def score_detection(predicted: Sequence[PredictedSubject], gold: GoldAnswers) -> TaskScores:
    """Return the scores of task 1. All three are over one matching of subjects, the one of the largest strict F1."""
    ours = [typed_texts(subject.entities) for subject in predicted]
    theirs = gold.subjects
    matching = match_subjects(ours, theirs)
    return TaskScores(
        strict_f1=average_over_subjects(ours, theirs, matching, score_sets),
        ent_f1=average_over_subjects(ours, theirs, matching, lambda p, g: score_sets(texts_of(p), texts_of(g))),
        rouge_l_f=average_over_subjects(ours, theirs, matching, lambda p, g: score_overlap(p, g, typed_similarity)),
    )


def score_texts(predicted: Collection[str], wanted: frozenset[str], gold: GoldAnswers) -> TaskScores:
    """Return the scores of task 2 or 3, of the `needed` or the `unneeded` texts of a sample that are `wanted`."""
    texts = frozenset(map(comparable_text, predicted))
    types: dict[str, set[PiiType]] = {}
    for text, kind in (entity for entities in gold.subjects for entity in entities):
        types.setdefault(text, set()).add(kind)

    def similarity(text: str, wanted_text: str) -> float:
        by_character = not CHARACTER_TYPES.isdisjoint(types.get(wanted_text, ()))
        return rouge_l(text, wanted_text, by_character=by_character)

    exact = score_sets(texts, wanted)
    return TaskScores(exact, exact, score_overlap(texts, wanted, similarity))


def measure_answer(task: BenchTask, prediction: Prediction | None, gold: GoldAnswers) -> dict[str, float | None]:
    """Return the metrics of one sample in one task, as `BenchFigure` names them; without a row it is missing.

    Over-masking is the share of the needed texts that was masked, leak that of the others that was left: None where
    there was nothing to get wrong; of no answer both are 1, the worst in each view.
    """
    answer = None if prediction is None else getattr(prediction, ANSWER_FIELDS[task])
    if answer is None:
        scores = NO_ANSWER
    elif task == "detection":
        scores = score_detection(answer, gold)
    else:
        scores = score_texts(answer, gold.needed if task == "query_related" else gold.unneeded, gold)
    found: dict[str, float | None] = {
        f"{metric}.{part}": value
        for metric, parts in scores._asdict().items()
        for part, value in parts._asdict().items()
    }
    found["exact"] = float(scores.strict_f1.f1 == 1)
    if task == "masking":
        masked = gold.needed if answer is None else frozenset(map(comparable_text, answer))
        found["over_masking"] = len(gold.needed & masked) / len(gold.needed) if gold.needed else None
        found["leak"] = len(gold.unneeded - masked) / len(gold.unneeded) if gold.unneeded else None
    state = "missing" if prediction is None else "unparsed" if answer is None else "given"
    return found | {name: float(name == state) for name in ANSWERS}


def score_predictions(
    samples: Iterable[GoldAnswers], predictions: Iterable[Prediction], *, asked: Collection[BenchTask] | None = None
) -> pl.DataFrame:
    """Return the items of every system on every sample, in each task that it was asked; the group is the subset.

    By system (in order of first appearance), task and sample; a sample without an answer scores 0. `asked` are the
    tasks that every system was asked. None: those of which it answered some sample; all three, where it answered none.
    """
    gold = {answers.sample: answers for answers in samples}
    found: dict[str, dict[str, Prediction]] = {}
    for prediction in predictions:
        found.setdefault(prediction.system, {})[prediction.sample] = prediction
    rows: list[ItemRow] = []
    for system, by_sample in found.items():
        answered = {
            task
            for task, field in ANSWER_FIELDS.items()
            if any(getattr(one, field) is not None for one in by_sample.values())
        }
        for task in (task for task in BENCH_TASKS if task in (asked or answered or BENCH_TASKS)):
            for sample, answers in gold.items():
                of = (system, sample, answers.domain, task, "subset", answers.subset)
                metrics = measure_answer(task, by_sample.get(sample), answers)
                rows += ((*of, metric, value or 0.0, value is not None) for metric, value in metrics.items())
    return pl.DataFrame(rows, schema=ITEMS, orient="row")
