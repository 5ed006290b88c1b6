"""FHIR: each text of a document once and in order, the newest of versions, and a word for all that is left aside."""

import base64
import errno
import gzip
import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.cases import read_rows
from support.exports.fhir import Resource, as_base64, as_rtf, binary, document, plain, report
from support.exports.importing import import_export, refusal_of

from clinaudit.errors import StorageError
from clinaudit.priors.corpus.corpus import read_corpus
from clinaudit.priors.importers.export import Imported
from clinaudit.priors.importers.html_text import text_of_html

CASES = read_rows("exports/import_rows.txt")

_PATIENT: Resource = {"resourceType": "Patient", "id": "p1", "birthDate": "1980-01-02"}
_TEXT = "CC: cough\nHPI: two days\nPlan: rest"
_PLAIN = plain(_TEXT)
_BLANK_LINES = "CC" + "\n" * 100_000 + "Plan"
_PDF = {"contentType": "application/pdf", "data": as_base64(b"%PDF-1.7")}
_NO_FORM = "no attachment is plain text, HTML or RTF"
_OUTSIDE = "the url of an attachment is not in the export (nothing is fetched)"


def _page(text: str) -> Resource:
    return plain("".join(f"<div>{line}</div>" for line in text.splitlines()), "text/html")


def _document(identifier: str = "d1", *attachments: Resource, **more: Any) -> Resource:
    return document(identifier, *(attachments or (_PLAIN,)), **more)


def _write(folder: Path, *resources: Resource, patients: Sequence[Resource] = (_PATIENT,)) -> Path:
    folder.mkdir(exist_ok=True)
    lines = "".join(f"{json.dumps(one)}\n" for one in (*resources, *patients))
    (folder / "all.ndjson").write_text(lines, encoding="utf-8")
    return folder


