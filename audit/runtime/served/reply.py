"""What a served model's reply says beside its text: which model answered, why it ended, and what the model thought.

Servers of one protocol have words and fields of their own for all three. Knows nothing of what was asked.
"""

import re
from typing import Final, Literal

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
#: Fields of a message in which servers put what the model thought, with or without an answer beside it.
_THOUGHT_FIELDS: Final = ("reasoning_content", "reasoning", "thinking", "reasoning_details")
_PLAIN_NAME: Final = re.compile(r"[\w./:@+-]{1,80}", re.ASCII)
#: Words for an end that servers may still invent: no name, number or address of a note is spelled so.
_PLAIN_WORD: Final = re.compile(r"[a-z]+(?:_[a-z]+)+|[A-Z]+(?:_[A-Z]+)+")


def plain_name(said: object) -> str:
    """Return a model's name as a message may hold it: one word without blanks, such as a served model has."""
    return said if isinstance(said, str) and _PLAIN_NAME.fullmatch(said) else "a name that is not shown"


def plain_word(said: object) -> str:
    """Return a server's word for an end as a message may hold it: a known one, or words joined by underscores."""
    is_plain = isinstance(said, str) and (find_ending(said) is not None or _PLAIN_WORD.fullmatch(said[:80]) is not None)
    return str(said) if is_plain else "a word that is not shown"


def other_model(asked: str, said: object) -> str | None:
    """Return that another model answered than the one asked, with both names; None where it did not.

    A dated name is another one: an alias may stand for other weights tomorrow.
    """
    return None if said == asked else f"another model answered: {plain_name(said)} instead of {plain_name(asked)}"


def find_ending(word: object) -> Ending | None:
    """Return what a server's `finish_reason` means; None for a word that is not known."""
    return _ENDINGS.get(word.lower()) if isinstance(word, str) else None


def thought_of(message: object) -> str:
    """Return what the model thought, where the server puts it beside the answer; the same text twice is one."""
    fields = message if isinstance(message, dict) else {name: getattr(message, name, None) for name in _THOUGHT_FIELDS}
    said = (text_in(fields.get(name)) for name in _THOUGHT_FIELDS)
    return "\n".join(dict.fromkeys(thought for thought in said if thought))


def text_in(said: object) -> str:
    """Return the text of a field: itself, or what its parts hold as `text`, `content` or `summary`."""
    if isinstance(said, dict):
        said = [said.get(name) for name in ("text", "content", "summary")]
    return (
        "\n".join(filter(None, map(text_in, said))) if isinstance(said, list) else said if isinstance(said, str) else ""
    )
