"""Random corpora with generations that make the analysis hard: copied, nested and periodic notes, stitched regions.

Everything follows from the random numbers that are passed in.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from support.memorization_twin import Ids, as_text, lf

from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer

LONG_BYTES = 47

MOST_TOKENS = 250

CLINICAL = [
    "cc: cough\n",
    "plan: rest\n",
    "ros:\n",
    "negative for ",
    "cough, ",
    "wheezing. ",
    "bp: 120/80 ",
    "on 1/2/2003 ",
    "hiv, ",
    " but ",
    "\n1/2/2003 seen ",
    "no history of ",
    "aspirin\u00a0daily; ",
    "last reviewed ",
]
SHORT = ["a", "b", "ab", "aab", "aaa", " ", ".", "\n"]
UNICODE = ["é", "e\u0301", "n\u0303", "漢字", "😀", "👩\u200d⚕️", "ß", "\u2028", "\ufeff", "🇫🇷", "naïve "]
RETURNS = ["\r\n", "\r", "\n", "\r\r\n", "\n\r", "plan:\r\n", "ab\r"]
TINY = ["a", "\na", "\ra", " .", "é", "😀", "cc:"]


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
        length = rng.randint(1, 120)
        texts |= {part, note, note[:length], note[-length:], note[-length:] + next_note[:length], "".join(changed)}
        texts |= {note + note[:1], periodic(rng)}
    return texts - {""}
