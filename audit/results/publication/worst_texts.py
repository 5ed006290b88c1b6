"""From the evidence tables to the texts that hold most own text of the patients asked about (PHI)."""

from typing import Any, Final

import polars as pl

from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.evidence_tables import read_frame
from clinaudit.errors import BadInputError
from clinaudit.reports.pages.evidence import NEAR

_OWN: Final = "near_verbatim_attributable_tokens"
#: Columns of `generation_metrics` that are shown.
_SHOWN: Final = ("generation_id", "patient_id", "tier", "form", "arm", "tokens", "attributable_tokens", _OWN)


def find_worst_texts(run: RunDirectory, number: int) -> list[dict[str, Any]]:
    """Return so many generations of the audited model, those with most own text first, edits and all, none without any.

    A row has the columns that are shown, `prompt` and `text`, and as `note_id` the note that most of it stands in.
    Raises `BadInputError` where the evidence holds no texts.
    """
    if not all((run.evidence / f"{name}.parquet").is_file() for name in ("generations", "generation_metrics")):
        raise BadInputError(
            f"{run.root.name} holds no texts: it was purged, or made by `clinaudit analyze`; leave --worst out"
        )
    near = read_frame(run.evidence, "near_attributable").with_columns(**{name: pl.lit(of) for name, of in NEAR.items()})
    notes = (
        pl.concat([read_frame(run.evidence, "regions"), near], how="diagonal_relaxed")
        # Text that another patient's notes hold, too, is not the patient's own.
        .filter(pl.max_horizontal("patient_count", "masked_patient_count") <= 1)
        .group_by("generation_id", note_id="source_note_id")
        .agg(held=(pl.col("token_end") - pl.col("token_start")).sum())
        # Of notes with as many tokens the first by name.
        .sort("held", "note_id", descending=[True, False])
        .unique("generation_id", keep="first", maintain_order=True)
    )
    return (
        read_frame(run.evidence, "generation_metrics")
        .filter(pl.col(_OWN) > 0, role="target", model="audited")
        .sort(_OWN, "generation_id", descending=[True, False])
        .head(number)
        .join(notes, on="generation_id", how="left", maintain_order="left")
        .join(read_frame(run.evidence, "generations"), on="generation_id", how="left", maintain_order="left")
        .select(*_SHOWN, pl.col("note_id").fill_null(""), "prompt", "text")
        .to_dicts()
    )
