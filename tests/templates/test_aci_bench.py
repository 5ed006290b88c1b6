"""ACI-Bench under the profile for capital headings: sections as a reader sees them, facts where a reader finds them."""

import csv
import json
from pathlib import Path

import pytest
from support.aci_bench import ACI_BENCH, read_annotated_sections

from clinaudit.templates.note import NoteReader, normalize_newlines
from clinaudit.templates.profile import load_profile

PROFILE = load_profile(Path("capitals"))
ANNOTATED = read_annotated_sections()
pytestmark = pytest.mark.skipif(not ACI_BENCH.is_dir(), reason="ACI-Bench is not beside the repository")


def read_notes() -> dict[str, tuple[str, str]]:
    """Return note id -> (patient id, text)."""
    lines = (ACI_BENCH / "notes.jsonl").read_text(encoding="utf-8").splitlines()
    rows = (json.loads(line) for line in lines)
    return {row["note_id"]: (row["patient_id"], normalize_newlines(row["text"])) for row in rows}


@pytest.mark.parametrize("note_id", sorted(ANNOTATED))
def test_sections_are_those_that_a_reader_annotated(note_id: str) -> None:
    text = read_notes()[note_id][1]
    starts: list[tuple[int, str]] = []
    for section in NoteReader(PROFILE).read(text).sections:
        # Consecutive parts of one section (a body system of the examination) are one to the reader.
        if not starts or starts[-1][1] != section.name:
            starts.append((text.count("\n", 0, section.span_chars.start) + 1, section.name))
    assert starts == ANNOTATED[note_id]


def test_facts_are_those_that_a_reader_finds() -> None:
    reader = NoteReader(PROFILE)
    found = {note_id: reader.read(text).fields for note_id, (_, text) in read_notes().items()}
    counts = {
        fact: sum(fact in fields for fields in found.values())
        for fact in ("chief_complaint", "hpi", "medications", "name", "age", "sex")
    }
    # Every note without a name, an age or a sex was read: one says "Mr. Clark" within a sentence, one gives the age in
    # months, and the others have none.
    assert counts == {"chief_complaint": 82, "hpi": 64, "medications": 37, "name": 60, "age": 62, "sex": 63}
    with (ACI_BENCH / "patients.csv").open(encoding="utf-8", newline="") as file:
        table = {row["patient_id"]: row for row in csv.DictReader(file)}
    known = [
        (fields, table[patient]) for (patient, _), fields in zip(read_notes().values(), found.values(), strict=True)
    ]
    for fields, row in known:
        if "sex" in fields and row["sex"]:
            assert fields["sex"].value == row["sex"].strip()
        if "age" in fields and row["age"]:
            assert float(fields["age"].value) == float(row["age"])
    names = [(fields["name"].value, row["name"]) for fields, row in known if "name" in fields and row["name"]]
    # The table has given names alone, titles and slips of its own ("Hills" for "Hill"); one note is of somebody else.
    shared = [set(note.lower().split()) & set(table.lower().split()) for note, table in names]
    assert sum(map(bool, shared)) >= len(names) - 2
