"""2,100 random corpora through matching, regions, attribution, the split, source notes and K, against the twin.

The twin (memorization_twin.py) is written from the definitions. Every block of a hundred corpora must hold each kind
that makes the analysis hard; a block without one fails, so that agreement is never that of two empty answers.
"""

import itertools
import json
import random
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.memorization_twin import Ids, Twin, as_text, lf, patients_holding

from clinaudit.audit.console.progress import Progress
from clinaudit.audit.generation.record import Generation
from clinaudit.audit.memorization.patient_matching import match_generations
from clinaudit.audit.memorization.patient_text import OwnNotes
from clinaudit.audit.memorization.specificity import patient_count as specificity
from clinaudit.audit.memorization.specificity import window_index
from clinaudit.audit.memorization.specificity.patient_count import SpecificityEngine, count_patients
from clinaudit.audit.memorization.summary import measure_generation
from clinaudit.audit.memorization.verbatim import AnalyzedGeneration, analyze_attributed
from clinaudit.audit.model.token_cache import TokenCache, open_token_cache
from clinaudit.audit.model.tokenizer import ModelTokenizer
from clinaudit.audit.run.directory import RunDirectory
from clinaudit.priors.corpus.corpus import Corpus, read_corpus
from clinaudit.priors.corpus.packed_notes import pack_notes
from clinaudit.templates.profile import load_profile

BLOCKS = 21
CORPORA_A_BLOCK = 100

# The window engine takes another way for texts of at least so many bytes (and the automaton below the first).
WAYS_BYTES = (15, 47, 63, 95)
LONG_BYTES = 47

MOST_TOKENS = 250

ENGINES: tuple[SpecificityEngine, ...] = ("aho-corasick", "windows")

PROFILE = load_profile()

CLINICAL = [
    "cc: cough\n",
    "plan: rest\n",
    "ros:\n",
    "negative for ",
    "cough, ",
    "wheezing. ",
    "bp: 120/80 ",
    "on 1/2/2003 ",
]
SHORT = ["a", "b", "ab", "aab", "aaa", " ", ".", "\n"]
UNICODE = ["é", "e\u0301", "n\u0303", "漢字", "😀", "👩\u200d⚕️", "ß", "\u2028", "\ufeff", "🇫🇷", "naïve "]
RETURNS = ["\r\n", "\r", "\n", "\r\r\n", "\n\r", "plan:\r\n", "ab\r"]
TINY = ["a", "\na", "\ra", " .", "é", "😀", "cc:"]


# What every block must hold.
KINDS = (
    "regions",
    "stitched regions",
    "regions of three pieces and more",
    "overlapping pieces",
    "dropped tokens",
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
    *(f"texts of {least - below} bytes" for least in WAYS_BYTES for below in (0, 1)),
)


@dataclass(frozen=True)
class Written:
    """One generation before its analysis: whose, from which prompt, and its ids."""

    patient: int
    prompt: str | None
    ids: Ids


@dataclass(frozen=True)
class RandomCorpus:
    """Patients with their notes, oldest first; whether each is of the train split; generations; the window."""

    patients: list[list[str]]
    train: list[bool]
    generations: list[Written]
    n: int


@pytest.fixture(scope="module")
def tokenizer(tokenizer_directory) -> ModelTokenizer:
    return ModelTokenizer(tokenizer_directory)


@pytest.fixture(scope="module")
def cache(tokenizer, tmp_path_factory) -> Iterator[TokenCache]:
    run = RunDirectory(tmp_path_factory.mktemp("cache") / "run")
    run.create()
    with open_token_cache(run, "digest", tokenizer) as cache:
        yield cache


def cut(rng: random.Random, text: str) -> str:
    """A part of a text, often from its start or to its end."""
    start = 0 if rng.random() < 0.3 else rng.randint(0, len(text))
    end = len(text) if rng.random() < 0.3 else rng.randint(start, len(text))
    return text[start:end]


def some_note(rng: random.Random, patients: Sequence[Sequence[str]]) -> str:
    notes = [note for own in patients for note in own]
    return rng.choice(notes) if notes else ""


def words(rng: random.Random) -> str:
    pool = rng.choice([CLINICAL, SHORT, UNICODE + SHORT, RETURNS + SHORT, CLINICAL + UNICODE + RETURNS + SHORT])
    return "".join(rng.choices(pool, k=rng.randint(1, 30)))


