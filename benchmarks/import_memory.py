"""Time and peak memory of an import of 1 GB of MIMIC-IV-Note, and of FHIR as NDJSON and as one Bundle.

    python benchmarks/import_memory.py [--quick]       about ten minutes, 3 GB of disk; --quick: a tenth of the sizes

Each import runs in a process of its own; its peak is the kernel's (`ru_maxrss`). Texts are drawn from invented words,
so that they compress as notes do. Every import is checked: as many notes as were written, and nothing rejected.
"""

import argparse
import base64
import csv
import gzip
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_CHILD = """
import json, resource, sys, time
from pathlib import Path
from clinaudit.priors.diagnoses import load_panel
from clinaudit.priors.importers import plan_import
from clinaudit.priors.importers.export import ImportRequest
begin = time.perf_counter()
plan = plan_import(ImportRequest(
    kind=sys.argv[1], source=Path(sys.argv[2]), destination=Path(sys.argv[3]), panel=load_panel(), complete=("icd10",)
))
idle = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
made = plan.run(lambda read: None)
print(json.dumps({
    "notes": made.notes,
    "seconds": time.perf_counter() - begin,
    "idle_mb": idle / 1000,
    "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000,
}))
"""
#: Characters of a note; discharge summaries of MIMIC-IV have about 10,000.
_NOTE_CHARS = 10_000
_NOTES_A_PATIENT = 3


def draw_texts(size: int, seed: int = 0) -> Iterator[str]:
    """Yield notes of about `_NOTE_CHARS` characters until they hold `size` characters."""
    rng = random.Random(seed)
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 11))) for _ in range(20_000)]
    drawn = 0
    while drawn < size:
        lines = (
            f'{rng.choice(words)}: {" ".join(rng.choices(words, k=12))}, "{rng.choice(words)}"' for _ in range(120)
        )
        text = "\n".join(lines)[:_NOTE_CHARS]
        drawn += len(text)
        yield text


def write_mimic(folder: Path, size: int) -> int:
    """Write the tables; return how many notes."""
    (folder / "note").mkdir(parents=True)
    (folder / "hosp").mkdir()
    notes = 0
    with gzip.open(folder / "note" / "discharge.csv.gz", "wt", encoding="utf-8", newline="", compresslevel=1) as file:
        rows = csv.writer(file, lineterminator="\n")
        head = ("note_id", "subject_id", "hadm_id", "note_type", "note_seq", "charttime", "storetime", "text")
        rows.writerow(head)
        for text in draw_texts(size):
            patient = 10_000_000 + notes // _NOTES_A_PATIENT
            rows.writerow([f"{patient}-DS-{notes}", patient, notes, "DS", 1, "2150-01-01 00:00:00", "", text])
            notes += 1
    patients = range(10_000_000, 10_000_000 + notes // _NOTES_A_PATIENT + 1)
    with gzip.open(folder / "hosp" / "patients.csv.gz", "wt", encoding="utf-8", newline="") as file:
        file.write("subject_id,gender,anchor_age,anchor_year,anchor_year_group,dod\n")
        file.writelines(f"{patient},F,50,2150,2017 - 2019,\n" for patient in patients)
    with gzip.open(folder / "hosp" / "diagnoses_icd.csv.gz", "wt", encoding="utf-8", newline="") as file:
        file.write("subject_id,hadm_id,seq_num,icd_code,icd_version\n")
        file.writelines(f"{patient},1,{number},F3{number},10\n" for patient in patients for number in range(10))
    return notes


def _resources(size: int) -> Iterator[dict[str, Any]]:
    for notes, text in enumerate(draw_texts(size * 3 // 4)):  # base64 makes four characters of three
        patient = f"p{notes // _NOTES_A_PATIENT}"
        if notes % _NOTES_A_PATIENT == 0:
            yield {"resourceType": "Patient", "id": patient, "gender": "female", "birthDate": "1970-01-01"}
        attachment = {"contentType": "text/plain", "data": base64.b64encode(text.encode()).decode()}
        yield {
            "resourceType": "DocumentReference",
            "id": f"d{notes}",
            "status": "current",
            "subject": {"reference": f"Patient/{patient}"},
            "date": "2021-01-01T00:00:00Z",
            "content": [{"attachment": attachment}],
        }


def write_ndjson(folder: Path, size: int) -> int:
    """Write all resources into one file; return how many notes."""
    folder.mkdir()
    notes = 0
    with (folder / "all.ndjson").open("w", encoding="utf-8") as file:
        for resource_ in _resources(size):
            file.write(json.dumps(resource_) + "\n")
            notes += resource_["resourceType"] == "DocumentReference"
    return notes


def write_bundle(folder: Path, size: int) -> int:
    """Write all resources into one Bundle; return how many notes."""
    folder.mkdir()
    notes = 0
    with (folder / "all.json").open("w", encoding="utf-8") as file:
        file.write('{"resourceType": "Bundle", "type": "collection", "entry": [')
        for number, resource_ in enumerate(_resources(size)):
            file.write(("," if number else "") + json.dumps({"resource": resource_}))
            notes += resource_["resourceType"] == "DocumentReference"
        file.write("]}")
    return notes


def main() -> None:
    """Write the exports, import them, print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    scale = 10 if parser.parse_args().quick else 1
    print("| export | size | notes | time | memory before reading | peak of memory |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |", flush=True)
    for kind, name, write, size in (
        ("mimic-iv-note", "MIMIC-IV-Note, CSV.gz", write_mimic, 1_000_000_000),
        ("fhir", "FHIR, NDJSON", write_ndjson, 400_000_000),
        ("fhir", "FHIR, one Bundle", write_bundle, 400_000_000),
    ):
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "export"
            notes = write(source, size // scale)
            run = subprocess.run(
                [sys.executable, "-c", _CHILD, kind, str(source), str(Path(folder) / "corpus")],
                check=True,
                stdout=subprocess.PIPE,
                text=True,
            )
        made = json.loads(run.stdout)
        if made["notes"] != notes:
            raise SystemExit(f"{name}: {made['notes']} notes were read of {notes}")
        cells = (f"{size // scale / 1e9:.2g} GB", f"{notes:,}", f"{made['seconds']:.0f} s")
        print(f"| {name} | {' | '.join(cells)} | {made['idle_mb']:.0f} MB | {made['peak_mb']:.0f} MB |", flush=True)


if __name__ == "__main__":
    main()
