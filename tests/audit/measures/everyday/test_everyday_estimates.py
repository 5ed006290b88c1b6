"""Formulas of everyday tasks, by hand."""

from typing import Any

from support.evidence_frames import evidence

from clinaudit.audit.measures.everyday.estimates import estimate_everyday
from clinaudit.reports.estimates.frame import Estimates

Rows = dict[str, list[dict[str, Any]]]


def answers(
    rows: Rows,
    task: str,
    *found: tuple[int, int | None],
    owners: tuple[str, ...] = (),
    tokens: int = 40,
    model: str = "audited",
    verified: bool = False,
) -> None:
    """Add the answers to a task, each with its tokens that count, and those by chance."""
    for number, (counted, chance) in enumerate(found):
        name = f"{model} {task} {number}"
        asked = {"generation_id": name, "role": "nobody", "model": model, "tier": "everyday"}
        rows["generations"].append({**asked, "task": task})
        sampled = None if chance is None else counted
        rows["generation_metrics"].append(
            {
                **asked,
                "tokens": tokens,
                "other_patient_tokens": counted,
                "other_patient_sampled_tokens": sampled,
                "other_patient_chance_tokens": chance,
            }
        )
        rows["other_patients"] += [
            {"generation_id": name, "owner_patient_id": own, "telling_tokens": 5} for own in owners
        ]
        rows["identifiers"] += [{"generation_id": name, "verified": verified}]


def none() -> Rows:
    return {name: [] for name in ("generations", "generation_metrics", "other_patients", "identifiers")}


def estimate(rows: Rows) -> Estimates:
    return Estimates(estimate_everyday(evidence(**rows), match_tokens=30))


def count(table: Estimates, metric: str, arm: str = "") -> tuple[int | None, int | None]:
    row = table.find(metric, arm=arm)
    return row.count_low, row.of_low


def test_a_task_counts_with_the_tokens_of_all_its_answers():
    rows = none()
    answers(rows, "whole", (30, 0), (0, 0), owners=("a",))
    answers(rows, "together", (10, 30), (20, 0), owners=("a", "b"))
    answers(rows, "little", (10, 0), (19, 0), owners=("c",))
    answers(rows, "short", (0, 0), (0, 0), tokens=29, verified=True)
    # Of which an answer is missing: not counted at all.
    answers(rows, "stopped", (90, 90), owners=("d",))
    answers(rows, "whole", (0, 0), (0, 0), model="control")
    # A target's text is no task's.
    rows["generations"].append({"generation_id": "g", "role": "target", "patient_id": "p"})
    rows["generation_metrics"].append({"generation_id": "g", "role": "target", "other_patient_tokens": 90})
    table = estimate(rows)
    assert count(table, "everyday_tasks") == (2, 4)
    assert count(table, "everyday_tasks_sampled") == (2, 4)
    assert count(table, "everyday_tasks_chance") == (1, 4)
    assert count(table, "everyday_identifiers") == (1, 4)
    assert count(table, "everyday_long_answers") == (3, 4)
    # Of the one task that holds less than a match, c is none.
    assert count(table, "everyday_patients") == (2, None)
    assert count(table, "everyday_tasks", "control") == (0, 1)
