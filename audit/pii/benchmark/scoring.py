"""From answers to scores and figures: one sample in the three tasks (PII-Bench, F.1), and means over all of them.

Owns the gold sets of a sample, what is compared in each task, and that a sample without an answer scores 0 and is
counted. Texts are compared after Unicode NFKC and trimming, case kept; duplicates collapse. Tasks 2 and 3 have one set
of texts and no types, so that their strict and entity-only scores are the same numbers. **[choice]** Two empty sets
agree (1); of one empty set and one that is not, all is 0.

PII-Bench gives an F1 of task 3 in Table 4 and no formula **[choice]**: here it is that of the set of masked texts
against all texts less those needed. Over-masking and leak stand apart, since they hurt different people.

**[choice]** Codes, quantities and dates are compared by character: rouge-score's own words are letters and digits, so
that "@ab_c" or "$4,200" would lose characters, and a number with one wrong digit would be all wrong. All else is
compared by word, case folded. Unlike rouge-score's own words, ours may hold letters beyond a to z.

Of the figures it owns the interval **[choice]** (the bootstrap over samples, which resamples all of a sample's values
at once; Clopper and Pearson's where all samples have one value, since the bootstrap is a point there), privacy, utility
and balance (Table 8), and by which kinds of identifier the found ones are counted: an entity is found by a system that
names its text in the sample, whoever's it says it is.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache, lru_cache
from types import SimpleNamespace
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from clinaudit.audit.pii.benchmark import sample as of_sample
from clinaudit.audit.pii.benchmark.sample import Entity, Prediction, Sample, comparable_text, find_occurrences
from clinaudit.audit.pii.taxonomy import PII_TYPES, PiiType, categories
from clinaudit.audit.statistics.estimates import grouped
from clinaudit.audit.statistics.intervals import clopper_pearson_of_mean, interval_of_resamples, resample_means
from clinaudit.reports.schema import pii_bench as schema
from clinaudit.reports.schema.pii_bench import BENCH_TASKS, GOLD_MASKS, BenchFigure, BenchTask
from clinaudit.reports.schema.record import Estimate

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


_NOTHING_RIGHT: Final = Scores(0.0, 0.0, 0.0)
_ALL_RIGHT: Final = Scores(1.0, 1.0, 1.0)


def score_sets(predicted: AbstractSet[Item], gold: AbstractSet[Item]) -> Scores:
    """Return precision, recall and F1 of a set (Eqs. 1 to 6, 11 to 13)."""
    if not predicted or not gold:
        return _NOTHING_RIGHT if predicted or gold else _ALL_RIGHT
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

    def largest_sum(rows: Sequence[int], columns: Sequence[int]) -> float:
        part = weights[np.ix_(rows, columns)]
        return float(part[linear_sum_assignment(part, maximize=True)].sum())

    rows, columns = list(range(len(predicted))), list(range(len(gold)))
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
    """Return a sample's scores over matched subjects, by predicted, by gold, by the larger number (Eqs. 8 to 10)."""
    if not predicted or not gold:
        return _NOTHING_RIGHT if predicted or gold else _ALL_RIGHT
    scores = [score_pair(predicted[p], gold[g]) for p, g in matching]
    sizes = len(predicted), len(gold), max(len(predicted), len(gold))
    return Scores(*(sum(score[at] for score in scores) / size for at, size in enumerate(sizes)))


#: Types that are compared by character.
_CHARACTER_TYPES: Final[frozenset[PiiType]] = frozenset({"CODE", "QUANTITY", "DATETIME"})
_WORD: Final = re.compile(r"[^\W_]+")


@cache
def _scorer(*, by_character: bool) -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    tokenize = list if by_character else lambda text: _WORD.findall(text.casefold())
    return RougeScorer(["rougeL"], tokenizer=SimpleNamespace(tokenize=tokenize))


