"""What the tables mean together: patients, order of notes, derived ages, labels, warnings, description."""

import json
from collections import Counter
from datetime import UTC, date, datetime
from pathlib import Path

import polars as pl
import pytest
from support.aci_bench import ACI_BENCH
from support.corpus_tables import problems_of, write_tables

from clinaudit.audit.preview.survey import describe_corpus
from clinaudit.priors.corpus.corpus import read_corpus
from clinaudit.priors.corpus.patient import Patient


def write_notes(directory: Path, *patients: str, **columns: list[object]) -> None:
    rows: list[dict[str, object]] = [
        {"patient_id": patient, "note_id": f"n{n}", "text": f"text {n}"}
        | {name: values[n] for name, values in columns.items()}
        for n, patient in enumerate(patients)
    ]
    write_tables(directory, notes=rows)


def test_notes_are_undated_first_then_by_time_then_in_file_order(tmp_path: Path) -> None:
    dates = ["2024-03-01", None, "2024-01-05T14:00", "2024-01-05T09:30:00Z", "2024-01-05", "", "20240301", "2023-12-31"]
    write_notes(tmp_path, *("a" * len(dates)), visit_date=list(dates))
    corpus = read_corpus(tmp_path)
    notes = corpus.notes_of("a")
    assert [note.position for note in notes] == [1, 5, 7, 4, 3, 2, 0, 6]
    assert [note.visit_date for note in notes[:4]] == [None, None, date(2023, 12, 31), date(2024, 1, 5)]
    assert corpus.latest_note("a").note_id == "n6"


def test_without_dates_notes_keep_file_order_across_interleaved_patients(tmp_path: Path) -> None:
    write_notes(tmp_path, "b", "a", "b", "a")
    corpus = read_corpus(tmp_path)
    assert list(corpus.patients) == ["a", "b"]
    assert [note.note_id for note in corpus.notes_of("a")] == ["n1", "n3"]
    assert [note.position for note in corpus.notes_of("b")] == [0, 2]


def test_without_a_patients_table_or_its_split_everyone_is_train_and_it_is_said(tmp_path: Path) -> None:
    write_notes(tmp_path, "a")
    corpus = read_corpus(tmp_path / "notes.jsonl")
    assert corpus.patient_ids("train") == ("a",)
    assert corpus.patient_ids("nontrain") == ()
    assert not corpus.has_counterfactual
    assert corpus.diagnosis_labels is None
    assert any("no patients table" in warning for warning in corpus.warnings)
    write_tables(tmp_path, patients=[{"patient_id": "a", "age": 4}])
    without_split = read_corpus(tmp_path)
    assert without_split.patient_ids("train") == ("a",)
    assert any("no split column" in warning for warning in without_split.warnings)


def test_patient_cells_are_read_and_blank_is_unknown(tmp_path: Path) -> None:
    write_notes(tmp_path, "a", "b")
    (tmp_path / "patients.csv").write_text(
        "patient_id,split,age,sex,name,dob,race,marital_status,occupation,children\n"
        "b,nontrain, ,,,,,,,\n"
        "a,train,91.0,F , Ann Bell ,1950-02-03,White,married,clerk,2.0\n"
    )
    corpus = read_corpus(tmp_path)
    assert corpus.patients["a"] == Patient(
        "a", "train", 91, "female", "Ann Bell", date(1950, 2, 3), "White", "married", "clerk", "2"
    )
    assert corpus.patients["b"] == Patient("b", "nontrain", *[None] * 8)
    assert corpus.has_counterfactual


@pytest.mark.parametrize(
    ("age", "visits", "expected"),
    [
        (None, ["2024-02-29"], 24),
        (None, ["2024-02-28"], 23),
        (None, ["2024-02-28", "2025-02-28", "2023-01-01"], 24),
        (None, ["2025-03-01", None], 25),
        (None, [None], None),
        (30, ["2024-02-29"], 30),
        ("0", ["2024-02-29"], 0),
    ],
)
def test_an_unknown_age_is_counted_from_birth_to_the_latest_visit(
    tmp_path: Path, age: object, visits: list[object], expected: int | None
) -> None:
    write_notes(tmp_path, *("a" * len(visits)), visit_date=visits)
    write_tables(tmp_path, patients=[{"patient_id": "a", "dob": "2000-02-29", "age": age}])
    assert read_corpus(tmp_path).patients["a"].age == expected


