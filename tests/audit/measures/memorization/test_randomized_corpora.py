"""2,100 random corpora through matching, regions, attribution, the split, source notes and K, against the twin.

The twin (memorization_twin.py) is written from the definitions. All blocks but the first are simulations. Every block
of a hundred corpora must hold each kind that makes the analysis hard; a block without one fails, so that agreement is
never that of two empty answers.
"""

import itertools
import random
import unicodedata
from collections import Counter
from pathlib import Path

import pytest
from support.analyzed_generations import analyze_generations
from support.memorization_twin import Twin, lf, patients_holding
from support.packed_notes import pack_notes
from support.random_corpora import LONG_BYTES, RandomCorpus, Written, probes, random_corpus
from support.random_tables import answers_of, read_drawn
from support.simulations import first_of

from clinaudit.audit.measures.memorization import patient_count
from clinaudit.audit.measures.memorization.generation_metrics import measure_generation
from clinaudit.audit.measures.memorization.patient_count import count_patients
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.measures.memorization.verbatim import AnalyzedGeneration, TokenFlags
from clinaudit.audit.runtime.cluster.ray_runner import LocalRunner
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.templates.names import UNASSIGNED
from clinaudit.templates.profile import load_profile

BLOCKS = 21
CORPORA_A_BLOCK = 100

PROFILE = load_profile()

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


@pytest.fixture(scope="module")
def tokenizer(tokenizer_directory) -> ModelTokenizer:
    return ModelTokenizer(tokenizer_directory)


def analyze(corpus: RandomCorpus, tokenizer: ModelTokenizer, folder: Path) -> list[AnalyzedGeneration]:
    generations = answers_of(corpus, tokenizer)
    notes = MatchedCorpus(read_drawn(corpus, folder), tokenizer, PROFILE)
    found = analyze_generations(generations, notes, match_tokens=corpus.n)
    return [found[str(number)] for number in range(len(generations))]


