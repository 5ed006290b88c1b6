"""A text of somebody else's in a question, so that it cannot pose as part of it (prompt injection).

Owns the fence around it, whose marker stands in no text, and the control tokens that are broken in it. Knows nothing of
what is asked.
"""

import hashlib
import json
import re
from collections.abc import Sequence

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
    if all(any(span in text for text in texts) for span in spans):
        return tuple(spans)
    sent = [(text, broken) for text in texts if (broken := break_control_tokens(text)) != text]
    return tuple(
        _OUR_BLANK.sub(r"\1", span)
        if any(span in broken and span not in text for text, broken in sent) and not any(span in text for text in texts)
        else span
        for span in spans
    )
