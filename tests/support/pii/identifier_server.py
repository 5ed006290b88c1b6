"""A chat-completions server on loopback that lists capitalised words as names, and `ward N` as what is needed."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from support.servers import fault_server
from support.servers.fault_server import FENCED, Handler, Server

_NEEDED = re.compile(r"ward \d+")
_ID = re.compile(r'"question": "(Q[0-9a-f]{8})"')


def answer_to(body: dict[str, Any]) -> dict[str, Any]:
    """The right answer by a simple rule, in the fields that the schema asks for."""
    schema = body["response_format"]["json_schema"]
    asked = body["messages"][-1]["content"]
    text = next((match[2] for match in FENCED.finditer(asked)), "")
    answer: dict[str, Any] = {"question": _ID.findall(asked)[-1]}
    if schema["name"] == "entities":
        names = [{"text": name, "type": "PER"} for name in dict.fromkeys(re.findall(r"[A-Z][a-z]+ [A-Z][a-z]+", text))]
        wards = [{"text": ward, "type": "LOC"} for ward in dict.fromkeys(_NEEDED.findall(text))]
        return {**answer, "subjects": [{"entities": names + wards}]}
    if schema["name"] == "answer":
        return {**answer, "answer": "about " + " ".join(_NEEDED.findall(text))}
    if schema["name"] == "ratings":
        return {**answer, "first": 10, "second": 1}
    fields = schema["schema"]["required"][1:]
    thoughts = {field: ["a", "b", "c", "d", "e"] if field == "perspectives" else "because" for field in fields}
    return {**answer, **thoughts, "entities": _NEEDED.findall(text)}


def says_identifiers(handler: Handler, body: dict[str, Any]) -> None:
    """Answer every question by the rule."""
    handler.say(body, json.dumps(answer_to(body)))


@contextmanager
def running() -> Iterator[Server]:
    with fault_server.running() as server:
        server.always = says_identifiers
        yield server
