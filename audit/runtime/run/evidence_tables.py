"""The tables under `evidence/`: columns, types and order (docs/results.md, "Evidence tables").

PHI. Owns the Parquet schemas, and all reading and writing of these files. Knows nothing of how a row came about. Rows
are written in the order given, without statistics, so that equal rows give equal bytes.
"""

from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

from clinaudit.audit.runtime.run.durable_files import replacing_by_library
from clinaudit.errors import IntegrityError

#: Tables, a paragraph each: its name, then its columns with their types, in their order. `texts` is a list of texts,
#: `ids` a list of 32-bit integers, `floats` one of 32-bit floats, and `?` after a type marks a column that runs of
#: earlier versions lack and that is read as null there.
_TABLES: Final = """
priors: patient_id:text arm:text tier:text rendering:text diagnoses:texts prompt:text max_new_tokens:int
  excluded:bool reason:text unbroken:bool also_shows:texts runs_on:texts earlier_note:bool draw:int?

scores: patient_id:text arm:text note_id:text model:text first_token:int log_probs:floats means:floats deviations:floats

queries_needed: patient_id:text arm:text tier:text model:text note_id:text token_start:int token_end:int log_prob:float
  queries:int

labels: patient_id:text diagnosis:text present:bool source:text reason:text

annotations: patient_id:text diagnosis:text present:bool in_note_start:bool in_hpi:bool diagnosis_spans:texts
  icd10_spans:texts symptom_spans:texts medication_spans:texts medications_to_remove:removals

generations: generation_id:text patient_id:text arm:text tier:text rendering:text diagnoses:texts prompt:text
  text:text token_ids:ids finish_reason:text unguarded_token_ids:ids refused:bool?

generation_metrics: generation_id:text patient_id:text arm:text tier:text rendering:text tokens:int
  memorized_tokens:int echo_tokens:int attributable_tokens:int regions:int stitched_regions:int source_notes:int
  attributable_tokens_unmasked:int other_patient_tokens:int? other_patient_sampled_tokens:int?
  other_patient_chance_tokens:int? refused:bool? source_notes_any:int? source_notes_min:int?
  near_verbatim_attributable_tokens:int?

regions: generation_id:text region_id:int piece:int token_start:int token_end:int char_start:int char_end:int
  text:text stitched:bool source_note_id:text copy_forward_count:int patient_count:int masked_patient_count:int

segments: generation_id:text region_id:int piece:int section:text char_start:int char_end:int tokens:int
  templated_tokens:int echo_tokens:int

near_verbatim: generation_id:text token_start:int token_end:int source_note_id:text

long_notes: patient_id:text longest_note_tokens:int

people: patient_id:text person_id:text in_both_splits:bool

other_patients: generation_id:text token_start:int token_end:int char_start:int char_end:int text:text
  owner_patient_id:text source_note_id:text note_char_start:int note_char_end:int revealing_tokens:int

identifiers: generation_id:text char_start:int char_end:int text:text category:text hipaa:text kind:text value:text
  owner:text verified:bool holders:texts holder_count:int found_by:text

ordinary: generation_id:text task:text kind:text form:text draw:text prompt:text text:text token_ids:ids
  finish_reason:text passages:texts passage_patients:texts passage_notes:texts passage_tokens:ids identifiers:texts
  identifier_patients:texts identifier_hipaa:texts

membership: patient_id:text arm:text note_id:text tokens:int loss:float zlib:float min_k_plus_plus:float ratio:float
  standardized:float

cohorts: diagnosis:text patient_id:text arm:text present:bool match_id:text propensity:float

judgements: generation_id:text diagnosis:text diagnosis_mentioned:bool patient_has_diagnosis:text
  diagnosis_spans:texts symptom_spans:texts medication_spans:texts evidence_spans:texts? judge:text attempts:int
  invalid_reason:text answers:texts?

disagreements: generation_id:text diagnosis:text judge:text verdict:text spans:texts second_judge:text
  second_verdict:text second_spans:texts
"""
_SPELLED: Final = {
    head.removesuffix(":"): dict(column.split(":") for column in columns)
    for head, *columns in map(str.split, _TABLES.split("\n\n"))
}
#: Column -> type, by table.
SCHEMAS: Final[Mapping[str, Mapping[str, str]]] = {
    table: {column: kind.removesuffix("?") for column, kind in columns.items()} for table, columns in _SPELLED.items()
}
#: Rows that are held as Python objects at a time.
_BATCH_ROWS = 20_000


def read_table(directory: Path, name: str) -> list[dict[str, Any]]:
    """Return the rows of a table that `write_table` wrote; raises `IntegrityError` where the file is damaged."""
    import polars as pl

    try:
        path = directory / f"{name}.parquet"
        held = pl.read_parquet_schema(path)
        absent = {column for column, kind in _SPELLED[name].items() if kind.endswith("?") and column not in held}
        rows = pl.read_parquet(path, columns=[column for column in SCHEMAS[name] if column not in absent])
        return rows.with_columns(pl.lit(None).alias(column) for column in absent).select(list(SCHEMAS[name])).to_dicts()
    except (pl.exceptions.PolarsError, OSError):
        # polars quotes what it could not read.
        raise IntegrityError(f"{name}.parquet is not the table that the audit wrote; run the audit again") from None


def write_table(directory: Path, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write one table of `SCHEMAS` as Parquet, atomically; each row has exactly the table's columns."""
    import polars as pl

    types = {
        "text": pl.String(),
        "texts": pl.List(pl.String()),
        "ids": pl.List(pl.Int32()),
        "floats": pl.List(pl.Float32()),
        "int": pl.Int64(),
        "float": pl.Float64(),
        "bool": pl.Boolean(),
        "removals": pl.List(pl.Struct({"substring": pl.String(), "reason": pl.String()})),
    }
    schema = {column: types[kind] for column, kind in SCHEMAS[name].items()}
    remaining = iter(rows)
    frames = [pl.DataFrame(schema=schema)]
    # In batches: of a large corpus the rows as Python objects take ten times the memory of their columns.
    while batch := list(islice(remaining, _BATCH_ROWS)):
        frames.append(pl.DataFrame(batch, schema=schema, orient="row"))
    frame = pl.concat(frames, rechunk=True)
    with replacing_by_library(directory / f"{name}.parquet") as temporary:
        frame.write_parquet(temporary, compression="zstd", statistics=False)


Row = dict[str, Any]
