"""Any served model: tasks 1 and 2 asked of it, one answer a question, at temperature 0 (PII-Bench, 4.1).

Owns the six strategies, the schemas of the answers and their strict reading, and the way from samples to answers: task
2 by each strategy, task 3 as the difference. Rules of every strategy: the smallest stretch of text, no person's name,
copied character by character, a list. An entity that does not stand in the text is kept: it scores as wrong, and is no
fault of the form. An answer that cannot be used is asked for once more, as every question to a served model is; after
that it is *unparsed*, stays null with its reason, and scores 0. Imported lazily: it loads the client.

Owns as well the utility of masked prompts (F.2.2, Table 8): the model answers prompts unmasked, with all entities
masked, and with those masked that the question does not need, by the gold answer, and rates what it answered.
**[choice]** U is the mean of its two parts, for which the paper names no combination: how alike the answers to the
masked and to the unmasked prompt are (Eq. 18), and the rating, put on 0 to 1 (Eq. 19). Which of the two answers stands
first changes by turns, as in the paper, so that a liking for a place falls on both.
"""

import random
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.resources import files
from typing import Annotated, Any, Final, NamedTuple, get_args

from pydantic import Field, create_model

from clinaudit.audit.pii.benchmark.sample import PredictedEntity, PredictedSubject, Sample, less, mask_texts
from clinaudit.audit.pii.benchmark.scoring import Utilities
from clinaudit.audit.pii.benchmark.systems.answers import Advance, SampleAnswers
from clinaudit.audit.pii.taxonomy import PII_TYPES, PiiType, categories
from clinaudit.audit.runtime.choices import AskingStrategy
from clinaudit.audit.runtime.served import question as asking
from clinaudit.audit.runtime.served.answering_model import AnsweringModel
from clinaudit.audit.runtime.served.question import Filled, FilledForm, Form, Inquiry, StrictModel
from clinaudit.audit.statistics.estimates import grouped
from clinaudit.reports.schema.pii_bench import BenchTask, MaskingStrategy

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


_DETECTING: Final = Form("entities", _SAID["system_of_lists"], _SAID["detection"], _Entities, _MOST_ANSWER_TOKENS)


def _form(strategy: AskingStrategy) -> Form[Any]:
    kinds = {name: list[str] if name == "perspectives" else str for name in _SAID["fields"].get(strategy, ())}
    fields: dict[str, Any] = {name: (kind, ...) for name, kind in {**kinds, "entities": list[str]}.items()}
    return Form(
        f"needed_{strategy.replace('-', '_')}",
        _SAID["system_of_lists"],
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


_LOWEST: Final = 1
_HIGHEST: Final = 10


class _GivenAnswer(FilledForm):
    answer: str


_Rating = Annotated[int, Field(ge=_LOWEST, le=_HIGHEST)]


class Ratings(FilledForm):
    """How well each of two answers serves."""

    first: _Rating
    second: _Rating


_ANSWERING: Final = Form("answer", _SAID["system_of_answers"], _SAID["answer"], _GivenAnswer, 768)
_RATING: Final = Form("ratings", _SAID["system_of_answers"], _SAID["rating"], Ratings, 128)


def _ask(form: Form[Filled], **texts: str) -> Inquiry[Filled]:
    """Return the question of a form about texts, each in the place of its name, and what reads the answer."""
    sent = {name: asking.break_control_tokens(text) for name, text in texts.items()}
    given = list(texts.values())
    return form.ask(given, fenced=list(sent.values()), **sent), partial(form.read, texts=given)


def ask_for_ratings(query: str, reference: str, first: str, second: str) -> Inquiry[Ratings]:
    """Return the question how well each of two answers serves, beside the one that they are measured by."""
    return _ask(_RATING, query=query, reference=reference, first=first, second=second)


#: Descriptions of each domain that are answered (PII-Bench, 4.5).
_MOST_SAMPLES: Final = 200
#: The first of the two that are rated.
_MASKED: Final[tuple[MaskingStrategy, MaskingStrategy]] = ("all", "query_unrelated")


def measure_utility(
    samples: Sequence[Sample],
    served: AnsweringModel,
    *,
    similarity: Callable[[str, str], float],
    seed: int,
    announce: Callable[[asking.AskingEstimate], None],
) -> Utilities:
    """Return U of each sample that was answered and rated, by domain and strategy.

    `similarity` tells how alike two texts are, from 0 to 1. A sample of which an answer could not be used is left out.
    Raises `IncompleteError` where no answer comes.
    """
    chosen: list[Sample] = []
    for of_domain in grouped(samples, lambda sample: sample.domain).values():
        places = random.Random(seed).sample(range(len(of_domain)), min(_MOST_SAMPLES, len(of_domain)))
        chosen += [of_domain[place] for place in sorted(places)]
    prompts = [_ask(_ANSWERING, text=text, query=sample.query) for sample in chosen for text in _texts(sample)]
    answers = [given.found for given in served.ask(prompts, announce)]
    found = [None if given is None else given.answer for given in answers]
    #: The answer to the whole prompt, and those to the masked ones, by turns the other first.
    answered: list[tuple[Sample, str, list[tuple[MaskingStrategy, str]]]] = []
    for place, sample in enumerate(chosen):
        reference, *masked = found[3 * place : 3 * place + 3]
        pairs = [(strategy, answer) for strategy, answer in zip(_MASKED, masked, strict=True) if answer is not None]
        if reference is not None and len(pairs) == len(_MASKED):
            answered.append((sample, reference, pairs[::-1] if place % 2 else pairs))
    asked = [
        ask_for_ratings(sample.query, reference, first, second)
        for sample, reference, ((_, first), (_, second)) in answered
    ]
    utilities: dict[tuple[str, str], list[float]] = {}
    for (sample, reference, pairs), rating in zip(answered, served.ask(asked, announce), strict=True):
        if rating.found is None:
            continue
        for (strategy, answer), value in zip(pairs, (rating.found.first, rating.found.second), strict=True):
            utility = (similarity(reference, answer) + (value - _LOWEST) / (_HIGHEST - _LOWEST)) / 2
            utilities.setdefault((sample.domain, strategy), []).append(utility)
    return utilities


def _texts(sample: Sample) -> tuple[str, str, str]:
    """Return the description as it is, with all entities masked, and with those that are not needed."""
    tags = {entity.text: f"<{categories()[entity.category].tag}>" for entity in sample.entities()}
    unneeded = less(tags, [entity.text for entity in sample.query_related])
    text = sample.description
    return text, mask_texts(text, tags), mask_texts(text, {entity: tags[entity] for entity in unneeded})