def test_a_patient_of_notes_missing_from_the_table_is_bad_and_one_without_notes_is_said(tmp_path: Path) -> None:
    write_notes(tmp_path, "a", "b", "b")
    write_tables(tmp_path, patients=[{"patient_id": one, "split": "train"} for one in "ac"])
    assert problems_of(tmp_path) == [
        "notes.jsonl, column patient_id, in 2 rows (2, 3): has no row in patients.jsonl (identifiers must be written "
        "exactly alike in all tables: 007 is not 7)"
    ]
    write_notes(tmp_path, "a")
    corpus = read_corpus(tmp_path)
    assert list(corpus.patients) == ["a"]
    assert any("have no notes" in warning for warning in corpus.warnings)


def test_labels_are_read_and_pairs_without_a_row_stay_unknown(tmp_path: Path) -> None:
    write_notes(tmp_path, "a", "b")
    write_tables(tmp_path, patients=[{"patient_id": one, "split": "train"} for one in "abc"])
    (tmp_path / "diagnoses.csv").write_text(
        "patient_id,diagnosis,present\na,hiv,True\na,ptsd,false\nb,hiv,FALSE\nc,hiv,true\n"
    )
    corpus = read_corpus(tmp_path)
    assert corpus.diagnosis_labels == {("a", "hiv"): True, ("a", "ptsd"): False, ("b", "hiv"): False}


def test_parquet_types_are_taken_for_what_they_are(tmp_path: Path) -> None:
    hours = [datetime(2024, 1, 5, hour, tzinfo=UTC) for hour in (14, 9)]
    notes = {
        "patient_id": [7, 7],
        "note_id": ["x", "y"],
        "text": ["one", "two"],
        "visit_date": pl.Series(hours, dtype=pl.Datetime("ns", "UTC")),
        "note_type": pl.Series(["SOAP", None], dtype=pl.Categorical),
    }
    patients = {"patient_id": ["7"], "dob": [date(2000, 1, 6)], "age": pl.Series([None], dtype=pl.Float64)}
    patients |= {"children": [2.0], "split": ["train"]}
    labels = {"patient_id": [7], "diagnosis": ["hiv"], "present": [True]}
    for name, columns in (("notes", notes), ("patients", patients), ("diagnoses", labels)):
        pl.DataFrame(columns).write_parquet(tmp_path / f"{name}.parquet")
    corpus = read_corpus(tmp_path)
    assert [note.text for note in corpus.notes_of("7")] == ["two", "one"]
    assert corpus.latest_note("7").note_type == "SOAP"
    assert corpus.patients["7"].age == 23
    assert corpus.patients["7"].children == "2"
    assert corpus.diagnosis_labels == {("7", "hiv"): True}


def test_a_parquet_date_beyond_the_year_9999_is_reported(tmp_path: Path) -> None:
    beyond = pl.Series([10**7], dtype=pl.Int32).cast(pl.Date)
    rows = {"patient_id": ["a"], "note_id": ["1"], "text": ["x"], "visit_date": beyond}
    pl.DataFrame(rows).write_parquet(tmp_path / "notes.parquet")
    expected = "notes.parquet, row 1, column visit_date: is not a date; write it as 2024-01-31"
    assert problems_of(tmp_path) == [expected]


def test_the_digest_follows_bytes_and_role_but_not_names_and_places(tmp_path: Path) -> None:
    write_notes(tmp_path, "a")
    first = read_corpus(tmp_path).digest
    assert read_corpus(tmp_path).digest == first
    (tmp_path / "SOURCE.md").write_text("ignored")
    (tmp_path / "moved.jsonl").write_bytes((tmp_path / "notes.jsonl").read_bytes())
    assert read_corpus(tmp_path / "moved.jsonl").digest == first
    write_tables(tmp_path, patients=[{"patient_id": "a"}])
    assert read_corpus(tmp_path).digest != first