def periodic(rng: random.Random) -> str:
    unit = "".join(rng.choices("ab é😀\n", weights=[6, 4, 2, 1, 1, 1], k=rng.randint(1, 20)))
    return unit * (rng.randint(30, 160) // len(unit) + 1) + cut(rng, unit)


def random_note(rng: random.Random, patients: Sequence[Sequence[str]]) -> str:
    """One note; `patients` are those written before, to copy from."""
    kinds: list[Callable[[], str]] = [
        lambda: words(rng),
        lambda: words(rng) + words(rng),
        lambda: rng.choice(TINY),
        lambda: periodic(rng),
        lambda: words(rng) + periodic(rng) + words(rng),
        lambda: some_note(rng, patients),
        lambda: words(rng) + some_note(rng, patients) + words(rng),
        lambda: cut(rng, some_note(rng, patients)) + cut(rng, some_note(rng, patients)),
        lambda: lf(some_note(rng, patients)).replace("\n", rng.choice(["\r", "\r\n"])),
    ]
    note = rng.choice(kinds)()
    # A blank note is bad input.
    return note if note.strip() else note + "a"


def laid_end_to_end(
    rng: random.Random, patients: Sequence[Sequence[str]], own: Sequence[str], tokenizer: ModelTokenizer
) -> Ids:
    """Cuts of own notes, of other patients' notes and new words, cut in characters or in ids."""
    parts = []
    for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 4])):
        source = some_note(rng, [own]) if rng.random() < 0.7 else some_note(rng, patients)
        parts.append(cut(rng, source) if rng.random() < 0.85 else words(rng))
    if rng.random() < 0.5:
        return tokenizer.encode("".join(parts))
    # Cuts between ids cut characters of several bytes, too.
    ids: list[int] = []
    for part in parts:
        encoded = tokenizer.encode(rng.choice([part, lf(part)]))
        start = rng.randint(0, min(3, len(encoded)))
        ids += encoded[start : len(encoded) - rng.randint(0, min(3, len(encoded)))]
    if ids and rng.random() < 0.3:
        ids[rng.randrange(len(ids))] = rng.choice(
            [tokenizer.eos_id or 0, rng.choice(ids), rng.randrange(tokenizer.size)]
        )
    return tuple(ids)


def walked(rng: random.Random, own: Sequence[str], tokenizer: ModelTokenizer, n: int) -> Ids:
    """A way through own notes that jumps, now and then, to where the last n - 1 ids stand too: a stitched region."""
    notes = [as_text(tokenizer.encode(rng.choice([note, lf(note)]))) for note in own]
    note = rng.choice(notes)
    at = rng.randint(0, len(note))
    generated = ""
    while at < len(note) and len(generated) < MOST_TOKENS:
        generated += note[at]
        at += 1
        if rng.random() < 0.15 and len(generated) >= n - 1:
            overlap = generated[len(generated) - n + 1 :]
            places = [
                (other, start + n - 1)
                for other in notes
                for start in range(len(other))
                if other.startswith(overlap, start)
            ]
            note, at = rng.choice(places)
    return tuple(map(ord, generated))


def random_corpus(rng: random.Random, tokenizer: ModelTokenizer) -> RandomCorpus:
    patients: list[list[str]] = []
    for _ in range(rng.randint(1, 5)):
        own: list[str] = []
        for _ in range(rng.randint(1, 4)):
            own.append(random_note(rng, [*patients, own]))
        patients.append(own)
    if rng.random() < 0.2:
        patients.append(["".join(note for own in patients for note in own)])
    train = [rng.random() < 0.75 for _ in patients]
    n = rng.choice([1, 2, 2, 3, 3, 4, 4, 6, 8, 8, 30])
    generations = []
    for _ in range(rng.randint(1, 3)):
        index = rng.randrange(len(patients))
        prompt = rng.choice([None, "", words(rng), cut(rng, some_note(rng, [patients[index]]))])
        if rng.random() < 0.35:
            ids = walked(rng, patients[index], tokenizer, n)
        else:
            ids = laid_end_to_end(rng, patients, patients[index], tokenizer)
        generations.append(Written(index, prompt, ids[:MOST_TOKENS]))
    return RandomCorpus(patients, train, generations, n)


def probes(rng: random.Random, patients: Sequence[Sequence[str]]) -> set[str]:
    """Texts for K besides the pieces: many of 47 bytes and more, at notes' ends, across notes, and slightly wrong."""
    texts: set[str] = set()
    for _ in range(6):
        note, next_note = lf(some_note(rng, patients)), lf(some_note(rng, patients))
        part = cut(rng, note)
        changed = list(part)
        if changed:
            changed[rng.randrange(len(changed))] = "z"
        length = rng.choice([rng.randint(1, 120), rng.choice(WAYS_BYTES) + rng.randint(-1, 1)])
        texts |= {part, note, note[:length], note[-length:], note[-length:] + next_note[:length], "".join(changed)}
        texts |= {note + note[:1], periodic(rng)}
    return texts - {""}


def read_back(corpus: RandomCorpus, folder: Path) -> Corpus:
    """The corpus as an audit reads it, from tables."""
    folder.mkdir()
    patients = [
        {"patient_id": f"p{index}", "split": "train" if train else "nontrain"}
        for index, train in enumerate(corpus.train)
    ]
    notes = [
        {"patient_id": f"p{index}", "note_id": f"p{index}-{at}", "text": text}
        for index, own in enumerate(corpus.patients)
        for at, text in enumerate(own)
    ]
    for name, rows in (("patients", patients), ("notes", notes)):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    return read_corpus(folder)


