"""What a served model's reply says: its text and thoughts, why it ended, which model answered, and its tokens.

Servers of one protocol have words and fields of their own for all of these. Every field is checked before it is used.
Knows nothing of what was asked.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass
from typing import Any, Final, Literal

from clinaudit.priors.corpus.records import parse_json


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


def count_usage(answer: dict[str, Any]) -> Usage:
    """Read an answer's `usage`; a missing or impossible count makes an uncounted call."""
    prompt, completion = (token_count(answer, name) for name in ("prompt_tokens", "completion_tokens"))
    return Usage(1, uncounted_calls=1) if prompt is None or completion is None else Usage(1, prompt, completion)


def token_count(answer: dict[str, Any], name: str) -> int | None:
    """Return one count of an answer's `usage`, such as `prompt_tokens`; None where it is missing or impossible."""
    usage = answer.get("usage")
    count = usage.get(name) if isinstance(usage, dict) else None
    # No call takes ten million tokens.
    return count if type(count) is int and 0 <= count <= 10_000_000 else None


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
_PARTS: Final = r"(?:text|content|summary)\Z"
#: A name of a model as a message may hold it: one word without blanks, such as a served model has.
_PLAIN_NAME: Final = re.compile(r"[\w./:@+-]{1,80}", re.ASCII)
_NOT_SHOWN: Final = "a name that is not shown"
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
    """Return the one choice of an answer, of a chat or not; None where there is not one."""
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
    """Return that another model answered than the one asked, with both names; None where it did not.

    A dated name is another one: an alias may stand for other weights tomorrow.
    """
    if said == asked:
        return None
    names = (name if isinstance(name, str) and _PLAIN_NAME.fullmatch(name) else _NOT_SHOWN for name in (said, asked))
    return "{}: {} instead of {}".format(OTHER_MODEL, *names)


def text_in(said: object, *, of_thoughts: bool = False) -> str:
    """Return the text of a field: itself, or what its parts hold, end to end; thoughts among them are left out."""
    if isinstance(said, list):
        return "".join(text_in(part, of_thoughts=of_thoughts) for part in said)
    if isinstance(said, dict) and (of_thoughts or not _is_thought(said)):
        is_read = re.compile(rf"{_PARTS}|{_THOUGHT.pattern}" if of_thoughts else _PARTS).match
        return "".join(text_in(said[name], of_thoughts=of_thoughts) for name in filter(is_read, said))
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
