"""Other patients' text: what generations hold of exactly one other patient's notes (docs/methods.md, section 2).

Owns which windows of a generation are asked about, the condition on who holds them, and the way from the windows of one
owner over runs to pieces of the owner's notes. Who holds a window is found by `patient_specificity.py`.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from clinaudit.audit.measures.memorization.patient_specificity import (
    SPLIT,
    Bytes,
    count_patients,
    find_holders,
    number_texts,
    order_patients,
)
from clinaudit.audit.measures.memorization.patient_text import (
    Flags,
    MatchedCorpus,
    PatientNotes,
    Places,
    Reading,
    which_hold,
)
from clinaudit.audit.measures.memorization.source_attribution import RegionText, attribute_region, cut_region_text
from clinaudit.audit.measures.memorization.verbatim import find_prompt_tokens
from clinaudit.audit.runtime.cluster import ALL_CORES, ShardRunner
from clinaudit.audit.runtime.console import Advance, Progress
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.statistics.estimates import FEWEST_IN_POOL, SPLITS, PoolFigure, Pools, draw_pools
from clinaudit.templates.note import normalize_newlines
from clinaudit.templates.shown_text import Span

#: Tokens of the generations whose windows are looked for at a time, in one reading of the corpus.
TOKENS_AT_A_TIME: Final = 1_400_000
#: Owners in a shard.
OWNERS_AT_A_TIME: Final = 64
#: Columns of a generation that the search needs. A null `patient_id` means that the prompt is about nobody; a null
#: `prompt`, that the prompt is not known.
ASKED: Final[dict[str, pl.DataType]] = {
    **dict.fromkeys(("generation_id", "patient_id", "prompt", "text"), pl.String()),
    "token_ids": pl.List(pl.UInt32()),
}
_WINDOW: Final = ("generation", "token")
_RUN: Final[dict[str, pl.DataType]] = {
    "owner_patient_id": pl.String(),
    "generation": pl.UInt32(),
    "token_start": pl.Int64(),
    "token_end": pl.Int64(),
}
#: A part of a run that stands in one of the owner's notes: its tokens and characters in the generation, its note and
#: characters there, the tokens that are no boilerplate, and, where it is asked for, its text as the note masks it.
_PIECE: Final[dict[str, pl.DataType]] = {
    "run": pl.UInt32(),
    **dict.fromkeys(("token_start", "token_end", "char_start", "char_end"), pl.Int64()),
    "source_note_id": pl.String(),
    **dict.fromkeys(("note_char_start", "note_char_end"), pl.Int64()),
    "telling": pl.List(pl.Int32()),
    "masked": pl.String(),
}
#: Column of the tokens that count, by figure.
_COUNTS: Final[dict[PoolFigure, str]] = {
    "all": "other_patient_tokens",
    "sampled": "other_patient_sampled_tokens",
    "chance": "other_patient_chance_tokens",
}


def find_sole_pieces(
    generations: pl.DataFrame,
    memorized: pl.Series,
    notes: MatchedCorpus,
    *,
    match_tokens: int,
    seed: int,
    progress: Progress,
    runner: ShardRunner = ALL_CORES,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the pieces of generations that one other patient's notes alone hold, and whom each generation is about.

    `generations` have the columns of `ASKED`. Without a patient a generation is about nobody, and everybody is another
    patient; a piece must then be one patient's alone in the masked notes of both splits, too: the house's phrases about
    an invented patient are nobody's. Without a prompt no token is echo. `memorized` has a byte for each token of each
    generation, 1 where it stands in its own patient's notes: no window of `match_tokens` tokens that holds one is asked
    about. `seed` draws the pools.

    A piece has generation (from 0) and generation_id, its tokens and characters there and its text, owner_patient_id,
    source_note_id and the characters of that note, telling (its tokens that are no boilerplate there) and figure (a
    list: `all`, `sampled`, `chance`). Pieces are sorted by generation, tokens and owner. `pool` is the number of
    patients in each of a generation's pools.
    """
    corpus = notes.corpus
    pools = draw_pools({split: len(corpus.scan_order(split)) for split in SPLITS}, seed=seed)
    patients = _rank_patients(notes, pools)
    target = patients.select("patient_id", target_split="split", target_rank="rank")
    asked = (
        generations.select(*ASKED)
        .with_row_index("generation")
        # A join would copy the texts.
        .hstack(
            generations.select("patient_id")
            .join(target, on="patient_id", how="left", maintain_order="left")
            .drop("patient_id")
        )
        .with_columns(
            pool=pl.col("target_split")
            .cast(pl.String)
            .fill_null("nobody")
            .replace_strict(pools.size, return_dtype=pl.Int64())
        )
    )
    found = [pl.DataFrame(schema={**_RUN, "figure": pl.List(pl.String()), "chars": pl.List(pl.Int32())})]
    with progress.stage("comparing with all patients", total=len(asked), unit="texts") as advance:
        for part in _split(asked):
            part = _place_tokens(part, notes.tokenizer)
            windows, text = _lay_out_windows(part, memorized, match_tokens)
            held = _find_held(windows, text, notes, pools, part, advance=advance, runner=runner)
            sole = _find_sole(held, part).join(patients, on=("split", "rank"))
            sole = _leave_out_echo(sole, part, notes.tokenizer, match_tokens)
            found.append(_merge_windows(_leave_out_own(sole, text, part, notes), part, match_tokens))
    runs = pl.concat(found).sort(*_RUN).with_row_index("run")
    del found
    # A join would copy the characters of all tokens.
    runs = runs.hstack(asked.select("generation_id", "patient_id", "text")[runs["generation"]])
    pieces = _attribute(runs, notes, progress, runner).join(runs.drop("token_start", "token_end", "chars"), on="run")
    pieces = _leave_out_shared(pieces, notes, progress, runner)
    begin, length = pl.col("char_start"), pl.col("char_end") - pl.col("char_start")
    pieces = pieces.with_columns(pl.col("text").str.slice(begin, length))
    pieces = pieces.sort("generation", "token_start", "token_end", "owner_patient_id")
    return pieces, asked.select("generation", "generation_id", "patient_id", "pool")


