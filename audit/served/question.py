"""One question to a served model: its text, fenced notes, id, and the schema of its answer."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from clinaudit.priors.diagnoses import Diagnosis

#: Why an answer is not used; such an answer comes of a server or a gateway that mixes up what it is asked.
OF_ANOTHER_QUESTION = "the answer does not repeat the id of the question"
#: Said when an answer could not be used; the reason is one of ours.
_AGAIN = "Your last answer could not be used: {reason}. Read the instructions again and answer once more."
#: Not of the wording that verdicts come from: what is answered is not read.
_ABOUT_NOTHING = "There is no note this time. Fill in the form as for an empty note."
#: Hexadecimal digits of a question's id: short enough to copy, long enough that no two that are in flight share one.
_ID_DIGITS = 8
#: What a chat template or a tokenizer may take for its own signs where it stands in a note: anything in angle brackets
#: but numbers, and the bracketed words of templates that use square ones. A blank behind the first character ends that.
_CONTROL_TOKEN = re.compile(
    r"<(?=[^\s<>\d=][^<>\n]{0,60}>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|AVAILABLE_TOOLS|MODEL_SETTINGS|ARGS|CALL_ID"
    r"|THINK|[gs]?MASK|CLS|SEP|PAD|UNK|BOS|EOS)\])"
    r"|\](?=~!?[a-z][\[\]])|\[(?=e~\[)"
)
_OUR_BLANK = re.compile(r"([<\[\]]) ")


@dataclass(frozen=True, slots=True)
class Question:
    """One thing to ask a model, and the shape of the answer."""

    system: str
    user: str
    schema_name: str
    schema: Mapping[str, Any]
    max_answer_tokens: int

    def again(self, reason: str) -> "Question":
        """Return the question to ask after an answer that could not be used for `reason` (words of ours)."""
        user = f"{self.user}\n{_AGAIN.format(reason=reason)}"
        return replace(self, user=user)

    def without_notes(self) -> "Question":
        """Return a question of the same form about nothing, to see whether the server answers this form at all."""
        return replace(self, user=_ABOUT_NOTHING)


def question_id(texts: Sequence[str], panel: Sequence[Diagnosis]) -> str:
    """Return what an answer must repeat, so that the answer to another question never passes for this one's."""
    content = json.dumps([list(texts), [diagnosis.id for diagnosis in panel]])
    # The letter: all digits would tempt a model to write a number.
    return "Q" + hashlib.sha256(content.encode()).hexdigest()[:_ID_DIGITS]


def break_control_tokens(text: str) -> str:
    """Return the text as it is sent: what a tokenizer could take for the end of a message gets a blank into it."""
    return _CONTROL_TOKEN.sub(r"\g<0> ", text)


def unbreak(spans: Sequence[str], texts: Sequence[str]) -> tuple[str, ...]:
    """Return spans that were copied from what was sent of `texts` as they stand in them: without our blanks."""
    if all(any(span in text for text in texts) for span in spans):
        return tuple(spans)
    sent = [(text, broken) for text in texts if (broken := break_control_tokens(text)) != text]
    return tuple(
        _OUR_BLANK.sub(r"\1", span)
        if any(span in broken and span not in text for text, broken in sent) and not any(span in text for text in texts)
        else span
        for span in spans
    )


def fence_marker(texts: Sequence[str]) -> str:
    """Return a marker that stands in none of the texts: made from them alone, so that equal texts are asked equally.

    Whoever wrote a note cannot close the fence early: they would have to write a digest of what they write.
    """
    digest = hashlib.sha256(json.dumps(list(texts)).encode()).hexdigest()
    while any(digest[:24] in text for text in texts):
        digest = hashlib.sha256(digest.encode()).hexdigest()
    return f"=====NOTE {digest[:24]}====="
