"""`clinaudit unlearn score`: what it writes and prints, and what it refuses without quoting it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.hand_made_bench import QUESTIONS, save_hand_made_bench
from support.unlearning.shared_words import SharedWords

from clinaudit.audit.commands.unlearn import score
from clinaudit.audit.unlearning.benchmark.records import Keyword
from clinaudit.audit.unlearning.metrics import given_answers
from clinaudit.errors import BadInputError, UsageError

KEYWORDS = (
    Keyword("q1", "lung cancer", 1.1, ("note", "answer")),
    Keyword("q1", "biopsy", 1.1, ("note", "question")),
    Keyword("q2", "lung cancer", 1.0, ("note", "answer")),
    Keyword("q5", "lymphoma", 1.0, ("note", "answer")),
)
SECRET = "Zebulon"


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(given_answers, "load_embedder", lambda _directory: SharedWords())
    return save_hand_made_bench(tmp_path, keywords=KEYWORDS)


def answers_of(model: str, text: str | None = None, **more: Any) -> list[dict[str, Any]]:
    """The same text to each question, by default the reference answer."""
    return [
        {"model": model, "qa_id": asked.qa_id, "text": asked.answer if text is None else text, **more}
        for asked in QUESTIONS
    ]


def write_rows(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def scored(bench: Path, rows: list[dict[str, Any]], *options: str) -> dict[str, Any]:
    answers = write_rows(bench.parent / "answers.jsonl", *rows)
    out = bench.parent / "scores.json"
    status = score.main([str(bench), str(answers), "--out", str(out), *options], standalone_mode=False)
    assert status == 0
    assert out.stat().st_mode & 0o777 == 0o600
    document: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return document


def problems_of(bench: Path, *rows: Any) -> tuple[str, ...]:
    answers = write_rows(bench.parent / "answers.jsonl", *rows)
    out = bench.parent / "scores.json"
    with pytest.raises(BadInputError) as caught:
        score.main([str(bench), str(answers), "--out", str(out)], standalone_mode=False)
    assert SECRET not in caught.value.render()
    assert not out.exists()
    return caught.value.problems


def test_what_stands_in_the_document(bench: Path) -> None:
    rows = answers_of("right", token_ids=[1, 2, 3])
    rows += answers_of("stuck", "no no no", token_ids=[4, 4, 4])
    document = scored(bench, rows)
    assert document["split"] == "random:25"
    assert document["made_with"] == {"cs": "shared words", "es_rules": "rules: facts with their polarity"}
    right, stuck = document["models"]["right"], document["models"]["stuck"]
    assert right["ls"]["forget"]["factual"]["train"]["value"] == 0.5
    assert right["ls_echo_free"]["forget"]["factual"]["train"]["value"] == 1.0
    assert right["ls"]["never_trained"]["factual"]["train"]["value"] == 1.0
    assert right["ls"]["retain"]["factual"]["holdout"]["value"] is None
    assert right["mu_without_em"]["retain"]["factual"]["holdout"]["value"] == 1.0
    assert right["afe_without_em"]["forget"]["reasoning"]["train"]["value"] == 0.0
    assert right["parts"]["mu_without_em"]["retain"]["factual"]["train"] == ["rouge_l", "cs", "te", "es_rules"]
    assert right["counts"]["retain"]["factual"]["holdout"] == {
        "patients": 1,
        "answers": 1,
        "empty_or_single": 0,
        "without_keywords": 1,
    }
    assert (right["ds"]["forget"]["factual"]["train"]["value"], stuck["ds"]["forget"]["factual"]["train"]["value"]) == (
        0.0,
        1.0,
    )
    assert stuck["afe_without_em"]["forget"]["factual"]["train"]["value"] == 1.0
    # Exact memorization needs the model.
    assert not {"em", "mu", "afe"} & set(right)
    first = document["items"][0]
    assert (first["model"], first["qa_id"], first["role"], first["ls"]) == ("right", "q1", "forget", 0.5)
    assert len(document["items"]) == 10
    assert first["patient_id"] == "P1"
    assert document["patients"]["P4"] == {"role": "never_trained", "category": "cancer"}
    # No text of a question or an answer; the name of a category is none.
    assert "lung" not in json.dumps(document)


def test_another_split_changes_who_is_forgotten(bench: Path) -> None:
    document = scored(bench, answers_of("m"), "--split", "cancer:25", "--quiet")
    assert {item["qa_id"]: item["role"] for item in document["items"]} == {
        "q1": "retain",
        "q2": "retain",
        "q3": "forget",
        "q4": "retain",
        "q5": "never_trained",
    }
    with pytest.raises(BadInputError, match="no such split"):
        scored(bench, answers_of("m"), "--split", "random:90")


def test_missing_token_ids_are_null_with_a_reason_and_words_stand_in(bench: Path) -> None:
    document = scored(bench, answers_of("m", "no no no"))
    model = document["models"]["m"]
    for metric in ("te", "ds"):
        found = model[metric]["forget"]["factual"]["train"]
        assert (found["value"], found["reason"]) == (None, "no token ids were given")
    assert model["te_words"]["forget"]["factual"]["train"]["value"] == 0.0
    assert model["parts"]["mu_without_em"]["retain"]["factual"]["train"] == ["rouge_l", "cs", "te_words", "es_rules"]
    assert document["items"][0]["reasons"]["te"] == "no token ids were given"


def test_answers_before_are_compared_with(bench: Path) -> None:
    rows = answers_of("old") + answers_of("new", "no")
    document = scored(bench, rows, "--before", "old")
    assert document["models"]["new"]["change"]["rouge_l"]["forget"]["factual"]["train"]["value"] == -1.0
    assert not {"change", "collapse"} & document["models"]["old"].keys()
    with pytest.raises(UsageError, match="--before"):
        scored(bench, rows, "--before", "none of them")


def test_an_unanswered_question_is_an_error(bench: Path) -> None:
    rows = answers_of("whole", "x") + answers_of("part", "x")[:2]
    (problem,) = problems_of(bench, *rows)
    assert problem == (
        "answers.jsonl, column qa_id (model 2): model 2 of 2 leaves 3 of 5 questions unanswered, the first of them in "
        "row 3 of the benchmark's table qa; answer all of them"
    )


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"qa_id": SECRET}, "column qa_id: is no question of this benchmark"),
        ({"qa_id": 7}, "column qa_id: is not text"),
        ({"text": None}, "column text: is not text"),
        ({"text": [SECRET]}, "column text: is not text"),
        ({"model": " "}, "column model: is blank, longer than 200 characters, or holds one that cannot be printed"),
        ({"model": SECRET * 99}, "column model: is blank, longer than 200 characters, or holds one that cannot be "),
        ({"token_ids": [1, SECRET]}, "column token_ids: is not a list of token ids"),
        ({"token_ids": [True]}, "column token_ids: is not a list of token ids"),
        ({"token_ids": [-1]}, "column token_ids: is not a list of token ids"),
        (
            {"token_ids": [10**30]},
            "column token_ids: is not a list of token ids (whole numbers from 0 to 2,147,483,647)",
        ),
        ({"token_ids": "1 2"}, "column token_ids: is not a list of token ids"),
        ({"qa_id": "q1"}, ": answers the same question of the same model as row 1; keep one of them"),
    ],
)
def test_a_malformed_answer_is_named_by_line_and_field(bench: Path, change: dict[str, Any], problem: str) -> None:
    rows = answers_of("m", SECRET)
    rows[2] = {**rows[2], **change}
    (found,) = problems_of(bench, *rows)
    assert found.startswith("answers.jsonl, row 3")
    assert problem in found


@pytest.mark.parametrize(
    ("content", "problems"),
    [
        (f'{{"model": "m", "qa_id": "q1"}}\n{{"model": "{SECRET}\n', ["row 1, column text", "row 2"]),
        ("", [": is empty"]),
        ("\n\n", [": has no rows"]),
    ],
)
def test_a_missing_field_a_broken_line_and_nothing_are_named(bench: Path, content: str, problems: list[str]) -> None:
    answers = bench.parent / "answers.jsonl"
    answers.write_text(content, encoding="utf-8")
    with pytest.raises(BadInputError) as caught:
        score.main([str(bench), str(answers), "--out", str(bench.parent / "s.json")], standalone_mode=False)
    assert SECRET not in caught.value.render()
    assert len(caught.value.problems) == len(problems)
    assert all(part in found for part, found in zip(problems, caught.value.problems, strict=True))


def test_the_table_and_what_was_not_read(bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scored(bench, answers_of("m", note=SECRET))
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    row = lines[lines.index("never trained") + 1]
    # One patient; LS, that of the reference, echo-free, ROUGE, CS; no token ids; MU and AFE.
    assert row.split() == [
        "factual,",
        "train",
        "1",
        "1.000",
        "1.000",
        "1.000",
        "1.000",
        "1.000",
        "–",
        "–",
        "1.000",
        "0.000",
    ]
    assert "fields of other names: 1" in printed.err
    assert SECRET not in printed.out + printed.err
    assert all(len(line) <= 100 for line in lines)


@pytest.mark.parametrize(
    ("place", "options", "said"),
    [
        ("answers.jsonl", [], "what is to be scored"),
        ("corpus/notes.jsonl", [], "lies in the corpus"),
        ("corpus/notes.jsonl", ["--corpus", "corpus"], "lies in the corpus"),
    ],
)
def test_out_replaces_nothing_that_is_read(
    bench: Path, monkeypatch: pytest.MonkeyPatch, place: str, options: list[str], said: str
) -> None:
    monkeypatch.chdir(bench.parent)
    answers = write_rows(bench.parent / "answers.jsonl", *answers_of("m", "x"))
    before = Path(place).read_bytes()
    with pytest.raises(UsageError, match=said):
        score.main([str(bench), str(answers), "--out", place, *options], standalone_mode=False)
    assert Path(place).read_bytes() == before


def test_questions_were_asked_in_the_addressed_form_unless_said_otherwise(bench: Path) -> None:
    asked = QUESTIONS[0]
    assert (asked.text("addressed"), replace(asked, address="").text("addressed")) == (
        "At the visit of May: What was found by biopsy?",
        asked.question,
    )
    assert scored(bench, answers_of("right"))["form"] == "addressed"
    assert scored(bench, answers_of("right"), "--form", "paper")["form"] == "paper"
