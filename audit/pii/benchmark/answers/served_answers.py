"""What a served model says of samples: task 1 once, task 2 by each strategy, task 3 as the difference.

Owns which questions are asked of whom. An answer that cannot be used stays null, with its reason: it scores 0. Loads
the client of a served model: imported lazily.
"""

from collections.abc import Callable, Iterator, Sequence

from clinaudit.audit.pii.benchmark.answers.system_answers import Advance, SampleAnswers, less
from clinaudit.audit.pii.benchmark.samples.sample import PredictedEntity, PredictedSubject, Prediction, Sample
from clinaudit.audit.pii.systems.served_model import ServedSystem, Task
from clinaudit.audit.pii.systems.served_wording import SHOTS, Shot, Strategy
from clinaudit.audit.served.cost import AskingEstimate
from clinaudit.reports.schema.pii_bench import BenchTask


def answer_by_model(
    system: str,
    served: ServedSystem,
    samples: Sequence[Sample],
    *,
    strategy: Strategy,
    shots: Sequence[Shot],
    announce: Callable[[AskingEstimate], None],
    advance: Advance,
) -> Iterator[SampleAnswers]:
    """Yield a model's answers on each sample, in order; what it answered before is not asked again.

    `with-choice` is told the gold entities, names left out. Raises `IncompleteError` where the server gave no answer.
    """
    detected = served.find_entities([sample.description for sample in samples], announce=announce)
    tasks = [Task(sample.description, sample.query, _choices(sample)) for sample in samples]
    needed = served.find_needed(tasks, strategy=strategy, shots=shots, announce=announce)
    for sample, entities, related in zip(samples, detected, needed, strict=True):
        subjects = None
        if entities.found is not None:
            subjects = [
                PredictedSubject(
                    entities=[PredictedEntity(text=entity.text, type=entity.type) for entity in subject.entities]
                )
                for subject in entities.found
            ]
        masked = None
        if subjects is not None and related.found is not None:
            masked = less((entity.text for subject in subjects for entity in subject.entities), related.found)
        asked: dict[BenchTask, tuple[str | None, str | None]] = {
            "detection": (entities.raw, entities.reason),
            "query_related": (related.raw, related.reason),
            "masking": (None, entities.reason or related.reason),
        }
        yield SampleAnswers(
            Prediction(sample=sample.id, system=system, subjects=subjects, query_related=related.found, masked=masked),
            raw={task: raw for task, (raw, _) in asked.items() if raw is not None},
            reasons={task: reason for task, (_, reason) in asked.items() if reason is not None},
        )
        advance(1)


def draw_shots(training: Sequence[Sample]) -> list[Shot]:
    """Return solved examples for auto-cot: the first training samples of different scenes, short ones first.

    They are none of the evaluated samples (PII-Bench draws its three by clusters of questions).
    """
    shots: dict[str, Shot] = {}
    for sample in sorted(training, key=lambda one: (len(one.description), one.id)):
        needed = tuple(dict.fromkeys(entity.text for entity in sample.query_related))
        if needed:
            shots.setdefault(sample.scene, Shot(sample.description, sample.query, needed))
        if len(shots) == SHOTS:
            break
    return list(shots.values())


def _choices(sample: Sample) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(entity.text for subject in sample.subjects for entity in subject.entities if entity.type != "PER")
    )