def _write_bundle(path: Path, entries: Sequence[object], **more: object) -> Path:
    """Write a Bundle, and return its folder, made if new."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"resourceType": "Bundle", "entry": entries, **more}), encoding="utf-8")
    return path.parent


def _import(tmp_path: Path, source: Path, *, allow_rejected: bool = False) -> tuple[list[str], Imported]:
    imported = import_export("fhir", source, tmp_path / "corpus", allow_rejected=allow_rejected)
    for count in imported.ledger.tables.values():
        assert count.total == count.read + count.rejected.total()
    corpus = read_corpus(tmp_path / "corpus")
    return [note.text for patient in sorted(corpus.patients) for note in corpus.notes_of(patient)], imported


@pytest.mark.parametrize(
    ("attachments", "text", "aside"),
    [
        # Other texts are parts, in their order, whatever their format.
        ([plain("Note: x"), plain("Addendum: y")], "Note: x\n\nAddendum: y", ["joined"]),
        ([_page("CC: cough"), plain("ADDENDUM: a fracture"), plain(as_rtf("Seen by me"), "text/rtf")],
         "CC: cough\n\nADDENDUM: a fracture\n\nSeen by me", ["joined"]),
        # Formats of one text, of which the first or the longer one stands.
        ([_PLAIN, _page(_TEXT)], _TEXT, ["say the same"]),
        ([_page(f"Riverside Clinic\n{_TEXT}"), _PLAIN], f"Riverside Clinic\n{_TEXT}", ["say the same"]),
        ([_PLAIN, _page(f"Riverside Clinic\n{_TEXT}")], f"Riverside Clinic\n{_TEXT}", ["say the same"]),
        ([_PLAIN, plain("<table><tr><td>HPI: two days<td>CC: cough</tr></table>Plan: rest", "text/html")], _TEXT,
         ["say the same"]),
        ([_PLAIN, _PLAIN], _TEXT, ["say the same"]),
        ([plain("a b c d e f g h i j k l"), plain("<ol><li>a b c d e f<li>g h i j k l</ol>", "text/html")],
         "1. a b c d e f\n2. g h i j k l", ["say the same"]),
        # Signs of lists, rules and kinds of dashes mean nothing.
        ([plain("Plan - day 2:\n---\n- rest\n- fluids"),
          plain("Plan \u2013 day 2:<hr><ul><li>rest<li>fluids", "text/html")],
         "Plan - day 2:\n---\n- rest\n- fluids", ["say the same"]),
        ([plain(_BLANK_LINES), _page("CC\nPlan")], _BLANK_LINES, ["say the same"]),
        # Two texts of one format are two, also where one holds the other.
        ([plain("CC: cough"), plain("CC: cough, fever")], "CC: cough\n\nCC: cough, fever", ["joined"]),
        # What cannot be read beside what can.
        ([_PDF, _PLAIN], _TEXT, [_NO_FORM]),
        ([plain(" "), _page(_TEXT)], _TEXT, ["the text is blank"]),
        ([_PLAIN, {"contentType": "text/rtf", "url": "https://ehr.example.org/Binary/77"}], _TEXT, [_OUTSIDE]),
        ([{"data": as_base64("x")}, plain("{\\rtf1 cut", "text/rtf"), {"contentType": "text/plain"}, _PLAIN], _TEXT,
         ["has no contentType", "is cut off", "neither data nor url"]),
        # By what it is: a type that is wrong or missing, packed twice, an empty `data` beside a `url`.
        ([{"data": as_base64(as_rtf(_TEXT))}], _TEXT, []),
        ([plain(base64.b64encode(_TEXT.encode()))], _TEXT, []),
        ([plain(gzip.compress(_TEXT.encode(), mtime=0))], _TEXT, []),
        ([{"contentType": "text/plain", "data": "", "url": "Binary/b1"}], "of b1", []),
        ([{"contentType": "text/plain", "url": "https://ehr.example.org/fhir/Binary/b1/_history/2"}], "of b1", []),
        ([{"contentType": "application/pdf", "url": "Binary/b1"}], "of b1", []),
        ([{"url": "Binary/b2"}], _TEXT, []),
        ([{"contentType": "text/plain", "url": "Binary/b3"}], "of b3", []),
        ([{"contentType": "text/plain", "url": "#own"}], "contained", []),
        ([{"contentType": "text/plain", "url": "./attachments/a%20b.txt"}], "of a file", []),
        # Addresses that no file can have: with a zero byte, or longer than a name may be.
        *(([_PLAIN, {"url": url}], _TEXT, [_OUTSIDE]) for url in ("a%00b", f"https://blob.example.org/{'x' * 300}")),
        ([{"url": "attachments/c.rtf"}, {"url": "../outside.rtf"}, {"url": "attachments/link.rtf"}], _TEXT, [_OUTSIDE]),
    ],
)  # fmt: skip
def test_each_text_of_a_document_stands_once(
    tmp_path: Path, attachments: list[Resource], text: str, aside: list[str]
) -> None:
    own = [binary("own", plain("contained"))]
    of_report = report("r1", "CT", "p2", presentedForm=attachments, contained=own)
    source = _write(
        tmp_path / "bulk", _document("d1", *attachments, contained=own), of_report,
        binary("b1", plain("of b1")), binary("b2", plain(as_rtf(_TEXT), "application/msword")),
        binary("b3", plain("of b3", "application/octet-stream")),
        patients=(_PATIENT, {**_PATIENT, "id": "p2"}),
    )  # fmt: skip
    (source / "attachments").mkdir()
    (source / "attachments" / "a b.txt").write_text("of a file", encoding="utf-8")
    (source / "attachments" / "c.rtf").write_bytes(as_rtf(_TEXT))
    (tmp_path / "outside.rtf").write_bytes(as_rtf("outside"))
    (source / "attachments" / "link.rtf").symlink_to(tmp_path / "outside.rtf")
    texts, imported = _import(tmp_path, source)
    assert [one.strip() for one in texts] == [text] * 2
    said = {why: number for why, number in imported.ledger.left_aside.items() if "files that were not read" not in why}
    assert len(said) == len(aside)
    for why, number in said.items():
        assert number == (4 if len(attachments) == 3 and why.endswith(_OUTSIDE) else 2)
        assert any(words in why for words in aside)


@pytest.mark.parametrize(("text", "page"), CASES["test_signs_that_formats_write_otherwise_are_alike"])
def test_signs_that_formats_write_otherwise_are_alike(tmp_path: Path, text: str, page: str) -> None:
    source = _write(tmp_path / "bulk", _document("d1", plain(text), _page(page)))
    texts, imported = _import(tmp_path, source)
    assert texts in ([text], [text_of_html(page)])
    assert any("say the same" in why for why in imported.ledger.left_aside)


@pytest.mark.parametrize(("text", "page"), CASES["test_two_formats_that_say_nearly_the_same_are_refused"])
def test_two_formats_that_say_nearly_the_same_are_refused(tmp_path: Path, text: str, page: str) -> None:
    source = _write(tmp_path / "bulk", _document("d1", plain(text), _page(page)))
    assert "line 1: two attachments of different formats say nearly the same" in refusal_of(
        "fhir", source, tmp_path / "c"
    )


def test_a_document_that_was_made_again_after_it_was_deleted_is_read(tmp_path: Path) -> None:
    again = {"resource": _document("d1", plain("new")) | {"meta": {"lastUpdated": "2024-03-01T00:00:00Z"}}}
    deleted = {"request": {"method": "DELETE", "url": "DocumentReference/d1"}}
    for when, texts in (("2024-02-01T00:00:00Z", ["new"]), ("2024-04-01T00:00:00Z", []), (None, [])):
        entries = [{"resource": _PATIENT}, again, {**deleted, "response": {"lastModified": when}}]
        source = _write_bundle(tmp_path / str(when)[:7] / "b.json", entries)
        if texts:
            assert _import(tmp_path, source)[0] == texts
        else:
            assert "the export gave no note" in refusal_of("fhir", source, tmp_path / "c")


def _versioned(resource: Resource, **meta: str) -> Resource:
    return {**resource, "meta": meta}


_OLD, _NEW = _document("d1", plain("old")), _document("d1", plain("new"))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (_versioned(_OLD, versionId="9"), _versioned(_NEW, versionId="10")),
        (_versioned(_NEW, versionId="10"), _versioned(_OLD, versionId="9")),
        # A day that is later in one zone and earlier in another; versions that are no numbers.
        (_versioned(_NEW, lastUpdated="2024-01-01T23:00:00-05:00", versionId="a"),
         _versioned(_OLD, lastUpdated="2024-01-02T01:00:00.5Z", versionId="b")),
        # Of servers that count anew, the time tells.
        (_versioned(_OLD, lastUpdated="2024-01-01T00:00:00Z", versionId="7"),
         _versioned(_NEW, lastUpdated="2024-01-02T00:00:00Z", versionId="1")),
        (_OLD | {"id": "d0"},
         _NEW | {"relatesTo": [{"code": "replaces", "target": {"reference": "DocumentReference/d0"}}]}),
        (_NEW | {"relatesTo": [{"code": {"coding": [{"code": "replaces"}]}, "target": {"reference": "urn:uuid:d0"}}]},
         _OLD | {"id": "d0"}),
        (_OLD | {"id": "d0", "status": "superseded"}, _NEW),
        (_OLD | {"id": "d0", "status": "entered-in-error"}, _NEW),
        (_OLD | {"id": "d0", "docStatus": "entered-in-error"}, _NEW),
    ],
)  # fmt: skip
def test_the_newest_of_versions_is_read(tmp_path: Path, first: Resource, second: Resource) -> None:
    entries = [{"resource": one, "fullUrl": f"urn:uuid:{one['id']}"} for one in (first, second, _PATIENT)]
    texts, imported = _import(tmp_path, _write_bundle(tmp_path / "bundle" / "b.json", entries))
    assert texts == ["new"]
    documents = imported.ledger.tables["DocumentReference"]
    assert (documents.used, documents.not_needed) == (1, 1)
    assert list(imported.ledger.left_aside.values()) == [1]


@pytest.mark.parametrize(
    "second",
    [
        _NEW,
        _versioned(_NEW, versionId="2"),
        _versioned(_NEW, lastUpdated="2024-01-02"),
        _versioned(_NEW, versionId="b"),
    ],
)
def test_versions_of_which_none_is_known_to_be_newer_are_refused(tmp_path: Path, second: Resource) -> None:
    source = _write(
        tmp_path / "bulk", _versioned(_OLD, lastUpdated="2024-01-01"), second, _document("d2", plain("other"))
    )
    refused = refusal_of("fhir", source, tmp_path / "c")
    assert "line 1: another version of it is in the export, and nothing says which is newer (1 more like it)" in refused
    assert _import(tmp_path, source, allow_rejected=True)[0] == ["other"]


def test_resources_of_other_servers_are_no_versions(tmp_path: Path) -> None:
    for number, server in enumerate(("a", "b")):
        patient = _versioned(_PATIENT | {"birthDate": f"198{number}"}, lastUpdated=f"2024-01-0{number + 1}T00:00:00Z")
        entries = [
            {"resource": patient, "fullUrl": f"https://{server}.example.org/Patient/p1"},
            {"resource": _document(f"d{number}", plain(server))},
        ]
        _write_bundle(tmp_path / "bulk" / f"{server}.json", entries)
    assert "bundle file 2 of 2, entry 1: another version of it" in refusal_of("fhir", tmp_path / "bulk", tmp_path / "c")
    (tmp_path / "bulk" / "c.ndjson").write_text(
        "\n".join(
            map(json.dumps, (_PATIENT | {"id": "p2"}, _document("d3") | {"subject": {"reference": "Patient/p2"}}))
        ),
        encoding="utf-8",
    )
    # Nobody knows whose the notes of p1 are.
    assert _import(tmp_path, tmp_path / "bulk", allow_rejected=True)[0] == [_TEXT]


def test_the_newer_patient_stands_wherever_it_is_found(tmp_path: Path) -> None:
    versions = [_versioned(_PATIENT | {"birthDate": f"198{at}-01-01"}, versionId=str(at)) for at in (2, 3, 1, 3)]
    _, imported = _import(tmp_path, _write(tmp_path / "bulk", _document(), patients=versions))
    assert str(read_corpus(tmp_path / "corpus").patients["p1"].dob) == "1983-01-01"
    patients = imported.ledger.tables["Patient"]
    assert (patients.total, patients.used, patients.not_needed) == (4, 1, 3)
    assert sorted(imported.ledger.left_aside.values()) == [1, 2]


def test_documents_that_replace_each_other_are_refused(tmp_path: Path) -> None:
    first, second = (
        _document(own, relatesTo=[{"code": "replaces", "target": {"reference": f"DocumentReference/{other}"}}])
        for own, other in (("d1", "d2"), ("d2", "d1"))
    )
    assert "line 1: documents of the export replace each other in a circle" in refusal_of(
        "fhir", _write(tmp_path / "bulk", first, second), tmp_path / "c"
    )


def test_what_the_export_says_of_its_own_documents_is_followed_or_said(tmp_path: Path) -> None:
    number = {"system": "urn:x", "value": "7"}
    form = [plain("CT: nodule")]
    source = _write(
        tmp_path / "bulk", _document("d1"), _document("d2", plain("two")), _document("d3", masterIdentifier=number),
        _document("d4", plain("four"), relatesTo=[{"code": "replaces", "target": {"identifier": number}}]),
        report("r1", "CT", presentedForm=form, conclusion="Review in May"),
        report("r2", "CT", presentedForm=form, conclusion="nodule"),
    )  # fmt: skip
    deleted = {"request": {"method": "DELETE", "url": "DocumentReference/d1"}}
    _write_bundle(source / "deleted.ndjson", [deleted], type="transaction")
    _write_bundle(source / "page.json", [{"resource": _PATIENT}], link=[{"relation": "next", "url": "x?2"}])
    texts, imported = _import(tmp_path, source)
    assert sorted(texts) == ["CT: nodule", "CT: nodule", "four", "two"]
    assert imported.ledger.left_aside == {
        "Bundles with a link to a next page: it must be a file of the export, too": 1,
        "conclusions of reports that say what their document does not: not read": 1,
        "documents and conditions that the export says were deleted": 1,
        "documents that another document of the export replaces": 1,
        "resources given twice alike": 1,
    }


_HASH = base64.b64encode(hashlib.sha1(_TEXT.encode()).digest()).decode()


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (_document("d1", _PLAIN | {"size": 4000}), "an attachment is cut off"),
        (_document("d1", _PLAIN | {"hash": as_base64("another")}), "an attachment is cut off"),
        (_document("d1", _PLAIN | {"size": 1, "hash": _HASH}), None),
        (_document("d1", _PLAIN | {"hash": hashlib.sha256(_TEXT.encode()).hexdigest()}), None),
        (_document("d1", plain(gzip.compress(_TEXT.encode(), mtime=0)) | {"size": len(_TEXT), "hash": _HASH}), None),
        (_document("d1", {"url": "https://other.example.org/Binary/b", "contentType": "text/plain"}), _OUTSIDE),
        (_document("d1", {"url": "https://a.example.org/Binary/b/_history/2", "contentType": "text/plain"}), None),
        (_document("d1", subject={"reference": "https://b.example.org/Patient/p1"}), "its patient is on another"),
        (_document("d1", subject={"reference": "https://a.example.org/Patient/p1/_history/3"}), None),
        (_document("d1", subject={"reference": "http://A.example.org:80/Patient/p1/"}), None),
        (_document("d0", subject={"reference": "Patient/p2"}), "a document of another patient says that it replaces"),
        (_document("d1", context={"encounter": [{"reference": "Encounter/of-p2"}]}),
         "its visit (encounter) is another patient's"),
    ],
)  # fmt: skip
def test_what_belongs_to_something_else_is_refused(tmp_path: Path, document: Resource, reason: str | None) -> None:
    newer = _document("d9", relatesTo=[{"code": "replaces", "target": {"reference": "DocumentReference/d0"}}])
    visit = {"resourceType": "Encounter", "id": "of-p2", "subject": {"reference": "Patient/p2"}}
    resources = (_PATIENT, _PATIENT | {"id": "p2"}, document, newer, visit, binary("b", _PLAIN))
    entries = [
        {"resource": one, "fullUrl": f"https://a.example.org/{one['resourceType']}/{one['id']}"} for one in resources
    ]
    source = _write_bundle(tmp_path / "bundle" / "b.json", entries)
    if reason is None:
        assert _import(tmp_path, source)[0] == [_TEXT, _TEXT]
    else:
        assert f"entry 3: {reason}" in refusal_of("fhir", source, tmp_path / "c")


def test_a_patient_is_found_by_an_identifier_that_no_other_has(tmp_path: Path) -> None:
    mrn = {"system": "urn:mrn", "value": "77"}
    by_number = _document("d1", subject={"identifier": mrn})
    by_search = _document("d2", subject={"reference": "Patient?identifier=urn:mrn|77"})
    one, other = (_PATIENT | {"id": key, "identifier": [mrn]} for key in ("p1", "p2"))
    assert _import(tmp_path, _write(tmp_path / "bulk", by_number, by_search, patients=[one]))[0] == [_TEXT, _TEXT]
    for patients in ([one, other], [_PATIENT], [one | {"identifier": [mrn | {"value": "78"}]}]):
        source = _write(tmp_path / "bulk", by_number, by_search, patients=patients)
        assert "line 1: its patient is not in the export (1 more like it)" in refusal_of("fhir", source, tmp_path / "c")


def test_a_document_gives_way_to_none_of_another_patient_who_is_known_by_a_number(tmp_path: Path) -> None:
    numbers = [{"system": "urn:mrn", "value": value} for value in ("77", "78")]
    patients = [_PATIENT | {"id": f"p{one['value']}", "identifier": [one]} for one in numbers]
    old, new = (
        _document(f"d{at}", plain(text), status=status, subject={"identifier": numbers[at]})
        for at, (text, status) in enumerate((("old", "superseded"), ("new", "current")))
    )
    assert _import(tmp_path, _write(tmp_path / "bulk", old, new, patients=patients))[0] == ["old", "new"]
    replacing = new | {"relatesTo": [{"code": "replaces", "target": {"reference": "DocumentReference/d0"}}]}
    source = _write(tmp_path / "bulk", old, replacing, patients=patients)
    assert "line 1: a document of another patient says that it" in refusal_of("fhir", source, tmp_path / "c")
    visit = {"resourceType": "Encounter", "id": "e", "subject": {"identifier": numbers[1]}}
    seen = old | {"context": {"encounter": [{"reference": "Encounter/e"}]}}
    source = _write(tmp_path / "bulk", seen, new, visit, patients=patients)
    assert "line 1: its visit (encounter) is another patient's" in refusal_of("fhir", source, tmp_path / "c")


def test_documents_stand_beside_each_other_where_none_replaces_another(tmp_path: Path) -> None:
    addendum = _document(
        "d2", plain("addendum"), relatesTo=[{"code": "appends", "target": {"reference": "DocumentReference/d1"}}]
    )
    # Synthea calls the notes of all visits but the latest superseded.
    earlier = _document("d3", plain("earlier"), status="superseded", date="2023-01-02")
    # One that was entered in error replaces nothing.
    wrong = _document(
        "d4",
        status="entered-in-error",
        relatesTo=[{"code": "replaces", "target": {"reference": "DocumentReference/d1"}}],
    )
    texts, _ = _import(tmp_path, _write(tmp_path / "bulk", _document(), addendum, earlier, wrong))
    assert sorted(texts) == [_TEXT, "addendum", "earlier"]


def test_what_stands_beside_the_resources_is_left_aside_with_a_word(tmp_path: Path) -> None:
    source = _write(tmp_path / "bulk", _document(), _document())
    (source / "log.ndjson").write_text('{"exportId": "e", "eventId": "kickoff"}\n' * 2, encoding="utf-8")
    (source / "manifest.json").write_text('{"transactionTime": "2024-01-01T00:00:00Z", "output": []}', encoding="utf-8")
    (source / "error.ndjson").write_text('{"resourceType": "OperationOutcome", "issue": []}\n', encoding="utf-8")
    _write_bundle(source / "deleted.json", [{"request": {"method": "DELETE", "url": "Patient/x"}}])
    for name in ("readme.txt", "all.ndjson.1", "other.ndjson.1", "more.fhir", "roe.ann"):
        (source / name).write_text("no part of it", encoding="utf-8")
    (source / "Empty.ndjson").write_bytes(b"")
    (source / "part2").symlink_to(tmp_path, target_is_directory=True)
    (source / "._all.ndjson").write_bytes(b"\0\5\x16\7\xff")
    texts, imported = _import(tmp_path, source)
    assert texts == [_TEXT]
    assert imported.ledger.left_aside == {
        "answers of the server (OperationOutcome): they may say what the export lacks": 1,
        "deletions of what is no document and no condition: not followed": 1,
        "empty files": 1,
        "files that were not read (.1)": 2,
        "files that were not read (.fhir)": 1,
        "files that were not read (.txt)": 1,
        "files that were not read (another ending)": 1,
        "files without FHIR resources, such as a log or a manifest": 2,
        "folders that are links: not followed": 1,
        "resources given twice alike": 1,
    }
    written = json.loads((tmp_path / "corpus" / "import.json").read_text(encoding="utf-8"))
    assert written["left_aside"] == imported.ledger.left_aside


def test_what_a_record_says_of_its_person_and_of_no_day(tmp_path: Path) -> None:
    former = {"use": "official", "family": "Holt", "given": ["Una"], "period": {"end": "2001-02-03"}}
    linked = {"link": [{"other": {"reference": "Patient/p1"}, "type": "replaces"}], "name": [former, {"text": "Una B"}]}
    absent = {"link": [{"other": {"reference": "Patient/p9"}, "type": "replaced-by"}]}
    lab = {"resourceType": "Organization", "id": "o", "name": "Laboratory"}
    authors = [
        {"reference": "Patient/p2", "display": "Una B"},
        {"reference": "Organization/o"},
        {"display": "Dr. Quist"},
    ]
    documents = [
        _document("d1", context={"period": {"start": "0001-01-01T00:00:00Z"}}, author=authors),
        _document("d2", subject={"reference": "Patient/p2"}, date="1900-01-01", author=authors[:2]),
    ]
    composed = {"resourceType": "Composition", "id": "c"}
    number = {"identifier": [{"system": "urn:mrn", "value": "77"}]}
    people = [_PATIENT | absent | number, {"resourceType": "Patient", "id": "p2", **linked, **number}]
    _, imported = _import(tmp_path, _write(tmp_path / "bulk", composed, lab, *documents, patients=people))
    corpus = read_corpus(tmp_path / "corpus")
    first, second = corpus.latest_note("p1"), corpus.latest_note("p2")
    assert (corpus.patients["p2"].name, first.provider, second.provider) == ("Una B", "Dr. Quist", "Laboratory")
    assert str(first.visit_date) == "2024-01-02"
    assert imported.ledger.left_blank == {"visit date: 0001-01-01, beside another date": 1}
    assert imported.ledger.left_aside == {
        "Compositions: the text of their sections is not read": 1,
        "links between records of one person: each is a patient here": 1,
        "identifiers that several patients have: each is a patient here": 1,
    }
    assert any("1 notes are of a day that programs write for none" in hint for hint in imported.ledger.hints)


def test_an_export_without_notes_says_what_it_holds_in_their_place(tmp_path: Path) -> None:
    source = _write_bundle(tmp_path / "b" / "b.json", [{"resource": {"resourceType": "Composition", "id": "c"}}])
    refused = refusal_of("fhir", source, tmp_path / "corpus")
    assert "left aside: 1 Compositions: the text of their sections is not read" in refused


def test_content_and_performers_stand_where_they_stood_before_r4(tmp_path: Path) -> None:
    before = binary("b", {"contentType": "text/plain", "content": as_base64(_TEXT)})
    form = {"contentType": "text/plain", "url": "Binary/b"}
    old = report("r", "CT", presentedForm=[form], performer=[{"actor": {"display": "Dr. Quist"}}])
    assert _import(tmp_path, _write(tmp_path / "bulk", old, before))[0] == [_TEXT]
    assert read_corpus(tmp_path / "corpus").latest_note("p1").provider == "Dr. Quist"


def test_a_folder_that_cannot_be_listed_ends_the_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = _write(tmp_path / "bulk", _document())
    (source / "more").mkdir()
    listed = os.scandir

    def refuse(path: str) -> Any:
        if Path(path).name == "more":
            raise PermissionError(errno.EACCES, "no", path)
        return listed(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(StorageError, match="bulk: Permission denied"):
        import_export("fhir", source, tmp_path / "corpus")


def test_resources_come_alone_in_lists_and_in_bundles_of_bundles(tmp_path: Path) -> None:
    folder = tmp_path / "examples"
    folder.mkdir()
    bundle = {"resourceType": "Bundle", "entry": [{"resource": binary("b1", plain("of b1"))}, {"response": {}}]}
    outer = {"resourceType": "Bundle", "entry": [{"resource": bundle}]}
    files: dict[str, object] = {
        "patient.json": _PATIENT,
        "documents.json": [_document(), _document("d2", {"contentType": "text/plain", "url": "Binary/b1"})],
        "nested.json": outer,
    }
    for name, content in files.items():
        (folder / name).write_text(
            json.dumps(content, indent=1), encoding="utf-8-sig" if name == "patient.json" else "utf-8"
        )
    (folder / "bundles.ndjson").write_text(json.dumps(bundle), encoding="utf-8")
    texts, imported = _import(tmp_path, folder)
    assert texts == [_TEXT, "of b1"]
    assert imported.ledger.left_aside == {"resources given twice alike": 1}


def test_what_references_point_at_is_found_by_all_their_forms(tmp_path: Path) -> None:
    doctor = {
        "resourceType": "Practitioner",
        "id": "x",
        "identifier": [{"system": "npi", "value": "7"}],
        "name": [{"text": "Dr. Quist"}],
    }
    place = {"resourceType": "Organization", "id": "o", "name": "Riverside Clinic"}
    visit = {
        "resourceType": "Encounter",
        "id": "e",
        "period": {"start": "2024-03-04T10:00:00Z"},
        "serviceProvider": {"reference": "#o"},
    }
    documents = [
        _document(
            "d1", author=[{"reference": "Practitioner?identifier=npi|7"}], custodian={"reference": "Organization/o"}
        ),
        _document(
            "d2",
            author=[{"reference": "#x"}],
            custodian={"reference": "#o"},
            contained=[doctor | {"name": [{"family": "Holt"}]}, place],
        ),
        # Of what another document contains, nothing is known; the time of the visit counts more than that of the file.
        _document(
            "d3",
            author=[{"reference": "#x"}],
            context={"encounter": {"reference": "https://e.example.org/Encounter/e"}},
        ),
        # R5 has the visit and its time elsewhere.
        _document("d4", context=[{"reference": "Encounter/e"}], period={"start": "2020-01-01"}),
    ]
    _import(tmp_path, _write(tmp_path / "bulk", *documents, doctor, place, visit))
    notes = {note.note_id.rpartition("/")[2]: note for note in read_corpus(tmp_path / "corpus").notes_of("p1")}
    found = {key: (note.provider, note.practice, str(note.visit_date)) for key, note in notes.items()}
    assert found == {
        "d1": ("Dr. Quist", "Riverside Clinic", "2024-01-02"),
        "d2": ("Holt", "Riverside Clinic", "2024-01-02"),
        "d3": (None, None, "2024-03-04"),
        "d4": (None, None, "2024-03-04"),
    }


@pytest.mark.parametrize(
    "element", ["subject", "content", "date", "author", "context", "relatesTo", "meta", "contained"]
)
def test_an_element_of_another_shape_is_named(tmp_path: Path, element: str) -> None:
    source = _write(tmp_path / "bulk", _document(**{element: 7}))
    assert f"line 1: DocumentReference.{element}" in refusal_of("fhir", source, tmp_path / "c")
