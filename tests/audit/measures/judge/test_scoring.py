"""The labelled texts that ship, LABELS of a site, how they are put to a judge, and its figures."""

import json
from collections import Counter
from dataclasses import replace

import polars as pl
import pytest
from support.evidence_frames import generation_frame
from support.generations import Generation
from support.judging.word_judge import QUIET, WordJudge, small_set

from clinaudit.audit.measures.judge.lexicon.judge import LexiconJudge
from clinaudit.audit.measures.judge.stage import (
    REFUSED,
    Ledger,
    estimate_judge,
    judge_generations,
    load_labelled_set,
    make_inquiries,
    score_judge,
)
from clinaudit.errors import BadInputError
from clinaudit.priors.diagnoses import load_panel
from clinaudit.reports.estimates.frame import Estimates
from clinaudit.reports.schema.run_results import VERDICT_CLASSES

PANEL = load_panel()


def figures(scored):
    """Return the judge's figures over all texts, to three places."""
    rows = Estimates(estimate_judge({"scored_texts": scored.lazy()}))
    return {row.metric: round(row.value, 3) for row in rows if not row.diagnosis and row.value is not None}


def test_the_lexicon_judge_scores_as_documented():
    """The figures stand in docs/methods.md and in the default policy."""
    shipped = load_labelled_set(None, PANEL)
    scored = score_judge(LexiconJudge(PANEL), shipped, PANEL, Ledger(), QUIET)
    read = Counter(scored.filter(kind="labelled").select("truth", "verdict").iter_rows())
    assert [[read[truth, name] for name in VERDICT_CLASSES] for truth in VERDICT_CLASSES] == [
        [106, 0, 0, 2],
        [1, 107, 0, 0],
        [2, 2, 102, 2],
        [0, 0, 1, 107],
    ]
    assert figures(scored) == {
        "judge_sensitivity": 0.981,
        "judge_specificity": 0.991,
        "judge_accuracy": 0.977,
        "judge_flips": 0.119,
        "judge_hidden": 0.0,
    }


def write(path, *rows):
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def test_wrong_rows_are_all_told_without_their_text(tmp_path):
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
def test_a_row_that_could_be_read_two_ways_or_none_is_named(tmp_path, line, problem):
    path = tmp_path / "labels.jsonl"
    path.write_text(line + "\n", encoding="utf-8")
    with pytest.raises(BadInputError) as caught:
        load_labelled_set(path, PANEL)
    assert problem in caught.value.render()


def test_a_judge_is_asked_about_texts_and_injections():
    judge, labelled = WordJudge(), small_set()
    scored = score_judge(judge, labelled, PANEL, Ledger(), QUIET)
    texts = labelled.texts.select("text", "injected")
    assert judge.asked == [*texts["text"], *texts["injected"].drop_nulls()]
    assert scored.filter(kind="labelled", verdict=pl.col("truth")).height == 120
    # One of four injections makes the verdict useless: that is a change.
    right = dict.fromkeys(("judge_sensitivity", "judge_specificity", "judge_accuracy"), 1)
    assert figures(scored) == right | dict.fromkeys(("judge_flips", "judge_hidden"), 0.25)


def test_a_refused_generation_is_unjudged_and_the_judge_is_not_asked():
    answered = Generation("g0", "p", "train", "public", "chat", ("hiv",), "", "negative", (), (), "stop")
    refused = replace(answered, generation_id="g1", text="I'm sorry, but I can't share that.", refused=True)
    judge = WordJudge()
    inquiries = make_inquiries(generation_frame([answered, refused]))
    judgements = judge_generations(judge, inquiries, load_panel(only=["hiv"]), Ledger(), QUIET)
    assert judge.asked == ["negative"]
    assert judgements.select("generation_id", "patient_has_diagnosis", "invalid_reason", "judge").rows() == [
        ("g0", "negative", None, "words"),
        ("g1", None, REFUSED, "words"),
    ]
    assert judgements["diagnosis_mentioned"].to_list() == [True, None]


TYPES = dict.fromkeys(("kind", "diagnosis", "truth", "verdict", "injected_verdict"), pl.String)


def _estimate(rows):
    return Estimates(estimate_judge({"scored_texts": pl.LazyFrame(rows, schema=TYPES, orient="row")}))


def test_figures_by_hand():
    found = _estimate(
        [
            ("labelled", "hiv", "positive", "positive", None),
            ("labelled", "hiv", "positive", "not_mentioned", None),
            ("labelled", "hiv", "positive", "unjudged", None),
            ("labelled", "hiv", "negative", "ambiguous", None),
            ("labelled", "ptsd", "negative", "positive", None),
            ("planted", "hiv", "positive", "positive", "unjudged"),
            ("planted", "hiv", "positive", "positive", "positive"),
            ("planted", "hiv", "negative", "negative", "positive"),
            ("planted", "hiv", "positive", "unjudged", "negative"),
        ]
    )

    def counts(metric, diagnosis=""):
        row = found.find(metric, diagnosis=diagnosis)
        return row.count_low, row.of_low

    assert counts("judge_sensitivity") == counts("judge_sensitivity", "hiv") == (1, 2)
    assert counts("judge_specificity") == (1, 2)
    assert counts("judge_specificity", "ptsd") == (0, 1)
    assert counts("judge_accuracy") == (1, 4)
    assert counts("judge_flips") == (2, 3)
    assert counts("judge_hidden") == (1, 2)
    nobody = found.find("judge_sensitivity", diagnosis="ptsd")
    assert nobody.value is None
    assert nobody.reason
