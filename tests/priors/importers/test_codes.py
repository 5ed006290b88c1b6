"""Codes: which mean a diagnosis, and when no code means that a patient does not have it."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
from support.cases import read_cases
from support.exports import fhir, tables
from support.exports.hospital import content_of
from support.exports.importing import import_export, import_own, refusal_of_own

from clinaudit.priors.diagnoses import load_panel
from clinaudit.priors.importers import System
from clinaudit.priors.importers.codes import CodeBook, Labels
from clinaudit.priors.importers.corpus_writer import RecordError

BOOK = CodeBook(load_panel())


@pytest.mark.parametrize(("written", "diagnoses"), read_cases("exports/code_cases.txt")["codes"])
def test_what_a_code_means(written: str, diagnoses: str | None) -> None:
    system, _, code = written.partition(" ")
    if diagnoses == "no code":
        with pytest.raises(RecordError, match="a code is no"):
            BOOK.meaning(system, code)  # type: ignore[arg-type]
    else:
        assert BOOK.meaning(system, code) == set((diagnoses or "").split())  # type: ignore[arg-type]


#: Patients: one with HIV, one with another ICD-10 code, one with a code of ICD-9 too, one with no code at all.
_CONDITIONS: tuple[tuple[str, frozenset[str], tuple[str, ...]], ...] = (
    ("hiv", frozenset({"hiv"}), ("icd10",)),
    ("other", frozenset(), ("icd10",)),
    ("nine", frozenset(), ("icd10",)),
    ("nine", frozenset(), ("icd9",)),
    ("both", frozenset({"ptsd"}), ("snomed", "icd10")),
    ("both", frozenset(), ("snomed",)),
)


def _labels(complete: Collection[System]) -> dict[tuple[str, str], bool]:
    labels = Labels(BOOK, complete)
    for patient, diagnoses, systems in _CONDITIONS:
        labels.add(patient, diagnoses, systems)
    rows = labels.rows(["hiv", "other", "nine", "none", "both"])
    return {(patient, diagnosis): present for patient, diagnosis, present in rows}


def test_without_complete_codes_nobody_is_a_control() -> None:
    assert _labels(()) == {("hiv", "hiv"): True, ("both", "ptsd"): True}


def test_complete_codes_make_controls_of_those_whose_codes_can_all_be_read() -> None:
    labels = _labels(("icd10",))
    assert {patient for (patient, _), present in labels.items() if not present} == {"hiv", "other", "none"}
    assert labels["hiv", "hiv"]
    assert sum(patient == "hiv" for patient, _ in labels) == len(BOOK.diagnoses)
    # A condition in SNOMED alone may be the diagnosis: only what is coded is known.
    assert [key for key in labels if key[0] in ("nine", "both")] == [("both", "ptsd")]
    assert not _labels(("icd10", "snomed"))["both", "hiv"]


def test_a_code_of_icd_9_makes_a_patient_of_mimic_unknown(tmp_path: Path) -> None:
    rows = tables.mimic_rows()
    rows["hosp/diagnoses_icd"].append(["10002", "2", 2, "30981", 9])
    source = tables.write_mimic(tmp_path / "physionet", rows)
    imported = import_export("mimic-iv-note", source, tmp_path / "corpus", complete=("icd10",))
    _, labels = content_of(tmp_path / "corpus")
    assert {key: present for key, present in labels.items() if key[0] == "10002"} == {("10002", "hiv"): True}
    assert not labels["10001", "hiv"]
    assert imported.unreadable == 1


def test_source_values_of_omop_are_read_where_the_site_says_what_they_are(tmp_path: Path) -> None:
    source = tables.write_omop(tmp_path / "cdm")
    (source / "CONCEPT.csv").unlink()
    (source / "CONCEPT_ANCESTOR.csv").unlink()
    import_export("omop", source, tmp_path / "corpus", source_values="icd10", complete=("icd10",))
    _, labels = content_of(tmp_path / "corpus")
    assert [key for key, present in labels.items() if present] == [("10001", "depression"), ("10002", "hiv")]
    assert len(labels) == 2 * len(BOOK.diagnoses)


def test_an_ancestor_of_omop_means_its_descendants(tmp_path: Path) -> None:
    source = tables.write_omop(tmp_path / "cdm")
    (source / "CONCEPT_ANCESTOR.csv").unlink()
    import_export("omop", source, tmp_path / "corpus")
    assert content_of(tmp_path / "corpus")[1] == {("10002", "hiv"): True}


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("confirmed", {("10001", "depression"): True}),
        ("refuted", {("10001", "depression"): False}),
        ("entered-in-error", {("10001", "depression"): False}),
        ("provisional", {}),  # it may be there
    ],
)
def test_a_condition_of_fhir_counts_by_its_verification(
    tmp_path: Path, status: str, expected: dict[tuple[str, str], bool]
) -> None:
    given: dict[str, list[dict[str, Any]]] = fhir.resources()
    for version, written in (("r4", {"coding": [{"code": status}]}), ("stu3", status)):
        given["Condition"][0]["verificationStatus"] = written
        source = fhir.write_ndjson(tmp_path / version, given)
        import_export("fhir", source, tmp_path / f"{version}-corpus", complete=("icd10", "snomed"))
        labels = content_of(tmp_path / f"{version}-corpus")[1]
        assert {key: present for key, present in labels.items() if key == ("10001", "depression")} == expected


def test_codes_of_a_table_of_ones_own(tmp_path: Path) -> None:
    table = "id,note,dx\na,one,F41.1; B20\na,two,\nb,three,\n"
    import_own(tmp_path, table, _OWN_COLUMNS, complete=("icd10",))
    labels = content_of(tmp_path / "corpus")[1]
    assert [key for key, present in labels.items() if present] == [("a", "anxiety"), ("a", "hiv")]
    assert len(labels) == 2 * len(BOOK.diagnoses)
    refused = refusal_of_own(tmp_path / "other", "id,note,dx\na,one,F41.1; anxious\n", _OWN_COLUMNS)
    assert "row 1: a code is no ICD-10 code" in refused


_OWN_COLUMNS = '[columns]\npatient_id = "id"\ntext = "note"\n[diagnoses]\ncodes = "dx"\nsystem = "icd10"\n'


@pytest.mark.parametrize(
    ("row", "controls"),
    [
        (b"b,again,depressed", "a c"),  # no code of ICD-10
        (b"b,,F32.9", "a c"),  # the note is rejected, and its code with it
        (b"b,\xff,F32.9", "a c"),
        (b" B,again,depressed", "a c"),  # written otherwise, so that it is rejected
        (b"b,,", "a b c"),  # it held no code
        (b"z,,F32.9", "a b c"),  # of nobody with a note
        (b",again,F32.9", ""),  # it may be anybody's
        (b"b", ""),
        (b"no one,again,F32.9", ""),  # a word for nothing of the column map
        (b"no one,\xff,F32.9", ""),
        (b"#N/A,again,F32.9", ""),
    ],
)
def test_a_rejected_row_with_codes_makes_no_control(tmp_path: Path, row: bytes, controls: str) -> None:
    table = b"id,note,dx\na,one,\nb,two,I10\nc,three,\n" + row + b"\n"
    columns = f'blank = ["no one"]\n{_OWN_COLUMNS}'
    imported, _ = import_own(tmp_path, table, columns, complete=("icd10",), allow_rejected=True)
    labels = content_of(tmp_path / "corpus")[1]
    assert {patient for patient, _ in labels} == set(controls.split())
    assert any("rejected records of diagnosis codes" in hint for hint in imported.ledger.hints) == ("b" not in controls)


@pytest.mark.parametrize(
    ("table", "row", "controls"),
    [
        ("hosp/diagnoses_icd", ["10001", "1", 9, "F329", None], "10002"),
        ("hosp/diagnoses_icd", [None, "1", 9, "F329", 10], ""),
        ("hosp/diagnoses_icd", ["99", "1", 9, "F329", 10], "10001 10002"),  # of nobody in the export
    ],
)
def test_a_rejected_code_of_mimic_makes_no_control(
    tmp_path: Path, table: str, row: list[object], controls: str
) -> None:
    rows = tables.mimic_rows()
    rows[table].append(row)
    source = tables.write_mimic(tmp_path / "physionet", rows)
    import_export("mimic-iv-note", source, tmp_path / "corpus", complete=("icd10",), allow_rejected=True)
    labels = content_of(tmp_path / "corpus")[1]
    assert {patient for (patient, _), present in labels.items() if not present} == set(controls.split())


@pytest.mark.parametrize(
    ("table", "row", "has_controls"),
    [("CONCEPT_ANCESTOR", "35489007,,1,1\n", False), ("CONDITION_OCCURRENCE", "", True)],
)
def test_a_rejected_row_of_a_vocabulary_makes_no_controls(
    tmp_path: Path, table: str, row: str, has_controls: bool
) -> None:
    source = tables.write_omop(tmp_path / "cdm")
    with (source / f"{table}.csv").open("a", encoding="utf-8") as file:
        file.write(row.replace(",", "\t") if table.startswith("CONCEPT") else row)
    import_export("omop", source, tmp_path / "corpus", complete=("icd10", "snomed"), allow_rejected=True)
    assert (False in content_of(tmp_path / "corpus")[1].values()) == has_controls


@pytest.mark.parametrize(
    ("subject", "patients_known"),
    [
        ({"reference": "Patient/10001"}, {"10002"}),
        (None, set()),
        ({"reference": "Patient/none"}, {"10001", "10002"}),
        ({"reference": "Patient?identifier=|own"}, {"10002"}),
        ({"identifier": {"value": "own"}}, {"10002"}),
        # A number that two have, or nobody: it may be anybody's.
        ({"reference": "Patient?identifier=|both"}, set()),
        ({"identifier": {"value": "both"}}, set()),
        ({"identifier": {"value": "none"}}, set()),
    ],
)
def test_a_rejected_condition_of_fhir_makes_no_control(
    tmp_path: Path, subject: dict[str, Any] | None, patients_known: set[str]
) -> None:
    given: dict[str, list[dict[str, Any]]] = fhir.resources()
    given["Patient"][0]["identifier"] = [{"value": "own"}, {"value": "both"}]
    given["Patient"][1]["identifier"] = [{"value": "both"}]
    bad = {"resourceType": "Condition", "id": "bad", "subject": subject}
    bad["code"] = {"coding": [{"system": "http://hl7.org/fhir/sid/icd-10-cm", "code": "depressed"}]}
    given["Condition"].append(bad if subject else {key: bad[key] for key in ("resourceType", "id", "code")})
    source = fhir.write_ndjson(tmp_path / "bulk", given)
    import_export("fhir", source, tmp_path / "corpus", complete=("icd10", "snomed"), allow_rejected=True)
    labels = content_of(tmp_path / "corpus")[1]
    assert {patient for (patient, _), present in labels.items() if not present} == patients_known
