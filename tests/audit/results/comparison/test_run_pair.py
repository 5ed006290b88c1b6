"""Two runs to be compared: exact figures need the evidence of both."""

from pathlib import Path

import pytest
from support.results.filled_published import published

from clinaudit.audit.results.comparison.run_pair import ComparedRun, RunPair, _named, require_evidence
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.errors import BadInputError


def run(name: str, *, has_evidence: bool = True) -> ComparedRun:
    return ComparedRun(RunDirectory(Path(name)), record={}, published=published(), has_evidence=has_evidence)


def pair(a: ComparedRun, b: ComparedRun) -> RunPair:
    return RunPair(a, b, differences=(), warnings=(), same_prompts=True)


def test_exact_figures_name_the_run_that_was_purged() -> None:
    require_evidence(pair(run("before"), run("after")))
    with pytest.raises(BadInputError, match="that of after was purged"):
        require_evidence(pair(run("before"), run("after", has_evidence=False)))


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("MODEL", "a" * 64, "Scribe 3"),
        ("--policy", "b" * 64, "default"),
        ("--training-log", "c" * 64, "one"),
        ("--matcher", "optimal", "optimal"),
        ("--training-log", None, "none"),
    ],
)
def test_what_differs_is_named_and_no_digest_shown(name: str, value: str | None, said: str) -> None:
    named = ComparedRun(
        RunDirectory(Path("before")), {"identity": {"model_name": "Scribe 3"}}, published(), has_evidence=True
    )
    assert _named(name, value, named, "one") == said
