"""Any served model: tasks 1 and 2 asked of it, one answer a question, at temperature 0 (PII-Bench, 4.1).

Owns the six strategies, the schemas of the answers and their strict reading, and the way from samples to answers: task
2 by each strategy, task 3 as the difference. Rules of every strategy: the smallest stretch of text, no person's name,
copied character by character, a list. An entity that does not stand in the text is kept: it scores as wrong, and is no
fault of the form. An answer that cannot be used is asked for once more, as every question to a served model is; after
that it is *unparsed*, stays null with its reason, and scores 0. Imported lazily: it loads the client.
"""

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.resources import files
from typing import Any, Final, NamedTuple, get_args

from pydantic import create_model

from clinaudit.audit.pii.benchmark.sample import PredictedEntity, PredictedSubject, Sample, less
from clinaudit.audit.pii.benchmark.systems.answers import Advance, SampleAnswers
from clinaudit.audit.pii.taxonomy import PII_TYPES, PiiType, categories
from clinaudit.audit.runtime.choices import AskingStrategy
from clinaudit.audit.runtime.served import question as asking
from clinaudit.audit.runtime.served.access import Access, ServedModel
from clinaudit.audit.runtime.served.answer_cache import AnswerCache, identity_of
from clinaudit.audit.runtime.served.answering_model import AnsweringModel
from clinaudit.audit.runtime.served.question import FilledForm, Form, Inquiry, StrictModel
from clinaudit.reports.schema.pii_bench import BenchTask

#: PII-Bench, 4.1 and Figures 14 to 19. `with-choice` is given the candidates: an oracle, no system.
STRATEGIES: Final[tuple[AskingStrategy, ...]] = get_args(AskingStrategy)
#: Of auto-cot (PII-Bench, Table 4).
_SHOTS: Final = 3
#: Of self-consistency (PII-Bench, Figure 18): in one answer, not five answers.
_PERSPECTIVES: Final = 5
_SAID: Final[Mapping[str, Any]] = tomllib.loads(files(__package__).joinpath("questions.toml").read_text("utf-8"))
_MOST_ANSWER_TOKENS: Final = 8192
#: For what an answer holds beside copies of the text: its fields, and thoughts where a strategy asks for them.
_FIELD_TOKENS: Final = 512
_THOUGHT_TOKENS: Final = 1536


class Shot(NamedTuple):
    """A solved example of auto-cot."""

    text: str
    query: str
    entities: tuple[str, ...]


class _NamedEntity(StrictModel):
    text: str
    type: PiiType


class _NamedSubject(StrictModel):
    entities: list[_NamedEntity]


class _Entities(FilledForm):
    subjects: list[_NamedSubject]


_DETECTING: Final = Form("entities", _SAID["system"], _SAID["detection"], _Entities, _MOST_ANSWER_TOKENS)


def _form(strategy: AskingStrategy) -> Form[Any]:
    kinds = {name: list[str] if name == "perspectives" else str for name in _SAID["fields"].get(strategy, ())}
    fields: dict[str, Any] = {name: (kind, ...) for name, kind in {**kinds, "entities": list[str]}.items()}
    return Form(
        f"needed_{strategy.replace('-', '_')}",
        _SAID["system"],
        _SAID["relevance"],
        create_model("Needed", __base__=FilledForm, **fields),
        _FIELD_TOKENS + (_THOUGHT_TOKENS if kinds else 0),
        subject=strategy,
    )


RELEVANCE: Final[Mapping[AskingStrategy, Form[Any]]] = {strategy: _form(strategy) for strategy in STRATEGIES}


def ask_for_entities(text: str) -> Inquiry[list[PredictedSubject]]:
    """Return the question of task 1 about one text: whose the identifying pieces in it are."""
    sent = asking.break_control_tokens(text)
    named: dict[str, list[str]] = {pii_type: [] for pii_type in PII_TYPES}
    for category in categories().values():
        named[category.type].append(category.name)
    types = "\n".join(f"- {pii_type}: {', '.join(names)}" for pii_type, names in named.items())
    asked = _DETECTING.ask([text], fenced=[sent], text=sent, types=types)
    # Each piece is copied beside its type: in dense texts the answer is longer than the text.
    room = min(_MOST_ANSWER_TOKENS, _FIELD_TOKENS + 3 * asking.estimate_tokens(text))
    return replace(asked, max_answer_tokens=room), partial(_read_entities, text=text)


def _read_entities(answer: str, text: str) -> list[PredictedSubject] | str:
    read = _DETECTING.read(answer, [text])
    if isinstance(read, str):
        return read
    subjects: list[PredictedSubject] = []
    for subject in read.subjects:
        restored = asking.restore_control_tokens([entity.text for entity in subject.entities], [text])
        pairs = zip(restored, subject.entities, strict=True)
        subjects.append(PredictedSubject(entities=[PredictedEntity(text=said, type=one.type) for said, one in pairs]))
    return subjects


