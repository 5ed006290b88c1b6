"""2,100 random corpora through matching, regions, attribution, the split, source notes and K, against the twin.

The twin (memorization_twin.py) is written from the definitions. The blocks of a hundred are simulations; forty corpora
are always looked at. All of these must hold each kind that makes the analysis hard: agreement is never that of two
empty answers.
"""

import itertools
import random
import unicodedata
from collections import Counter
from typing import NamedTuple

import polars as pl
import pytest
from support.evidence_frames import generation_frame
from support.generations import Generation
from support.measured_text import measured_rows
from support.memorization_twin import Twin, lf, patients_holding
from support.packed_notes import pack_notes
from support.random_corpora import LONG_BYTES, probes, random_corpus
from support.random_tables import answers_of, read_drawn
from support.simulations import in_blocks

from clinaudit.audit.measures.memorization import patient_specificity
from clinaudit.audit.measures.memorization.patient_specificity import count_patients
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.measures.memorization.source_attribution import attribute_region, cut_region_text
from clinaudit.audit.measures.memorization.stage import match_generations
from clinaudit.audit.measures.memorization.verbatim import label_piece
from clinaudit.audit.runtime.cluster import LocalRunner
from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.run.evidence_tables import Row
from clinaudit.priors.diagnoses import clinical_terms, load_panel
from clinaudit.templates.header_styles import UNASSIGNED
from clinaudit.templates.note import NoteReader
from clinaudit.templates.profile import load_profile
from clinaudit.templates.shown_text import Span

CORPORA, A_BLOCK, FEW = 2100, 100, range(40)

PROFILE = load_profile()
READER = NoteReader(PROFILE, clinical_terms(load_panel()))

# What every block must hold.
KINDS = (
    "regions",
    "stitched regions",
    "regions of three pieces and more",
    "overlapping pieces",
    "dropped tokens",
    "tokens of the headline",
    "templated tokens of the headline",
    "regions that touch",
    "pieces of K = 1",
    "pieces of K > 1",
    "pieces in several notes",
    "long pieces",
    "pieces with characters of several bytes",
    "empty generations",
    "generations with nothing memorized",
    "generations of several source notes",
    "echoed tokens",
    "nontrain generations with regions",
    "cut characters",
    "tokens memorized from notes with carriage returns alone",
    "patients with everything",
    "notes",
    "notes identical across patients",
    "notes nested in another patient's",
    "tiny notes",
    "notes with CR LF",
    "notes with a lone CR",
    "notes with combining characters",
    "notes with emoji",
    "long notes",
    "periodic notes",
    "texts of K = 0",
    "long texts",
    "short texts",
    "long texts of K > 1",
    "long texts of K = 0",
    "long texts at a note's start or end",
)


class Measured(NamedTuple):
    """What is found in one generation: what is matched, and its rows."""

    asked: Generation
    memorized: tuple[bool, ...]
    #: Memorized tokens in the table of text.
    text_tokens: int
    #: Of the tokens that no piece holds, how many are of each kind.
    dropped: dict[str, int]
    metrics: Row
    regions: list[Row]
    segments: list[Row]


def analyze(corpus, tokenizer, folder):
    generations = answers_of(corpus, tokenizer)
    notes = MatchedCorpus(read_drawn(corpus, folder), tokenizer, PROFILE)
    frame, quiet, one = generation_frame(generations), Progress(quiet=True), LocalRunner(1)
    _, matched = match_generations(frame, notes, match_tokens=corpus.n, progress=quiet, runner=one)
    tables = measured_rows(generations, notes, match_tokens=corpus.n)
    found = {}
    asked_by_id = {asked.generation_id: asked for asked in generations}
    for row in matched["generations"].to_dicts():
        asked = asked_by_id[row["generation_id"]]
        (metrics,), regions, segments, texts = (
            [one for one in tables[name] if one["generation_id"] == asked.generation_id]
            for name in ("generation_metrics", "regions", "segments", "memorized_text")
        )
        dropped = {text["kind"]: text["tokens"] for text in texts if text["section"] == UNASSIGNED}
        memorized = tuple(map(bool, row["memorized"]))
        text_tokens = sum(text["tokens"] for text in texts)
        found[asked.generation_id] = Measured(asked, memorized, text_tokens, dropped, metrics, regions, segments)
    return [found[str(number)] for number in range(len(generations))]