@lru_cache(maxsize=1 << 16)
def rouge_l(predicted: str, gold: str, *, by_character: bool) -> float:
    """Return Rouge-L's F (Lin 2004) of two texts, 0 to 1; equal texts give 1, whatever they hold."""
    if predicted == gold:
        return 1.0
    return float(_scorer(by_character=by_character).score(gold, predicted)["rougeL"].fmeasure)


def typed_similarity(predicted: TypedText, gold: TypedText) -> float:
    """Return the Rouge-L of two entities, 0 of two types **[choice]**: in Table 6 it lies below the entity-only F1."""
    is_alike = predicted.type == gold.type
    return rouge_l(predicted.text, gold.text, by_character=gold.type in _CHARACTER_TYPES) if is_alike else 0.0


def score_overlap(
    predicted: AbstractSet[Item], gold: AbstractSet[Item], similarity: Callable[[Item, Item], float]
) -> Scores:
    """Return the mean best similarity of predicted and of gold items, and their harmonic mean (Eqs. 14 to 16)."""
    if not predicted or not gold:
        return score_sets(predicted, gold)
    # Most items are found as they are, and then no pair is compared.
    of_predicted = (1.0 if p in gold else max(similarity(p, g) for g in gold) for p in predicted)
    of_gold = (1.0 if g in predicted else max(similarity(p, g) for p in predicted) for g in gold)
    # `fsum`: a set has no order, and the same answers must give the same bits in every run.
    precision, recall = math.fsum(of_predicted) / len(predicted), math.fsum(of_gold) / len(gold)
    both = precision + recall
    return Scores(precision, recall, 2 * precision * recall / both if both else 0.0)


#: One number of one sample: every figure, table and document is a view of such rows. `grouping` and `group` as in
#: `BenchFigure`. `value` is the sum of `count` values from 0 to 1; of count 0, there was nothing to measure.
_ITEMS: Final = {
    **dict.fromkeys(("system", "sample", "domain", "task", "grouping", "group", "metric"), pl.String),
    "value": pl.Float64,
    "count": pl.Int64,
}
_ItemRow = tuple[str, str, str, str, str, str, str, float, int]
#: `unparsed`: the system has a row for the sample, and no answer in it that could be read; `missing`: it has no row.
ANSWERS: Final = ("given", "unparsed", "missing")
#: Of each task the field of a prediction that answers it.
_ANSWER_FIELDS: Final[Mapping[BenchTask, str]] = dict(
    zip(BENCH_TASKS, ("subjects", "query_related", "masked"), strict=True)
)


class GoldAnswers(NamedTuple):
    """The gold sets of one sample."""

    sample: str
    subset: schema.BenchSubset
    domain: schema.BenchDomain
    #: The entities of each subject: task 1.
    subjects: tuple[frozenset[TypedText], ...]
    #: The texts without which the question cannot be answered, E_q: task 2.
    needed: frozenset[str]
    #: The other texts, E without E_q, which are to be masked: task 3.
    unneeded: frozenset[str]


def gold_of(sample: Sample) -> GoldAnswers:
    """Return the gold sets of a sample."""
    subjects = _typed_texts(sample.subjects)
    needed = frozenset(comparable_text(entity.text) for entity in sample.query_related)
    unneeded = texts_of(frozenset[TypedText]().union(*subjects)) - needed
    return GoldAnswers(sample.id, sample.subset, sample.domain, subjects, needed, unneeded)


def _typed_texts(
    subjects: Iterable[of_sample.Subject | of_sample.PredictedSubject],
) -> tuple[frozenset[TypedText], ...]:
    """Return the entities of each subject as strict scores compare them."""
    return tuple(frozenset(TypedText(comparable_text(one.text), one.type) for one in of.entities) for of in subjects)


class TaskScores(NamedTuple):
    """The scores of one sample in one task."""

    #: Texts and types, within matched subjects; of tasks 2 and 3 the texts.
    strict_f1: Scores
    #: Texts alone, within the same matched subjects; of tasks 2 and 3 the same numbers.
    ent_f1: Scores
    #: Partial matches by Rouge-L.
    rouge_l_f: Scores