def ask_what_is_needed(
    text: str, query: str, *, strategy: AskingStrategy, choices: Sequence[str] = (), shots: Sequence[Shot] = ()
) -> Inquiry[list[str]]:
    """Return the question of task 2: the texts that an answer needs; `choices` of with-choice, `shots` of auto-cot."""
    sent, sent_query = asking.break_control_tokens(text), asking.break_control_tokens(query)
    listed = "\n".join(map(asking.break_control_tokens, choices))
    held = [sent, sent_query, listed, *(part for shot in shots for part in (shot.text, shot.query))]
    marker = asking.fence_marker(held)
    more = _SAID["choices"].format(marker=marker, choices=listed) if strategy == "with-choice" else ""
    if strategy == "auto-cot":
        more = "".join(
            _SAID["shot"].format(number=number, marker=marker, **shot._asdict() | {"entities": list(shot.entities)})
            for number, shot in enumerate(shots, start=1)
        )
    fields = "".join(f'"{name}": {how}\n' for name, how in _SAID["fields"].get(strategy, {}).items())
    said = {"text": sent, "query": sent_query, "more": more, "fields": fields}
    asked = RELEVANCE[strategy].ask([text, query], fenced=held, **said)
    # The answer may copy every choice.
    room = min(_MOST_ANSWER_TOKENS, asked.max_answer_tokens + 2 * asking.estimate_tokens(listed))
    return replace(asked, max_answer_tokens=room), partial(_read_needed, text=text, query=query, strategy=strategy)


def _read_needed(answer: str, text: str, query: str, strategy: AskingStrategy) -> list[str] | str:
    read = RELEVANCE[strategy].read(answer, [text, query])
    if isinstance(read, str):
        return read
    if len(getattr(read, "perspectives", range(_PERSPECTIVES))) != _PERSPECTIVES:
        return f"the answer does not hold {_PERSPECTIVES} perspectives"
    return list(asking.restore_control_tokens(read.entities, [text]))


def asked_model(
    model: ServedModel, access: Access, *, kind: str, name: str, seed: int, cache: AnswerCache
) -> AnsweringModel:
    """Return a served model, ready to be asked; sends nothing. Errors call it the endpoint `name`."""
    identity = identity_of(model, kind=kind, seed=seed)
    name = f"the endpoint {name} (--served-url)"
    return AnsweringModel(model, access, name=name, identity=identity, cache=cache, seed=seed)


def answer_by_model(
    system: str,
    served: AnsweringModel,
    samples: Sequence[Sample],
    advance: Advance,
    *,
    strategy: AskingStrategy,
    shots: Sequence[Shot],
    announce: Callable[[asking.AskingEstimate], None],
) -> Iterator[SampleAnswers]:
    """Yield a model's answers on each sample, in order; what it answered before is not asked again.

    `with-choice` is given the gold entities, names left out. Raises `IncompleteError` where the server gave no answer.
    """
    detected = served.ask([ask_for_entities(sample.description) for sample in samples], announce)
    questions = []
    for sample in samples:
        choices = tuple(dict.fromkeys(entity.text for entity in sample.entities() if entity.type != "PER"))
        questions.append(
            ask_what_is_needed(sample.description, sample.query, strategy=strategy, choices=choices, shots=shots)
        )
    for sample, entities, related in zip(samples, detected, served.ask(questions, announce), strict=True):
        subjects = entities.found
        masked = None
        if subjects is not None and related.found is not None:
            masked = less((entity.text for subject in subjects for entity in subject.entities), related.found)
        raw: dict[BenchTask, str | None] = {"detection": entities.raw, "query_related": related.raw}
        reasons: dict[BenchTask, str | None] = {"detection": entities.reason, "query_related": related.reason}
        reasons["masking"] = entities.reason or related.reason
        yield SampleAnswers(
            sample=sample.id,
            system=system,
            subjects=subjects,
            query_related=related.found,
            masked=masked,
            raw={task: said for task, said in raw.items() if said is not None},
            reasons={task: reason for task, reason in reasons.items() if reason is not None},
        )
        advance(1)


def draw_shots(training: Sequence[Sample]) -> list[Shot]:
    """Return examples for auto-cot: training samples of different scenes, short ones first; none is evaluated."""
    shots: dict[str, Shot] = {}
    for sample in sorted(training, key=lambda one: (len(one.description), one.id)):
        needed = tuple(dict.fromkeys(entity.text for entity in sample.query_related))
        if needed:
            shots.setdefault(sample.scene, Shot(sample.description, sample.query, needed))
        if len(shots) == _SHOTS:
            break
    return list(shots.values())
