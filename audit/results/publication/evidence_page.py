"""The texts behind the figures (PHI): `evidence/evidence.html`, which each run writes, and those of `show --worst`.

Owns which generations are shown, which truth a reading is compared with, and where a piece stands in its source note.
Knows nothing of the page's layout, or of how a match was found: it reads the corpus and the evidence tables.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import polars as pl

from clinaudit.audit.measures.judge.verdict import SPAN_FIELDS
from clinaudit.audit.measures.memorization.source_attribution import cut_region_text
from clinaudit.audit.results.publication.published_files import read_published, read_record
from clinaudit.audit.runtime.run.directory import RunDirectory, hold_lock_of_finished, write_atomically
from clinaudit.audit.runtime.run.evidence_tables import read_frame, read_table
from clinaudit.audit.runtime.run.manifest import replace_files, require_finished_run, verify
from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.corpus import Corpus, read_corpus
from clinaudit.priors.facts import identity_reader
from clinaudit.reports.pages.evidence import (
    IDENTIFIERS,
    NEAR,
    NOBODYS,
    OTHERS,
    EvidencePage,
    Reading,
    Row,
    reading_row,
    render_evidence,
)
from clinaudit.templates.note import LaidOutNote, NoteReader
from clinaudit.templates.profile import load_profile
from clinaudit.templates.shown_text import Span

EVIDENCE_PAGE = "evidence.html"
#: Texts on the page of a run: a browser opens it at once.
MOST_TEXTS = 500
#: Tables with any number of rows a generation.
_BY_GENERATION = ("regions", "segments", "told", "near_attributable", "other_patients", "identifiers", "judgements")
#: Columns of `generations`, `regions` and `generation_metrics` that are shown.
_TEXT = ("generation_id", "tier", "form", "prompt", "text")
_PIECE = ("source_note_id", "patient_count", "masked_patient_count", "copy_forward_count", "stitched")
_COUNTS = ("tokens", "attributable_tokens", "near_verbatim_attributable_tokens", "other_patient_tokens")
_PLACE = ("char_start", "char_end", "note_char_start", "note_char_end", "source_note_id")


def write_evidence_page(
    run: RunDirectory, corpus: Corpus, reader: NoteReader, *, match_tokens: int, limit: int = MOST_TEXTS
) -> None:
    """Write `evidence/evidence.html` as a part of the run, from its evidence tables, before the manifest is written.

    `match_tokens` is the length of a match. A run without the tables of an audit, as `analyze` leaves it, gets no page.
    """
    if _has_tables(run):
        page = render_evidence(collect_evidence(run, corpus, reader, match_tokens=match_tokens, limit=limit))
        write_atomically(run.evidence / EVIDENCE_PAGE, page)


def _has_tables(run: RunDirectory) -> bool:
    needed = ("generations", "generation_metrics", "cohorts", *_BY_GENERATION)
    return all((run.evidence / f"{name}.parquet").is_file() for name in needed)


def write_page_again(root: Path, corpus_path: Path, *, template: Path | None, limit: int) -> EvidencePage:
    """Write the page of a finished run with another number of texts, mode 0600, and return its content.

    Raises `BadInputError` where the run has no evidence, or where corpus or template are not those of the audit.
    """
    run = require_finished_run(root)
    with hold_lock_of_finished(run):
        place = f"{run.evidence.name}/{EVIDENCE_PAGE}"
        verify(run, but=(place,))
        # A run of another version has other tables.
        read_published(run)
        if not _has_tables(run):
            raise BadInputError(
                f"{run.root.name} holds no evidence of an audit (it was purged, or made by `clinaudit analyze`); "
                "there is nothing to show"
            )
        profile = load_profile(template)
        corpus = read_corpus(corpus_path, scratch=run.evidence, stated=identity_reader(profile))
        record = read_record(run)
        digests, settings = record.get("digests"), record.get("settings")
        if not isinstance(digests, dict) or digests.get("corpus") != corpus.digest:
            raise BadInputError("CORPUS is not the one that this run audited; give the corpus as it was then")
        if not isinstance(settings, dict) or settings.get("--template") != profile.digest:
            raise BadInputError("this run used another note template; give the same one with --template")
        match_tokens = int(settings["--ngram"])
        page = collect_evidence(run, corpus, NoteReader(profile), match_tokens=match_tokens, limit=limit)
        replace_files(run, {place: render_evidence(page).encode("utf-8")})
    return page


def collect_evidence(
    run: RunDirectory, corpus: Corpus, reader: NoteReader, *, match_tokens: int, limit: int
) -> EvidencePage:
    """Return the `limit` generations with most own text, others' text or identifiers, then most diagnoses stated.

    `match_tokens` is the length of a match.
    """
    ranked = _ranked(run)
    rows = ranked.head(limit).to_dicts()
    tables = {name: _by_generation(run, name, [row["generation_id"] for row in rows]) for name in _BY_GENERATION}
    present = {
        (row["diagnosis"], row["patient_id"]): bool(row["present"]) for row in read_table(run.evidence, "cohorts")
    }
    notes: dict[str, Row] = {}
    read: dict[str, LaidOutNote] = {}
    texts = []
    for row in rows:
        of = {name: table.get(row["generation_id"], []) for name, table in tables.items()}
        sources = {
            piece["source_note_id"] for piece in (*of["regions"], *of["near_attributable"], *of["other_patients"])
        }
        for owner in {row["patient_id"], *(piece["owner_patient_id"] for piece in of["other_patients"])} - {None}:
            for note in corpus.notes_of(owner):
                if note.note_id in sources and note.note_id not in read:
                    read[note.note_id] = reader.read(note.text)
                    visit = None if note.visit_date is None else note.visit_date.isoformat()
                    notes[note.note_id] = {"visit_date": visit, "text": read[note.note_id].text}
        texts.append(
            {
                **{column: row[column] for column in (*_TEXT, *_COUNTS)},
                "patient_id": row["patient_id"] or "",
                "arm": row["arm"] or NOBODYS,
                "spans": [
                    *_spans(row["text"], of["regions"], of["segments"], of["told"], read),
                    *({column: one[column] for column in _PLACE} | NEAR for one in of["near_attributable"]),
                ],
                "others": [{column: one[column] for column in OTHERS} for one in of["other_patients"]],
                "identifiers": [
                    {**{column: one[column] for column in IDENTIFIERS}, "holders": one["holders"] or []}
                    for one in of["identifiers"]
                ],
                "readings": [
                    reading_row(
                        one["diagnosis"],
                        _reading(one),
                        present.get((one["diagnosis"], row["patient_id"])),
                        [span for kind in SPAN_FIELDS for span in one[kind] or ()],
                    )
                    for one in of["judgements"]
                ],
            }
        )
    return EvidencePage(texts, notes, found=ranked.height, match_tokens=match_tokens)


def _ranked(run: RunDirectory) -> pl.DataFrame:
    """Return the audited model's generations with their counts, those first that say most.

    By the best place by own text, other patients' or verified identifiers: each ranks alone, since in a sum it would
    crowd out the two that are rarer. Own text is counted edits and all. Then by the diagnoses stated.
    """
    tables = {name: read_frame(run.evidence, name) for name in ("generations", "generation_metrics")}
    of_each = pl.col("generation_id")
    verified = read_frame(run.evidence, "identifiers").group_by(of_each).agg(verified=pl.col("verified").sum())
    positive = read_frame(run.evidence, "judgements").filter(patient_has_diagnosis="positive")
    counts = (pl.col(name) for name in ("near_verbatim_attributable_tokens", "other_patient_tokens", "verified"))
    places = [pl.when(count > 0).then(count.rank("ordinal", descending=True)) for count in counts]
    return (
        tables["generations"]
        # What the control says, the audited model did not.
        .filter(pl.col("role") != "included", model="audited")
        .join(tables["generation_metrics"].select(of_each, *_COUNTS), on="generation_id", how="left")
        .join(verified, on="generation_id", how="left")
        .join(positive.group_by(of_each).agg(stated=pl.len()), on="generation_id", how="left")
        .with_columns(pl.col("verified", "stated").fill_null(0))
        .sort("generation_id")
        .with_columns(place=pl.min_horizontal(places).fill_null(pl.len()))
        .sort("place", "stated", "generation_id", descending=[False, True, False])
    )


def _by_generation(run: RunDirectory, name: str, generations: Sequence[str]) -> dict[str, list[Row]]:
    rows: dict[str, list[Row]] = {}
    kept = read_frame(run.evidence, name).filter(pl.col("generation_id").is_in(generations))
    for row in kept.iter_rows(named=True):
        rows.setdefault(row["generation_id"], []).append(row)
    return rows


def _reading(judgement: Row) -> Reading:
    if judgement["diagnosis_mentioned"] is None:
        return "unjudged"
    status: Reading | None = judgement["patient_has_diagnosis"]
    return "not_mentioned" if status is None else status


def _spans(
    text: str,
    pieces: Sequence[Row],
    segments: Sequence[Row],
    told: Sequence[Row],
    notes: Mapping[str, LaidOutNote],
) -> Iterator[Row]:
    """Yield the memorized spans, cut where templated text of the source note, or what the prompt told, begins or ends.

    The segments of a piece come in order, and leave nothing of it out.
    """
    by_piece = {(piece["region_id"], piece["piece"]): piece for piece in pieces}
    begins = {place: piece["note_char_start"] for place, piece in by_piece.items()}
    is_told = bytearray(len(text))
    for one in told:
        is_told[one["char_start"] : one["char_end"]] = b"\1" * (one["char_end"] - one["char_start"])
    for segment in segments:
        place = segment["region_id"], segment["piece"]
        piece = by_piece[place]
        # Its characters with line feeds only, as the note has them.
        own = cut_region_text(text, [Span(segment["char_start"], segment["char_end"])], Span(0, 1))
        begin, chars = begins[place], own.generation_chars
        begins[place] += len(own.text)
        templated = notes[piece["source_note_id"]].templated[begin : begins[place]]
        for start, end, (of_template, of_prompt) in _runs(zip(templated, (is_told[at] for at in chars), strict=False)):
            yield {
                "char_start": chars[start],
                "char_end": chars[end],
                "note_char_start": begin + start,
                "note_char_end": begin + end,
                "section": segment["section"],
                "kind": "templated" if of_template else "revealing",
                "echo": bool(of_prompt),
                **{column: piece[column] for column in _PIECE},
            }


def _runs(marks: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int, tuple[int, int]]]:
    """Yield where each run of equal marks begins and ends, and its marks."""
    start = 0
    for mark, run in groupby(marks):
        end = start + len(list(run))
        yield start, end, mark
        start = end


_OWN: Final = "near_verbatim_attributable_tokens"
#: Columns of `generation_metrics` that are shown.
_SHOWN: Final = ("generation_id", "patient_id", "tier", "form", "arm", "tokens", "attributable_tokens", _OWN)


def find_worst_texts(run: RunDirectory, number: int) -> list[dict[str, Any]]:
    """Return so many generations of the audited model, those with most own text first, edits and all, none without any.

    They are what `clinaudit show --worst` prints (PHI); own text is that of the patient asked about.

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
