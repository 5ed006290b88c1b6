"""The memorization stage: from generations to rows of evidence, for `audit` and `analyze` alike.

Owns the order match → analyse → count. Knows nothing of where generations come from, or of files.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import accumulate
from typing import Final

import numpy as np
import polars as pl

from clinaudit.audit.measures.generation.record import as_records
from clinaudit.audit.measures.memorization.generation_metrics import measure_generation
from clinaudit.audit.measures.memorization.near_verbatim import NearVerbatimText
from clinaudit.audit.measures.memorization.other_patients.stage import OtherPatientsText, find_other_patients_text
from clinaudit.audit.measures.memorization.patient_count import TextCounts, count_texts
from clinaudit.audit.measures.memorization.patient_matching import MatchedGeneration, match_generations
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.measures.memorization.verbatim import AnalyzedGeneration, AttributedPiece, label_tokens
from clinaudit.audit.runtime.cluster.ray_runner import ALL_CORES, ShardRunner, in_order
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.run.evidence_tables import Row
from clinaudit.audit.runtime.run.spill import Chained, Made, Spill, pack, unpack


def region_rows(analyzed: AnalyzedGeneration) -> Iterator[Row]:
    """Yield the rows of `regions.parquet` of one generation, one for each piece."""
    generation = analyzed.attributed.generation
    numbered = zip(_numbered(analyzed), analyzed.patient_counts, analyzed.masked_patient_counts, strict=True)
    for (number, attributed), count, masked_count in numbered:
        start, end = attributed.piece.span_tokens
        yield {
            "generation_id": generation.generation_id,
            "region_id": attributed.region_id,
            "piece": number,
            "token_start": start,
            "token_end": end,
            "char_start": attributed.span_chars.start,
            "char_end": attributed.span_chars.end,
            "text": generation.text[slice(*attributed.span_chars)],
            "stitched": attributed.stitched,
            "source_note_id": attributed.note_id,
            "copy_forward_count": attributed.piece.copy_forward_count,
            "patient_count": count,
            "masked_patient_count": masked_count,
        }


def segment_rows(analyzed: AnalyzedGeneration) -> Iterator[Row]:
    """Yield the rows of `segments.parquet` of one generation."""
    attributed_generation = analyzed.attributed
    for number, attributed in _numbered(analyzed):
        segment_of, templated, _ = attributed.labels
        echo = attributed_generation.echo[slice(*attributed.piece.span_tokens)]
        counted = (
            np.bincount(tokens, minlength=len(attributed.segments)).tolist()
            for tokens in (segment_of, segment_of[templated > 0], segment_of[echo])
        )
        for segment, tokens, templated_tokens, echo_tokens in zip(attributed.segments, *counted, strict=True):
            yield {
                "generation_id": attributed_generation.generation.generation_id,
                "region_id": attributed.region_id,
                "piece": number,
                "section": segment.name,
                "char_start": segment.span_chars.start,
                "char_end": segment.span_chars.end,
                "tokens": tokens,
                "templated_tokens": templated_tokens,
                "echo_tokens": echo_tokens,
            }


def memorized_text_rows(analyzed: AnalyzedGeneration) -> Iterator[Row]:
    """Yield the rows of `memorized_text.parquet` of one generation: its memorized tokens, each once."""
    counts: Counter[tuple[str, str]] = Counter()
    for flag, tokens in analyzed.flags:
        content = "revealing" if flag.revealing else "templated"
        counts[flag.section, f"{content}_{'single' if flag.single_patient else 'shared'}"] += tokens
    generation_id = analyzed.attributed.generation.generation_id
    for (section, kind), tokens in counts.items():
        yield {"generation_id": generation_id, "section": section, "kind": kind, "tokens": tokens}


def near_verbatim_rows(generation_id: str, text: NearVerbatimText) -> Iterator[Row]:
    """Yield the rows of `near_verbatim.parquet` of one generation, one for each of its longest regions."""
    for (start, end), note_id in text.longest:
        yield {
            "generation_id": generation_id,
            "token_start": start,
            "token_end": end,
            "source_note_id": note_id,
        }


def _numbered(analyzed: AnalyzedGeneration) -> Iterator[tuple[int, AttributedPiece]]:
    """Yield each piece with its number in its region."""
    region, number = -1, 0
    for attributed in analyzed.attributed.pieces:
        region, number = attributed.region_id, number + 1 if attributed.region_id == region else 0
        yield number, attributed


#: Rows of these are made where a shard's counts are.
_TABLES: Final = ("generation_metrics", "regions", "segments", "memorized_text", "near_verbatim")


def measure_memorization(
    generated: pl.DataFrame,
    notes: MatchedCorpus,
    *,
    match_tokens: int,
    seed: int,
    progress: Progress,
    runner: ShardRunner = ALL_CORES,
) -> dict[str, Iterable[Row]]:
    """Return the rows of the evidence tables of what generations repeat of notes, in n-grams of `match_tokens` tokens.

    `generated` is the table `generations`. `seed` draws the pools of chance. Without a `runner` the work is done in
    processes of this machine.
    """
    generations = as_records(generated, notes.tokenizer)
    matched = match_generations(generations, notes, match_tokens=match_tokens, progress=progress, runner=runner)
    others = find_other_patients_text(
        matched.generations,
        matched.memorized,
        notes,
        match_tokens=match_tokens,
        seed=seed,
        progress=progress,
        runner=runner,
    )
    known = count_texts(matched.texts, notes, progress=progress, runner=runner)
    spilled: dict[str, Spill[list[Row]]] = {table: Spill(notes.corpus.scratch) for table in _TABLES}
    ends = accumulate(matched.sizes)
    shards = (
        (matched.shards.packed(place), known[place], [others[index] for index in range(end - size, end)])
        for place, (size, end) in enumerate(zip(matched.sizes, ends, strict=True))
    )
    with progress.stage("measuring generations", total=len(generations), unit="generations") as advance:
        for size, shard in zip(matched.sizes, in_order(runner.map(measure_shard, None, shards)), strict=True):
            for table, packed in shard.items():
                spilled[table].append_packed(packed)
            advance(size)
    return {
        **{table: Chained(spill) for table, spill in spilled.items()},
        "other_patients": Chained(Made(len(others), lambda place: list(others[place].rows))),
    }


def measure_shard(_: None, shard: tuple[bytes, TextCounts, Sequence[OtherPatientsText]]) -> dict[str, bytes]:
    """Reduce a shard of matched generations to packed rows, by table, wherever that is done."""
    packed, known, others = shard
    rows: dict[str, list[Row]] = {table: [] for table in _TABLES}
    for item, other in zip(unpack(packed), others, strict=True):
        analyzed = analyze_matched(item, known)
        row = measure_generation(analyzed, other)
        rows["generation_metrics"].append(asdict(row))
        rows["regions"] += region_rows(analyzed)
        rows["segments"] += segment_rows(analyzed)
        rows["memorized_text"] += memorized_text_rows(analyzed)
        rows["near_verbatim"] += near_verbatim_rows(row.generation_id, item.near)
    return {table: pack(own) for table, own in rows.items()}


def analyze_matched(matched: MatchedGeneration, counts: TextCounts) -> AnalyzedGeneration:
    """Label the tokens of a generation by who else's notes hold them; both counts include the target."""
    item, pieces, near = matched.attributed, matched.masked, matched.runs
    outside = item.generation.arm != "train"
    of_pieces = [counts[own.piece.text, mask.text] for own, mask in zip(item.pieces, pieces, strict=True)]
    plain, masked = (tuple(pair[which] + outside for pair in of_pieces) for which in range(2))
    tokens = label_tokens(item, list(zip(plain, masked, strict=True)), pieces)
    near_tokens = 0
    if near is not None:
        near_tokens = near.count_tokens({at for at, pair in near.texts.items() if max(counts[pair]) + outside > 1})
    return AnalyzedGeneration(item, plain, masked, tokens, near_tokens)
