"""One corpus in plain and in odd dress: it is read alike, and what was read otherwise than written is said."""

import json
from pathlib import Path

import polars as pl
import pytest
from support.cases import read_rows

from clinaudit.audit.preview.survey import describe_corpus
from clinaudit.priors.corpus.corpus import Corpus, read_corpus
from clinaudit.priors.corpus.patient import Patient

PLAIN = {
    "notes.csv": (
        "patient_id,note_id,text,visit_date\n"
        'a,1,"one; two, three",2024-01-05\nb,2,second,2024-02-13\na,3,third,2024-03-06\nc,4,fourth,2024-03-01\n'
    ),
    "patients.csv": (
        "patient_id,split,age,sex,name,dob,children\n"
        "a,train,46,female,Ann Bell,1977-05-13,2\nb,nontrain,,male,Bo Cole,1950-06-01,\nc,train,90,,,,\n"
    ),
    "diagnoses.csv": "patient_id,diagnosis,present\na,hiv,true\nb,hiv,false\n",
}
DRESSED = dict(read_rows("corpus_rows.txt")["odd_dress"])


def write(directory: Path, files: dict[str, str]) -> Path:
    directory.mkdir()
    for name, content in files.items():
        (directory / name).write_text(content, newline="")
    return directory


def meaning(corpus: Corpus) -> tuple[object, ...]:
    notes = [
        (note.patient_id, note.note_id, note.text, note.visit_date, note.position)
        for patient in corpus.patients
        for note in corpus.notes_of(patient)
    ]
    return dict(corpus.patients), notes, dict(corpus.diagnosis_labels or {}), corpus.warnings


@pytest.fixture
def plain(tmp_path: Path) -> Corpus:
    return read_corpus(write(tmp_path / "plain", PLAIN))


def test_the_plain_corpus_needs_no_reading(plain: Corpus) -> None:
    assert plain.readings == ()
    assert plain.patients["b"].age == 73


@pytest.mark.parametrize("dress", DRESSED)
def test_odd_dress_is_read_as_the_plain_corpus(tmp_path: Path, plain: Corpus, dress: str) -> None:
    assert meaning(read_corpus(write(tmp_path / "odd", DRESSED[dress]))) == meaning(plain)


