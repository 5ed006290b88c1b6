"""Utility of masked prompts: the mean of likeness and rating, by hand."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from support.pii.plain_samples import sample_of

from clinaudit.audit.pii.benchmark.privacy.bench_rows import NO_UTILITY, UNUSABLE, privacy_rows
from clinaudit.audit.pii.benchmark.privacy.utility import Utilities, measure_utility
from clinaudit.audit.pii.systems.served_utility import Comparison

RATINGS = {"all": 4, "some": 7}


@pytest.mark.parametrize(("utilities", "reason"), [(None, NO_UTILITY), ({}, UNUSABLE)])
def test_no_answer_that_can_be_used_is_told_from_no_model(utilities: Utilities | None, reason: str) -> None:
    samples = [sample_of("Ann Lee is a nurse.", {"Ann Lee": "full_name"})]
    rows = list(privacy_rows(samples, [], seed=0, utilities=utilities))
    assert {row.masking: row.utility.reason for row in rows} == {"none": None, "all": reason, "query_unrelated": reason}


class Rater:
    """Answers each prompt by what is masked in it, and rates what it answered by the table above."""

    def answer_prompts(self, prompts: Sequence[tuple[str, str]], **_announce: Any) -> list[Any]:
        # Of three prompts a sample: nothing, everything, what is not needed.
        kinds = ("nothing", "all", "some")
        return [SimpleNamespace(found=SimpleNamespace(answer=kinds[place % 3])) for place, _ in enumerate(prompts)]

    def rate(self, compared: Sequence[Comparison], **_announce: Any) -> list[Any]:
        return [SimpleNamespace(found=(RATINGS[one.first], RATINGS[one.second])) for one in compared]


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
