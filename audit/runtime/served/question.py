"""A question to a served model and what comes back: its text, id and tokens, its answer's JSON Schema, and the reply.

A text of somebody else's stands in a fence, whose marker stands in no text, and its control tokens are broken, so that
it cannot pose as part of the question (prompt injection). An answer is one document, with nothing besides but a
Markdown fence and, before it, a thought that is closed. Reasons are fixed words: an answer may quote the note.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from functools import cached_property
from typing import Any, Final, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from clinaudit.priors.corpus.records import parse_json
from clinaudit.reports.wording.numbers import counted


def read_json_object(text: str | bytes) -> dict[str, Any] | None:
    """Return the text's one JSON object, or None: no duplicate name, no NaN, nothing before or after it."""
    try:
        document = parse_json(text)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


@dataclass(frozen=True, slots=True)
class Usage:
    """Answered calls, and their tokens by the server's count."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    #: Calls whose answer gave no count.
    uncounted_calls: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(*map(sum, zip(astuple(self), astuple(other), strict=True)))

    def describe(self) -> str:
        """Return one line for stderr."""
        unknown = f" ({self.uncounted_calls} calls did not say)" if self.uncounted_calls else ""
        return (
            f"{self.calls:,} calls answered, {self.prompt_tokens:,} prompt and {self.completion_tokens:,} "
            f"answer tokens by the server's count{unknown}"
        )


def token_count(answer: dict[str, Any], name: str) -> int | None:
    """Return one count of an answer's `usage`, such as `prompt_tokens`; None where it is missing or impossible."""
    usage = answer.get("usage")
    count = usage.get(name) if isinstance(usage, dict) else None
    # No call takes ten million tokens.
    return count if type(count) is int and 0 <= count <= 10_000_000 else None


def count_usage(answer: dict[str, Any]) -> Usage:
    """Read an answer's `usage`; a missing or impossible count makes an uncounted call."""
    prompt, completion = (token_count(answer, name) for name in ("prompt_tokens", "completion_tokens"))
    return Usage(1, uncounted_calls=1) if prompt is None or completion is None else Usage(1, prompt, completion)


#: `filtered`: text was withheld; `tool`: the model called one instead of writing; `aborted`: it may go well next time.
Ending = Literal["stop", "length", "filtered", "tool", "aborted"]
#: The words of OpenAI, vLLM, SGLang, TGI, llama.cpp, Together, Mistral, Anthropic, Cohere, Gemini and Bedrock.
_WORDS: Final[dict[Ending, str]] = {
    "stop": "stop eos eos_token eos_token_id end_of_sequence end_turn end_of_turn stop_sequence stop_token complete",
    "length": "length max_tokens max_new_tokens max_completion_tokens max_length model_length limit",
    "filtered": "content_filter guardrail_intervened safety recitation prohibited_content spii refusal",
    "tool": "tool_calls tool_call tool_use function_call",
    "aborted": "abort aborted cancelled error",
}
_ENDINGS: Final = {word: ending for ending, words in _WORDS.items() for word in words.split()}
#: Names of fields, and of kinds of parts, in which servers put what the model thought, such as `reasoning_content`;
#: each server has its own, and signatures and counts stand beside them.
_THOUGHT: Final = re.compile(r"(?!.*(?:signature|encrypted|tokens|effort)).*(?:reasoning|thinking|thought)")
#: What holds the text of a part.
_PARTS: Final = re.compile(r"(?:text|content|summary)\Z")
_PARTS_OF_THOUGHTS: Final = re.compile(rf"{_PARTS.pattern}|{_THOUGHT.pattern}")
#: A name of a model as a message may hold it: one word without blanks, such as a served model has.
_PLAIN_NAME: Final = re.compile(r"[\w./:@+-]{1,80}", re.ASCII)
#: Words for an end that servers may still invent: no name, number or address of a note is spelled so.
_PLAIN_WORD: Final = re.compile(r"[a-z]+(?:_[a-z]+)+|[A-Z]+(?:_[A-Z]+)+")


