"""A judge on loopback like a reasoning model's: it takes no temperature, seed or `max_tokens`, and is inconsistent.

What it answers the first, second and third time stands in the note: "[pno]" is positive, negative, not mentioned.
"""

import json
import re
import threading
from collections import Counter
from typing import Any

from support.servers.fault_server import Handler, first_note, status, verdict_of

from clinaudit.audit.measures.judge.verdict import Judgement, UnjudgedKind, kind_of_reason
from clinaudit.reports.schema.judge import Outcome

PLAN = re.compile(r"\[([pnaoersfbx]{3})\]")
STATUSES: dict[str, Outcome] = {"p": "positive", "n": "negative", "a": "ambiguous", "o": "not_mentioned"}
#: What is said of an answer that is asked for again, and how it was unusable.
_AGAIN = {
    "could not be used: the model refused": "r",
    "could not be used: mentioned, but": "s",
    "could not be used": "x",
}
_REFUSED_PARAMETERS = ("temperature", "seed", "max_tokens")


class ReasoningModel:
    """A fault that answers every question by the plan in its note.

    p, n, a, o: by class; e: positive, with evidence alone; s: a mention without a span; r: a refusal; f: a content
    filter; b: a blank answer; x: no JSON.
    """

    def __init__(self, *, refuses: tuple[str, ...] = _REFUSED_PARAMETERS) -> None:
        self._refuses = refuses
        self._lock = threading.Lock()
        self._times: Counter[str] = Counter()

    def __call__(self, handler: Handler, body: dict[str, Any]) -> None:
        if any(name in body for name in self._refuses):
            return status(400)(handler, body)
        note = first_note(body)
        plan = PLAN.search(note)
        if plan is None:
            return handler.say(body, json.dumps(handler.answer_to(body, note)))
        # Asked again, as unusable as before.
        letter = next((letter for said, letter in _AGAIN.items() if said in body["messages"][-1]["content"]), "")
        if not letter:
            with self._lock:
                letter = plan[1][self._times[note] % 3]
                self._times[note] += 1
        return _answer(handler, body, letter)


def _answer(handler: Handler, body: dict[str, Any], letter: str) -> None:
    if letter == "r":
        message = {"role": "assistant", "content": None, "refusal": "I cannot help with that."}
        choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
        return handler.say(body, None, choices=choices)
    if letter == "f":
        return handler.say(body, "", finish="content_filter")
    if letter in "bx":
        return handler.say(body, {"b": " ", "x": "I think so."}[letter])
    if letter == "o":
        return handler.say(body, json.dumps(verdict_of("")))
    answer = {**verdict_of("depression"), "patient_has_diagnosis": STATUSES.get(letter, "positive")}
    if letter in "es":
        answer["diagnosis_spans"] = []
        answer["evidence_spans"] = ["noted again"] if letter == "e" else []
    return handler.say(body, json.dumps(answer))


def note_of(plan: str, number: int = 0) -> str:
    """A note about depression that is answered by the plan; another one for each number."""
    return f"case {number} [{plan}]: depression, noted again"


def outcome_or_kind(judgement: Judgement) -> Outcome | UnjudgedKind:
    """The class of a judgement, or as what an unjudged one is counted."""
    return judgement.outcome if judgement.invalid_reason is None else kind_of_reason(judgement.invalid_reason)
