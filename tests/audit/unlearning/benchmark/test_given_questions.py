"""Questions made elsewhere: read, checked, counted; bad files are named by line."""

import json
from pathlib import Path

import pytest
from support.small_charts import write_small_corpus
from support.unlearning.built_bench import build

from clinaudit.audit.unlearning.benchmark.files import read_bench
from clinaudit.audit.unlearning.benchmark.questions.sources import read_given_questions
from clinaudit.errors import BadInputError, UsageError

GOOD = {
    "patient_id": "P1",
    "kind": "factual",
    "holdout": False,
    "question": "Which drug lowers the uric acid?",
    "answer": "It is allopurinol 300 mg daily.",
    "facts": ["allopurinol 300 mg daily"],
}


def write(path: Path, *rows: object) -> Path:
    path.write_text(
        "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), encoding="utf-8"
    )
    return path


def test_facts_may_be_left_out(tmp_path: Path) -> None:
    row = {key: value for key, value in GOOD.items() if key != "facts"}
    (found,) = read_given_questions(write(tmp_path / "qa.jsonl", row), {"P1": "P1"})["P1"]
    assert found.facts == ()


def test_they_are_asked_as_given(tmp_path: Path) -> None:
    corpus = write_small_corpus(tmp_path / "corpus")
    rows = [
        GOOD,
        GOOD | {"kind": "reasoning", "holdout": True, "question": "Why is it taken?"},
        GOOD | {"patient_id": "P2", "question": "What does Ferdinand Q. Stoneburyb take?", "facts": None},
        GOOD | {"patient_id": "P3", "question": "Is it allopurinol 300 mg daily?"},
        GOOD | {"patient_id": "P4", "question": "What else?"},
    ]
    given = write(tmp_path / "qa.jsonl", *rows)
    counts = build(corpus, tmp_path / "bench", questions=given)
    bench = read_bench(tmp_path / "bench")
    assert [question.use for question in bench.questions] == ["train", "holdout"]
    assert {question.origin for question in bench.questions} == {"given"}
    assert counts["patients_dropped"] == {"none of the questions given may be asked": 3}
    assert counts["questions_refused"] == {
        "a fact does not stand word for word in the notes and the answer": 2,
        "the question holds an identifier": 1,
    }
    write(tmp_path / "qa.jsonl", *rows[:1])
    with pytest.raises(UsageError, match=r"other settings \(questions\)"):
        build(corpus, tmp_path / "bench", questions=given)


def test_a_patient_whom_the_file_leaves_out_is_counted(tmp_path: Path) -> None:
    corpus = write_small_corpus(tmp_path / "corpus")
    counts = build(corpus, tmp_path / "bench", questions=write(tmp_path / "qa.jsonl", GOOD))
    assert counts["patients_dropped"] == {"the file gives no question on the patient": 3}


def test_a_request_of_a_patient_without_questions_is_refused_not_ignored(tmp_path: Path) -> None:
    corpus = write_small_corpus(tmp_path / "corpus")
    (tmp_path / "ids.txt").write_text("P1\nP2\n")
    questions = write(tmp_path / "qa.jsonl", GOOD)
    with pytest.raises(BadInputError) as caught:
        build(corpus, tmp_path / "bench", questions=questions, forgotten=tmp_path / "ids.txt")
    why = "too few questions can be asked of this patient; give them with --qa FILE"
    assert list(caught.value.problems) == [f"ids.txt line 2: {why}"]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("{not json", "row 2: is not a JSON object"),
        (GOOD | {"patient_id": "P77"}, "row 2, column patient_id: is no patient of the corpus who has notes"),
        (GOOD | {"kind": "hard"}, "row 2, column kind: "),
        (GOOD | {"holdout": "no"}, "row 2, column holdout: "),
        (GOOD | {"question": "  "}, "row 2, column question: "),
        ({key: value for key, value in GOOD.items() if key != "answer"}, "row 2, column answer: "),
        (GOOD | {"facts": "one"}, "row 2, column facts: "),
        (GOOD | {"facts": [""]}, "row 2, column facts: "),
        (GOOD, "row 2: asks the same patient the same as row 1"),
    ],
)
def test_a_bad_line_is_named_by_line_and_field_without_its_content(tmp_path: Path, row: object, problem: str) -> None:
    path = write(tmp_path / "qa.jsonl", GOOD, row)
    with pytest.raises(BadInputError) as caught:
        read_given_questions(path, {"P1": "P1"})
    assert f"qa.jsonl, {problem}" in caught.value.render()
    assert "P77" not in caught.value.render()
    assert "uric" not in caught.value.render()


def test_a_file_that_is_none_or_empty_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInputError):
        read_given_questions(write(tmp_path / "qa.csv", "a,b"), {"P1": "P1"})
    with pytest.raises(BadInputError, match="the questions"):
        read_given_questions(write(tmp_path / "qa.jsonl", ""), {"P1": "P1"})