def compare_generation(corpus, written, found, tokenizer, census):
    """Assert that the analysis of one generation is the twin's, and count what kinds it holds."""
    ids, metrics = written.ids, found.metrics
    twin = Twin(tokenizer, corpus.patients[written.patient], corpus.n)
    memorized = twin.memorized(ids)
    assert found.memorized == memorized
    echo = twin.echo(ids, written.prompt or "")
    regions = twin.regions(ids)
    people = [notes for notes, train in zip(corpus.patients, corpus.train, strict=True) if train]
    if not corpus.train[written.patient]:
        people.append(corpus.patients[written.patient])

    sources, stitched, dropped_tokens = set(), 0, 0
    pieces: list[tuple[int, int]] = []
    places: list[tuple[int, int, int, int]] = []
    for number, (start, end) in enumerate(regions):
        spans, dropped = twin.split(ids, start, end)
        region = cut_region_text(found.asked.text, found.asked.token_chars, Span(start, end))
        attributed = attribute_region(region, twin.clean)
        assert [tuple(piece.span_tokens) for piece in attributed] == sorted(spans)
        is_stitched = spans != {(start, end)}
        for piece in attributed:
            text = twin.text(ids, *piece.span_tokens)
            holders = twin.holders(text)
            assert (piece.text, piece.note, piece.holders) == (text, holders[-1], tuple(holders))
            assert piece.note_chars.start == twin.clean[holders[-1]].index(text)
            labels = label_piece(piece, READER.read(twin.clean[piece.note]))
            assert labels.boilerplate.tolist() == twin.boilerplate(ids, *piece.span_tokens)
            compare_segments(found.asked, labels, piece, text)
        stitched += is_stitched
        dropped_tokens += dropped
        pieces += sorted(spans)
        places += [(number, place, *span) for place, span in enumerate(sorted(spans))]
        census["regions"] += 1
        census["stitched regions"] += is_stitched
        census["regions of three pieces and more"] += len(spans) >= 3
        census["overlapping pieces"] += (
            sum(map(len, map(range, *zip(*spans, strict=True)))) > end - start if spans else 0
        )
        census["dropped tokens"] += dropped
    census["regions that touch"] += sum(one[1] == other[0] for one, other in itertools.pairwise(regions))

    assert [(row["region_id"], row["piece"], row["token_start"], row["token_end"]) for row in found.regions] == places
    for row in found.regions:
        text = twin.text(ids, row["token_start"], row["token_end"])
        holders = twin.holders(text)
        assert lf(row["text"]) == lf(found.asked.text[row["char_start"] : row["char_end"]]) == text
        assert row["source_note_id"] == f"p{written.patient}-{holders[-1]}"
        assert (row["copy_forward_count"], row["patient_count"]) == (len(holders), patients_holding(text, people))
        own = [one for one in found.segments if (one["region_id"], one["piece"]) == (row["region_id"], row["piece"])]
        assert sum(one["tokens"] for one in own) == row["token_end"] - row["token_start"]
        assert sum(one["echo_tokens"] for one in own) == sum(echo[row["token_start"] : row["token_end"]])
        sources.add(holders[-1])
        census["pieces of K = 1"] += row["patient_count"] == 1
        census["pieces of K > 1"] += row["patient_count"] > 1
        census["pieces in several notes"] += len(holders) > 1
        census["long pieces"] += len(text.encode()) >= LONG_BYTES
        census["pieces with characters of several bytes"] += not text.isascii()

    covered = {token for span in pieces for token in range(*span)}
    left = sum(flag and token not in covered for token, flag in enumerate(memorized))
    # No rule saw them and no K is known of them: they are nobody's.
    assert found.dropped == ({"revealing_shared": left} if left else {})
    assert left <= dropped_tokens
    assert found.text_tokens == sum(memorized)
    counts = [max(row["patient_count"], row["masked_patient_count"]) for row in found.regions]
    headline = [(*span, count) for span, count in zip(pieces, counts, strict=True)]
    assert metrics["attributable_tokens"] == twin.attributable(ids, written.prompt or "", headline)
    census["tokens of the headline"] += metrics["attributable_tokens"]
    census["templated tokens of the headline"] += metrics["attributable_tokens"] > sum(
        one["tokens"] - one["templated_tokens"] for one in found.segments
    )

    assert (metrics["tokens"], metrics["memorized_tokens"], metrics["echo_tokens"]) == (
        len(ids),
        sum(memorized),
        sum(echo),
    )
    assert (metrics["regions"], metrics["stitched_regions"], metrics["source_notes"]) == (
        len(regions),
        stitched,
        len(sources),
    )
    chars = found.asked.token_chars
    texts = [found.asked.text[chars[start].start : chars[end - 1].end] for start, end in regions]
    assert (metrics["region_characters"], metrics["region_words"]) == (
        sum(map(len, texts)),
        sum(len(text.split()) for text in texts),
    )
    census["empty generations"] += not ids
    census["generations with nothing memorized"] += bool(ids) and not any(memorized)
    census["generations of several source notes"] += len(sources) > 1
    census["echoed tokens"] += sum(echo)
    census["nontrain generations with regions"] += bool(regions) and not corpus.train[written.patient]
    census["cut characters"] += "\ufffd" in found.asked.text
    as_it_stands = Twin(tokenizer, [note for note in twin.notes if "\r" not in note], corpus.n)
    census["tokens memorized from notes with carriage returns alone"] += sum(memorized) > sum(
        as_it_stands.memorized(ids)
    )


