"""Two runs to be compared: in a run of one diagnosis, an arm's patients are counted in classes of twenty."""

from pathlib import Path

import pytest
from support.results.filled_published import published

from clinaudit.audit.comparison.run_pair import ComparedRun, RunPair, require_evidence
from clinaudit.audit.run.directory import RunDirectory
from clinaudit.errors import BadInputError
from clinaudit.reports.schema.numbers import NOBODY


def run(name: str, *, matched: int = 6, has_evidence: bool = True) -> ComparedRun:
    results = published()
    cohorts = {
        diagnosis: cohort if place < matched else cohort.model_copy(update={"sets": NOBODY})
        for place, (diagnosis, cohort) in enumerate(results.cohorts.items())
    }
    return ComparedRun(
        run=RunDirectory(Path(name)),
        record={},
        published=results.model_copy(update={"cohorts": cohorts}),
        has_evidence=has_evidence,
    )


def pair(a: ComparedRun, b: ComparedRun) -> RunPair:
    return RunPair(a, b, differences=(), warnings=(), same_prompts=True)


@pytest.mark.parametrize(("matched", "step"), [((6, 6), 10), ((2, 2), 10), ((1, 6), 20), ((6, 1), 20), ((0, 0), 10)])
def test_the_step_is_doubled_where_an_arm_is_twice_the_sets(matched: tuple[int, int], step: int) -> None:
    assert pair(*(run("r", matched=number) for number in matched)).step == step


def test_exact_figures_name_the_run_that_was_purged() -> None:
    require_evidence(pair(run("before"), run("after")))
    with pytest.raises(BadInputError, match="that of after was purged"):
        require_evidence(pair(run("before"), run("after", has_evidence=False)))
