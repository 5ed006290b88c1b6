"""Text for a terminal: without signs that would steer it, and in colour where that is wanted.

Owns when colour is wanted and what it looks like. A colour only repeats what a word says. Knows nothing of results.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

#: Control signs, those that turn the direction of writing or are not seen, and halves of a sign.
_STEERING: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
#: The same but for line feeds: JSON escapes those in texts itself, and puts its own between them.
_STEERING_IN_JSON: Final = re.compile(_STEERING.pattern.replace("\x00-\x1f", "\x00-\x09\x0b-\x1f"))


def harmless(text: str) -> str:
    """Return one line of text with every sign that would steer a viewer replaced."""
    return _STEERING.sub("\ufffd", text)


def make_harmless(record: Any) -> Any:
    """Return a JSON document with every text and key of it harmless."""
    if isinstance(record, str):
        return harmless(record)
    if isinstance(record, Mapping):
        return {harmless(key): make_harmless(item) for key, item in record.items()}
    return [make_harmless(item) for item in record] if isinstance(record, list) else record


def escape_in_json(text: str) -> str:
    """Return JSON that says the same, with every sign that would steer a viewer escaped."""
    return _STEERING_IN_JSON.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)
