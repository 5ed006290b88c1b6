"""Tables of cases as text: a line a case, `text => what is made of it`, under the `[name]` of its table.

A line without an arrow is a text of which nothing is made; `\\n` and the like are written as in JSON, but for texts
that stand as they are, since they have escapes of their own (`is_raw`).
"""

import json
from pathlib import Path
from typing import Any


def read_cases(name: str, *, is_raw: bool = False) -> dict[str, list[tuple[str, str | None]]]:
    """Return the cases of a file of this folder, by table and in order."""
    tables: dict[str, list[tuple[str, str | None]]] = {}
    for line in Path(__file__).parent.joinpath(name).read_text(encoding="utf-8").splitlines():
        if line.startswith("[") and line.endswith("]"):
            cases = tables.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("# "):
            text, arrow, outcome = line.partition(" => ")
            cases.append((text if is_raw else _written_out(text), _written_out(outcome) if arrow else None))
    return tables


def read_found(outcome: str | None) -> list[tuple[str, str]]:
    """Return category and text of all that is found, which is written `category text | category text`."""
    return [] if outcome is None else [(one.partition(" ")[0], one.partition(" ")[2]) for one in outcome.split(" | ")]


def _written_out(text: str) -> str:
    return str(json.loads(f'"{text}"'))


def read_rows(name: str) -> dict[str, list[Any]]:
    """Return the rows of a file of this folder by the test that they are of: a line of JSON each, under `= test`."""
    rows: dict[str, list[Any]] = {}
    for line in Path(__file__).parent.joinpath(name).read_text(encoding="utf-8").splitlines():
        if line.startswith("= "):
            of_test = rows.setdefault(line.removeprefix("= "), [])
        elif line and not line.startswith("# "):
            of_test.append(json.loads(line))
    return rows