@dataclass(frozen=True, slots=True)
class Reply:
    """The one choice of a server's answer."""

    #: As the server gives it: a text, None, or parts (`text_in`).
    content: object
    #: What the server gives of a refusal in a field of its own.
    refusal: object
    #: What the model thought, where the server puts it beside the answer; the same text twice is one.
    thought: str
    #: None where the server says none, or says it by an unknown word.
    ending: Ending | None
    #: The server's word for the end as a message may hold it; None where it says none.
    word: str | None
    #: `choice` as it came, with the log-probabilities.
    choice: dict[str, Any]


def read_reply(answer: dict[str, Any]) -> Reply | None:
    """Return the one choice of an answer, in a chat or not, by whatever names of fields; None without one."""
    choices = answer.get("choices")
    if not isinstance(choices, list) or len(choices) != 1 or not isinstance(choices[0], dict):
        return None
    choice = choices[0]
    message = choice.get("message", {"content": choice["text"]} if "text" in choice else None)
    message = message if isinstance(message, dict) else {"content": ()}
    # Some servers give calls of tools without a word for the end, or call it a stop.
    word = "tool_calls" if message.get("tool_calls") else choice.get("finish_reason")
    parts = message.get("content")
    # Beside the message, in it, in a field of a gateway's own, among the parts of the content.
    places = (choice, message, *message.values(), *(parts if isinstance(parts, list) else ()))
    thoughts = (text for place in places if isinstance(place, dict) for text in _thoughts_in(place))
    ending = _ENDINGS.get(word.lower()) if isinstance(word, str) else None
    is_plain = isinstance(word, str) and (ending is not None or _PLAIN_WORD.fullmatch(word[:80]) is not None)
    return Reply(
        content=message.get("content"),
        refusal=message.get("refusal"),
        thought="\n".join(dict.fromkeys(filter(None, thoughts))),
        ending=ending,
        word=None if word is None else str(word) if is_plain else "a word that is not shown",
        choice=choice,
    )


#: How it begins what `other_model` returns.
OTHER_MODEL: Final = "another model answered"


def other_model(asked: str, said: object) -> str | None:
    """Return that another model answered, with both names; None where it did not. A dated name is another one."""
    if said == asked:
        return None
    hidden = "a name that is not shown"
    names = (name if isinstance(name, str) and _PLAIN_NAME.fullmatch(name) else hidden for name in (said, asked))
    return "{}: {} instead of {}".format(OTHER_MODEL, *names)


def text_in(said: object, *, of_thoughts: bool = False) -> str:
    """Return the text of a field: itself, or what its parts hold, end to end; thoughts among them are left out."""
    if isinstance(said, list):
        return "".join(text_in(part, of_thoughts=of_thoughts) for part in said)
    if isinstance(said, dict) and (of_thoughts or not _is_thought(said)):
        parts = filter((_PARTS_OF_THOUGHTS if of_thoughts else _PARTS).match, said)
        return "".join(text_in(said[name], of_thoughts=of_thoughts) for name in parts)
    return said if isinstance(said, str) else ""


def _is_thought(part: Mapping[str, object]) -> bool:
    return isinstance(kind := part.get("type"), str) and _THOUGHT.match(kind) is not None


def _thoughts_in(place: Mapping[str, object]) -> Iterator[str]:
    if _is_thought(place):
        yield text_in(place, of_thoughts=True)
        return
    # Of two that differ `reasoning_content` comes before `reasoning`.
    for name in sorted(filter(_THOUGHT.match, place), reverse=True):
        yield text_in(place[name], of_thoughts=True)


