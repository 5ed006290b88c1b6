"""From the evidence tables to the texts that hold most own text of the patients asked about (PHI)."""

from collections import Counter
from heapq import nsmallest
from typing import Any

from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.evidence_tables import read_table
from clinaudit.errors import BadInputError
from clinaudit.reports.pages.evidence import NEAR

#: Columns of `generation_metrics` that are shown.
_SHOWN = (
    *("generation_id", "patient_id", "tier", "form", "arm"),
    *("tokens", "attributable_tokens", "near_verbatim_attributable_tokens"),
)


def find_worst_texts(run: RunDirectory, number: int) -> list[dict[str, Any]]:
    """Return so many generations of the audited model, those with most own text first, edits and all, none without any.

    A row has the columns that are shown, `prompt` and `text`, and as `note_id` the note that most of it stands in.
    Raises `BadInputError` where the evidence holds no texts.
    """
    if not all((run.evidence / f"{name}.parquet").is_file() for name in ("generations", "generation_metrics")):
        raise BadInputError(
            f"{run.root.name} holds no texts: it was purged, or made by `clinaudit analyze`; leave --worst out"
        )
    metrics = {
        row["generation_id"]: row
        for row in nsmallest(
            number,
            (
                row
                for row in read_table(run.evidence, "generation_metrics")
                if row["near_verbatim_attributable_tokens"] and (row["role"], row["model"]) == ("target", "audited")
            ),
            key=lambda row: (-row["near_verbatim_attributable_tokens"], row["generation_id"]),
        )
    }
    texts = {row["generation_id"]: row for row in read_table(run.evidence, "generations")}
    lengths: dict[str, Counter[str]] = {name: Counter() for name in metrics}
    pieces = [
        *read_table(run.evidence, "regions"),
        *(row | NEAR for row in read_table(run.evidence, "near_attributable")),
    ]
    for piece in pieces:
        # Text that another patient's notes hold, too, is not the patient's own.
        if piece["generation_id"] in lengths and piece["masked_patient_count"] <= 1 >= piece["patient_count"]:
            tokens = piece["token_end"] - piece["token_start"]
            lengths[piece["generation_id"]][piece["source_note_id"]] += tokens
    found = []
    for name, row in metrics.items():
        # Of notes with as many tokens the first by name.
        notes = sorted((-tokens, note) for note, tokens in lengths[name].items())
        found.append(
            {
                **{column: row[column] for column in _SHOWN},
                "note_id": notes[0][1] if notes else "",
                "prompt": texts[name]["prompt"],
                "text": texts[name]["text"],
            }
        )
    return found
