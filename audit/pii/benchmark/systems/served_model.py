"""Any served model: tasks 1 and 2 asked of it, one answer a question, at temperature 0 (PII-Bench, 4.1).

Owns its identity and the way from samples to answers: task 2 by each strategy, task 3 as the difference. An answer that
cannot be used is asked for once more, as every question to a served model is; after that it is *unparsed*, stays null
with its reason, and scores 0. Imported lazily: it loads the client.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Generic

from clinaudit.audit.pii.benchmark.sample import Prediction, Sample, less
from clinaudit.audit.pii.benchmark.systems.answers import Advance, SampleAnswers
from clinaudit.audit.pii.benchmark.systems.served_questions import (
    SHOTS,
    Found,
    Inquiry,
    Shot,
    Strategy,
    ask_for_entities,
    ask_what_is_needed,
)
from clinaudit.audit.runtime.served.access import Access, EndpointWords, ServedModel, first_form, require_approved
from clinaudit.audit.runtime.served.answer_cache import AnswerCache, identity_of
from clinaudit.audit.runtime.served.asking import Asker, asked_to_read
from clinaudit.audit.runtime.served.chat import ChatEndpoint
from clinaudit.audit.runtime.served.question import AskingEstimate
from clinaudit.reports.schema.pii_bench import BenchTask

#: Raised whenever a change of the code (not of the wording) changes what an answer means.
_VERSION = "1"
_ENDPOINT = EndpointWords("the endpoint of the system that is measured (--url)")


@dataclass(frozen=True, slots=True)
class ModelAnswer(Generic[Found]):
    """What a model said to one question."""

    #: Its words as they came; None where no answer could be used.
    raw: str | None
    #: None where no answer could be used.
    found: Found | None
    #: Why not, in fixed words; None with an answer.
    reason: str | None


class ServedSystem:
    """A model behind an approved address; connections are open only during a call."""

    def __init__(self, model: ServedModel, access: Access, *, seed: int, cache: AnswerCache) -> None:
        """Prepare to ask; sends nothing. Raises `UnsafeError` for a host neither loopback nor approved."""
        require_approved(model.base_url, approved_hosts=access.approved_hosts)
        self._model = model
        self._seed = seed
        self._cache = cache
        form = first_form("deterministic", seed=seed)
        self._open_endpoint = partial(ChatEndpoint, model, access, form=form, words=_ENDPOINT)

    def identity(self) -> dict[str, str]:
        """Return what its answers depend on, as far as it is visible here; never the key nor the address."""
        return identity_of(self._model, kind="pii-bench", reading=_VERSION, seed=self._seed)

    def ask(
        self, asked: Sequence[Inquiry[Found]], announce: Callable[[AskingEstimate], None]
    ) -> Iterator[ModelAnswer[Found]]:
        """Yield the answer to each question, in order.

        Raises `IncompleteError` where the server gave no answer; the answers that came are in the cache by then.
        """
        items = [asked_to_read(question, read) for question, read in asked]
        with closing(self._open_endpoint()) as endpoint:
            asker = Asker(endpoint, self._cache, self.identity())
            estimate = asker.estimate(items)
            if estimate.questions:
                announce(estimate)
            for (_, read), settled in zip(asked, asker.settle_all(items), strict=True):
                found = None if settled.answer is None else read(settled.answer)
                if found is None or isinstance(found, str):
                    yield ModelAnswer(settled.answer, None, settled.reason or found)
                else:
                    yield ModelAnswer(settled.answer, found, None)


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
    return tuple(dict.fromkeys(entity.text for entity in sample.entities() if entity.type != "PER"))
