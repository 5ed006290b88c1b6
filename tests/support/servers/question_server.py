"""A chat-completions server on loopback that writes questions on notes, sorts titles and judges both, by rules."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

from support.servers import fault_server
from support.servers.fault_server import FENCED, Handler, Server

_ID = re.compile(r'"question": "(Q[0-9a-f]{8})"')
_HEADERS = ("surgical history", "tobacco/alcohol/supplements", "allergies", "plan", "assessment", "vitals")


def answer_to(body: dict[str, Any]) -> dict[str, Any]:
    """The answer by rule, in the fields that the schema asks for."""
    kind = body["response_format"]["json_schema"]["name"]
    asked = body["messages"][-1]["content"]
    answer: dict[str, Any] = {"question": _ID.findall(asked)[-1]}
    if kind == "questions":
        lines = dict(re.findall(r"^([a-z/ ]+): (.+)$", asked, re.MULTILINE))
        return {**answer, **questions_on({header: lines[header] for header in _HEADERS})}
    if kind == "category":
        return {**answer, "reason": "by rule", "category": "kidney"}
    verdicts = body["response_format"]["json_schema"]["schema"]["properties"]["verdict"]["enum"]
    # The judge called strict refuses whatever tells of an allergy or of a heel.
    text = next((match[2] for match in FENCED.finditer(asked)), "")
    is_refused = body["model"] == "strict" and (
        "heel" in text or "allerg" in asked.partition("Is this a valid")[0][-300:]
    )
    return {**answer, "reason": "by rule", "verdict": verdicts[1 if is_refused else 0]}


def questions_on(values: dict[str, str]) -> dict[str, list[dict[str, Any]]]:
    """Six factual questions on the values of a note by header, and six reasoning ones on two of them each."""
    factual = [
        {"ask": f"What stands under {header}?", "answer": f"It says {value}", "facts": [value]}
        for header, value in values.items()
    ]
    headers = [*values, next(iter(values))]
    reasoning = [
        {
            "ask": f"How do {one} and {other} belong together?",
            "answer": f"First {values[one]} and then {values[other]}",
            "facts": [values[one], values[other]],
        }
        for one, other in pairwise(headers)
    ]
    return {"factual": factual, "reasoning": reasoning}


def answers_by_rule(handler: Handler, body: dict[str, Any]) -> None:
    """Answer every question by the rule."""
    handler.say(body, json.dumps(answer_to(body)))


@contextmanager
def running() -> Iterator[Server]:
    with fault_server.running() as server:
        server.always = answers_by_rule
        yield server
