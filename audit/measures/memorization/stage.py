"""The memorization stage: from generations to tables of evidence, for `audit` and `analyze` alike.

Owns the order (docs/methods.md, sections 2 and 2a): match with the patient's own notes, verbatim and nearly, patient by
patient in shards; then, as joins of frames, find other patients' text, find K of what was found, and count. Knows
nothing of where generations come from, or of files.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from clinaudit.audit.measures.generation.answers import find_what_says_something
from clinaudit.audit.measures.memorization.masked_notes import mask_text
from clinaudit.audit.measures.memorization.near_verbatim import find_near_matches, find_near_texts
from clinaudit.audit.measures.memorization.other_patients import count_tokens, find_sole_pieces, list_pieces
from clinaudit.audit.measures.memorization.patient_specificity import count_pairs
from clinaudit.audit.measures.memorization.patient_text import (
    Flags,
    MatchedCorpus,
    PatientNotes,
    PatientText,
    Places,
    Reading,
    concatenate_sequences,
    find_stretches,
)
from clinaudit.audit.measures.memorization.source_attribution import attribute_region, cut_region_text
from clinaudit.audit.measures.memorization.verbatim import (
    PieceLabels,
    covered_tokens,
    find_matches,
    find_prompt_tokens,
    label_piece,
    merge_overlapping_matches,
)
from clinaudit.audit.runtime.cluster import ALL_CORES, ShardRunner
from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.run.evidence_tables import as_table, schema_of
from clinaudit.audit.runtime.run.processes import batches
from clinaudit.templates.header_styles import UNASSIGNED
from clinaudit.templates.shown_text import Span

#: Text of notes and generations in a shard, in characters, and what the last patient has more.
SHARD_CHARS = 1 << 18
#: Generations of a patient that are matched at a time.
ANSWERS_AT_A_TIME: Final = 256
_Row = dict[str, Any]
_Rows = dict[str, list[_Row]]


def _columns(texts: str = "", numbers: str = "", flags: str = "") -> dict[str, pl.DataType]:
    return {
        name: kind()
        for names, kind in ((texts, pl.String), (numbers, pl.Int64), (flags, pl.Boolean))
        for name in names.split()
    }


def _narrow(columns: Mapping[str, pl.DataType]) -> dict[str, pl.DataType]:
    """Return columns of half the width, for tables of dozens of rows a generation: what repeats itself is kept once."""
    narrower: dict[pl.DataType, pl.DataType] = {pl.String(): pl.Categorical(), pl.Int64(): pl.Int32()}
    return {name: narrower.get(kind, kind) for name, kind in columns.items()}


#: Columns of what is found before K is known; those of `evidence/` mean what they mean there.
COLUMNS: Final[Mapping[str, Mapping[str, pl.DataType]]] = {
    "generations": {
        **_columns(
            "generation_id",
            "tokens memorized_tokens echo_tokens regions stitched_regions source_notes region_characters region_words",
        ),
        # One byte a token: 1 where it is memorized.
        "memorized": pl.Binary(),
    },
    # `number` counts the pieces of a generation; `said` is the text with line feeds only, null where it has no others,
    # and `masked` this with placeholders, null where it has none. The text itself is cut from the generation's later.
    "regions": _columns(
        "generation_id said masked source_note_id",
        "number region_id piece token_start token_end char_start char_end note_char_start note_char_end "
        "copy_forward_count",
        "stitched",
    ),
    "segments": _narrow(schema_of("segments")),
    "told": schema_of("told"),
    # How many memorized tokens of a generation have the same labels: held by the same pieces, not templated by any of
    # them, no boilerplate in one, said by the prompt.
    "labels": _narrow(_columns("generation_id section", "cover tokens", "revealing telling told")),
    # Which pieces, by number, hold the tokens of a cover; none those of cover 0.
    "covers": _narrow(_columns("generation_id", "cover piece")),
    # A stretch of near-verbatim text that counts if one patient's notes alone hold its run: what it says, and `masked`.
    "near_texts": {**_columns("said masked"), **schema_of("near_attributable")},
}


class _Answer(NamedTuple):
    """What a generation is asked for: columns of `generations`."""

    generation_id: str
    prompt: str | None
    text: str
    token_ids: list[int]


#: A patient with generations about it: all, or some of many. Nobody's are as many as there are everyday tasks.
_Asked = tuple[PatientNotes, list[_Answer]]


def match_generations(
    generated: pl.DataFrame,
    notes: MatchedCorpus,
    *,
    match_tokens: int,
    progress: Progress,
    runner: ShardRunner = ALL_CORES,
) -> tuple[pl.DataFrame, dict[str, pl.DataFrame]]:
    """Match every generation with its patient's notes; return the generations in the frames' order, and `COLUMNS`.

    What is found is labelled and masked, before the corpus is asked: no K is known.
    `generated` is the table `generations`. Patients come in the order of their first generation.
    """
    first = generated.with_row_index().select(pl.col("index").min().over("patient_id")).to_series()
    ordered = generated if first.is_sorted() else generated.sort(first, maintain_order=True)

    def asked() -> Iterator[_Asked]:
        begin = 0
        for count, patient_id in ordered["patient_id"].rle().struct.unnest().iter_rows():
            known = PatientNotes.of(notes.corpus, patient_id)
            own = ordered.select(_Answer._fields).slice(begin, count)
            for some in own.iter_slices(ANSWERS_AT_A_TIME):
                yield known, list(map(_Answer._make, some.iter_rows()))
            begin += count

    frames: dict[str, list[pl.DataFrame]] = {table: [pl.DataFrame(schema=COLUMNS[table])] for table in COLUMNS}
    with progress.stage("matching notes", total=len(generated), unit="generations") as advance:
        shards = batches(asked(), _count_chars, SHARD_CHARS)
        for rows in runner.map(match_shard, (notes.reading, match_tokens), shards):
            for table, own_rows in rows.items():
                columns = {column: [row[column] for row in own_rows] for column in COLUMNS[table]}
                frames[table].append(pl.DataFrame(columns, schema=COLUMNS[table]))
            advance(len(rows["generations"]))
    # One block a table: that of each shard takes up to twice what it holds.
    return ordered, {table: pl.concat(frames.pop(table), rechunk=True) for table in COLUMNS}


def _count_chars(asked: _Asked) -> int:
    notes, answers = asked
    return sum(len(visit.text) for visit in notes.visits) + sum(len(answer.text) for answer in answers)


def match_shard(task: tuple[Reading, int], shard: Sequence[_Asked]) -> _Rows:
    """Match the generations of some patients, wherever that is done; `task` has the tokens of a match, too.

    Return rows of `COLUMNS`; the caller makes the frames.
    """
    reading, match_tokens = task
    read = reading.patient_reader()
    rows: _Rows = {table: [] for table in COLUMNS}
    for notes, answers in shard:
        patient = read(notes)
        sequences = concatenate_sequences(answer.token_ids for answer in answers)
        places = [
            np.array(reading.tokenizer.place_generated(answer.token_ids, answer.text), dtype=np.int64).reshape(-1, 2)
            for answer in answers
        ]
        matches = find_matches(sequences, patient.sequences, match_tokens=match_tokens)
        memorized = []
        for answer, chars, begins in zip(answers, places, matches, strict=True):
            memorized.append(covered_tokens(begins, match_tokens=match_tokens))
            spans = merge_overlapping_matches(begins, match_tokens=match_tokens)
            echo = np.zeros_like(memorized[-1])
            # The prompt is tokenized only where it matters.
            if spans:
                told = answer.token_ids, answer.prompt, reading.tokenizer
                echo = memorized[-1] & find_prompt_tokens(*told, match_tokens=match_tokens)
            _read_verbatim(answer, chars, spans, memorized[-1], echo, patient, rows)
        near = find_near_matches(sequences, patient.sequences, match_tokens=match_tokens)
        prompts = [answer.prompt for answer in answers]
        texts = find_near_texts(
            near, sequences, prompts, memorized, patient, tokenizer=reading.tokenizer, match_tokens=match_tokens
        )
        rows["near_texts"] += [
            {
                "generation_id": answers[index].generation_id,
                "said": text,
                "masked": None if masked == text else masked,
                **_place(span_tokens, places[index]),
                **_note_place(patient.note_ids[note], note_chars),
            }
            for index, span_tokens, note, note_chars, text, masked in texts
        ]
    return rows


def _read_verbatim(
    answer: _Answer,
    chars: Places,
    spans: Sequence[Span],
    memorized: Flags,
    echo: Flags,
    patient: PatientText,
    rows: _Rows,
) -> None:
    """Add the rows of a generation's verbatim text, which lies in regions at `spans`."""
    own = {"generation_id": answer.generation_id}
    # Echo, and tokens that are part of a value that the prompt holds.
    told = echo.copy()
    labelled: list[tuple[Span, PieceLabels]] = []
    stitched, notes = 0, set()
    for region_id, span in enumerate(spans):
        pieces = attribute_region(cut_region_text(answer.text, chars, span), patient.texts)
        is_stitched = [piece.span_tokens for piece in pieces] != [span]
        stitched += is_stitched
        for index, piece in enumerate(pieces):
            notes.add(piece.note)
            at = slice(*piece.span_tokens)
            told[at] |= patient.are_given(piece.note, piece.token_chars, answer.prompt)
            labels = label_piece(piece, patient.note(piece.note))
            counts = [
                np.bincount(labels.segment_of[counted], minlength=len(labels.segments)).tolist()
                for counted in (slice(None), labels.templated, echo[at])
            ]
            for (section, (start, end)), *tokens in zip(labels.segments, *counts, strict=True):
                segment = {"section": section, "char_start": start, "char_end": end}
                sums = dict(zip(("tokens", "templated_tokens", "echo_tokens"), tokens, strict=True))
                rows["segments"].append(own | {"region_id": region_id, "piece": index} | segment | sums)
            note, place = patient.maskable[piece.note], _place(piece.span_tokens, chars)
            text = answer.text[place["char_start"] : place["char_end"]]
            masked = mask_text(note.text, note.values, piece.note_chars)
            rows["regions"].append(
                own
                | place
                | _note_place(patient.note_ids[piece.note], piece.note_chars)
                | {
                    "region_id": region_id,
                    "piece": index,
                    "number": len(labelled),
                    "stitched": is_stitched,
                    "said": None if piece.text == text else piece.text,
                    "masked": None if masked == piece.text else masked,
                    "copy_forward_count": len(piece.holders),
                }
            )
            labelled.append((piece.span_tokens, labels))
    of_tokens, covers = _count_labels(labelled, memorized, told)
    rows["labels"] += [own | row for row in of_tokens]
    rows["covers"] += [own | row for row in covers]
    rows["told"] += [own | _place(span, chars) for span in find_stretches(told)]
    texts = [answer.text[chars[start, 0] : chars[end - 1, 1]] for start, end in spans]
    rows["generations"].append(
        own
        | {
            "tokens": len(chars),
            "memorized_tokens": int(memorized.sum()),
            "echo_tokens": int(echo.sum()),
            "regions": len(spans),
            "stitched_regions": stitched,
            "source_notes": len(notes),
            "region_characters": sum(map(len, texts)),
            "region_words": sum(len(text.split()) for text in texts),
            "memorized": memorized.tobytes(),
        }
    )


