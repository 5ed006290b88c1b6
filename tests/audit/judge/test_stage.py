"""The judge's stage of an audit: scored once, and a second judge beside the first."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
from support.judging.word_judge import HIV, QUIET, WordJudge, small_set

from clinaudit.audit.generation.record import Generation
from clinaudit.audit.judge.stage import check_judge, compare_with_second_judge, judge_generations
from clinaudit.audit.run.directory import RunDirectory
from clinaudit.audit.run.store import open_store


def test_a_second_judge_of_an_audit_keeps_its_answers_apart_and_resumes(tmp_path: Path) -> None:
    generations = [
        Generation(f"g{i}", "p", "train", "public", ("hiv",), ("hiv",), "", text, (), (), "stop")
        for i, text in enumerate(("positive", "negative", "cough"))
    ]
    first, second = WordJudge(), WordJudge("other", deaf_to="negative")
    inputs: Any = SimpleNamespace(
        judge=first, second_judge=second, panel=(HIV,), labelled=small_set(), settings=SimpleNamespace(seed=0)
    )
    run_directory = RunDirectory(tmp_path / "run")
    for _ in range(2):
        with open_store(run_directory) as store:
            quality = check_judge(inputs, generations, store, QUIET)
            judgements = judge_generations(inputs, generations, store, QUIET)
            quality = compare_with_second_judge(
                inputs, generations, judgements, quality, run=run_directory, store=store, progress=QUIET
            )
        assert quality is not None
        assert quality.second is not None
        assert (quality.second.second_judge, quality.second.verdicts, quality.second.disagreements) == ("other", 3, 1)
        table = pl.read_parquet(run_directory.evidence / "disagreements.parquet")
        assert table.select("generation_id", "verdict", "second_verdict").rows() == [
            ("g1", "negative", "not_mentioned")
        ]
        assert [judgements[f"g{i}", "hiv"].judge for i in range(3)] == ["words"] * 3
        # Asked once, though run twice.
        assert second.asked == ["positive", "negative", "cough"]
        assert len(first.asked) == 3 + len(inputs.labelled.texts) + 2 * len(inputs.labelled.injections)


def test_a_judge_with_nothing_to_judge_is_not_scored(tmp_path: Path) -> None:
    inputs: Any = SimpleNamespace(judge=WordJudge(), labelled=small_set(), settings=SimpleNamespace(seed=0))
    with open_store(RunDirectory(tmp_path / "run")) as store:
        assert check_judge(inputs, [], store, QUIET) is None
    assert inputs.judge.asked == []
