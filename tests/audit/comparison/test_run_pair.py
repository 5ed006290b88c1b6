"""Two runs to be compared: exact figures need the evidence of both."""

from pathlib import Path

import pytest
from support.results.filled_published import published

from clinaudit.audit.comparison.run_pair import ComparedRun, RunPair, require_evidence
from clinaudit.audit.run.directory import RunDirectory
from clinaudit.errors import BadInputError


def run(name: str, *, has_evidence: bool = True) -> ComparedRun:
    return ComparedRun(RunDirectory(Path(name)), record={}, published=published(), has_evidence=has_evidence)


def pair(a: ComparedRun, b: ComparedRun) -> RunPair:
    return RunPair(a, b, differences=(), warnings=(), same_prompts=True)


def test_exact_figures_name_the_run_that_was_purged() -> None:
    require_evidence(pair(run("before"), run("after")))
    with pytest.raises(BadInputError, match="that of after was purged"):
        require_evidence(pair(run("before"), run("after", has_evidence=False)))
