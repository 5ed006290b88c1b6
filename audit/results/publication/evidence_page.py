"""From the evidence tables and the corpus to `evidence/evidence.html` (PHI), which each run writes.

Owns which generations are shown, which truth a reading is compared with, and where a piece stands in its source note.
Knows nothing of the page's layout, or of how a match was found: it reads the tables that the audit wrote.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from clinaudit.audit.measures.judge.verdict import SPAN_FIELDS
from clinaudit.audit.results.publication.published_files import read_published, read_record
from clinaudit.audit.runtime.run.directory import RunDirectory, hold_lock_of_finished
from clinaudit.audit.runtime.run.durable_files import write_atomically
from clinaudit.audit.runtime.run.evidence_tables import read_table
from clinaudit.audit.runtime.run.manifest import replace_files, require_finished_run, verify
from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.corpus import Corpus, read_corpus
from clinaudit.priors.facts import identity_reader
from clinaudit.reports.pages.evidence import (
    NOBODYS,
    DiagnosisReading,
    EvidencePage,
    GeneratedText,
    IdentifierSpan,
    LeakedSpan,
    OthersSpan,
    Reading,
    SourceText,
    SpanKind,
    render_evidence,
)
from clinaudit.templates.note import LaidOutNote, NoteReader, normalize_newlines
from clinaudit.templates.profile import load_profile

EVIDENCE_PAGE = "evidence.html"
#: Texts on the page of a run: a browser opens it at once.
MOST_TEXTS = 500
#: Tables with any number of rows a generation.
_BY_GENERATION = ("regions", "segments", "other_patients", "identifiers", "judgements")
Row = Mapping[str, Any]


def write_evidence_page(run: RunDirectory, corpus: Corpus, reader: NoteReader, *, limit: int = MOST_TEXTS) -> None:
    """Write `evidence/evidence.html` as a part of the run, from its evidence tables, before the manifest is written.

    A run without the tables of an audit, as `analyze` leaves it, gets no page.
    """
    if _has_tables(run):
        page = render_evidence(collect_evidence(run, corpus, reader, limit=limit))
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
        page = collect_evidence(run, corpus, NoteReader(profile), limit=limit)
        replace_files(run, {place: render_evidence(page).encode("utf-8")})
    return page


def collect_evidence(run: RunDirectory, corpus: Corpus, reader: NoteReader, *, limit: int) -> EvidencePage:
    """Return the `limit` generations with most own text, others' text or identifiers, then most diagnoses stated."""
    tables = {name: _by_generation(run, name) for name in _BY_GENERATION}
    metrics: dict[str, Row] = {row["generation_id"]: row for row in read_table(run.evidence, "generation_metrics")}
    present = {
        (row["diagnosis"], row["patient_id"]): bool(row["present"]) for row in read_table(run.evidence, "cohorts")
    }

    # What the control says, the audited model did not.
    rows: list[Row] = [
        row
        for row in read_table(run.evidence, "generations")
        if row["role"] != "included" and row["model"] == "audited"
    ]
    verified = {
        generation_id: sum(row["verified"] for row in rows) for generation_id, rows in tables["identifiers"].items()
    }
    places = _places(metrics, verified)

    def rank(row: Row) -> tuple[int, int, str]:
        generation_id = row["generation_id"]
        readings = [_reading(judgement) for judgement in tables["judgements"].get(generation_id, [])]
        return places.get(generation_id, len(metrics)), -readings.count("positive"), generation_id

    found = sorted(rows, key=rank)
    notes: dict[str, SourceText] = {}
    read: dict[str, LaidOutNote] = {}
    texts = []
    for row in found[:limit]:
        generation_id = row["generation_id"]
        pieces = tables["regions"].get(generation_id, [])
        others = tables["other_patients"].get(generation_id, [])
        patient_id = row["patient_id"]
        sources = {piece["source_note_id"] for piece in (*pieces, *others)}
        for owner in {patient_id, *(piece["owner_patient_id"] for piece in others)} - {None}:
            for note in corpus.notes_of(owner):
                if note.note_id in sources and note.note_id not in read:
                    read[note.note_id] = reader.read(note.text)
                    visit = None if note.visit_date is None else note.visit_date.isoformat()
                    notes[note.note_id] = SourceText(note.note_id, visit, read[note.note_id].text)
        texts.append(
            GeneratedText(
                generation_id=generation_id,
                patient_id=patient_id or "",
                arm=row["arm"] or NOBODYS,
                tier=row["tier"],
                form=row["form"],
                prompt=row["prompt"],
                text=row["text"],
                tokens=metrics[generation_id]["tokens"],
                attributable_tokens=metrics[generation_id]["attributable_tokens"],
                spans=tuple(_spans(row["text"], pieces, tables["segments"].get(generation_id, []), read)),
                readings=tuple(
                    DiagnosisReading(
                        diagnosis=judgement["diagnosis"],
                        read=_reading(judgement),
                        present=present.get((judgement["diagnosis"], patient_id)),
                        spans=tuple(span for kind in SPAN_FIELDS for span in judgement[kind] or ()),
                    )
                    for judgement in tables["judgements"].get(generation_id, [])
                ),
                other_patient_tokens=metrics[generation_id]["other_patient_tokens"],
                others=tuple(map(_others_span, others)),
                identifiers=tuple(map(_identifier_span, tables["identifiers"].get(generation_id, []))),
            )
        )
    return EvidencePage(texts=texts, notes=list(notes.values()), found=len(found))