def test_other_files_are_left_alone_and_a_misnamed_table_is_refused(tmp_path: Path) -> None:
    write_notes(tmp_path, "a")
    for name in ("truth.jsonl", "patients.md", "note_on_export.csv"):
        (tmp_path / name).write_text("not json")
    assert read_corpus(tmp_path).note_count == 1
    (tmp_path / "Patients.xlsx").write_text("x")
    (tmp_path / "diagnosis.csv").write_text("x")
    assert problems_of(tmp_path) == [
        "Patients.xlsx: is not read; save it as patients.csv, or move it out of the corpus",
        "diagnosis.csv: is not read; save it as diagnoses.csv, or move it out of the corpus",
    ]
    (tmp_path / "diagnosis.csv").unlink()
    (tmp_path / "Patients.xlsx").unlink()
    write_tables(tmp_path, patients=[{"patient_id": "a"}])
    assert read_corpus(tmp_path).note_count == 1


def test_the_description_counts_by_split_and_across(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"patient_id": "a", "note_id": "1", "text": "same\r\ntext", "visit_date": "2024-01-01"},
        {"patient_id": "b", "note_id": "2", "text": "same\ntext"},
        {"patient_id": "c", "note_id": "3", "text": "same\rtext"},
        {"patient_id": "a", "note_id": "4", "text": "only in train"},
        {"patient_id": "b", "note_id": "5", "text": "only in train"},
    ]
    write_tables(tmp_path, notes=rows)
    (tmp_path / "patients.csv").write_text(
        "patient_id,split,sex,name,dob\n"
        "a,train,f,Ann Bell,1990-01-01\nb,train,,Ann Bell,1990-01-02\nc,nontrain,m,Cy Bell,1990-01-01\n"
        "d,nontrain,,,\n"
    )
    description = describe_corpus(read_corpus(tmp_path))
    assert description.splits == {
        "train": Counter(patients=2, notes=4, dated=1, age=1, sex=1, name=2, dob=2),
        "nontrain": Counter(patients=1, notes=1, dated=0, age=0, sex=1, name=1, dob=1),
    }
    assert (description.shared_texts, description.patients_with_shared_texts) == (1, 3)


@pytest.mark.skipif(not ACI_BENCH.is_dir(), reason="the shared ACI-Bench notes are not beside this checkout")
def test_aci_bench_is_read_as_it_is() -> None:
    corpus = read_corpus(ACI_BENCH)
    given = [json.loads(line) for line in (ACI_BENCH / "notes.jsonl").read_text("utf-8").splitlines()]
    assert {note["note_id"]: note["text"] for note in given} == {
        corpus.latest_note(patient).note_id: corpus.latest_note(patient).text for patient in corpus.patients
    }
    description = describe_corpus(corpus)
    assert [(of["patients"], of["dated"]) for of in description.splits.values()] == [(67, 0), (20, 0)]
    assert {patient.sex for patient in corpus.patients.values()} == {"female", "male", None}
    assert corpus.patients["D2N076"].age == 1  # given as 22-month
    assert corpus.has_counterfactual


def test_the_validation_split_is_described_and_stands_in_no_arm(tmp_path: Path) -> None:
    write_notes(tmp_path, "p0", "p1", "p2", "p3", split=["train", "nontrain", "Validation", "validation"])
    write_tables(tmp_path, diagnoses=[{"patient_id": "p2", "diagnosis": "hiv", "present": True}])
    corpus = read_corpus(tmp_path)
    assert (list(corpus.patients), list(corpus.validation)) == (["p0", "p1"], ["p2", "p3"])
    assert [corpus.packed(split).patient_count for split in ("train", "nontrain")] == [1, 1]
    about = describe_corpus(corpus)
    assert (about.validation, about.splits["nontrain"]["patients"]) == ((2, 2), 1)


def test_a_diagnoses_table_without_rows_says_that_nothing_is_known(tmp_path: Path) -> None:
    write_notes(tmp_path, "a")
    (tmp_path / "diagnoses.csv").write_text("patient_id,diagnosis,present\n")
    corpus = read_corpus(tmp_path)
    assert corpus.diagnosis_labels == {}
    assert any("diagnoses table has no rows" in warning for warning in corpus.warnings)
