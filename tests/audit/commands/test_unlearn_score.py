"""`clinaudit unlearn score`: what it writes and prints, and what it refuses without quoting it."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.hand_made_bench import QUESTIONS, save_hand_made_bench
from support.unlearning.shared_words import SharedWords

from clinaudit.audit.commands.unlearn import score
from clinaudit.audit.unlearning.benchmark.records import Keyword
from clinaudit.audit.unlearning.metrics import given_answers
from clinaudit.errors import BadInputError

KEYWORDS = (
    Keyword("q1", "lung cancer", 1.1, ("note", "answer")),
    Keyword("q1", "biopsy", 1.1, ("note", "question")),
    Keyword("q2", "lung cancer", 1.0, ("note", "answer")),
    Keyword("q5", "lymphoma", 1.0, ("note", "answer")),
)
SECRET = "Zebulon"


@pytest.fixture
def bench(tmp_path, monkeypatch):
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


def test_what_stands_in_the_document(bench):
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
def test_a_malformed_answer_is_named_by_line_and_field(bench, change, problem):
    rows = answers_of("m", SECRET)
    rows[2] = {**rows[2], **change}
    (found,) = problems_of(bench, *rows)
    assert found.startswith("answers.jsonl, row 3")
    assert problem in found