NO_ANSWER: Final = TaskScores(_NOTHING_RIGHT, _NOTHING_RIGHT, _NOTHING_RIGHT)


def score_detection(predicted: Sequence[of_sample.PredictedSubject], gold: GoldAnswers) -> TaskScores:
    """Return the scores of task 1. All three are over one matching of subjects, the one of the largest strict F1."""
    ours, theirs = _typed_texts(predicted), gold.subjects
    matching = match_subjects(ours, theirs)
    ways: tuple[Callable[[AbstractSet[TypedText], AbstractSet[TypedText]], Scores], ...] = (
        score_sets,
        lambda p, g: score_sets(texts_of(p), texts_of(g)),
        lambda p, g: score_overlap(p, g, typed_similarity),
    )
    return TaskScores(*(average_over_subjects(ours, theirs, matching, score) for score in ways))


def score_texts(predicted: Collection[str], wanted: frozenset[str], gold: GoldAnswers) -> TaskScores:
    """Return the scores of task 2 or 3, of the `needed` or the `unneeded` texts of a sample that are `wanted`."""
    texts = frozenset(map(comparable_text, predicted))
    by_character = {text for entities in gold.subjects for text, kind in entities if kind in _CHARACTER_TYPES}
    exact = score_sets(texts, wanted)
    return TaskScores(
        exact, exact, score_overlap(texts, wanted, lambda p, g: rouge_l(p, g, by_character=g in by_character))
    )


def measure_answer(task: BenchTask, prediction: Prediction | None, gold: GoldAnswers) -> dict[str, float | None]:
    """Return the metrics of one sample in one task, as `BenchFigure` names them; without a row it is missing.

    Over-masking is the share of the needed texts that was masked, leak that of the others that was left: None where
    there was nothing to get wrong; of no answer both are 1, the worst in each view.
    """
    answer = None if prediction is None else getattr(prediction, _ANSWER_FIELDS[task])
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
    gold = list(samples)
    rows: list[_ItemRow] = []
    for system, given in grouped(predictions, lambda one: one.system).items():
        by_sample = {prediction.sample: prediction for prediction in given}
        answered = {
            task for task, field in _ANSWER_FIELDS.items() if any(getattr(one, field) is not None for one in given)
        }
        for task in (task for task in BENCH_TASKS if task in (asked or answered or BENCH_TASKS)):
            for answers in gold:
                of = (system, answers.sample, answers.domain, task, "subset", answers.subset)
                metrics = measure_answer(task, by_sample.get(answers.sample), answers)
                rows += ((*of, metric, value or 0.0, value is not None) for metric, value in metrics.items())
    return pl.DataFrame(rows, schema=_ITEMS, orient="row")


def mean_over_samples(sums: NDArray[np.float64], counts: NDArray[np.int64], *, seed: int) -> Estimate:
    """Return `sum(sums) / sum(counts)` of values in [0, 1], and as `n` the samples that have any; null without one."""
    sums, counts = sums[counts > 0], counts[counts > 0]
    if not counts.size:
        return Estimate(value=None, n=0, reason="no sample has it")
    value = float(sums.sum() / counts.sum())
    ends = interval_of_resamples(resample_means(sums[:, None], counts[:, None], seed=seed)[:, 0])
    if np.ptp(sums / counts) == 0 or ends is None:
        return clopper_pearson_of_mean(value * counts.size, counts.size)
    return Estimate(value=value, low=ends[0], high=ends[1], n=counts.size)


def bench_items(samples: Sequence[Sample], predictions: Sequence[Prediction]) -> pl.DataFrame:
    """Return the items of a benchmark: scores by subset, privacy by what is masked, found entities by kind."""
    scores = score_predictions(map(gold_of, samples), predictions, asked=BENCH_TASKS)
    rows = [*_privacy_items(samples, predictions), *_found_items(samples, predictions)]
    return pl.concat([scores, pl.DataFrame(rows, schema=_ITEMS, orient="row")])


