"""`clinaudit unlearn score`: what it writes and prints, and what it refuses without quoting it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest
from support.hand_made_bench import QUESTIONS, save_hand_made_bench
from support.unlearning.shared_words import SharedWords

from clinaudit.audit.commands.unlearn import score
from clinaudit.audit.unlearning.benchmark.files import Keyword
from clinaudit.audit.unlearning.evaluation import evaluate
from clinaudit.errors import BadInputError, UsageError
from clinaudit.reports.schema.unlearning import CHECKS, FIGURES

KEYWORDS = (
    Keyword("q1", "lung cancer", 1.1, ("note", "answer")),
    Keyword("q1", "biopsy", 1.1, ("note", "question")),
    Keyword("q2", "lung cancer", 1.0, ("note", "answer")),
    Keyword("q5", "lymphoma", 1.0, ("note", "answer")),
)
SECRET = "Zebulon"


@pytest.fixture
def bench(tmp_path, monkeypatch):
    monkeypatch.setattr(evaluate, "load_embedder", lambda _directory: SharedWords())
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


class Scored(NamedTuple):
    """What a result says."""

    record: dict[str, Any]
    figures: pl.DataFrame
    #: One row a model, question and metric.
    scores: pl.DataFrame
    roles: dict[str, str]

    def value(self, model: str, metric: str, group: str, kind: str = "factual", use: str = "train") -> float | None:
        """Return one figure."""
        (value,) = self.figures.filter(model=model, metric=metric, group=group, kind=kind, use=use)["value"]
        return None if value is None else float(value)

    def reason(self, model: str, metric: str, group: str) -> str:
        """Return why there is none."""
        rows = self.figures.filter(model=model, metric=metric, group=group, kind="factual", use="train")
        return str(rows["reason"].item())


def scored(bench: Path, rows: list[dict[str, Any]], *options: str, out: str = "scores") -> Scored:
    answers = write_rows(bench.parent / "answers.jsonl", *rows)
    result = bench.parent / out
    status = score.main([str(bench), str(answers), "--out", str(result), *options], standalone_mode=False)
    assert status == 0
    assert {path.stat().st_mode & 0o777 for path in result.rglob("*") if path.is_file()} == {0o600}
    roles = pl.read_parquet(result / "evidence" / "roles.parquet").select("patient_id", "role")
    return Scored(
        json.loads((result / "evaluate.json").read_text(encoding="utf-8")),
        pl.read_csv(result / "figures.csv", schema=FIGURES),
        pl.read_parquet(result / "evidence" / "scores.parquet"),
        dict(roles.iter_rows()),
    )


def problems_of(bench: Path, *rows: Any) -> tuple[str, ...]:
    answers = write_rows(bench.parent / "answers.jsonl", *rows)
    out = bench.parent / "scores"
    with pytest.raises(BadInputError) as caught:
        score.main([str(bench), str(answers), "--out", str(out)], standalone_mode=False)
    assert SECRET not in caught.value.render()
    assert not out.exists()
    return caught.value.problems


def test_what_stands_in_the_result(bench):
    rows = answers_of("right", token_ids=[1, 2, 3])
    rows += answers_of("stuck", "no no no", token_ids=[4, 4, 4])
    found = scored(bench, rows)
    assert [split["split"] for split in found.record["splits"]] == ["random:25"]
    assert found.record["made_with"] == {"cs": "shared words", "es": "rules: facts with their polarity"}
    assert (found.value("right", "ls", "forget"), found.value("right", "ls_echo_free", "forget")) == (0.5, 1.0)
    assert found.value("right", "ls", "never_trained") == 1.0
    assert found.value("right", "ls", "retain", use="holdout") is None
    assert found.value("right", "mu_without_em", "retain", use="holdout") == 1.0
    assert found.value("right", "afe_without_em", "forget", "reasoning") == 0.0
    assert (found.value("right", "ds", "forget"), found.value("stuck", "ds", "forget")) == (0.0, 1.0)
    assert found.value("stuck", "afe_without_em", "forget") == 1.0
    # Exact memorization needs the model.
    assert found.value("right", "mu", "retain") is None
    assert "own probabilities" in found.reason("right", "mu", "retain")
    first = found.scores.filter(metric="ls").row(0, named=True)
    assert (first["model"], first["qa_id"], first["value"]) == ("right", "q1", 0.5)
    assert found.roles == {"P1": "forget", "P2": "retain", "P3": "retain", "P4": "never_trained"}
    # Beside the evidence no text of a question or an answer stands, and nobody.
    result = bench.parent / "scores"
    for name in ("evaluate.json", "figures.csv", "collapse.csv"):
        assert not any(word in (result / name).read_text(encoding="utf-8") for word in ("lung", "q1", "P1", "P4"))
    assert not (result / "report.html").exists()


def test_another_split_changes_who_is_forgotten(bench):
    found = scored(bench, answers_of("m"), "--split", "cancer:25", "--quiet")
    assert found.roles == {"P1": "retain", "P2": "forget", "P3": "retain", "P4": "never_trained"}
    with pytest.raises(BadInputError, match="no such split"):
        scored(bench, answers_of("m"), "--split", "random:90")


def test_missing_token_ids_are_null_with_a_reason_and_words_stand_in(bench):
    found = scored(bench, answers_of("m", "no no no"))
    for metric in ("te", "ds"):
        assert found.value("m", metric, "forget") is None
        assert found.reason("m", metric, "forget") == "no token ids were given"
    assert found.value("m", "te_words", "forget") == found.value("m", "te_or_zero", "forget") == 0.0


def test_answers_before_are_compared_with(bench):
    rows = answers_of("old") + answers_of("new", "no")
    found = scored(bench, rows, "--before", "old")
    assert found.value("new", "rouge_l_change", "forget") == -1.0
    assert found.figures.filter(model="old", metric="rouge_l_change").is_empty()
    checks = pl.read_csv(bench.parent / "scores" / "collapse.csv", schema=CHECKS)
    assert set(checks["model"]) == {"new"}
    with pytest.raises(UsageError, match="--before"):
        scored(bench, rows, "--before", "none of them")


def test_another_file_in_the_same_place_is_refused_and_the_same_one_gives_the_same(bench):
    first = scored(bench, answers_of("m"))
    assert scored(bench, answers_of("m")).figures.equals(first.figures)
    with pytest.raises(UsageError, match=r"other settings \(answers_digest\)"):
        scored(bench, answers_of("m", "no"))


def test_an_unanswered_question_is_an_error(bench):
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
        *(({"qa_id": value}, "column qa_id: ") for value in (7, None)),
        *(({"text": value}, "column text: ") for value in (None, [SECRET], f"{SECRET}\ud800")),
        *(({"model": name}, "is blank, longer than 200 characters") for name in (" ", f"={SECRET}", SECRET * 99)),
        *(({"token_ids": ids}, "column token_ids: ") for ids in ([1, SECRET], [True], [-1], [10**30], "1 2")),
        ({"qa_id": "q1"}, ": answers the same question of the same model as row 1; keep one of them"),
    ],
)
def test_a_malformed_answer_is_named_by_line_and_field(bench, change, problem):
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
def test_a_missing_field_a_broken_line_and_nothing_are_named(bench, content, problems):
    answers = bench.parent / "answers.jsonl"
    answers.write_text(content, encoding="utf-8")
    with pytest.raises(BadInputError) as caught:
        score.main([str(bench), str(answers), "--out", str(bench.parent / "s")], standalone_mode=False)
    assert SECRET not in caught.value.render()
    assert len(caught.value.problems) == len(problems)
    assert all(part in found for part, found in zip(problems, caught.value.problems, strict=True))


def test_the_table_and_what_was_not_read(bench, capsys):
    scored(bench, answers_of("m", note=SECRET))
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    row = next(line for line in lines if line.startswith("m "))
    # AFE of questions trained on, none withheld; LS, that of the reference; no token ids; MU of retained, same, others.
    assert row.split() == ["m", "factual", "0.000", "–", "0.500", "0.500", "–", "1.000", "1.000", "–"]
    assert "MU and AFE without exact memorization" in printed.out
    assert "fields of other names: 1" in printed.err
    assert SECRET not in printed.out + printed.err
    assert all(len(line) <= 100 for line in lines)


def test_out_replaces_nothing_that_is_read(bench, monkeypatch):
    monkeypatch.chdir(bench.parent)
    answers = write_rows(bench.parent / "answers.jsonl", *answers_of("m", "x"))
    before = answers.read_bytes()
    for place, said in (("answers.jsonl", "names something that is not a directory"), ("bench", "holds other things")):
        with pytest.raises(UsageError, match=said):
            score.main([str(bench), str(answers), "--out", place], standalone_mode=False)
    assert answers.read_bytes() == before


def test_questions_were_asked_in_the_addressed_form_unless_said_otherwise(bench):
    asked = QUESTIONS[0]
    assert (asked.text("addressed"), replace(asked, address="").text("addressed")) == (
        "At the visit of May: What was found by biopsy?",
        asked.question,
    )
    assert scored(bench, answers_of("right")).record["form"] == "addressed"
    assert scored(bench, answers_of("right"), "--form", "paper", out="paper").record["form"] == "paper"