def _place(span_tokens: Span, chars: Places) -> _Row:
    """Return the columns of some tokens of a generation, and of their characters."""
    start, end = span_tokens
    ends = {"char_start": int(chars[start, 0]), "char_end": int(chars[end - 1, 1])}
    return {"token_start": start, "token_end": end} | ends


def _note_place(note_id: str, note_chars: Span) -> _Row:
    return {"source_note_id": note_id, "note_char_start": note_chars.start, "note_char_end": note_chars.end}


def _count_labels(
    labelled: Sequence[tuple[Span, PieceLabels]], memorized: Flags, told: Flags
) -> tuple[list[_Row], list[_Row]]:
    """Return the rows of `labels` and `covers` of a generation; of each piece its tokens and their labels are given.

    A token is revealing or telling if it is so in any piece; its section is that of the first. A token that no piece
    holds was dropped by the split: no template rule saw it, so that it counts as revealing.
    """
    sections = [UNASSIGNED]
    #: Numbers of the pieces that hold the same tokens.
    covers: list[tuple[int, ...]] = [()]
    #: By token: place in `sections` and in `covers`.
    section_of, cover_of = np.zeros((2, len(memorized)), dtype=np.int64)
    revealing, telling = np.zeros((2, len(memorized)), dtype=np.bool_)
    for number, (span, labels) in enumerate(labelled):
        own = slice(*span)
        revealing[own] |= ~labels.templated
        telling[own] |= ~labels.boilerplate
        section_of[own] = np.where(cover_of[own], section_of[own], labels.segment_of + len(sections))
        sections += [segment.name for segment in labels.segments]
        before, place = np.zeros((2, 1), dtype=np.int64)
        # Few pieces overlap.
        if cover_of[own].any():
            before, place = np.unique(cover_of[own], return_inverse=True)
        cover_of[own] = len(covers) + place
        covers += [(*covers[cover], number) for cover in before.tolist()]
    dropped = cover_of == 0
    kinds, sizes = (cover_of, section_of, revealing | dropped, telling | dropped, told), (len(covers), len(sections))
    # As one number a token: the library sorts rows of several far slower.
    numbers = np.ravel_multi_index([kind[memorized].astype(np.int64) for kind in kinds], (*sizes, 2, 2, 2))
    found, counts = np.unique(numbers, return_counts=True)
    of_kinds = (part.tolist() for part in np.unravel_index(found, (*sizes, 2, 2, 2)))
    names = ("cover", "section", "revealing", "telling", "told", "tokens")
    rows = [dict(zip(names, row, strict=True)) for row in zip(*of_kinds, counts.tolist(), strict=True)]
    for row in rows:
        row |= {"section": sections[row["section"]], **{name: bool(row[name]) for name in names[2:5]}}
    return rows, [{"cover": cover, "piece": piece} for cover, held in enumerate(covers) for piece in held]


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
        found["generations"]["memorized"],
        notes,
        match_tokens=match_tokens,
        seed=seed,
        progress=progress,
        runner=runner,
    )
    never_seen = ordered.filter(pl.col("arm") != "train")["generation_id"].implode()
    regions = _cut_texts(found.pop("regions"), ordered)
    regions, near = _count_holders(regions, found.pop("near_texts"), never_seen, notes, progress, runner)
    labels = _label(found.pop("labels"), found.pop("covers"), regions)
    near = near.filter(_SPECIFIC)
    near_tokens = near.select("generation_id", token=pl.int_ranges("token_start", "token_end")).explode("token")
    attributable = labels.filter(pl.col("telling") & pl.col("patient_specific") & ~pl.col("told"))
    metrics = (
        # A join copies all columns: texts and ids stay out.
        ordered.drop("prompt", "text", "token_ids")
        .join(found["generations"].drop("memorized"), **_IN_ORDER)
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


def _cut_texts(regions: pl.DataFrame, ordered: pl.DataFrame) -> pl.DataFrame:
    """Add the text of each piece, a slice of its generation's, whose memory it shares."""
    # A join would copy the texts.
    rows = regions.select("generation_id").join(
        ordered.select("generation_id").with_row_index(), on="generation_id", how="left", maintain_order="left"
    )
    length = pl.col("char_end") - pl.col("char_start")
    texts = regions.with_columns(text=ordered["text"].gather(rows["index"]))
    return texts.with_columns(pl.col("text").str.slice(pl.col("char_start"), length))


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
