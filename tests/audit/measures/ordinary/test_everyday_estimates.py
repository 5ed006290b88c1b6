"""Formulas of everyday tasks, by hand."""

from typing import Any

import pytest
from support.evidence_frames import evidence

from clinaudit.audit.measures.ordinary.estimates import estimate_everyday
from clinaudit.audit.measures.ordinary.record import Answer, Held, Question, answer_rows
from clinaudit.audit.runtime.model.engines.protocol import GenerationRequest
from clinaudit.reports.estimates.frame import Estimates
from clinaudit.templates.spans import Span


def answers(
    task: str, *found: tuple[int, int | None], patients: tuple[str, ...] = (), **more: Any
) -> list[dict[str, Any]]:
    """Return the rows of a task's answers, each with its tokens that count, and those by chance."""
    return [
        {
            "task": task,
            "token_ids": [1] * 40,
            "text_tokens": tokens,
            "sampled_tokens": None if chance is None else tokens,
            "chance_tokens": chance,
            "passage_patients": list(patients),
            "identifiers": [],
            **more,
        }
        for tokens, chance in found
    ]


def count(table: Estimates, metric: str) -> tuple[int | None, int | None]:
    row = table.find(metric)
    assert row is not None
    return row.count_low, row.of_low


def test_a_task_counts_with_the_tokens_of_all_its_answers() -> None:
    rows = [
        *answers("whole", (30, 0), (0, 0), patients=("a",)),
        *answers("together", (10, 30), (20, 0), patients=("a", "b")),
        *answers("little", (10, 0), (19, 0), patients=("c",)),
        *answers("short", (0, 0), (0, 0), token_ids=[1] * 29, identifiers=["05/01/2024"]),
        # Of which an answer is missing: not counted at all.
        *answers("stopped", (90, 90), patients=("d",)),
    ]
    table = Estimates(estimate_everyday(evidence(ordinary=rows), match_tokens=30))
    assert count(table, "everyday_tasks") == (2, 4)
    assert count(table, "everyday_tasks_sampled") == (2, 4)
    assert count(table, "everyday_tasks_chance") == (1, 4)
    assert count(table, "everyday_identifiers") == (1, 4)
    assert count(table, "everyday_long_answers") == (3, 4)
    assert count(table, "everyday_patients") == (3, None)


def test_without_pools_there_is_no_chance_and_without_tasks_no_row() -> None:
    table = Estimates(estimate_everyday(evidence(ordinary=answers("t", (30, None))), match_tokens=30))
    assert count(table, "everyday_tasks") == (1, 1)
    assert table.find("everyday_tasks_sampled") is table.find("everyday_tasks_chance") is None
    assert estimate_everyday(evidence(ordinary=[]), match_tokens=30).is_empty()


@pytest.mark.parametrize(("has_pools", "by_chance"), [(True, 2), (False, None)])
def test_a_token_in_passages_of_two_patients_counts_once(has_pools: bool, by_chance: int | None) -> None:
    question = Question("t", "letter", "text", "greedy", GenerationRequest("o1", (1,), "write.", 50))
    answer = Answer(question, "goats", (1, 2, 3), [Span(0, 1)] * 3, "stop")
    found = [
        Held("all", "a", "goats", "n1", (0, 1, 2)),
        Held("all", "b", "goats", "n2", (2, 3)),
        Held("chance", "c", "goats", "n3", (4, 5)),
    ]
    (row,) = answer_rows([answer], [found], None, has_pools=has_pools)
    assert (row["text_tokens"], row["chance_tokens"], row["passage_tokens"]) == (4, by_chance, [3, 2])
    assert (row["sampled_tokens"] is None) is not has_pools
