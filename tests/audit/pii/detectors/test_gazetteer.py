"""The site's own names; and which words look like names and are none."""

import csv
import json
from pathlib import Path

import pytest
from support import aci_bench
from support.cases import read_cases, read_found, read_rows
from support.pii.found_spans import found_by

from clinaudit.audit.pii.detectors.gazetteer import Gazetteer
from clinaudit.audit.pii.detectors.rules import RuleDetector
from clinaudit.audit.pii.detectors.word_lists import is_allowed, is_dosed_drug, read_words
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.audit.runtime.console import Progress
from clinaudit.priors.corpus.corpus import read_corpus
from clinaudit.priors.diagnoses import drug_words
from clinaudit.templates.profile import load_profile

ROWS = read_rows("pii/rows.txt")

QUIET = Progress(quiet=True)

PATIENTS = [
    ("mrn-1001", "train", "Birgit B. Cranecott", "1946-11-11"),
    ("mrn-1002", "train", "José O'Neil-Vargas", "1950-03-14"),
    ("mrn-1003", "nontrain", "Grace Hill", "1960-01-02"),
    ("mrn-1004", "train", "John Parkinson", "1961-02-03"),
    ("mrn-1005", "train", "May Ann Lindqvist", "1962-02-03"),
    ("mrn-1006", "nontrain", "Ida Berg", "1963-02-03"),
    ("mrn-1007", "nontrain", "Ola Nordmann", "1964-02-03"),
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    with (folder / "patients.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["patient_id", "split", "name", "dob"])
        rows.writerows(PATIENTS)
    with (folder / "notes.jsonl").open("w", encoding="utf-8") as file:
        for patient_id, _, name, _ in PATIENTS:
            text = (
                f"patient: {name}\nprovider: Orla Estermont, MD\nlocation: Silverton Square Clinic\n"
                "cc: cough\nhpi: lives on a hill. may return. saving grace. ida came."
            )
            file.write(json.dumps({"patient_id": patient_id, "note_id": f"{patient_id}-1", "text": text}) + "\n")
    return read_corpus(folder)


@pytest.fixture(scope="module")
def gazetteer(corpus):
    return Gazetteer(corpus, load_profile(), QUIET)


@pytest.fixture(scope="module")
def filter_of_names(corpus):
    return Gazetteer(corpus, load_profile(), QUIET, widely=True)


@pytest.mark.parametrize(("text", "found"), read_cases("pii/value_cases.txt")["the site's own names"])
def test_each_wording_of_a_sites_names_is_found_and_words_that_many_notes_hold_are_none_alone(gazetteer, text, found):
    assert found_by(gazetteer, text) == read_found(found)


def test_every_patient_of_the_corpus_is_found_in_the_notes_of_it(gazetteer):
    missed = [name for _, _, name, _ in PATIENTS if found_by(gazetteer, f"seen: {name}.") != [("patient_name", name)]]
    assert missed == []


@pytest.mark.parametrize(("text", "expected"), ROWS["a filter finds a word of a name beside a cue"])
def test_a_filter_finds_a_word_of_a_name_beside_a_cue(filter_of_names, text, expected):
    assert [found for _, found in found_by(filter_of_names, text)] == expected


def test_every_id_name_and_birth_date_of_a_joined_person_is_known(tmp_path):
    text = "provider: Orla Estermont, MD\ncc: cough\nhpi: " + " ".join(f"word{n}" for n in range(30))
    rows = ["mrn-2001,Berta Oldname,1961-02-03", "mrn-2002,Berta Newname,1961-02-04"]
    (tmp_path / "patients.csv").write_text("patient_id,name,dob\n" + "\n".join(rows) + "\n", encoding="utf-8")
    notes = [{"patient_id": row.split(",")[0], "note_id": row[:8], "text": text} for row in rows]
    (tmp_path / "notes.jsonl").write_text("".join(json.dumps(note) + "\n" for note in notes), encoding="utf-8")
    corpus = read_corpus(tmp_path)
    assert set(corpus.patients) == {"mrn-2001"}
    found = Gazetteer(corpus, load_profile(), QUIET).detect(
        "Berta Oldname, once Berta Newname, MRN-2002, born 04.02.1961, 03.02.1961"
    )
    assert [span.category for span in found] == ["patient_name", "patient_name", "mrn", "birth_date", "birth_date"]


NAMES = {category.id for category in categories().values() if category.type == "PER" and category.id != "social_handle"}


@pytest.mark.skipif(not aci_bench.ACI_BENCH.is_dir(), reason="ACI-Bench is not beside the repository")
def test_rules_call_nobody_of_real_notes_a_name_who_is_none():
    people = Path(aci_bench.__file__).with_name("person_names.txt").read_text(encoding="utf-8").splitlines()
    detector = RuleDetector(kinds=NAMES)
    lines = (aci_bench.ACI_BENCH / "notes.jsonl").read_text(encoding="utf-8").splitlines()
    texts = [json.loads(line)["text"] for line in lines]
    found = [text[span.start : span.end] for text in texts for span in detector.detect(text)]

    assert len(found) > 100
    assert set(found) <= set(people)
    assert not [name for name in found if is_allowed(name) and " " not in name and name not in people]


@pytest.mark.parametrize("word", ROWS["a clinical term is allowed however it is written"])
def test_a_clinical_term_is_allowed_however_it_is_written(word):
    assert is_allowed(word)


@pytest.mark.parametrize("word", ROWS["names and other words are not"])
def test_names_and_other_words_are_not(word):
    assert not is_allowed(word)


@pytest.mark.parametrize(("text", "word", "dosed"), ROWS["a word made as drugs are is one before a dose"])
def test_a_word_made_as_drugs_are_is_one_before_a_dose(text, word, dosed):
    assert is_dosed_drug(text, text.index(word), text.index(word) + len(word)) is dosed


def test_no_list_of_clinical_words_holds_a_given_name():
    words = {word.title() for word in drug_words()} | read_words("clinical_shorthand")
    # "ANA" and "ED" are a test and a department; their names are written so by nobody but in capitals throughout.
    assert {
        word for word in words if word in read_words("given_names") or word.title() in read_words("given_names")
    } == {"ANA", "ED"}
