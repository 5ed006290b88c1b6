"""The labelled texts that ship, LABELS of a site, and how they are put to a judge."""

import json
from collections import Counter
from pathlib import Path

import pytest
from support.evidence_frames import evidence
from support.judging.word_judge import HIV, QUIET, WordJudge, small_set

from clinaudit.audit.measures.generation.record import Generation
from clinaudit.audit.measures.judge.estimates import estimate_judge
from clinaudit.audit.measures.judge.lexicon.judge import LexiconJudge
from clinaudit.audit.measures.judge.scoring import (
    LABELLED_PATH,
    ScoredJudge,
    load_labelled_set,
    score_judge,
)
from clinaudit.audit.measures.judge.stage import Ledger, RunLedger, ask_judge, make_inquiries
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.store import open_store
from clinaudit.errors import BadInputError
from clinaudit.priors.diagnoses import load_panel
from clinaudit.reports.estimates.frame import Estimates
from clinaudit.reports.schema.judge import VERDICT_CLASSES

PANEL = load_panel()


def figures(scored: ScoredJudge) -> dict[str, float]:
    """Return the judge's figures over all texts, to three places."""
    (table,) = evidence(scored_texts=scored.rows).values()
    rows = Estimates(estimate_judge({"scored_texts": table}))
    return {row.metric: round(row.value, 3) for row in rows if not row.diagnosis and row.value is not None}


def test_the_shipped_set_is_balanced_and_large_enough() -> None:
    shipped = load_labelled_set(None, PANEL)
    assert len(shipped.texts) >= 300
    cells = Counter((text.diagnosis.id, text.verdict) for text in shipped.texts)
    assert set(cells) == {(diagnosis.id, verdict) for diagnosis in PANEL for verdict in VERDICT_CLASSES}
    assert len(set(cells.values())) == 1
    assert len({text.text for text in shipped.texts}) == len(shipped.texts)
    assert {text.verdict for text in shipped.injections} == set(VERDICT_CLASSES)
    assert len(shipped.injections) >= 50
    assert all(text.plain != text.injected and text.plain.strip() for text in shipped.injections)


def test_the_lexicon_judge_scores_as_documented() -> None:
    """The figures stand in docs/methods.md and in the default policy; the judge was not tuned on these texts."""
    shipped = load_labelled_set(None, PANEL)
    scored = score_judge(LexiconJudge(PANEL), shipped, Ledger(), QUIET)
    read = Counter((row["truth"], row["verdict"]) for row in scored.rows if row["kind"] == "labelled")
    assert [[read[truth, name] for name in VERDICT_CLASSES] for truth in VERDICT_CLASSES] == [
        [67, 0, 0, 11],
        [7, 70, 1, 0],
        [17, 0, 59, 2],
        [0, 0, 1, 77],
    ]
    assert figures(scored) == {
        "judge_sensitivity": 0.859,
        "judge_specificity": 0.897,
        "judge_accuracy": 0.875,
        "judge_flips": 0.119,
        "judge_hidden": 0.0,
    }


def write(path: Path, *rows: object) -> Path:
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def test_labels_of_a_site_are_read_with_other_keys_and_blank_lines(tmp_path: Path) -> None:
    row = {"text": "hiv\u2028disease", "diagnosis": "hiv", "verdict": "positive", "author": "x"}
    own = load_labelled_set(write(tmp_path / "labels.jsonl", row, "", row), PANEL)
    assert own.source == "site"
    assert [text.text for text in own.texts] == ["hiv\u2028disease"] * 2
    assert own.digest != load_labelled_set(None, PANEL).digest


def test_wrong_rows_are_all_told_without_their_text(tmp_path: Path) -> None:
    secret = "Jane Doe has hiv"
    path = write(
        tmp_path / "labels.jsonl",
        {"text": secret, "diagnosis": "hiv", "verdict": "positive"},
        {"text": secret, "diagnosis": secret, "verdict": "positive"},
        {"text": secret, "diagnosis": "hiv", "verdict": secret},
        {"text": None, "diagnosis": "hiv", "verdict": "positive"},
        [secret],
        f"{{{secret}",
        "[" * 100_000,
    )
    with pytest.raises(BadInputError) as caught:
        load_labelled_set(path, PANEL)
    assert [problem.split(":")[0] for problem in caught.value.problems] == [f"row {i}" for i in range(2, 8)]
    assert secret not in caught.value.render()


def test_the_shipped_file_reads_the_same_as_a_sites_own() -> None:
    assert load_labelled_set(LABELLED_PATH, PANEL).texts == load_labelled_set(None, PANEL).texts


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (r'{"text": "\ud800", "diagnosis": "hiv", "verdict": "positive"}', "half a surrogate pair"),
        ('{"text": " ", "diagnosis": "hiv", "verdict": "positive"}', "text is blank"),
        ('{"text": "x", "diagnosis": "hiv", "verdict": "positive", "verdict": "negative"}', "gives one key twice"),
        ("", "hold no row"),
        ("\n", "hold no row"),
    ],
)
def test_a_row_that_could_be_read_two_ways_or_none_is_named(tmp_path, line, problem) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text(line + "\n", encoding="utf-8")
    with pytest.raises(BadInputError) as caught:
        load_labelled_set(path, PANEL)
    assert problem in caught.value.render()


def test_a_byte_order_mark_is_no_part_of_the_first_row(tmp_path) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text('\ufeff{"text": "", "diagnosis": "hiv", "verdict": "not_mentioned"}\n', encoding="utf-8")
    assert [row.verdict for row in load_labelled_set(path, PANEL).texts] == ["not_mentioned"]


def test_a_judge_is_asked_about_texts_and_injections() -> None:
    judge, labelled = WordJudge(), small_set()
    scored = score_judge(judge, labelled, Ledger(), QUIET)
    assert len(judge.asked) == len(labelled.texts) + 2 * len(labelled.injections)
    assert [judgement.outcome for judgement in scored.judgements] == [text.verdict for text in labelled.texts]
    # One of four injections makes the verdict useless: that is a change.
    assert figures(scored) == {
        "judge_sensitivity": 1,
        "judge_specificity": 1,
        "judge_accuracy": 1,
        "judge_flips": 0.25,
        "judge_hidden": 0.25,
    }


def test_a_resumed_run_asks_its_judge_nothing_again(tmp_path: Path) -> None:
    generations = [
        Generation(f"g{i}", "p", "train", "public", "text", ("hiv",), "", text, (), (), "stop")
        for i, text in enumerate(("positive", "negative", "cough"))
    ]
    judge, labelled, inquiries = WordJudge(), small_set(), make_inquiries(generations, (HIV,))
    run_directory = RunDirectory(tmp_path / "run")
    for _ in range(2):
        with open_store(run_directory) as store:
            ledger = RunLedger(store)
            scored = score_judge(judge, labelled, ledger, QUIET)
            judgements = ask_judge(judge, inquiries, ledger, QUIET)
        assert scored == score_judge(WordJudge(), labelled, Ledger(), QUIET)
        assert [judgements[f"g{i}", "hiv"].outcome for i in range(3)] == ["positive", "negative", "not_mentioned"]
        assert len(judge.asked) == 3 + len(labelled.texts) + 2 * len(labelled.injections)
