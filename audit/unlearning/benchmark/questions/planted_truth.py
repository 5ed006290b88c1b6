"""What the demo planted in its notes of the sensitive diagnoses (`truth.jsonl`), as findings.

Owns which of it is a finding: what a note says of the patient's own diagnosis, in prose. Only the demo's corpus has
such a file; of any other the sections of the notes say all there is. Knows nothing of questions.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from clinaudit.audit.unlearning.benchmark.charts import Chart
from clinaudit.audit.unlearning.benchmark.questions.findings import MOST_WORDS, Finding
from clinaudit.errors import BadInputError
from clinaudit.priors.diagnoses import Diagnosis

TRUTH_FILE: Final = "truth.jsonl"
#: Lists of problems hold a name and a code, which is no detail.
_IN_PROSE: Final = frozenset({"hpi", "mental health history", "past medical history", "gynecological history"})


def read_truth(corpus: Path) -> Mapping[str, list[Mapping[str, str]]]:
    """Return the planted mentions by patient id; none where the corpus is not the demo's.

    Raises `BadInputError` where a line of the file is none of the demo's.
    """
    path = corpus / TRUTH_FILE
    if not path.is_file():
        return {}
    found: dict[str, list[Mapping[str, str]]] = {}
    for row, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            record = json.loads(line)
            found[record["patient_id"]] = [
                {name: str(mention[name]) for name in ("note_id", "diagnosis", "section", "status", "text")}
                for mention in record["mentions"]
            ]
        except (ValueError, TypeError, KeyError):
            raise BadInputError(
                f"{TRUTH_FILE}, line {row}: this is no line of the demo's truth; make the demo again, or take the file "
                "out of the corpus"
            ) from None
    return found


def planted_findings(
    chart: Chart, mentions: Iterable[Mapping[str, str]], diagnoses: Iterable[Diagnosis]
) -> list[Finding]:
    """Return what was planted of the patient's own diagnoses, the latest note's wording of each."""
    shown = {diagnosis.id: diagnosis.display for diagnosis in diagnoses}
    notes = {note.note_id: note for note in chart.notes}
    found: dict[str, Finding] = {}
    for mention in mentions:
        note, value = notes.get(mention["note_id"]), mention["text"].rstrip(".;")
        if (
            note is not None
            and mention["status"] == "present"
            and mention["section"] in _IN_PROSE
            and mention["diagnosis"] in shown
            and value in note.text
            and len(value.split()) <= MOST_WORDS
        ):
            subject = shown[mention["diagnosis"]]
            found[subject] = Finding("diagnosis", subject, value, note.note_id, note.complaint())
    return list(found.values())
