"""The judge's stage of an audit: scored once, and a second judge beside the first."""

from pathlib import Path

import polars as pl
from support.judging.word_judge import HIV, QUIET, WordJudge, small_set

from clinaudit.audit.measures.generation.record import Generation
from clinaudit.audit.measures.judge.ledger import Ledger, RunLedger, ask_judge
from clinaudit.audit.measures.judge.stage import ask_second_judge, check_judge, make_inquiries
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.evidence_tables import write_table
from clinaudit.audit.runtime.run.store import open_store


def test_a_second_judge_of_an_audit_keeps_its_answers_apart_and_resumes(tmp_path: Path) -> None:
    generations = [
        Generation(f"g{i}", "p", "train", "public", "text", ("hiv",), ("hiv",), "", text, (), (), "stop")
        for i, text in enumerate(("positive", "negative", "cough"))
    ]
    first, second = WordJudge(), WordJudge("other", deaf_to="negative")
    labelled, inquiries = small_set(), make_inquiries(generations, (HIV,))
    run_directory = RunDirectory(tmp_path / "run")
    for _ in range(2):
        with open_store(run_directory) as store:
            ledger = RunLedger(store)
            assert check_judge(first, labelled, inquiries, ledger=ledger, progress=QUIET, seed=0) is not None
            judgements = ask_judge(first, inquiries, ledger, QUIET)
            read = ask_second_judge(second, inquiries, judgements, ledger=ledger, progress=QUIET, seed=0)
        assert read is not None
        assert (read.agreement.second_judge, read.agreement.verdicts, read.agreement.disagreements) == ("other", 3, 1)
        write_table(run_directory.evidence, "disagreements", read.disagreements)
        table = pl.read_parquet(run_directory.evidence / "disagreements.parquet")
        assert table.select("generation_id", "verdict", "second_verdict").rows() == [
            ("g1", "negative", "not_mentioned")
        ]
        assert [judgements[f"g{i}", "hiv"].judge for i in range(3)] == ["words"] * 3
        # Asked once, though run twice.
        assert second.asked == ["positive", "negative", "cough"]
        assert len(first.asked) == 3 + len(labelled.texts) + 2 * len(labelled.injections)


def test_a_judge_with_nothing_to_judge_is_not_scored() -> None:
    judge, ledger = WordJudge(), Ledger()
    assert check_judge(judge, small_set(), [], ledger=ledger, progress=QUIET, seed=0) is None
    assert ask_second_judge(judge, [], {}, ledger=ledger, progress=QUIET, seed=0) is None
    assert judge.asked == []
