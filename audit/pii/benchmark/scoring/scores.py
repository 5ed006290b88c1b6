"""The scores of one sample in the three tasks (PII-Bench, F.1), and those of all predictions as one frame of items.

Owns the gold sets of a sample, what is compared in each task, and that a sample without an answer scores 0 and is
counted. Texts are compared after Unicode NFKC and trimming, case kept; duplicates collapse.

PII-Bench gives an F1 of task 3 in Table 4 and no formula **[choice]**: here it is that of the set of masked texts
against all texts less those needed. Over-masking and leak stand apart, since they hurt different people.

Tasks 2 and 3 have one set of texts and no types, so that their strict and entity-only scores are the same numbers.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import polars as pl

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
from clinaudit.audit.pii.benchmark.scoring.matching import (
    CHARACTER_TYPES,
    NOTHING_RIGHT,
    Scores,
    TypedText,
    average_over_subjects,
    match_subjects,
    rouge_l,
    score_overlap,
    score_sets,
    texts_of,
    typed_similarity,
)
from clinaudit.audit.pii.taxonomy import PiiType
from clinaudit.reports.schema.pii_bench import BENCH_TASKS, BenchTask

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
    Raises `ValueError` for a prediction of an unknown sample, and for two of one system and sample.
    """
    gold = {answers.sample: answers for answers in samples}
    found: dict[str, dict[str, Prediction]] = {}
    for prediction in predictions:
        of_system = found.setdefault(prediction.system, {})
        if prediction.sample not in gold or prediction.sample in of_system:
            raise ValueError("a prediction is of an unknown sample, or the second of its system and sample")
        of_system[prediction.sample] = prediction
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