def compare_generation(
    corpus: RandomCorpus,
    written: Written,
    analyzed: AnalyzedGeneration,
    tokenizer: ModelTokenizer,
    census: Counter[str],
) -> None:
    """Assert that the analysis of one generation is the twin's, and count what kinds it holds."""
    ids, attributed = written.ids, analyzed.attributed
    twin = Twin(tokenizer, corpus.patients[written.patient], corpus.n)
    memorized = twin.memorized(ids)
    assert tuple(attributed.memorized) == memorized
    echo = twin.echo(ids, written.prompt or "")
    assert tuple(attributed.echo) == echo
    regions = twin.regions(ids)
    assert [tuple(region.span_tokens) for region in attributed.regions] == regions

    pieces: list[tuple[int, tuple[int, int]]] = []
    stitched = 0
    for number, (region, (start, end)) in enumerate(zip(attributed.regions, regions, strict=True)):
        spans, dropped = twin.split(ids, start, end)
        assert [tuple(piece.span_tokens) for piece in region.pieces] == sorted(spans)
        assert region.dropped_tokens == dropped
        assert region.stitched == (spans != {(start, end)})
        stitched += region.stitched
        pieces += [(number, span) for span in sorted(spans)]
        census["regions"] += 1
        census["stitched regions"] += region.stitched
        census["regions of three pieces and more"] += len(spans) >= 3
        census["overlapping pieces"] += (
            sum(map(len, map(range, *zip(*spans, strict=True)))) > end - start if spans else 0
        )
        census["dropped tokens"] += dropped
    census["regions that touch"] += sum(one[1] == other[0] for one, other in itertools.pairwise(regions))

    people = [notes for notes, train in zip(corpus.patients, corpus.train, strict=True) if train]
    if not corpus.train[written.patient]:
        people.append(corpus.patients[written.patient])
    sources, holding = set(), set()
    assert [(piece.region_id, tuple(piece.piece.span_tokens)) for piece in attributed.pieces] == pieces
    for piece, count in zip(attributed.pieces, analyzed.patient_counts, strict=True):
        text = twin.text(ids, *piece.piece.span_tokens)
        holders = twin.holders(text)
        assert piece.piece.text == text
        assert (piece.piece.note, piece.piece.copy_forward_count) == (holders[-1], len(holders))
        assert piece.piece.note_start_chars == twin.clean[holders[-1]].index(text)
        assert piece.note_id == f"p{written.patient}-{holders[-1]}"
        assert count == patients_holding(text, people)
        assert piece.piece.holders == tuple(holders)
        segment_of, _, boilerplate = piece.labels.tolist()
        assert list(map(bool, boilerplate)) == twin.boilerplate(ids, *piece.piece.span_tokens)
        # Segments partition the piece, in characters and in tokens.
        given = attributed.generation.text
        cut = "".join(given[slice(*segment.span_chars)] for segment in piece.segments)
        assert lf(cut) == lf(given[slice(*piece.span_chars)]) == text
        assert segment_of == sorted(segment_of)
        for token, segment in zip(range(*piece.piece.span_tokens), segment_of, strict=True):
            begin, end = attributed.generation.token_chars[token]
            within = piece.segments[segment].span_chars
            assert begin == end or within.start <= max(begin, piece.span_chars.start) < within.end
        sources.add(holders[-1])
        holding.update(holders)
        census["pieces of K = 1"] += count == 1
        census["pieces of K > 1"] += count > 1
        census["pieces in several notes"] += len(holders) > 1
        census["long pieces"] += len(text.encode()) >= LONG_BYTES
        census["pieces with characters of several bytes"] += not text.isascii()

    covered = {token for piece in attributed.pieces for token in range(*piece.piece.span_tokens)}
    at = [token for token, flag in enumerate(memorized) if flag]
    for token, flags in zip(at, analyzed.tokens, strict=True):
        if token not in covered:
            assert flags == TokenFlags(UNASSIGNED, True, False, False, echo[token], False)
    headlines = [
        twin.attributable(ids, written.prompt or "", [(*span, k) for (_, span), k in zip(pieces, ks, strict=True)])
        for ks in (
            analyzed.patient_counts,
            map(max, zip(analyzed.patient_counts, analyzed.masked_patient_counts, strict=True)),
        )
    ]
    assert headlines == [analyzed.attributable_tokens_unmasked, analyzed.attributable_tokens]
    census["tokens of the headline"] += headlines[1]
    census["templated tokens of the headline"] += sum(
        not (flags.revealing or flags.boilerplate or flags.echo) and flags.patient_specific for flags in analyzed.tokens
    )

    metrics = measure_generation(analyzed, (0, None, None))
    assert (metrics.tokens, metrics.memorized_tokens, metrics.echo_tokens) == (len(ids), sum(memorized), sum(echo))
    assert (metrics.regions, metrics.stitched_regions, metrics.source_notes) == (len(regions), stitched, len(sources))
    assert metrics.source_notes_any == len(holding)
    assert bool(sources) <= (metrics.source_notes_min or 0) <= len(holding)
    census["empty generations"] += not ids
    census["generations with nothing memorized"] += bool(ids) and not any(memorized)
    census["generations of several source notes"] += len(sources) > 1
    census["echoed tokens"] += sum(echo)
    census["nontrain generations with regions"] += bool(regions) and not corpus.train[written.patient]
    census["cut characters"] += "\ufffd" in attributed.generation.text
    as_it_stands = Twin(tokenizer, [note for note in twin.notes if "\r" not in note], corpus.n)
    census["tokens memorized from notes with carriage returns alone"] += sum(memorized) > sum(
        as_it_stands.memorized(ids)
    )


def count_notes(corpus: RandomCorpus, census: Counter[str]) -> None:
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


def compare_specificity(
    rng: random.Random, corpus: RandomCorpus, census: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Assert K of many texts against the twin, with patients in several shards and texts in several automata."""
    monkeypatch.setattr(patient_count, "PART_BYTES", rng.choice([1, 200, patient_count.PART_BYTES]))
    monkeypatch.setattr(patient_count, "_MOST_CHARS", rng.choice([1, 1000, patient_count._MOST_CHARS]))
    texts = probes(rng, corpus.patients)
    patients = [*corpus.patients, ["", "\r"]]
    wanted = {text: patients_holding(text, patients) for text in texts}
    assert count_patients(texts, pack_notes(patients), runner=LocalRunner(1)) == wanted
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


@pytest.mark.parametrize("block", first_of(BLOCKS, always=1))
def test_a_hundred_corpora_equal_the_twin_and_hold_every_kind(tokenizer, tmp_path, monkeypatch, block: int) -> None:
    census: Counter[str] = Counter()
    for seed in range(block * CORPORA_A_BLOCK, (block + 1) * CORPORA_A_BLOCK):
        rng = random.Random(seed)
        corpus = random_corpus(rng, tokenizer)
        count_notes(corpus, census)
        for written, analyzed in zip(corpus.generations, analyze(corpus, tokenizer, tmp_path / str(seed)), strict=True):
            compare_generation(corpus, written, analyzed, tokenizer, census)
        compare_specificity(rng, corpus, census, monkeypatch)
    assert [kind for kind in KINDS if not census[kind]] == []
