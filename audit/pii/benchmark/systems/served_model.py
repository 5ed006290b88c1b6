"""Any served model: tasks 1 and 2 asked of it, one answer a question, at temperature 0 (PII-Bench, 4.1).

Owns the way from samples to answers: task 2 by each strategy, task 3 as the difference. An answer that cannot be used
is asked for once more, as every question to a served model is; after that it is *unparsed*, stays null with its reason,
and scores 0. Imported lazily: it loads the client.
"""

from collections.abc import Callable, Iterator, Sequence

from clinaudit.audit.pii.benchmark.sample import Sample, less
from clinaudit.audit.pii.benchmark.systems.answers import Advance, SampleAnswers
from clinaudit.audit.pii.benchmark.systems.served_questions import (
    SHOTS,
    Shot,
    Strategy,
    ask_for_entities,
    ask_what_is_needed,
)
from clinaudit.audit.runtime.served.access import Access, ServedModel
from clinaudit.audit.runtime.served.answer_cache import AnswerCache, identity_of
from clinaudit.audit.runtime.served.answering_model import AnsweringModel
from clinaudit.audit.runtime.served.question import AskingEstimate
from clinaudit.reports.schema.pii_bench import BenchTask


def measured_model(model: ServedModel, access: Access, *, seed: int, cache: AnswerCache) -> AnsweringModel:
    """Return a served model, ready to be asked; sends nothing."""
    identity = identity_of(model, kind="pii-bench", seed=seed)
    name = "the endpoint of the system that is measured (--served-url)"
    return AnsweringModel(model, access, name=name, identity=identity, cache=cache, seed=seed)


def answer_by_model(
    system: str,
    served: AnsweringModel,
    samples: Sequence[Sample],
    advance: Advance,
    *,
    strategy: Strategy,
    shots: Sequence[Shot],
    announce: Callable[[AskingEstimate], None],
) -> Iterator[SampleAnswers]:
    """Yield a model's answers on each sample, in order; what it answered before is not asked again.

    `with-choice` is given the gold entities, names left out. Raises `IncompleteError` where the server gave no answer.
    """
    detected = served.ask([ask_for_entities(sample.description) for sample in samples], announce)
    needed = served.ask(
        [
            ask_what_is_needed(
                sample.description, sample.query, strategy=strategy, choices=_choices(sample), shots=shots
            )
            for sample in samples
        ],
        announce,
    )
    for sample, entities, related in zip(samples, detected, needed, strict=True):
        subjects = entities.found
        masked = None
        if subjects is not None and related.found is not None:
            masked = less((entity.text for subject in subjects for entity in subject.entities), related.found)
        asked: dict[BenchTask, tuple[str | None, str | None]] = {
            "detection": (entities.raw, entities.reason),
            "query_related": (related.raw, related.reason),
            "masking": (None, entities.reason or related.reason),
        }
        yield SampleAnswers(
            sample=sample.id,
            system=system,
            subjects=subjects,
            query_related=related.found,
            masked=masked,
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
    return tuple(dict.fromkeys(entity.text for entity in sample.entities() if entity.type != "PER"))
