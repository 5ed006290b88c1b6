"""The verdict as JSON: the text of `gate.json`, and where in it each rule's own words stand."""

import json

from clinaudit.reports.schema.decision import PublishedDecision


def gate_json(decision: PublishedDecision) -> str:
    """Return the text of `gate.json`."""
    return json.dumps(decision.model_dump(mode="json"), indent=1, sort_keys=True) + "\n"


def lines_of_rules(decision: PublishedDecision) -> list[int]:
    """Return the line of `gate.json`, from 1, in which each rule asks its question."""
    lines = gate_json(decision).split("\n")
    return [number for number, line in enumerate(lines, 1) if line.startswith('   "question": ')]
