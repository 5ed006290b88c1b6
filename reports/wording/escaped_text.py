"""Text made safe for a viewer: control and direction signs are replaced, or escaped in JSON.

Owns which signs would steer a terminal, a page or an editor. Knows nothing of results.
"""

import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

#: Control characters, direction overrides and invisible characters, and lone surrogates.
_STEERING: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
#: The same without the line feed: JSON escapes it within texts, and uses it between them.
_STEERING_IN_JSON: Final = re.compile(_STEERING.pattern.replace("\x00-\x1f", "\x00-\x09\x0b-\x1f"))


def harmless_text(text: str) -> str:
    """Return one line of text with every sign that would steer a viewer replaced."""
    return _STEERING.sub("\ufffd", text)


def shell_word(path: Path) -> str:
    """Return a path as a shell reads it within a command; a sign that would steer a terminal is written as its code."""
    text = str(path)
    # `-x` would be an option.
    text = f"./{text}" if text.startswith("-") else text
    if not _STEERING.search(text):
        return shlex.quote(text)
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    codes = _STEERING.sub(lambda sign: "".join(f"\\x{byte:02x}" for byte in os.fsencode(sign[0])), escaped)
    return f"$'{codes}'"


def harmless_document(record: Any) -> Any:
    """Return a JSON document with every text and key of it harmless."""
    if isinstance(record, str):
        return harmless_text(record)
    if isinstance(record, Mapping):
        return {harmless_text(key): harmless_document(item) for key, item in record.items()}
    return [harmless_document(item) for item in record] if isinstance(record, list) else record


def escape_in_json(text: str) -> str:
    """Return JSON that says the same, with every sign that would steer a viewer escaped."""
    return _STEERING_IN_JSON.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)
