"""The memorization stage: from generations to tables of evidence, for `audit` and `analyze` alike.

Owns the order, as joins of frames: match with the patient's own notes, verbatim and nearly; find other patients' text;
K of what was found; count (docs/methods.md, sections 2 and 2a). Knows nothing of where generations come from, or of
files.
"""

from typing import Any, Final

import numpy as np
import polars as pl

from clinaudit.audit.measures.generation.answers import find_what_says_something
from clinaudit.audit.measures.memorization.other_patients import count_tokens, find_sole_pieces, list_pieces
from clinaudit.audit.measures.memorization.patient_count import count_pairs
from clinaudit.audit.measures.memorization.patient_matching import match_generations
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.runtime.cluster.ray_runner import ALL_CORES, ShardRunner
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.run.evidence_tables import as_table, schema_of

#: Whether nobody else's notes hold a text, as it stands and masked.
_SINGLE: Final = pl.col("patient_count") == 1
_SPECIFIC: Final = pl.max_horizontal("patient_count", "masked_patient_count") == 1
_IN_ORDER: Final[Any] = {"on": "generation_id", "how": "left", "maintain_order": "left", "validate": "1:1"}


def measure_memorization(
    generated: pl.DataFrame,
    notes: MatchedCorpus,
    *,
    match_tokens: int,
    seed: int,
    progress: Progress,
    runner: ShardRunner = ALL_CORES,
) -> dict[str, pl.DataFrame]:
    """Return the evidence tables of what generations repeat of notes, in n-grams of `match_tokens` tokens.

    `generated` is the table `generations`. `seed` draws the pools of chance. Without a `runner` the work is done in
    processes of this machine.
    """
    ordered, found = match_generations(generated, notes, match_tokens=match_tokens, progress=progress, runner=runner)
    pieces, asked = find_sole_pieces(
        ordered,
        [np.frombuffer(flags, dtype=np.bool_) for flags in found["generations"]["memorized"]],
        notes,
        match_tokens=match_tokens,
        seed=seed,
        progress=progress,
        runner=runner,
    )
    never_seen = ordered.filter(pl.col("arm") != "train")["generation_id"].implode()
    regions, near = _count_holders(found["regions"], found["near_texts"], never_seen, notes, progress, runner)
    labels = _label(found.pop("labels"), found.pop("covers"), regions)
    near = near.filter(_SPECIFIC)
    near_tokens = near.select("generation_id", token=pl.int_ranges("token_start", "token_end")).explode("token")
    attributable = labels.filter(pl.col("telling") & pl.col("patient_specific") & ~pl.col("told"))
    metrics = (
        # A join copies all columns: texts and ids stay out.
        ordered.drop("prompt", "text", "token_ids")
        .join(found["generations"], **_IN_ORDER)
        .join(find_what_says_something(ordered), **_IN_ORDER)
        .join(count_tokens(pieces, asked), **_IN_ORDER)
        .join(_sums(attributable, attributable_tokens=pl.col("tokens").sum()), **_IN_ORDER)
        .join(_sums(near_tokens, near_verbatim_attributable_tokens=pl.col("token").n_unique()), **_IN_ORDER)
        .with_columns(pl.col("attributable_tokens", "near_verbatim_attributable_tokens").fill_null(0).cast(pl.Int64))
        .with_columns(pl.col("near_verbatim_attributable_tokens") + pl.col("attributable_tokens"))
    )
    tables = {
        "generation_metrics": metrics,
        "regions": regions,
        "segments": found.pop("segments").cast(schema_of("segments")),
        "told": found["told"],
        "memorized_text": _count_kinds(labels),
        "near_attributable": near,
        "other_patients": list_pieces(pieces),
    }
    return {name: as_table(name, table) for name, table in tables.items()}


def _count_holders(
    regions: pl.DataFrame,
    near: pl.DataFrame,
    never_seen: pl.Series,
    notes: MatchedCorpus,
    progress: Progress,
    runner: ShardRunner,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return pieces and near texts with K and masked K, which count the target where it was `never_seen`."""
    texts = [
        of.select(is_never_seen=pl.col("generation_id").is_in(never_seen), text="said", masked="masked")
        for of in (regions.with_columns(pl.col("said").fill_null(pl.col("text"))), near)
    ]
    pairs = pl.concat(texts).with_columns(pl.col("masked").fill_null(pl.col("text")))
    counts = count_pairs(pairs, notes, progress=progress, runner=runner).select(
        pl.col("patient_count", "masked_patient_count") + pl.col("is_never_seen")
    )
    return regions.hstack(counts.head(len(regions))), near.hstack(counts.tail(len(near)))


def _label(labels: pl.DataFrame, covers: pl.DataFrame, regions: pl.DataFrame) -> pl.DataFrame:
    """Return the labels of tokens with whether a piece that holds them is one patient's alone, masked or not.

    No K is known of a token that no piece holds: it is nobody's.
    """
    known = regions.select("generation_id", piece="number", single_patient=_SINGLE, patient_specific=_SPECIFIC)
    known = known.cast({name: covers.schema[name] for name in ("generation_id", "piece")})
    found = pl.col("single_patient", "patient_specific")
    held = covers.join(known, on=["generation_id", "piece"]).group_by("generation_id", "cover").agg(found.any())
    labelled = labels.join(held, on=["generation_id", "cover"], how="left", maintain_order="left")
    return labelled.with_columns(found.fill_null(value=False))


def _count_kinds(labels: pl.DataFrame) -> pl.DataFrame:
    """Return the memorized tokens by section and kind, each token once."""
    content = pl.when("revealing").then(pl.lit("revealing")).otherwise(pl.lit("templated"))
    whose = pl.when("single_patient").then(pl.lit("single")).otherwise(pl.lit("shared"))
    kinds = labels.with_columns(kind=pl.concat_str(content, whose, separator="_"))
    counts = kinds.group_by("generation_id", "section", "kind", maintain_order=True).agg(pl.col("tokens").sum())
    return counts.cast({"generation_id": pl.String, "section": pl.String, "tokens": pl.Int64})


def _sums(rows: pl.DataFrame, **sums: pl.Expr) -> pl.DataFrame:
    return rows.group_by("generation_id").agg(**sums).cast({"generation_id": pl.String})
