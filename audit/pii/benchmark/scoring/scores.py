"""The scores of one sample in the three tasks (PII-Bench, F.1), and of all predictions of some systems.

Owns the gold sets of a sample, what is compared in each task, and that a sample without an answer scores 0 and is
counted. Texts are compared after Unicode NFKC and trimming, case kept; duplicates collapse.

PII-Bench gives an F1 of task 3 in Table 4 and no formula **[choice]**: here it is that of the set of masked texts
against all texts less those needed. Over-masking and leak stand apart, since they hurt different people.

Tasks 2 and 3 have one set of texts and no types, so that their strict and entity-only scores are the same numbers.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from clinaudit.audit.pii.benchmark.sample import (
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


@dataclass(frozen=True, slots=True)
class GoldAnswers:
    """The gold sets of one sample."""

    sample: str
    subset: Subset
    #: The entities of each subject: task 1.
    subjects: tuple[frozenset[TypedText], ...]
    #: The texts without which the question cannot be answered, E_q: task 2.
    needed: frozenset[str]
    #: All texts, E, and the types that each has in some subject.
    types: dict[str, frozenset[PiiType]]

    @property
    def unneeded(self) -> frozenset[str]:
        """The texts to be masked, E without E_q: task 3."""
        return frozenset(self.types) - self.needed


def gold_of(sample: Sample) -> GoldAnswers:
    """Return the gold sets of a sample."""
    sets = tuple(typed_texts(subject.entities) for subject in sample.subjects)
    types: dict[str, set[PiiType]] = {}
    for entity in (entity for entities in sets for entity in entities):
        types.setdefault(entity.text, set()).add(entity.type)
    return GoldAnswers(
        sample=sample.id,
        subset=sample.subset,
        subjects=sets,
        needed=frozenset(comparable_text(entity.text) for entity in sample.query_related),
        types={text: frozenset(of) for text, of in types.items()},
    )


def typed_texts(entities: Iterable[Entity | PredictedEntity]) -> frozenset[TypedText]:
    """Return entities as strict scores compare them; duplicates collapse."""
    return frozenset(TypedText(comparable_text(entity.text), entity.type) for entity in entities)


@dataclass(frozen=True, slots=True)
class MaskingErrors:
    """The two ways in which a mask is wrong, each a share from 0 to 1; None where there was nothing to get wrong."""

    #: Of the texts that the question needs, the share that was masked.
    over_masking: float | None
    #: Of the texts that it does not need, the share that was left.
    leak: float | None


def measure_masking_errors(masked: Collection[str] | None, gold: GoldAnswers) -> MaskingErrors:
    """Return over-masking and leak of an answer; of none (null) both are 1, the worst in each view."""
    unneeded = gold.unneeded
    if masked is None:
        return MaskingErrors(1.0 if gold.needed else None, 1.0 if unneeded else None)
    texts = frozenset(map(comparable_text, masked))
    return MaskingErrors(
        over_masking=len(texts & gold.needed) / len(gold.needed) if gold.needed else None,
        leak=len(unneeded - texts) / len(unneeded) if unneeded else None,
    )


#: `unparsed`: the system has a row for the sample, and no answer in it that could be read; `missing`: it has no row.
Answer = Literal["given", "unparsed", "missing"]


@dataclass(frozen=True, slots=True)
class TaskScores:
    """The scores of one sample in one task."""

    #: Texts and types, within matched subjects; of tasks 2 and 3 the texts.
    strict_f1: Scores
    #: Texts alone, within the same matched subjects; of tasks 2 and 3 the same numbers.
    ent_f1: Scores
    #: Partial matches by Rouge-L.
    rouge_l_f: Scores

    @property
    def is_exact(self) -> bool:
        """Whether the answer is the gold one."""
        return self.strict_f1.f1 == 1


NO_ANSWER: Final = TaskScores(NOTHING_RIGHT, NOTHING_RIGHT, NOTHING_RIGHT)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleScores:
    """The scores of one system on one sample in one task."""

    system: str
    sample: str
    subset: Subset
    task: BenchTask
    answer: Answer
    scores: TaskScores
    #: Of masking alone.
    errors: MaskingErrors | None = None


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


def score_query_related(predicted: Collection[str], gold: GoldAnswers) -> TaskScores:
    """Return the scores of task 2: the texts that a question needs."""
    return _score_texts(predicted, gold.needed, gold)


def score_masking(predicted: Collection[str], gold: GoldAnswers) -> TaskScores:
    """Return the scores of task 3: the texts that a question does not need, `predicted` being those masked."""
    return _score_texts(predicted, gold.unneeded, gold)


def _score_texts(predicted: Collection[str], wanted: frozenset[str], gold: GoldAnswers) -> TaskScores:
    texts = frozenset(map(comparable_text, predicted))

    def similarity(text: str, wanted_text: str) -> float:
        by_character = not CHARACTER_TYPES.isdisjoint(gold.types.get(wanted_text, ()))
        return rouge_l(text, wanted_text, by_character=by_character)

    exact = score_sets(texts, wanted)
    return TaskScores(exact, exact, score_overlap(texts, wanted, similarity))


def score_predictions(
    samples: Iterable[GoldAnswers],
    predictions: Iterable[Prediction],
    *,
    asked: Collection[BenchTask] | None = None,
) -> list[SampleScores]:
    """Return the scores of every system on every sample, in each task that it was asked.

    By system (in order of first appearance), task and sample; a sample without an answer scores 0. `asked` are the
    tasks that every system was asked. None: those of which it answered some sample; all three, where it answered none.
    Raises `ValueError` for a prediction of an unknown sample, and for two of one system and sample.
    """
    gold = {answers.sample: answers for answers in samples}
    found: dict[str, dict[str, dict[BenchTask, SampleScores]]] = {}
    for prediction in predictions:
        of_system = found.setdefault(prediction.system, {})
        if prediction.sample not in gold or prediction.sample in of_system:
            raise ValueError("a prediction is of an unknown sample, or the second of its system and sample")
        of_system[prediction.sample] = {row.task: row for row in _score_prediction(prediction, gold[prediction.sample])}
    rows: list[SampleScores] = []
    for system, by_sample in found.items():
        tasks = asked or _answered_tasks(by_sample.values()) or BENCH_TASKS
        for task in (task for task in BENCH_TASKS if task in tasks):
            rows.extend(
                by_sample[sample][task] if sample in by_sample else _row(system, task, answers)
                for sample, answers in gold.items()
            )
    return rows


def _answered_tasks(scored: Iterable[Mapping[BenchTask, SampleScores]]) -> set[BenchTask]:
    return {row.task for rows in scored for row in rows.values() if row.answer == "given"}


def _score_prediction(prediction: Prediction, gold: GoldAnswers) -> Iterator[SampleScores]:
    subjects, needed, masked = prediction.subjects, prediction.query_related, prediction.masked
    scored: dict[BenchTask, TaskScores | None] = {
        "detection": None if subjects is None else score_detection(subjects, gold),
        "query_related": None if needed is None else score_query_related(needed, gold),
        "masking": None if masked is None else score_masking(masked, gold),
    }
    for task, scores in scored.items():
        answer: Answer = "unparsed" if scores is None else "given"
        yield _row(prediction.system, task, gold, answer, scores or NO_ANSWER, masked)


def _row(
    system: str,
    task: BenchTask,
    gold: GoldAnswers,
    answer: Answer = "missing",
    scores: TaskScores = NO_ANSWER,
    masked: Collection[str] | None = None,
) -> SampleScores:
    errors = measure_masking_errors(masked, gold) if task == "masking" else None
    return SampleScores(
        system=system, sample=gold.sample, subset=gold.subset, task=task, answer=answer, scores=scores, errors=errors
    )