def test_records_and_data_frames_are_read_as_the_plain_corpus(tmp_path: Path, plain: Corpus) -> None:
    odd = write(tmp_path / "odd", {"notes.csv": PLAIN["notes.csv"]})
    pl.DataFrame(
        {
            "Patient ID": ["a", "b", "c"],
            "SPLIT": ["train", "nontrain", "train"],
            "Age": [46.0, float("nan"), 90.0],
            "sex": ["F", "M", None],
            "Name": ["Ann Bell", "Bo Cole", None],
            "DOB": ["1977-05-13", "1950-06-01", None],
            "children": [2.0, None, float("nan")],
            "ward": ["x", "y", "z"],
        }
    ).write_parquet(odd / "patients.parquet")
    rows = [
        {"patientID": "a", "DIAGNOSIS": "hiv", "present": 1},
        {"patient_id": "b", "diagnosis": "HIV", "present": "n"},
    ]
    (odd / "diagnoses.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    corpus = read_corpus(odd)
    assert meaning(corpus) == meaning(plain)
    assert corpus.readings == (
        "patients.parquet: columns were read by other names: Patient ID as patient_id, SPLIT as split, Age as age, "
        "Name as name, DOB as dob.",
        "patients.parquet: columns that are not read: ward.",
        "diagnoses.jsonl: columns were read by other names: patientID as patient_id, DIAGNOSIS as diagnosis.",
    )


def test_what_was_read_otherwise_is_said_to_the_owner_alone(tmp_path: Path) -> None:
    corpus = read_corpus(write(tmp_path / "odd", DRESSED["semicolons and capitals"]))
    assert corpus.readings == (
        "Notes.CSV: its cells are separated by semicolons.",
        "Notes.CSV: columns were read by other names: Patient_ID as patient_id, Note ID as note_id, TEXT as text, "
        "Visit Date as visit_date.",
        "Notes.CSV: column visit_date was read as day, month, year: row 2 leaves no other reading.",
        "patients.csv: its cells are separated by semicolons.",
        "patients.csv: columns were read by other names: Patient ID as patient_id, Split as split, Age as age, Sex as "
        "sex, Name as name, DOB as dob, Children as children.",
        "patients.csv: column dob was read as day, month, year: row 1 leaves no other reading.",
        "diagnoses.csv: its cells are separated by vertical bars.",
        "diagnoses.csv: columns were read by other names: patientId as patient_id, Diagnosis as diagnosis, Present as "
        "present.",
    )
    assert not set(corpus.readings) & set(corpus.warnings)


def test_synonyms_are_not_guessed_and_columns_left_out_are_named(tmp_path: Path) -> None:
    files = {**PLAIN, "patients.csv": "patient_id,gender,date of birth\na,F,1977-05-13\nb,M,x\nc,,\n"}
    corpus = read_corpus(write(tmp_path / "odd", files))
    assert corpus.patients["a"].sex is None
    assert corpus.readings == ("patients.csv: columns that are not read: gender, date of birth.",)


def test_pooled_ages_and_years_of_birth_are_what_they_say(tmp_path: Path) -> None:
    files = {**PLAIN, "patients.csv": "patient_id,age,dob\na,90+,\nb,,1950\nc,>89,1931-01-01\n"}
    corpus = read_corpus(write(tmp_path / "odd", files))
    unknown = [None] * 5
    assert corpus.patients["a"] == Patient("a", "train", 90, None, None, None, *unknown[:4], age_is_pooled=True)
    assert corpus.patients["b"] == Patient("b", "train", None, None, None, None, *unknown[:4], birth_year=1950)
    pooled = corpus.patients["c"]
    assert (pooled.age, pooled.age_is_pooled, pooled.birth_year) == (90, True, None)
    assert describe_corpus(corpus).splits["train"]["dob"] == 2


@pytest.mark.parametrize("with_table", [False, True])
def test_the_notes_may_give_the_split(tmp_path: Path, with_table: bool) -> None:
    files = {"notes.csv": "patient_id,note_id,text,split\na,1,x,train\nb,2,y,nontrain\na,3,z,Train\n"}
    if with_table:
        files["patients.csv"] = "patient_id,age\na,46\nb,50\n"
    corpus = read_corpus(write(tmp_path / "odd", files))
    assert corpus.patient_ids("train") == ("a",)
    assert corpus.patient_ids("nontrain") == ("b",)
    assert not any("every patient counts as train" in warning for warning in corpus.warnings)


def test_both_tables_may_give_the_same_split(tmp_path: Path) -> None:
    files = {
        "notes.csv": "patient_id,note_id,text,split\na,1,x,train\nb,2,y,nontrain\n",
        "patients.csv": "patient_id,split\na,train\nb,nontrain\nc,train\n",
    }
    corpus = read_corpus(write(tmp_path / "odd", files))
    assert corpus.patient_ids("nontrain") == ("b",)


def test_notes_that_a_spreadsheet_may_have_cut_are_said(tmp_path: Path) -> None:
    for length, said in ((32_766, False), (32_767, True)):
        (tmp_path / "notes.csv").write_text(f"patient_id,note_id,text\na,1,{'x' * length}\n")
        assert any("spreadsheet" in warning for warning in read_corpus(tmp_path).warnings) is said


def test_notes_that_are_a_programs_word_for_nothing_are_said(tmp_path: Path) -> None:
    rows = "".join(
        f"a,{at},{text}\n" for at, text in enumerate(["NA", " NULL", "NA 140", "none", "x", "[null]", "N.A."])
    )
    (tmp_path / "notes.csv").write_text(f"patient_id,note_id,text\n{rows}")
    corpus = read_corpus(tmp_path)
    assert [note.text for note in corpus.notes_of("a")][:2] == ["NA", " NULL"]
    assert corpus.readings == (
        "notes.csv: 5 notes hold a program's word for nothing (such as NA or NULL), and no other.",
    )
