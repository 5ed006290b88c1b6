"""Readings of planted counts, and what a model that forgot leaves of them."""

import dataclasses

from clinaudit.audit.measures.disclosure.metrics import Reading


def readings(counts: dict[tuple[str, bool], tuple[int, int, int]]) -> list[Reading]:
    """Patients who are positive, not mentioned and negative, by arm and status."""
    outcomes = ("positive", "not_mentioned", "negative")
    return [
        Reading(f"{arm}-{present}-{outcome}-{i}", arm, present, outcome)  # type: ignore[arg-type]
        for (arm, present), numbers in counts.items()
        for outcome, number in zip(outcomes, numbers, strict=True)
        for i in range(number)
    ]


BEFORE = {
    ("train", True): (30, 20, 0),
    ("train", False): (0, 50, 0),
    ("nontrain", True): (0, 50, 0),
    ("nontrain", False): (0, 50, 0),
}


def forget(rows: list[Reading]) -> list[Reading]:
    return [dataclasses.replace(row, outcome="not_mentioned") for row in rows]
