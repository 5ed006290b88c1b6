"""The invented hospital in FHIR R4 (hl7.org/fhir/R4): a bulk export as NDJSON, and Bundles.

Its notes come in three ways: inline plain text, RTF in a Binary, and an HTML page with a PDF beside it.
"""

import base64
import gzip
import json
from pathlib import Path
from typing import Any

from support.exports.hospital import FIRST_TEXT, LATER_TEXT, OTHER_TEXT, PEOPLE, VISITS

RACE = "http://hl7.org/fhir/us/core/StructureDefinition/us-core-race"
Resource = dict[str, Any]


def as_base64(content: str | bytes) -> str:
    """Return the data of an attachment."""
    return base64.b64encode(content.encode() if isinstance(content, str) else content).decode()


def as_rtf(text: str) -> bytes:
    """Return a text as RTF: a paragraph a line, what is not ASCII as UTF-16 units."""
    body = []
    for char in text:
        if char == "\n":
            body.append("\\par\n")
        elif char == "\t":
            body.append("\\tab ")
        elif ord(char) < 128:
            body.append(f"\\{char}" if char in "\\{}" else char)
        else:
            units = char.encode("utf-16-le")
            body += [
                f"\\u{int.from_bytes(units[at : at + 2], 'little', signed=True)}?" for at in range(0, len(units), 2)
            ]
    return ("{\\rtf1\\ansi\\ansicpg1252\\deff0{\\fonttbl{\\f0 Arial;}}\\f0 " + "".join(body) + "}").encode("ascii")


def as_html(text: str) -> str:
    """Return a text as a page: a line a `div`, with a script and a style that are no part of it."""
    lines = "".join(f"<div>{line}</div>" for line in text.splitlines() if line)
    head = "<head><title>Note</title><style>p {}</style></head>"
    return f"<html>{head}<body><script>steal()</script>{lines}</body></html>"


def plain(text: str | bytes, kind: str = "text/plain") -> Resource:
    """Return an attachment that holds a text."""
    return {"contentType": kind, "data": as_base64(text)}


def document(identifier: str, *attachments: Resource, patient: str = "p1", **more: Any) -> Resource:
    """Return a note of a patient; `more` are its other elements, or stand in the place of these."""
    return {
        "resourceType": "DocumentReference", "id": identifier, "status": "current", "date": "2024-01-02",
        "subject": {"reference": f"Patient/{patient}"}, "content": [{"attachment": one} for one in attachments], **more,
    }  # fmt: skip


def report(identifier: str, text: str, patient: str = "p1", **more: Any) -> Resource:
    """Return a report of some kind of a patient."""
    return {
        "resourceType": "DiagnosticReport", "id": identifier, "status": "final", "code": {"text": text},
        "subject": {"reference": f"Patient/{patient}"}, **more,
    }  # fmt: skip


def binary(identifier: str, attachment: Resource) -> Resource:
    """Return an attachment as a resource that others point at."""
    return {"resourceType": "Binary", "id": identifier, **attachment}


def _patient(identifier: str) -> Resource:
    one = next(person for person in PEOPLE if person.identifier == identifier)
    return {
        "resourceType": "Patient",
        "id": one.identifier,
        "extension": [{"url": RACE, "extension": [{"url": "text", "valueString": one.race}]}],
        "name": [
            {"use": "old", "family": "Before"},
            {"use": "official", "family": f"Invented{identifier}", "given": ["Ada", "B."]},
        ],
        "gender": one.sex,
        "birthDate": one.born.isoformat(),
        "maritalStatus": {"coding": [{"code": one.marital_status[0]}], "text": one.marital_status},
    }