def list_pieces(pieces: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of `other_patients.parquet`: the pieces that one train patient's notes alone hold."""
    return pieces.filter(pl.col("figure").list.contains("all")).select(
        *("generation_id", "token_start", "token_end", "char_start", "char_end", "text"),
        *("owner_patient_id", "source_note_id", "note_char_start", "note_char_end"),
        pl.col("telling").list.len().cast(pl.Int64()).alias("telling_tokens"),
    )


def count_tokens(pieces: pl.DataFrame, asked: pl.DataFrame) -> pl.DataFrame:
    """Return how many tokens of each generation count; pieces and generations are given as `find_sole_pieces` does.

    A row a generation, in their order: generation_id, other_patient_tokens, other_patient_sampled_tokens (of one
    patient in the pools) and other_patient_chance_tokens (there with the splits exchanged), the latter two null where
    the pools are empty.
    """
    tokens = pieces.select("generation", "figure", "telling").explode("telling").explode("figure").drop_nulls()
    counts = tokens.group_by("generation").agg(
        pl.col("telling").filter(pl.col("figure") == figure).n_unique().cast(pl.Int64()).alias(column)
        for figure, column in _COUNTS.items()
    )
    counts = asked.join(counts, on="generation", how="left", maintain_order="left")
    # A pool of a task shows what chance gives where it is large enough; a patient's is as large as there are others.
    is_known = pl.col("pool") >= pl.when(pl.col("patient_id").is_null()).then(FEWEST_IN_POOL).otherwise(1)
    return counts.select(
        "generation_id",
        *(
            pl.when((figure == "all") | is_known).then(pl.col(column).fill_null(0)).alias(column)
            for figure, column in _COUNTS.items()
        ),
    )


def _rank_patients(notes: MatchedCorpus, pools: Pools) -> pl.DataFrame:
    """Return patient_id, split and rank (place in `order_patients`) of all patients."""
    ids = {split: notes.corpus.scan_order(split) for split in SPLITS}
    orders = order_patients(pools, {split: len(own) for split, own in ids.items()})
    return pl.concat(
        pl.DataFrame({"patient_id": ids[split]}, schema={"patient_id": pl.String()})[orders[split]].select(
            "patient_id", split=pl.lit(split, SPLIT), rank=pl.int_range(pl.len(), dtype=pl.UInt32)
        )
        for split in SPLITS
    )


def _split(asked: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yield the generations in parts of about `TOKENS_AT_A_TIME`."""
    begin = 0
    # Slices, which share the texts: partitions would be copies, all at once.
    for length in (asked["token_ids"].list.len().cum_sum() // TOKENS_AT_A_TIME).rle().struct.field("len"):
        yield asked.slice(begin, length)
        begin += length


def _place_tokens(part: pl.DataFrame, tokenizer: ModelTokenizer) -> pl.DataFrame:
    """Add `chars`: where the first token begins and ends in the text (characters), then the second, and so on."""
    given = zip(part["text"], part["token_ids"], strict=True)
    chars = [np.array(tokenizer.place_generated(ids.to_list(), text), dtype=np.int32).ravel() for text, ids in given]
    # Of arrays of one length the library makes something else than a list.
    return part.with_columns(chars=pl.Series(chars, dtype=pl.List(pl.Int32())).cast(pl.List(pl.Int32())))


def _lay_out_windows(part: pl.DataFrame, memorized: pl.Series, match_tokens: int) -> tuple[pl.DataFrame, Bytes]:
    """Return the windows without memorized tokens, and the bytes that hold their texts: line feeds only, in UTF-8.

    The columns are generation, token (the first), begin and end (bytes).
    """
    texts: list[bytes] = []
    # There are a million windows and more: of all this memory half is saved.
    columns: list[npt.NDArray[np.int32]] = []
    size = 0
    for generation, text, chars in zip(part["generation"], part["text"], part["chars"], strict=True):
        tokens = _windows_without(np.frombuffer(memorized[generation], dtype=np.bool_), match_tokens)
        if not len(tokens):
            continue
        places = chars.to_numpy().reshape(-1, 2)
        encoded, places = _in_bytes(cut_region_text(text, places, Span(0, len(places))))
        begins, ends = places[tokens, 0], places[tokens + match_tokens - 1, 1]
        own = np.stack([np.full(len(tokens), generation), tokens, begins + size, ends + size])
        columns.append(own[:, begins < ends].astype(np.int32))
        texts.append(encoded)
        size += len(encoded)
    found = np.concatenate([np.zeros((4, 0), dtype=np.int32), *columns], axis=1)
    windows = pl.DataFrame(dict(zip((*_WINDOW, "begin", "end"), found, strict=True)))
    windows = windows.cast({"generation": pl.UInt32(), "token": pl.Int64()})
    return windows, np.frombuffer(b"".join(texts), dtype=np.uint8)


def _windows_without(flags: Flags, match_tokens: int) -> Places:
    """Return where each window begins that holds none of the flagged tokens."""
    before = np.concatenate([[0], np.cumsum(flags)])
    return np.flatnonzero(before[match_tokens:] == before[: max(0, len(before) - match_tokens)])


def _in_bytes(region: RegionText) -> tuple[bytes, Places]:
    """Return a text and the bytes of each token, shape (tokens, 2)."""
    encoded, places = region.text.encode("utf-8"), region.token_chars
    if len(encoded) > len(region.text):
        # The first byte of each character is no continuation byte (10xxxxxx).
        begins = np.flatnonzero((np.frombuffer(encoded, dtype=np.uint8) & 0xC0) != 0x80)
        places = np.append(begins, len(encoded))[places]
    return encoded, places


def _find_held(
    windows: pl.DataFrame,
    text: Bytes,
    notes: MatchedCorpus,
    pools: Pools,
    part: pl.DataFrame,
    *,
    advance: Advance,
    runner: ShardRunner,
) -> pl.DataFrame:
    """Return each window with each of its holders (`find_holders`): split and rank."""
    texts, numbers = number_texts(text, windows["begin"].to_numpy(), windows["end"].to_numpy())
    packed = {split: notes.corpus.packed(split) for split in SPLITS}
    each = len(part) / len(notes.corpus.patients)
    holders = find_holders(texts, packed, pools, advance=lambda some: advance(each * some), runner=runner)
    return windows.with_columns(text=pl.Series(numbers, dtype=pl.UInt32)).join(holders, on="text").drop("text")


def _find_sole(held: pl.DataFrame, part: pl.DataFrame) -> pl.DataFrame:
    """Return the windows that one patient alone holds, with its split and rank, by figure.

    Of `all` patients it is a train patient; of the target's pools a train patient is `sampled`, another one `chance`.
    """
    is_of_split = pl.col("split") == pl.col("target_split")
    is_target = (is_of_split & (pl.col("rank") == pl.col("target_rank"))).fill_null(value=False)
    # In the target's pools those of its split who come after it move up.
    is_behind = (is_of_split & (pl.col("rank") > pl.col("target_rank"))).fill_null(value=False)
    held = (
        held.join(part.select("generation", "target_split", "target_rank", "pool"), on="generation")
        .filter(~is_target.any().over(_WINDOW))
        .with_columns(
            is_alone=pl.len().over(_WINDOW) == 1, is_drawn=pl.col("rank") - is_behind.cast(pl.Int64()) < pl.col("pool")
        )
    )
    everyone = held.filter(pl.col("is_alone") & (pl.col("split") == "train")).with_columns(figure=pl.lit("all"))
    drawn = held.filter("is_drawn").filter(pl.len().over(_WINDOW) == 1)
    drawn = drawn.with_columns(
        figure=pl.when(pl.col("split") == "train").then(pl.lit("sampled")).otherwise(pl.lit("chance"))
    )
    return pl.concat([everyone, drawn]).select(*_WINDOW, "begin", "end", "figure", "split", "rank", "is_alone")


def _leave_out_echo(
    sole: pl.DataFrame, part: pl.DataFrame, tokenizer: ModelTokenizer, match_tokens: int
) -> pl.DataFrame:
    """Leave out the windows that share a token with prompt echo."""
    # Only generations with such windows are asked: tokenizing all prompts would take longer than the search.
    given = part.filter(pl.col("prompt").is_not_null()).join(sole, on="generation", how="semi")
    echoed = [sole.select(_WINDOW).clear()]
    for generation, prompt, token_ids in given.select("generation", "prompt", "token_ids").iter_rows():
        echo = find_prompt_tokens(token_ids, prompt, tokenizer, match_tokens=match_tokens)
        if echo.any():
            tokens = np.setdiff1d(np.arange(len(echo)), _windows_without(echo, match_tokens))
            frame = pl.DataFrame({"generation": generation, "token": tokens}, schema=echoed[0].schema)
            echoed.append(frame)
    return sole.join(pl.concat(echoed), on=_WINDOW, how="anti")


def _leave_out_own(sole: pl.DataFrame, text: Bytes, part: pl.DataFrame, notes: MatchedCorpus) -> pl.DataFrame:
    """Leave out the windows that the target's own notes hold: in other ids than the generation's, or they would match.

    What one other patient of all holds, the target does not.
    """
    own_notes: dict[str, list[str]] = {}
    asked = sole.filter(~pl.col("is_alone")).select(*_WINDOW, "begin", "end").unique(maintain_order=True)
    asked = asked.join(part.select("generation", "patient_id"), on="generation").drop_nulls("patient_id")
    held = []
    for generation, token, begin, end, patient in asked.iter_rows():
        if patient not in own_notes:
            own_notes = {patient: [normalize_newlines(note.text) for note in notes.corpus.notes_of(patient)]}
        window = text[begin:end].tobytes().decode("utf-8")
        if any(window in note for note in own_notes[patient]):
            held.append((generation, token))
    schema = sole.select(_WINDOW).schema
    return sole.join(pl.DataFrame(held, schema=schema, orient="row"), on=_WINDOW, how="anti")


def _merge_windows(sole: pl.DataFrame, part: pl.DataFrame, match_tokens: int) -> pl.DataFrame:
    """Merge the windows of one generation, figure and owner that share a token to runs, with their `chars`."""
    by = ("figure", "generation", "owner_patient_id")
    gap = pl.col("token") - pl.col("token").shift(1).over(by)
    return (
        sole.rename({"patient_id": "owner_patient_id"})
        .sort(*by, "token")
        .with_columns(run=(gap.is_null() | (gap >= match_tokens)).cum_sum())
        .group_by(*by, "run", maintain_order=True)
        .agg(token_start=pl.col("token").min(), token_end=pl.col("token").max() + match_tokens)
        # What several figures ask about is attributed once.
        .group_by(*_RUN, maintain_order=True)
        .agg("figure")
        .join(part.select("generation", "chars"), on="generation", maintain_order="left")
        .with_columns(
            pl.col("chars").list.slice(2 * pl.col("token_start"), 2 * (pl.col("token_end") - pl.col("token_start")))
        )
    )


#: Its number, the patient asked about, the text of the generation, the first token, and the characters of the tokens.
_Run = tuple[int, str | None, str, int, list[int]]


#: A patient with the runs of this owner.
_Owner = tuple[PatientNotes, list[_Run]]


def _attribute(runs: pl.DataFrame, notes: MatchedCorpus, progress: Progress, runner: ShardRunner) -> pl.DataFrame:
    """Return the pieces of each run (`_PIECE`); its owner's notes are read once."""

    def shards() -> Iterator[list[_Owner]]:
        columns = ("owner_patient_id", "run", "patient_id", "text", "token_start", "chars")
        shard = pl.col("owner_patient_id").rle_id() // OWNERS_AT_A_TIME
        for some in runs.with_columns(shard=shard).partition_by("shard", maintain_order=True):
            rows = groupby(some.select(columns).iter_rows(), key=itemgetter(0))
            yield [(PatientNotes.of(notes.corpus, owner), [row[1:] for row in own]) for owner, own in rows]

    pieces = [pl.DataFrame(schema=_PIECE)]
    with progress.stage("attributing other patients' text", total=len(runs), unit="passages") as advance:
        for found, count in runner.map(attribute_shard, notes.reading, shards()):
            pieces.append(pl.DataFrame(found, schema=_PIECE, orient="row"))
            advance(count)
    return pl.concat(pieces)


def attribute_shard(reading: Reading, shard: Sequence[_Owner]) -> tuple[list[tuple[Any, ...]], int]:
    """Return the pieces of the runs of some owners (`_PIECE`), and how many runs there are, wherever that is done."""
    read = reading.patient_reader()
    rows: list[tuple[Any, ...]] = []
    for notes, runs in shard:
        patient = read(notes)
        for run, asked_about, text, start, bounds in runs:
            chars = np.array(bounds, dtype=np.int32).reshape(-1, 2)
            region = cut_region_text(text, chars, Span(0, len(chars)))
            for piece in attribute_region(region, patient.texts):
                first, last = piece.span_tokens
                boilerplate = patient.note(piece.note).boilerplate_in(piece.note_chars)
                telling = ~which_hold(boilerplate, piece.token_chars - piece.note_chars.start)
                masked = None if asked_about is not None else patient.maskable[piece.note].mask_part(piece.note_chars)
                rows.append(
                    (
                        *(run, first + start, last + start, int(chars[first, 0]), int(chars[last - 1, 1])),
                        *(patient.note_ids[piece.note], *piece.note_chars),
                        (np.flatnonzero(telling) + first + start).tolist(),
                        None if masked is None else masked[1],
                    )
                )
    return rows, sum(len(runs) for _, runs in shard)


def _leave_out_shared(
    pieces: pl.DataFrame, notes: MatchedCorpus, progress: Progress, runner: ShardRunner
) -> pl.DataFrame:
    """Leave out, of generations about nobody, the pieces that two patients' masked notes hold, or that are no text."""
    masked, held = pieces["masked"].drop_nulls().unique(), []
    if masked.is_empty():
        return pieces.filter(pl.col("patient_id").is_not_null())
    for split in SPLITS:
        packed = notes.masked(split, runner, progress)
        with progress.stage("counting patients in masked notes", total=packed.size, unit="bytes of notes") as advance:
            held.append(count_patients(masked, packed, runner=runner, advance=advance))
    alone = pl.concat(held).group_by("text").agg(pl.col("patient_count").sum()).filter(patient_count=1)["text"]
    return pieces.filter(pl.col("patient_id").is_not_null() | pl.col("masked").is_in(alone.implode()))