#: The usual rule of thumb for English; clinical abbreviations take somewhat more tokens.
CHARS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class AskingEstimate:
    """The questions still to be asked, and their tokens where each is asked once."""

    #: With each of the answers that one question is asked for.
    questions: int
    prompt_tokens: int
    #: The token limits of all answers, summed.
    most_answer_tokens: int

    def describe(self) -> str:
        """Return one line for stderr."""
        return (
            f"{counted(self.questions, 'question')} to ask, about {self.prompt_tokens:,} prompt tokens "
            f"(at {CHARS_PER_TOKEN} characters a token) and at most {self.most_answer_tokens:,} answer tokens; an "
            "answer that cannot be used is asked for once more, so at most about twice as many"
        )


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a text has, by its characters: the served model's tokenizer is not known here."""
    return -(-len(text) // CHARS_PER_TOKEN)


Schema = Mapping[str, Any]
TEXT: Final[Schema] = {"type": "string"}


def object_schema(**fields: Schema) -> Schema:
    """Return the schema of an object with these fields, asked for in this order."""
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


#: Control tokens: text in a note that a chat template or a tokenizer may take for its own signs. Anything in angle
#: brackets but numbers, and the bracketed words of templates that use square ones. A blank after the first character
#: breaks them.
CONTROL_TOKEN = re.compile(
    r"<(?=[^\s<>\d=][^<>\n]{0,60}>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|AVAILABLE_TOOLS|MODEL_SETTINGS|ARGS|CALL_ID"
    r"|THINK|[gs]?MASK|CLS|SEP|PAD|UNK|BOS|EOS)\])"
    r"|\](?=~!?[a-z][\[\]])|\[(?=e~\[)"
)
_OUR_BLANK = re.compile(r"([<\[\]]) ")


def fence_marker(texts: Sequence[str]) -> str:
    """Return a marker made of the texts alone that stands in none of them: no note can close its own fence."""
    digest = hashlib.sha256(json.dumps(list(texts)).encode()).hexdigest()
    while any(digest[:24] in text for text in texts):
        digest = hashlib.sha256(digest.encode()).hexdigest()
    return f"=====NOTE {digest[:24]}====="


def break_control_tokens(text: str) -> str:
    """Return the text as it is sent: control tokens in it are broken by a blank (prompt injection)."""
    return CONTROL_TOKEN.sub(r"\g<0> ", text)


def restore_control_tokens(spans: Sequence[str], texts: Sequence[str]) -> tuple[str, ...]:
    """Return spans quoted from `texts` as sent, as they stand in `texts`: without the blanks that we inserted."""
    foreign = {span for span in spans if not any(span in text for text in texts)}
    sent = list(map(break_control_tokens, texts)) if foreign else []
    return tuple(
        _OUR_BLANK.sub(r"\1", span) if span in foreign and any(span in text for text in sent) else span
        for span in spans
    )


#: Why an answer is not used; a server or a gateway that mixes up its requests gives such answers.
OF_ANOTHER_QUESTION = "the answer does not repeat the id of the question"
#: The model or its provider's filter would not answer. Counted apart from answers that cannot be used.
REFUSED_BY_MODEL = "the model refused to answer"
#: Followed by the HTTP status.
REFUSED_BY_SERVER = "refused by the server"
#: Sent after an answer that could not be used; the reason is in fixed words.
AGAIN = "Your last answer could not be used: {reason}. Read the instructions again and answer once more."


@dataclass(frozen=True, slots=True)
class Question:
    """One question to a model, and the schema of its answer."""

    system: str
    user: str
    schema_name: str
    schema: Mapping[str, Any]
    max_answer_tokens: int

    def again(self, reason: str) -> "Question":
        """Return the question to ask after an answer that could not be used; `reason` says why, in fixed words."""
        return replace(self, user=f"{self.user}\n{AGAIN.format(reason=reason)}")

    def without_notes(self) -> "Question":
        """Return a question of the same form without notes, to test whether the server answers this form at all."""
        # No part of the hashed wording: the answer to it is not read.
        return replace(self, user="There is no note this time. Fill in the form as for an empty note.")


def question_id(texts: Sequence[str], subjects: Sequence[str]) -> str:
    """Return the id that an answer must repeat, so that no other answer is taken for it; `subjects`: what is asked."""
    content = json.dumps([list(texts), list(subjects)])
    # The letter: all digits would tempt a model to write a number. Eight are short enough to copy, and long enough that
    # no two questions in flight share them.
    return "Q" + hashlib.sha256(content.encode()).hexdigest()[:8]


class StrictModel(BaseModel):
    """A part of an answer: exactly its fields, each of its own type."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class FilledForm(StrictModel):
    """A form as a model filled it in. None says how long a text may be: some servers let control characters through."""

    #: The question's id. No constant: the server would compile a schema for each question anew. And a model that has to
    #: copy the id has read this question.
    question: str


Filled = TypeVar("Filled", bound=FilledForm)


def schema_of(form: type[BaseModel]) -> dict[str, Any]:
    """Return the schema of a form with its fields in order, as a server is given it: no titles, no references."""
    schema = form.model_json_schema()
    definitions = schema.pop("$defs", {})

    def simplify(part: Any) -> Any:
        if isinstance(part, list):
            return [simplify(item) for item in part]
        if isinstance(part, dict) and "$ref" in part:
            return simplify(definitions[part["$ref"].rsplit("/", 1)[1]])
        if isinstance(part, dict):
            return {name: simplify(value) for name, value in part.items() if name not in ("title", "description")}
        return part

    return dict(simplify(schema))


_THOUGHT_ENDS = re.compile(r"</think(?:ing)?>\s*")
_FENCE = "```"
_FENCE_OPENS = re.compile(_FENCE + r"(?:json|JSON)?[ \t]*\r?\n")


def after_thought(text: str) -> str:
    """Return what stands behind a thought, whose opening mark may have stood in the prompt."""
    ends = None if text.startswith(("{", _FENCE)) else _THOUGHT_ENDS.search(text)
    return text if ends is None else text[ends.end() :]


Found = TypeVar("Found")
#: A question, and what reads its answer: a string says in fixed words why it cannot be used.
Inquiry = tuple[Question, Callable[[str], Found | str]]


@dataclass(frozen=True)
class Form(Generic[Filled]):
    """A form, with what is asked for in it."""

    name: str
    system: str
    #: With places for `marker`, `question` and what else a question says.
    prompt: str
    answer: type[Filled]
    max_answer_tokens: int
    #: What is asked for, in the question's id, where it is not the name.
    subject: str = ""
    #: Where the fields of the answer do not say it all.
    own_schema: Schema | None = None

    @cached_property
    def schema(self) -> Schema:
        """The schema of the answer."""
        return schema_of(self.answer) if self.own_schema is None else self.own_schema

    def ask(self, texts: Sequence[str], *, fenced: Sequence[str] | None = None, **said: object) -> Question:
        """Return the question about some texts; the fence's marker stands in none of those `fenced` (None: these)."""
        marker = fence_marker(texts if fenced is None else fenced)
        prompt = self.prompt.format(marker=marker, question=question_id(texts, [self.subject or self.name]), **said)
        return Question(self.system, prompt, self.name, self.schema, self.max_answer_tokens)

    def read(self, answer: str, texts: Sequence[str]) -> Filled | str:
        """Return the form as it was filled in about these texts, or why the answer cannot be used."""
        said = content = after_thought(answer.strip())
        # One pattern over the whole would take quadratic time on an answer of blanks.
        opening = _FENCE_OPENS.match(said)
        if opening is not None and said.endswith(_FENCE) and len(said) >= opening.end() + len(_FENCE):
            content = said[opening.end() : -len(_FENCE)]
        if (document := read_json_object(content)) is None:
            is_thought = said.startswith(("<think>", "<thinking>"))
            return f"the answer is {'a thought (<think>) without an end, ' if is_thought else ''}not one JSON object"
        try:
            filled = self.answer.model_validate(document, strict=True)
        except (ValidationError, RecursionError):
            return "the answer does not follow the schema"
        is_its_own = filled.question == question_id(texts, [self.subject or self.name])
        return filled if is_its_own else OF_ANOTHER_QUESTION

    @staticmethod
    def fenced(texts: Sequence[str], marker: str) -> str:
        """Return texts one after the other, a marker between two."""
        return f"\n{marker}\n".join(map(break_control_tokens, texts))
