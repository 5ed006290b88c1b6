"""Rows of the memorization stage, and the estimates that follow from them."""

from collections.abc import Iterable, Sequence

import polars as pl
from support.evidence_frames import evidence, generation_frame
from support.generations import Generation

from clinaudit.audit.measures.memorization.estimates import estimate_memorization
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.measures.memorization.stage import measure_memorization
from clinaudit.audit.runtime.cluster import ALL_CORES, ShardRunner
from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.run.evidence_tables import Row
from clinaudit.reports.estimates.frame import Estimates

Tables = dict[str, list[Row]]


def measured_rows(
    generations: pl.DataFrame | Sequence[Generation],
    notes: MatchedCorpus,
    *,
    match_tokens: int,
    seed: int = 0,
    runner: ShardRunner = ALL_CORES,
) -> Tables:
    """Return the rows of every table that the stage makes."""
    frame = generations if isinstance(generations, pl.DataFrame) else generation_frame(generations)
    found = measure_memorization(
        frame, notes, match_tokens=match_tokens, seed=seed, progress=Progress(quiet=True), runner=runner
    )
    return {name: table.to_dicts() for name, table in found.items()}


def estimates_of(tables: dict[str, Iterable[Row]] | Tables, *, match_tokens: int) -> Estimates:
    """Return the table of estimates of memorization."""
    frames = evidence(**{name: list(rows) for name, rows in tables.items()})
    return Estimates(estimate_memorization(frames, match_tokens=match_tokens))