def resources() -> dict[str, list[Resource]]:
    """Return the resources by type."""
    attachments = {
        "501": [{"contentType": "text/rtf", "url": "Binary/b1"}],
        "502": [plain(LATER_TEXT, "text/plain; charset=utf-8")],
        "503": [{"contentType": "application/pdf", "url": "Binary/b2"}, plain(as_html(OTHER_TEXT), "text/html")],
    }
    note_type = {"coding": [{"system": "http://loinc.org", "code": "11506-3", "display": "Progress note"}]}
    return {
        "Patient": [_patient(one.identifier) for one in PEOPLE],
        "Practitioner": [{"resourceType": "Practitioner", "id": "d1", "name": [{"family": "Quist", "given": ["Ida"]}]}],
        "Organization": [{"resourceType": "Organization", "id": "o1", "name": "Riverside Clinic"}],
        "Encounter": [
            {
                "resourceType": "Encounter", "id": f"e{one.identifier}", "status": "finished", "class": {"code": "AMB"},
                "period": {"start": f"{one.day}T10:00:00+01:00"},
                "serviceProvider": {"reference": "Organization/o1"},
            }
            for one in VISITS
        ],
        "DocumentReference": [
            document(
                one.identifier, *attachments[one.identifier], patient=one.patient, type=note_type,
                date="2024-01-01T00:00:00Z", author=[{"reference": "Practitioner/d1"}],
                context={"encounter": [{"reference": f"Encounter/e{one.identifier}"}]},
            )
            for one in VISITS
        ],
        "Binary": [
            binary("b1", plain(as_rtf(FIRST_TEXT), "text/rtf")), binary("b2", plain(b"%PDF-1.7", "application/pdf")),
        ],
        "DiagnosticReport": [
            # Laboratory results have no document; the second gives a note that stands above once more.
            {"resourceType": "DiagnosticReport", "id": "r1", "status": "final", "code": {"text": "CBC"}},
            report("r2", "Follow-up", "10001", presentedForm=[plain(LATER_TEXT)]),
        ],
        "Condition": [
            _condition("c1", "10001", {"system": "http://snomed.info/sct", "code": "370143000"}),
            _condition("c2", "10002", {"system": "http://hl7.org/fhir/sid/icd-10-cm", "code": "B20"}),
            # Refuted: the patient does not have it.
            _condition("c3", "10002", {"system": "http://hl7.org/fhir/sid/icd-10", "code": "F32.1"}, "refuted"),
        ],
        "Observation": [{"resourceType": "Observation", "id": "x1", "status": "final", "code": {"text": "weight"}}],
    }  # fmt: skip


def _condition(identifier: str, patient: str, coding: Resource, status: str = "confirmed") -> Resource:
    return {
        "resourceType": "Condition", "id": identifier, "subject": {"reference": f"Patient/{patient}"},
        "code": {"coding": [coding]}, "verificationStatus": {"coding": [{"code": status}]},
    }  # fmt: skip


def write_ndjson(folder: Path, given: dict[str, list[Resource]] | None = None) -> Path:
    """Write a file a type, as a bulk export does; the documents before what they point at, one type compressed."""
    folder.mkdir(parents=True, exist_ok=True)
    for kind, rows in (given or resources()).items():
        content = "".join(json.dumps(row) + "\n" for row in rows).encode()
        name = f"{'A' if kind == 'DocumentReference' else ''}{kind}.000.ndjson"
        if kind == "Binary":
            (folder / f"{name}.gz").write_bytes(gzip.compress(content, mtime=0))
        else:
            (folder / name).write_bytes(content)
    return folder


def write_bundles(folder: Path) -> Path:
    """Write a transaction Bundle a patient, as Synthea does, with `urn:uuid:` addresses, and one of places."""
    folder.mkdir(parents=True, exist_ok=True)
    given = resources()
    shared = [one for kind in ("Practitioner", "Organization", "Binary") for one in given[kind]]
    _write_bundle(folder / "zz-hospital.json", shared)
    for person in PEOPLE:
        own = [
            one
            for kind in ("DocumentReference", "DiagnosticReport", "Condition", "Encounter", "Patient")
            for one in given[kind]
            if one.get("subject", {}).get("reference") == f"Patient/{person.identifier}"
            or one["id"]
            in (person.identifier, *(f"e{visit.identifier}" for visit in VISITS if visit.patient == person.identifier))
        ]
        _write_bundle(folder / f"Ada_Invented{person.identifier}.json", own)
    return folder


def _write_bundle(path: Path, rows: list[Resource]) -> None:
    entries = [
        {"fullUrl": f"urn:uuid:{one['resourceType']}-{one['id']}", "resource": one, "request": {"method": "POST"}}
        for one in rows
    ]
    text = json.dumps({"resourceType": "Bundle", "type": "transaction", "entry": entries}, indent=1)
    for kind in ("Patient", "Encounter", "Practitioner", "Organization", "Binary"):
        text = text.replace(f'"reference": "{kind}/', f'"reference": "urn:uuid:{kind}-').replace(
            f'"url": "{kind}/', f'"url": "urn:uuid:{kind}-'
        )
    path.write_text(text, encoding="utf-8")