#: U of each sample that was rated, by domain and strategy.
Utilities = Mapping[tuple[str, str], Sequence[float]]


def figures_of(items: pl.DataFrame, *, seed: int, utilities: Utilities | None = None) -> list[BenchFigure]:
    """Return the figures of all samples, of each subset of several, and U and B; no `utilities`: no model was asked."""
    several = items.filter(pl.col("group").n_unique().over("grouping", "domain") > 1, grouping="subset")
    whole = items.filter(grouping="subset").with_columns(group=pl.lit("all"))
    by = ("system", "task", "domain", "grouping", "group", "metric")
    parts = pl.concat([whole, several, items.filter(pl.col("grouping") != "subset")]).group_by(by, maintain_order=True)
    figures = [
        BenchFigure(
            **dict(zip(by, key, strict=True)),
            **mean_over_samples(part["value"].to_numpy(), part["count"].to_numpy(), seed=seed).model_dump(),
            entities=int(part["count"].sum()) if key[-1] == "found" else None,
        )
        for key, part in parts
    ]
    return [*figures, *_utility_figures(figures, utilities, seed=seed)]


def scores_by_sample(items: pl.DataFrame) -> list[schema.SampleScores]:
    """Return the metrics of each sample, by system and task, and what there was of an answer."""
    rows = grouped(items.iter_rows(named=True), lambda row: (row["system"], row["task"], row["sample"]))
    return [
        schema.SampleScores(
            **dict(zip(("system", "task", "sample"), key, strict=True)),
            answer=next(row["metric"] for row in found if row["metric"] in ANSWERS and row["value"]),
            scores={
                row["metric"]: row["value"] if row["count"] else None for row in found if row["metric"] not in ANSWERS
            },
        )
        for key, found in rows.items()
    ]


def privacy_score(entities: Collection[str], original: str, masked: str) -> float | None:
    """Return P, 1 less the share of occurrences left (Eq. 17), negative where more are; None where none stood."""
    texts = {comparable_text(entity) for entity in entities}
    stood, left = (len(find_occurrences(texts, comparable_text(text))) for text in (original, masked))
    return 1 - left / stood if stood else None


#: It holds no letter and no digit: no entity stands in it.
_TAG: Final = "<…>"


def _privacy_items(samples: Iterable[Sample], predictions: Iterable[Prediction]) -> Iterator[_ItemRow]:
    """Yield P of each sample by gold masks and by each system's; an answer that could not be read masks nothing."""
    answers = grouped(predictions, lambda one: one.sample)
    for sample in samples:
        texts = list(dict.fromkeys(entity.text for entity in sample.entities()))
        unneeded = of_sample.less(texts, [entity.text for entity in sample.query_related])
        masks: list[tuple[str, schema.MaskingStrategy, Iterable[str]]] = [
            (GOLD_MASKS, "none", ()),
            (GOLD_MASKS, "all", texts),
            (GOLD_MASKS, "query_unrelated", unneeded),
        ]
        for answer in answers.get(sample.id, []):
            found = [entity.text for subject in answer.subjects or () for entity in subject.entities]
            masks += [(answer.system, "all", found), (answer.system, "query_unrelated", answer.masked or ())]
        for system, strategy, masked in masks:
            left = of_sample.mask_texts(sample.description, dict.fromkeys(masked, _TAG))
            score = privacy_score(texts, sample.description, left)
            of = (system, sample.id, sample.domain, "masking", "masking", strategy, "privacy")
            yield *of, score or 0.0, int(score is not None)


NO_UTILITY: Final = "no model answered the masked and the unmasked prompts; U needs one"
UNUSABLE: Final = "the served model's answers could be used and rated for no sample"


