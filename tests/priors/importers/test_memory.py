"""Memory: an export is read as a stream, whatever its format; what is held does not grow with the text."""

import base64
import csv
import gzip
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from support.exports import tables
from support.exports.importing import import_export

from clinaudit.priors.importers import Kind

_NOTES = 80
_TEXT = "word " * 60_000


def _mimic(folder: Path) -> Path:
    source = tables.write_mimic(folder / "physionet", {**tables.mimic_rows(), "hosp/diagnoses_icd": []})
    with gzip.open(source / "note" / "discharge.csv.gz", "at", 1, "utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerows([f"n{at}", "10001", 1, "DS", 1, "2021-01-01", "", _TEXT] for at in range(_NOTES))
    return source


def _documents(folder: Path) -> list[str]:
    folder.mkdir()
    data = base64.b64encode(_TEXT.encode()).decode()
    documents = [
        {
            "resourceType": "DocumentReference",
            "id": f"n{at}",
            "status": "current",
            "subject": {"reference": "Patient/a"},
            "content": [{"attachment": {"contentType": "text/plain", "data": data}}],
        }
        for at in range(_NOTES)
    ]
    return [json.dumps(one) for one in ({"resourceType": "Patient", "id": "a"}, *documents)]


def _ndjson(folder: Path) -> Path:
    lines = _documents(folder / "bulk")
    (folder / "bulk" / "all.ndjson").write_text("\n".join(lines), encoding="utf-8")
    return folder / "bulk"


def _bundle(folder: Path) -> Path:
    entries = ", ".join(f'{{"resource": {line}}}' for line in _documents(folder / "bundle"))
    content = f'{{"resourceType": "Bundle", "entry": [{entries}]}}'
    (folder / "bundle" / "all.json").write_text(content, encoding="utf-8")
    return folder / "bundle"


@pytest.mark.parametrize(("kind", "write"), [("mimic-iv-note", _mimic), ("fhir", _ndjson), ("fhir", _bundle)])
def test_the_texts_of_notes_are_never_held_together(tmp_path: Path, kind: Kind, write: Callable[[Path], Path]) -> None:
    source = write(tmp_path)
    tracemalloc.start()
    imported = import_export(kind, source, tmp_path / "corpus")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert imported.notes >= _NOTES
    # A few copies of one note, on its way from base64 to the table, and what importing modules takes.
    assert peak < _NOTES * len(_TEXT) / 3
