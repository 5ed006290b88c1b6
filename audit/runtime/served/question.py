"""One question to a served model: its text, id and tokens, the JSON Schema of its answer, and how that is read.

A text of somebody else's stands in a fence, whose marker stands in no text, and its control tokens are broken, so that
it cannot pose as part of the question (prompt injection). An answer is one document, with no duplicate name, no type
coerced, nothing besides but a Markdown fence and, before it, a thought that is closed. Reasons are fixed words: an
answer may quote the note.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from clinaudit.audit.runtime.served.reply import read_json_object
from clinaudit.reports.wording.numbers import counted

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
    """Return a marker (delimiter) that stands in none of the texts, made from them alone: equal texts, equal questions.

    The author of a note cannot close the fence early: the note would have to hold its own digest.
    """
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
    """Return the id that an answer must repeat, so that the answer to another question is never taken for its own.

    `subjects` are the ids of what is asked about the texts.
    """
    content = json.dumps([list(texts), list(subjects)])
    # The letter: all digits would tempt a model to write a number. Eight are short enough to copy, and long enough that
    # no two questions in flight share them.
    return "Q" + hashlib.sha256(content.encode()).hexdigest()[:8]


_THOUGHT_OPENS = re.compile(r"<think(?:ing)?>")
_THOUGHT_ENDS = re.compile(r"</think(?:ing)?>\s*")
_FENCE = "```"
_FENCE_OPENS = re.compile(_FENCE + r"(?:json|JSON)?[ \t]*\r?\n")


class StrictModel(BaseModel):
    """A part of an answer: exactly its fields, each of its own type."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class FilledForm(StrictModel):
    """A form as a model filled it in; it repeats the id of the question.

    No form says how long a text may be: some servers let control characters through with it.
    """

    #: No constant: the server would compile a schema for each question anew. And a model that has to copy the id has
    #: read this question.
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


def read_answer(text: str, form: type[Filled], *, question: str) -> Filled | str:
    """Return the answer to the question of that id in the form that was asked for, or why it cannot be used."""
    said = after_thought(text.strip())
    document = read_json_object(_unfenced(said))
    if document is None:
        is_thought = "a thought (<think>) without an end, " if _THOUGHT_OPENS.match(said) else ""
        return f"the answer is {is_thought}not one JSON object"
    try:
        answer = form.model_validate(document, strict=True)
    except (ValidationError, RecursionError):
        return "the answer does not follow the schema"
    return answer if answer.question == question else OF_ANOTHER_QUESTION


def after_thought(text: str) -> str:
    """Return what stands behind a thought, whose opening mark may have stood in the prompt."""
    ends = None if text.startswith(("{", _FENCE)) else _THOUGHT_ENDS.search(text)
    return text if ends is None else text[ends.end() :]


def _unfenced(text: str) -> str:
    """Return the content of a fence. One pattern over the whole would take quadratic time on an answer of blanks."""
    opening = _FENCE_OPENS.match(text)
    if opening is None or not text.endswith(_FENCE) or len(text) < opening.end() + len(_FENCE):
        return text
    return text[opening.end() : -len(_FENCE)]


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
        prompt = self.prompt.format(marker=marker, question=self._id_of(texts), **said)
        return Question(self.system, prompt, self.name, self.schema, self.max_answer_tokens)

    def read(self, answer: str, texts: Sequence[str]) -> Filled | str:
        """Return the form as it was filled in about these texts, or why the answer cannot be used."""
        return read_answer(answer, self.answer, question=self._id_of(texts))

    @staticmethod
    def fenced(texts: Sequence[str], marker: str) -> str:
        """Return texts one after the other, a marker between two."""
        return f"\n{marker}\n".join(map(break_control_tokens, texts))

    def _id_of(self, texts: Sequence[str]) -> str:
        return question_id(texts, [self.subject or self.name])
