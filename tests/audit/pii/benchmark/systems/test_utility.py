"""Utility of masked prompts: the mean of likeness and rating, by hand."""

import re
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from support.pii.plain_samples import sample_of

from clinaudit.audit.pii.benchmark.scoring.privacy import NO_UTILITY, UNUSABLE, privacy_rows
from clinaudit.audit.pii.benchmark.systems.utility import Utilities, measure_utility
from clinaudit.audit.served.question import Question

RATINGS = {"all": 4, "some": 7}


@pytest.mark.parametrize(("utilities", "reason"), [(None, NO_UTILITY), ({}, UNUSABLE)])
def test_no_answer_that_can_be_used_is_told_from_no_model(utilities: Utilities | None, reason: str) -> None:
    samples = [sample_of("Ann Lee is a nurse.", {"Ann Lee": "full_name"})]
    rows = list(privacy_rows(samples, [], seed=0, utilities=utilities))
    assert {row.masking: row.utility.reason for row in rows} == {"none": None, "all": reason, "query_unrelated": reason}


class Rater:
    """Answers each prompt by what is masked in it, and rates what it answered by the table above."""

    def ask(self, asked: Sequence[tuple[Question, Any]], _announce: Any) -> list[Any]:
        if asked[0][0].schema_name == "answer":
            # Of three prompts a sample: nothing, everything, what is not needed.
            kinds = ("nothing", "all", "some")
            return [SimpleNamespace(found=SimpleNamespace(answer=kinds[place % 3])) for place, _ in enumerate(asked)]
        texts = [re.split(r"\n?=+NOTE.*?\n", question.user) for question, _ in asked]
        return [SimpleNamespace(found=(RATINGS[first], RATINGS[second])) for *_, first, second, _ in texts]


def test_utility_is_the_mean_of_likeness_and_rating_whichever_stands_first() -> None:
    likeness = {("nothing", "all"): 0.2, ("nothing", "some"): 0.8}
    samples = [sample_of("Ann Lee is a nurse.", {"Ann Lee": "full_name"}, sample=f"q{number}") for number in range(4)]
    found = measure_utility(
        samples,
        Rater(),  # type: ignore[arg-type]
        similarity=lambda first, second: likeness[first, second],
        seed=0,
        announce=lambda _estimate: None,
    )
    domain = samples[0].domain
    # (0.2 + 3/9) / 2 and (0.8 + 6/9) / 2.
    assert [round(value, 6) for value in found[domain, "all"]] == [round((0.2 + 3 / 9) / 2, 6)] * 4
    assert [round(value, 6) for value in found[domain, "query_unrelated"]] == [round((0.8 + 6 / 9) / 2, 6)] * 4
