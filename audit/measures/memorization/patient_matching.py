"""What generations repeat of their own patients' notes, patient by patient in shards: matched, labelled, and masked.

Owns what is done with one patient's generations before the corpus is asked. Shards give rows of `COLUMNS`; the caller
makes the frames. Knows nothing of K.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from clinaudit.audit.measures.memorization.masked_notes import mask_text
from clinaudit.audit.measures.memorization.near_verbatim import find_near_matches, find_near_texts
from clinaudit.audit.measures.memorization.patient_text import (
    Flags,
    MatchedCorpus,
    PatientNotes,
    PatientText,
    Places,
    Reading,
    TokenSequences,
    concatenate_sequences,
    find_stretches,
)
from clinaudit.audit.measures.memorization.source_attribution import (
    Piece,
    attribute_region,
    count_source_notes,
    cut_region_text,
)
from clinaudit.audit.measures.memorization.verbatim import (
    PieceLabels,
    covered_tokens,
    find_matches,
    find_prompt_tokens,
    label_piece,
    merge_overlapping_matches,
)
from clinaudit.audit.runtime.cluster.ray_runner import ALL_CORES, ShardRunner
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.evidence_tables import schema_of
from clinaudit.audit.runtime.run.processes import batches
from clinaudit.templates.names import UNASSIGNED
from clinaudit.templates.spans import Span

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


#: Columns of what is found before K is known; those of `evidence/` mean what they mean there.
COLUMNS: Final[Mapping[str, Mapping[str, pl.DataType]]] = {
    "generations": {
        **_columns(
            "generation_id",
            "tokens memorized_tokens echo_tokens regions stitched_regions source_notes source_notes_any "
            "source_notes_min region_characters region_words",
        ),
        # One byte a token: 1 where it is memorized.
        "memorized": pl.Binary(),
    },
    # `number` counts the pieces of a generation; `said` is the text with line feeds only, null where it has no others,
    # and `masked` this with placeholders, null where it has none.
    "regions": _columns(
        "generation_id text said masked source_note_id",
        "number region_id piece token_start token_end char_start char_end note_char_start note_char_end "
        "copy_forward_count",
        "stitched",
    ),
    "segments": schema_of("segments"),
    "told": schema_of("told"),
    # How many memorized tokens of a generation have the same labels: held by the same pieces, not templated by any of
    # them, no boilerplate in one, said by the prompt.
    "labels": _columns("generation_id section", "cover tokens", "revealing telling told"),
    # Which pieces, by number, hold the tokens of a cover; none those of cover 0.
    "covers": _columns("generation_id", "cover piece"),
    # A stretch of near-verbatim text that counts if one patient's notes alone hold its run: what it says, and `masked`.
    "near_texts": {**_columns("said masked"), **schema_of("near_attributable")},
    "near_verbatim": schema_of("near_verbatim"),
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

    `generated` is the table `generations`. Patients come in the order of their first generation. Raises
    `BadInputError` where a node of the cluster lacks the tokenizer.
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
    """Match the generations of some patients, wherever that is done; `task` has the tokens of a match, too."""
    reading, match_tokens = task
    read = reading.patient_reader()
    rows: _Rows = {table: [] for table in COLUMNS}
    for notes, answers in shard:
        _Matcher(read(notes), reading.tokenizer, match_tokens, rows).match(answers)
    return rows


class _Matcher:
    """Matches one patient's generations, verbatim and nearly, and adds what it finds to the rows."""

    def __init__(self, patient: PatientText, tokenizer: ModelTokenizer, match_tokens: int, rows: _Rows) -> None:
        self._patient = patient
        self._tokenizer = tokenizer
        self._n = match_tokens
        self._rows = rows

    def match(self, answers: Sequence[_Answer]) -> None:
        """Add the rows of all generations of the patient."""
        sequences = concatenate_sequences(answer.token_ids for answer in answers)
        places = [
            np.array(self._tokenizer.place_generated(answer.token_ids, answer.text), dtype=np.int64).reshape(-1, 2)
            for answer in answers
        ]
        matches = find_matches(sequences, self._patient.sequences, match_tokens=self._n)
        memorized = [self._match_verbatim(*one) for one in zip(answers, places, matches, strict=True)]
        self._match_nearly(answers, places, sequences, memorized)

    def _match_verbatim(self, answer: _Answer, chars: Places, begins: Flags) -> Flags:
        """Add the rows of verbatim text; return which tokens are memorized."""
        own = {"generation_id": answer.generation_id}
        memorized = covered_tokens(begins, match_tokens=self._n)
        echo = np.zeros_like(memorized)
        spans = merge_overlapping_matches(begins, match_tokens=self._n)
        # The prompt is tokenized only where it matters.
        if spans:
            echo = memorized & find_prompt_tokens(
                answer.token_ids, answer.prompt, self._tokenizer, match_tokens=self._n
            )
        #: Echo, and tokens that are part of a value that the prompt holds.
        told = echo.copy()
        labelled: list[tuple[Span, PieceLabels]] = []
        pieces: list[Piece] = []
        stitched = 0
        for region_id, span in enumerate(spans):
            own_pieces = attribute_region(cut_region_text(answer.text, chars, span), self._patient.texts)
            is_stitched = [piece.span_tokens for piece in own_pieces] != [span]
            stitched += is_stitched
            for index, piece in enumerate(own_pieces):
                place = own | {"region_id": region_id, "piece": index}
                of_piece = label_piece(piece, self._patient.note(piece.note))
                told[slice(*piece.span_tokens)] |= self._patient.are_given(piece.note, piece.token_chars, answer.prompt)
                labelled.append((piece.span_tokens, of_piece))
                self._add_segments(place, of_piece, echo[slice(*piece.span_tokens)])
                self._add_region(place | {"number": len(pieces), "stitched": is_stitched}, piece, answer, chars)
                pieces.append(piece)
        labels, covers = _count_labels(labelled, memorized, told)
        self._rows["labels"] += [own | row for row in labels]
        self._rows["covers"] += [own | row for row in covers]
        self._rows["told"] += [own | _place(span, chars) for span in find_stretches(told)]
        texts = [answer.text[chars[start, 0] : chars[end - 1, 1]] for start, end in spans]
        notes_any, notes_min = count_source_notes([piece.holders for piece in pieces])
        self._rows["generations"].append(
            own
            | {
                "tokens": len(chars),
                "memorized_tokens": int(memorized.sum()),
                "echo_tokens": int(echo.sum()),
                "regions": len(spans),
                "stitched_regions": stitched,
                "source_notes": len({piece.note for piece in pieces}),
                "source_notes_any": notes_any,
                "source_notes_min": notes_min,
                "region_characters": sum(map(len, texts)),
                "region_words": sum(len(text.split()) for text in texts),
                "memorized": memorized.tobytes(),
            }
        )
        return memorized

    def _add_region(self, place: _Row, piece: Piece, answer: _Answer, chars: Places) -> None:
        in_answer = _place(piece.span_tokens, chars)
        note = self._patient.maskable[piece.note]
        masked = mask_text(note.text, note.values, piece.note_chars)
        text = answer.text[in_answer["char_start"] : in_answer["char_end"]]
        self._rows["regions"].append(
            place
            | in_answer
            | _note_place(piece.note_chars)
            | {
                "text": text,
                "said": None if piece.text == text else piece.text,
                "masked": None if masked == piece.text else masked,
                "source_note_id": self._patient.note_ids[piece.note],
                "copy_forward_count": len(piece.holders),
            }
        )

    def _add_segments(self, place: _Row, labels: PieceLabels, echo: Flags) -> None:
        for index, (section, (start, end)) in enumerate(labels.segments):
            own = labels.segment_of == index
            self._rows["segments"].append(
                place
                | {
                    "section": section,
                    "char_start": start,
                    "char_end": end,
                    "tokens": int(own.sum()),
                    "templated_tokens": int((own & labels.templated).sum()),
                    "echo_tokens": int((own & echo).sum()),
                }
            )

    def _match_nearly(
        self, answers: Sequence[_Answer], places: list[Places], sequences: TokenSequences, memorized: list[Flags]
    ) -> None:
        """Add the rows of near-verbatim text."""
        patient, n = self._patient, self._n
        near = find_near_matches(sequences, patient.sequences, match_tokens=n)
        ids = [answer.generation_id for answer in answers]
        self._rows["near_verbatim"] += [
            {
                "generation_id": generation_id,
                "token_start": start,
                "token_end": end,
                "source_note_id": patient.note_ids[note],
            }
            for index, generation_id in enumerate(ids)
            for (start, end), note in near.longest_regions(index, patient.note_of_sequence)
        ]
        prompts = [answer.prompt for answer in answers]
        texts = find_near_texts(near, sequences, prompts, memorized, patient, tokenizer=self._tokenizer, match_tokens=n)
        self._rows["near_texts"] += [
            {
                "generation_id": ids[one.generation],
                "said": one.text,
                "masked": None if one.masked == one.text else one.masked,
                "source_note_id": patient.note_ids[one.note],
            }
            | _place(one.span_tokens, places[one.generation])
            | _note_place(one.note_chars)
            for one in texts
        ]


