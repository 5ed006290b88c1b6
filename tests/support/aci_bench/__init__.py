"""ACI-Bench notes, where they lie beside the repository, and what a reader found in them.

Beside this file stand labels alone, by note id. The notes are of Yim et al., "ACI-BENCH", Scientific Data 2023, under
CC BY 4.0.
"""

import json
from pathlib import Path

#: The notes themselves are not in the repository.
ACI_BENCH = Path(__file__).resolve().parents[4] / "shared" / "data" / "aci-bench"


def read_annotated_sections() -> dict[str, list[tuple[int, str]]]:
    """Return what a reader of 20 notes says: note id -> (line from 1, section that starts there), in order."""
    sections = json.loads(Path(__file__).with_name("sections.json").read_text(encoding="utf-8"))
    return {note_id: [(line, name) for line, name in starts] for note_id, starts in sections.items()}
