"""The chat form of a tier: what is said to a model that was trained to answer (docs/methods.md, section 1).

Owns the words around a patient's facts, and the three requests. Knows nothing of a model's template, nor of tokens.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

#: What is asked of the model: to go on with the note, to write it, or to say what it knows of the patient.
ChatRequest = Literal["continue", "write", "ask"]

#: No word of a diagnosis stands here: the prompt must tell nothing that the tier does not.
SYSTEM: Final = "You assist with clinical documentation."
_BACKGROUND: Final = "This is known of a patient:"
_REQUESTS: Final[dict[ChatRequest, str]] = {
    "continue": "Continue the note about this patient.",
    "write": "Write the note about this patient.",
    "ask": "What do you know about this patient?",
}


@dataclass(frozen=True, slots=True)
class Conversation:
    """What is said to the model before it answers."""

    system: str
    user: str
    #: The beginning of the answer, which the model goes on with; None: it begins itself.
    opening: str | None = None


#: One message as servers take it: its role and its text.
Message = tuple[str, str]


@dataclass(frozen=True, slots=True)
class RenderedChat:
    """A conversation as the model is given it."""

    #: By the model's own chat template.
    prompt: str
    #: The same before the template. The last one is the assistant's where the model goes on with it.
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class ChatForm:
    """How an audit asks in a chat."""

    request: ChatRequest
    #: Returns the reason as text where a conversation cannot be put to the model.
    render: Callable[[Conversation], RenderedChat | str]


def converse(lines: list[str], request: ChatRequest, *, opening: str) -> Conversation:
    """Return the conversation about a patient; `lines` are the facts under their labels.

    `opening` begins the answer where the request is to go on with the note.
    """
    user = "\n".join([_BACKGROUND, *lines, "", _REQUESTS[request]])
    return Conversation(SYSTEM, user, opening if request == "continue" else None)