def analyze(corpus: RandomCorpus, cache: TokenCache, folder: Path) -> list[AnalyzedGeneration]:
    generations = []
    for number, written in enumerate(corpus.generations):
        text, spans = cache.tokenizer.decode_with_spans(written.ids)
        generations.append(
            Generation(
                generation_id=str(number),
                patient_id=f"p{written.patient}",
                arm="train" if corpus.train[written.patient] else "nontrain",
                tier="public",
                diagnoses=(),
                cohorts=(),
                prompt=written.prompt,
                text=text,
                token_ids=written.ids,
                token_chars=tuple(spans),
                finish_reason="stop",
            )
        )
    notes, progress = read_back(corpus, folder), Progress(quiet=True)
    matched = match_generations(generations, OwnNotes(notes, cache, PROFILE), match_tokens=corpus.n, progress=progress)
    found = analyze_attributed((item.attributed for item in matched), notes, progress=progress)
    by_number = {int(item.attributed.generation.generation_id): item for item in found}
    return [by_number[number] for number in range(len(generations))]


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
    assert attributed.memorized == memorized
    echo = twin.echo(ids, written.prompt or "")
    assert attributed.echo == echo
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
    sources = set()
    assert [(piece.region_id, tuple(piece.piece.span_tokens)) for piece in attributed.pieces] == pieces
    for piece, count in zip(attributed.pieces, analyzed.patient_counts, strict=True):
        text = twin.text(ids, *piece.piece.span_tokens)
        holders = twin.holders(text)
        assert piece.piece.text == text
        assert (piece.piece.note, piece.piece.copy_forward_count) == (holders[-1], len(holders))
        assert piece.piece.note_start_chars == twin.clean[holders[-1]].index(text)
        assert piece.note_id == f"p{written.patient}-{holders[-1]}"
        assert count == patients_holding(text, people)
        sources.add(holders[-1])
        census["pieces of K = 1"] += count == 1
        census["pieces of K > 1"] += count > 1
        census["pieces in several notes"] += len(holders) > 1
        census["long pieces"] += len(text.encode()) >= LONG_BYTES
        census["pieces with characters of several bytes"] += not text.isascii()

    metrics = measure_generation(analyzed).metrics
    assert (metrics.tokens, metrics.memorized_tokens, metrics.echo_tokens) == (len(ids), sum(memorized), sum(echo))
    assert (metrics.regions, metrics.stitched_regions, metrics.source_notes) == (len(regions), stitched, len(sources))
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
    """Assert K of many texts against the twin, by either engine, as in a large corpus now and then."""
    # Patients taken in several parts, and strides that many texts make narrow.
    monkeypatch.setattr(specificity, "PART_BYTES", rng.choice([1, 200, specificity.PART_BYTES]))
    monkeypatch.setattr(window_index, "_MOST_WINDOWS", rng.choice([0, 1000, window_index._MOST_WINDOWS]))
    texts = probes(rng, corpus.patients)
    patients = [*corpus.patients, ["", "\r"]]
    wanted = {text: patients_holding(text, patients) for text in texts}
    for engine in ENGINES:
        assert count_patients(texts, pack_notes(patients), engine=engine, threads=2) == wanted
    monkeypatch.undo()
    for text, count in wanted.items():
        long = len(text.encode()) >= LONG_BYTES
        census["texts of K = 0"] += not count
        census["long texts"] += long
        for least in WAYS_BYTES:
            census[f"texts of {least} bytes"] += len(text.encode()) == least
            census[f"texts of {least - 1} bytes"] += len(text.encode()) == least - 1
        census["short texts"] += not long
        census["long texts of K > 1"] += long and count > 1
        census["long texts of K = 0"] += long and not count
        census["long texts at a note's start or end"] += long and any(
            lf(note).startswith(text) or lf(note).endswith(text) for notes in corpus.patients for note in notes
        )


@pytest.mark.parametrize("block", range(BLOCKS))
def test_a_hundred_corpora_equal_the_twin_and_hold_every_kind(
    tokenizer, cache, tmp_path, monkeypatch, block: int
) -> None:
    census: Counter[str] = Counter()
    for seed in range(block * CORPORA_A_BLOCK, (block + 1) * CORPORA_A_BLOCK):
        rng = random.Random(seed)
        corpus = random_corpus(rng, tokenizer)
        count_notes(corpus, census)
        for written, analyzed in zip(corpus.generations, analyze(corpus, cache, tmp_path / str(seed)), strict=True):
            compare_generation(corpus, written, analyzed, tokenizer, census)
        compare_specificity(rng, corpus, census, monkeypatch)
    assert [kind for kind in KINDS if not census[kind]] == []