def _utility_figures(
    figures: Iterable[BenchFigure], utilities: Utilities | None, *, seed: int
) -> Iterator[BenchFigure]:
    """Yield U and B beside each P of the gold masks: the prompts that a model answers."""
    for privacy in figures:
        if (privacy.system, privacy.metric) != (GOLD_MASKS, "privacy"):
            continue
        rated = np.asarray((utilities or {}).get((privacy.domain, privacy.group), ()), dtype=np.float64)
        if privacy.group == "none":
            # Nothing masked: the answers are the same by definition (PII-Bench, F.2.2).
            utility = Estimate(value=1.0)
        elif rated.size:
            utility = mean_over_samples(rated, np.ones(rated.size, dtype=np.int64), seed=seed)
        else:
            utility = Estimate(value=None, n=0, reason=NO_UTILITY if utilities is None else UNUSABLE)
        balance = Estimate(value=None, reason=utility.reason or privacy.reason)
        if privacy.value is not None and utility.value is not None:
            # B = alpha P + (1 - alpha) U at alpha 0.5 (Eq. 20, F.2.3).
            balance = Estimate(value=0.5 * privacy.value + 0.5 * utility.value)
        for metric, estimate in (("utility", utility), ("balance", balance)):
            yield privacy.model_copy(update={**estimate.model_dump(), "metric": metric})


def _found_items(samples: Iterable[Sample], predictions: Iterable[Prediction]) -> Iterator[_ItemRow]:
    """Yield how many entities of each kind a system finds in each sample; a text counts once a subject."""
    kinds: Mapping[schema.BenchGrouping, Callable[[Entity], str | None]] = {
        "name_origin": lambda entity: entity.name_origin,
        "category": lambda entity: categories()[entity.category].name,
        "hipaa": lambda entity: categories()[entity.category].hipaa,
    }
    by_id = {sample.id: sample for sample in samples}
    for answer in predictions:
        sample = by_id[answer.sample]
        named = {comparable_text(entity.text) for subject in answer.subjects or () for entity in subject.entities}
        hits: Counter[tuple[schema.BenchGrouping, str]] = Counter()
        counts: Counter[tuple[schema.BenchGrouping, str]] = Counter()
        for subject in sample.subjects:
            for text, entity in {comparable_text(one.text): one for one in subject.entities}.items():
                groups = [(kind, group) for kind, group_of in kinds.items() if (group := group_of(entity)) is not None]
                counts.update(groups)
                hits.update(groups if text in named else ())
        for (kind, group), count in counts.items():
            of = (answer.system, sample.id, sample.domain, "detection", kind, group, "found")
            yield *of, float(hits[kind, group]), count


def describe_samples(samples: Iterable[Sample]) -> Iterator[schema.BenchStatistics]:
    """Yield the statistics of each subset, and of a domain that has several; an entity counts once a subject."""
    rows: list[dict[str, Any]] = []
    for sample in samples:
        kinds = Counter(kind for of in sample.subjects for _, kind in {(one.text, one.type) for one in of.entities})
        rows.append(
            {
                "domain": sample.domain,
                "subset": sample.subset,
                "subjects": len(sample.subjects),
                "description_chars": len(sample.description),
                "entities": kinds.total(),
                "query_chars": len(sample.query),
                "needed_entities": len(sample.query_related),
                **{kind: kinds[kind] for kind in PII_TYPES},
            }
        )
    for (domain,), found in pl.DataFrame(rows).group_by("domain", maintain_order=True):
        for subset in schema.BENCH_SUBSETS[found["subset"].n_unique() == 1 :]:
            part = found if subset == "all" else found.filter(subset=subset)
            if len(part):
                means = part.select(pl.exclude("domain", "subset", *PII_TYPES).mean()).row(0, named=True)
                types = part.select(pl.col(PII_TYPES).sum()).row(0, named=True)
                yield schema.BenchStatistics(domain=domain, subset=subset, samples=len(part), types=types, **means)
