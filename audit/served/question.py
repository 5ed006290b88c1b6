"""One question to a served model: its text, its id, and the schema of its answer.

Knows nothing of what is asked. How a note stands in a question is in fenced_text.py.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

#: Why an answer is not used; a server or a gateway that mixes up its requests gives such answers.
OF_ANOTHER_QUESTION = "the answer does not repeat the id of the question"
#: The model or its provider's filter would not answer. Counted apart from answers that cannot be used.
REFUSED_BY_MODEL = "the model refused to answer"
#: Followed by the HTTP status.
REFUSED_BY_SERVER = "refused by the server"
#: Sent after an answer that could not be used; the reason is in fixed words.
AGAIN = "Your last answer could not be used: {reason}. Read the instructions again and answer once more."
#: No part of the hashed wording: the answer to it is not read.
_ABOUT_NOTHING = "There is no note this time. Fill in the form as for an empty note."
#: Hexadecimal digits of a question's id: short enough to copy, long enough that no two that are in flight share one.
_ID_DIGITS = 8


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
        user = f"{self.user}\n{AGAIN.format(reason=reason)}"
        return replace(self, user=user)

    def without_notes(self) -> "Question":
        """Return a question of the same form without notes, to test whether the server answers this form at all."""
        return replace(self, user=_ABOUT_NOTHING)


def question_id(texts: Sequence[str], subjects: Sequence[str]) -> str:
    """Return the id that an answer must repeat, so that the answer to another question is never taken for its own.

    `subjects` are the ids of what is asked about the texts.
    """
    content = json.dumps([list(texts), list(subjects)])
    # The letter: all digits would tempt a model to write a number.
    return "Q" + hashlib.sha256(content.encode()).hexdigest()[:_ID_DIGITS]