def compare_segments(asked, labels, piece, text):
    """Assert that segments partition the piece, in characters and in tokens."""
    start, end = piece.span_tokens
    begin, stop = asked.token_chars[start].start, asked.token_chars[end - 1].end
    cut = "".join(asked.text[slice(*segment.span_chars)] for segment in labels.segments)
    assert lf(cut) == lf(asked.text[begin:stop]) == text
    segment_of = labels.segment_of.tolist()
    assert segment_of == sorted(segment_of)
    for token, segment in zip(range(start, end), segment_of, strict=True):
        first, last = asked.token_chars[token]
        within = labels.segments[segment].span_chars
        assert first == last or within.start <= max(first, begin) < within.end


def count_notes(corpus, census):
    """Count what kinds of notes a corpus holds."""
    texts = [note for notes in corpus.patients for note in notes]
    everything = "".join(texts[:-1])
    census["patients with everything"] += bool(everything) and texts[-1] == everything
    for index, own in enumerate(corpus.patients):
        others = [note for at, notes in enumerate(corpus.patients) if at != index for note in notes]
        for note in own:
            census["notes"] += 1
            census["notes identical across patients"] += len(note) > 5 and note in others
            census["notes nested in another patient's"] += len(note) > 5 and any(
                note in other and note != other for other in others
            )
            census["tiny notes"] += len(note) <= 2
            census["notes with CR LF"] += "\r\n" in note
            census["notes with a lone CR"] += "\r" in note.replace("\r\n", "")
            census["notes with combining characters"] += any(map(unicodedata.combining, note))
            census["notes with emoji"] += "😀" in note
            census["long notes"] += len(note.encode()) >= 2 * LONG_BYTES
            census["periodic notes"] += any(
                len(note) >= 40 and note[period:] == note[:-period] for period in range(1, 21)
            )


def compare_specificity(rng, corpus, census, monkeypatch):
    """Assert K of many texts against the twin, with patients in several shards and texts in several automata."""
    monkeypatch.setattr(patient_specificity, "SHARD_BYTES", rng.choice([1, 200, patient_specificity.SHARD_BYTES]))
    monkeypatch.setattr(patient_specificity, "_MOST_CHARS", rng.choice([1, 1000, patient_specificity._MOST_CHARS]))
    texts = probes(rng, corpus.patients)
    patients = [*corpus.patients, ["", "\r"]]
    wanted = {text: patients_holding(text, patients) for text in texts}
    found = count_patients(pl.Series(sorted(texts), dtype=pl.String), pack_notes(patients), runner=LocalRunner(1))
    assert dict(found.iter_rows()) == wanted
    monkeypatch.undo()
    for text, count in wanted.items():
        long = len(text.encode()) >= LONG_BYTES
        census["texts of K = 0"] += not count
        census["long texts"] += long
        census["short texts"] += not long
        census["long texts of K > 1"] += long and count > 1
        census["long texts of K = 0"] += long and not count
        census["long texts at a note's start or end"] += long and any(
            lf(note).startswith(text) or lf(note).endswith(text) for notes in corpus.patients for note in notes
        )


@pytest.mark.parametrize("block", [FEW, *in_blocks(CORPORA, each=A_BLOCK)])
def test_a_block_of_corpora_equals_the_twin_and_holds_every_kind(tokenizer, tmp_path, monkeypatch, block):
    census: Counter[str] = Counter()
    for seed in block:
        rng = random.Random(seed)
        corpus = random_corpus(rng, tokenizer)
        count_notes(corpus, census)
        for written, found in zip(corpus.generations, analyze(corpus, tokenizer, tmp_path / str(seed)), strict=True):
            compare_generation(corpus, written, found, tokenizer, census)
        compare_specificity(rng, corpus, census, monkeypatch)
    assert [kind for kind in KINDS if not census[kind]] == []