def _place(span_tokens: Span, chars: Places) -> dict[str, int]:
    """Return the columns of some tokens of a generation, and of their characters."""
    start, end = span_tokens
    ends = {"char_start": int(chars[start, 0]), "char_end": int(chars[end - 1, 1])}
    return {"token_start": start, "token_end": end} | ends


def _note_place(note_chars: Span) -> dict[str, int]:
    return {"note_char_start": note_chars.start, "note_char_end": note_chars.end}


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
        before, place = np.unique(cover_of[own], return_inverse=True)
        cover_of[own] = len(covers) + place
        covers += [(*covers[cover], number) for cover in before.tolist()]
    dropped = cover_of == 0
    kinds, sizes = (cover_of, section_of, revealing | dropped, telling | dropped, told), (len(covers), len(sections))
    # As one number a token: the library sorts rows of several far slower.
    numbers = np.ravel_multi_index([kind[memorized].astype(np.int64) for kind in kinds], (*sizes, 2, 2, 2))
    found, counts = np.unique(numbers, return_counts=True)
    of_kinds = (part.tolist() for part in np.unravel_index(found, (*sizes, 2, 2, 2)))
    rows = [
        {
            "cover": cover,
            "section": sections[section],
            "tokens": tokens,
            "revealing": bool(is_revealing),
            "telling": bool(is_telling),
            "told": bool(is_told),
        }
        for cover, section, is_revealing, is_telling, is_told, tokens in zip(*of_kinds, counts.tolist(), strict=True)
    ]
    return rows, [{"cover": cover, "piece": piece} for cover, held in enumerate(covers) for piece in held]