def _places(metrics: Mapping[str, Row], verified: Mapping[str, int]) -> dict[str, int]:
    """Return the best place of each generation that has any: by own text, other patients', verified identifiers.

    Each count ranks alone: in a sum, own text would crowd out the two that are rarer.
    """
    own, others = (
        {generation_id: row[column] for generation_id, row in metrics.items()}
        for column in ("attributable_tokens", "other_patient_tokens")
    )
    places: dict[str, int] = {}
    for counts in (own, others, verified):
        having = sorted((-count, generation_id) for generation_id, count in counts.items() if count)
        for place, (_, generation_id) in enumerate(having):
            places[generation_id] = min(place, places.get(generation_id, place))
    return places


def _others_span(row: Row) -> OthersSpan:
    return OthersSpan(
        start=row["char_start"],
        end=row["char_end"],
        note_start=row["note_char_start"],
        note_end=row["note_char_end"],
        note_id=row["source_note_id"],
        owner=row["owner_patient_id"],
        revealing_tokens=row["revealing_tokens"],
    )


def _identifier_span(row: Row) -> IdentifierSpan:
    return IdentifierSpan(
        start=row["char_start"],
        end=row["char_end"],
        hipaa=row["hipaa"],
        owner=row["owner"],
        holders=tuple(row["holders"] or ()),
        verified=row["verified"],
    )


def _by_generation(run: RunDirectory, name: str) -> dict[str, list[Row]]:
    rows: dict[str, list[Row]] = {}
    for row in read_table(run.evidence, name):
        rows.setdefault(row["generation_id"], []).append(row)
    return rows


def _reading(judgement: Row) -> Reading:
    if judgement["diagnosis_mentioned"] is None:
        return "unjudged"
    status: Reading | None = judgement["patient_has_diagnosis"]
    return "not_mentioned" if status is None else status


def _spans(
    text: str, pieces: Sequence[Row], segments: Sequence[Row], notes: Mapping[str, LaidOutNote]
) -> Iterator[LeakedSpan]:
    """Yield the memorized spans, split where templated text of the source note begins and ends."""
    by_piece = {(piece["region_id"], piece["piece"]): piece for piece in pieces}
    for segment in segments:
        piece = by_piece[segment["region_id"], segment["piece"]]
        note = notes[piece["source_note_id"]]
        own = text[segment["char_start"] : segment["char_end"]]
        # The piece's place is its first occurrence in the note, with all line ends read as line feeds.
        begin = note.text.find(normalize_newlines(piece["text"]))
        begin += len(normalize_newlines(text[piece["char_start"] : segment["char_start"]]))
        length = len(normalize_newlines(own))
        # Text with carriage returns does not map to the note character by character: it is not split.
        runs = _runs(note.templated[begin : begin + length]) if "\r" not in own else [(0, length, _kind(segment))]
        for start, end, kind in runs:
            yield LeakedSpan(
                start=segment["char_start"] + start,
                end=segment["char_start"] + end if "\r" not in own else segment["char_end"],
                note_start=begin + start,
                note_end=begin + end,
                note_id=piece["source_note_id"],
                section=segment["section"],
                kind=kind,
                echo=segment["echo_tokens"] == segment["tokens"],
                patient_count=piece["patient_count"],
                masked_patient_count=piece["masked_patient_count"],
                copy_forward_count=piece["copy_forward_count"],
                stitched=piece["stitched"],
            )


def _runs(templated: bytes) -> Iterator[tuple[int, int, SpanKind]]:
    start = 0
    for is_templated, run in groupby(templated):
        end = start + len(list(run))
        yield start, end, "templated" if is_templated else "revealing"
        start = end


def _kind(segment: Row) -> SpanKind:
    if segment["templated_tokens"] == 0:
        return "revealing"
    return "templated" if segment["templated_tokens"] == segment["tokens"] else "mixed"
