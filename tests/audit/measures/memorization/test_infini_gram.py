"""Memorized tokens against infini-gram, a tool not ours: the same flags from the same ids, token by token.

infini-gram (Liu et al. 2024) indexes one patient's notes in a suffix array and answers, for each token of a
generation, where the longest match that begins there ends (`creativity`). From that follows what our own matching
says by another way: a token is memorized where it lies in such a match of at least n tokens.

Four things about that tool, each seen in its code or its answers:

- Each note is a document of its own, with the separator 65535 in front. No generation holds that id, so no match
  crosses from one note into the next.
- Ids are 16 bits wide there. A model's ids are larger, so they are numbered anew, by first sight.
- A rest of a generation that sorts before everything indexed gets the answer "no match", even where its beginning
  stands in a note. Id 0 is therefore kept for a document of its own, which sorts before any rest of a generation.
- The index of a small corpus is silently wrong when it is built with two processes; one is used.
"""

import contextlib
import random
import resource
import sys
from typing import Any
from unittest import mock

import numpy as np
import pytest
from support.simulations import first_of

from clinaudit.audit.measures.memorization.patient_text import concatenate_sequences
from clinaudit.audit.measures.memorization.verbatim import covered_tokens, find_matches
from clinaudit.templates.note import normalize_newlines

engine_module = pytest.importorskip("infini_gram.engine", exc_type=ImportError)
indexing = pytest.importorskip("infini_gram.indexing", exc_type=ImportError)


TAU = 30
# What turns the test tokenizer's few ids into those of a vocabulary that 16 bits do not hold.
SPREAD = 500

PHRASES = [
    "cc: cough\n",
    "hpi: patient presents with cough for two days. ",
    "negative for cough, wheezing. ",
    "respiratory: clear to auscultation\r\n",
    "café au lait spots 漢字 noted 😀 ",
    "plan: rest and fluids, return in two weeks\n",
    "bp: 120/80 p: 72 r: 16 ",
    "lisinopril 10 mg daily; metformin 500 mg twice daily. ",
    "aaaa",
    "ab ",
]


def build_index(folder):
    """Run infini-gram's command here; it would leave this process in its folder, and with fewer files to open."""
    options = ["--token_dtype", "u16", "--cpus", "1", "--mem", "1"]
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(None),
        mock.patch.object(sys, "argv", ["indexing", "--data_dir", str(folder), "--save_dir", str(folder), *options]),
        mock.patch.object(resource, "setrlimit"),
    ):
        indexing.main()


class Reference:
    """infini-gram over one patient's notes, in a folder of its own."""

    def __init__(self, folder, notes):
        self._number: dict[int, int] = {}
        documents = [[0], *([self._numbered(token_id) for token_id in note] for note in notes)]
        tokens = [np.array([65535, *document], dtype="<u2").tobytes() for document in documents]
        offsets = np.cumsum([0, *map(len, tokens[:-1])], dtype="<u8")
        folder.mkdir()
        # These two files are what its own first step, which makes ids from text, would leave; it then skips that step.
        (folder / "tokenized.0").write_bytes(b"".join(tokens))
        (folder / "offset.0").write_bytes(offsets.tobytes())
        build_index(folder)
        self._engine: Any = engine_module.InfiniGramEngine(
            index_dir=str(folder), eos_token_id=65534, token_dtype="u16", load_to_ram=True
        )

    def _numbered(self, token_id):
        number = self._number.setdefault(token_id, len(self._number) + 1)
        assert number < 65534
        return number

    def longest_matches(self, generated):
        """For each token of a generation, where the longest match that begins there ends."""
        ends: list[int] = self._engine.creativity(input_ids=[self._numbered(token_id) for token_id in generated])["rs"]
        assert len(ends) == len(generated)
        return ends

    def memorized(self, generated, *, n):
        return flags_of(self.longest_matches(generated), n=n)


def flags_of(ends, *, n):
    """Which tokens lie in a match of at least n tokens."""
    flags = [False] * len(ends)
    for start, end in enumerate(ends):
        if end - start >= n:
            flags[start:end] = [True] * (end - start)
    return flags


def ours(generated, notes, *, n):
    (begins,) = find_matches(concatenate_sequences([generated]), concatenate_sequences(notes), match_tokens=n)
    return covered_tokens(begins, match_tokens=n).tolist()


def invented_patients(rng):
    """Some patients with notes that repeat each other, within a patient and across them."""
    shared = "".join(rng.choices(PHRASES, k=6))
    patients: list[list[str]] = []
    for _ in range(3):
        notes: list[str] = []
        for _ in range(rng.randint(2, 5)):
            copied = rng.choice(notes)[rng.randrange(20) :] if notes and rng.random() < 0.6 else ""
            periodic = rng.choice(PHRASES[-2:]) * rng.randrange(60)
            parts = [shared, copied, periodic, *rng.choices(PHRASES, k=8)]
            notes.append("".join(rng.sample(parts, k=len(parts))))
        patients.append([*notes, "cc: cough", ""])
    return patients


def ids_of(tokenizer, notes):
    """The ids of notes as `PatientText` takes them: as they stand, and with line feeds only."""
    texts = [*notes, *(normalize_newlines(note) for note in notes if "\r" in note)]
    return [tuple(int(token_id) * SPREAD for token_id in ids) for ids in tokenizer.encode_many(texts)]


def stitched_generation(rng, patients):
    """Cuts of the first patient's notes and of others' laid end to end, with some ids changed, lost or put in."""
    generated: list[int] = []
    for _ in range(rng.randint(0, 6)):
        note = rng.choice(patients[0] if rng.random() < 0.6 else rng.choice(patients))
        start = rng.randint(0, len(note))
        # Around τ above all: 29 ids that match must count for nothing, 30 for all.
        generated += note[start : start + rng.choice([1, 5, TAU - 1, TAU, TAU + 1, 2 * TAU, 200])]
    for _ in range(rng.choice([0, 0, 1, 3]) if generated else 0):
        at = rng.randint(0, len(generated))
        known = rng.choice(patients[0][0])
        generated[at : at + rng.randint(0, 1)] = rng.choice([[known], [], [known + 1], [known, known]])
    return tuple(generated)


@pytest.mark.parametrize("seed", first_of(4, always=2))
def test_same_tokens_are_memorized(tokenizer, tmp_path, seed):
    rng = random.Random(seed)
    patients = [ids_of(tokenizer, notes) for notes in invented_patients(rng)]
    reference = Reference(tmp_path / "index", patients[0])
    generations = [stitched_generation(rng, patients) for _ in range(40)] + [note for own in patients for note in own]
    flags: list[bool] = []
    for generated in generations:
        ends = reference.longest_matches(generated)
        for n in (TAU, 7, 2):
            assert flags_of(ends, n=n) == ours(generated, patients[0], n=n)
        flags += ours(generated, patients[0], n=TAU)
    # Neither a comparison of nothing with nothing nor one of all with all.
    assert 0.1 < sum(flags) / len(flags) < 0.9


def test_no_match_crosses_from_one_note_into_the_next(tmp_path):
    notes = [tuple(range(100_000, 100_060)), tuple(range(200_000, 200_060))]
    reference = Reference(tmp_path / "index", notes)
    across = notes[0][-TAU + 1 :] + notes[1][: TAU - 1]
    assert reference.memorized(across, n=TAU) == ours(across, notes, n=TAU) == [False] * len(across)
    one_more = notes[0][-TAU:] + notes[1][: TAU - 1]
    wanted = [True] * TAU + [False] * (TAU - 1)
    assert reference.memorized(one_more, n=TAU) == ours(one_more, notes, n=TAU) == wanted


def test_a_rest_that_sorts_before_the_whole_index_is_matched_too(tmp_path):
    # The first id seen gets the lowest number, and the rest [1, 1, …] then sorts before the note's own [1, 2, …].
    note = tuple(range(100_000, 100_000 + TAU))
    generated = note[:1] * 3 + note
    reference = Reference(tmp_path / "index", [note])
    assert reference.memorized(generated, n=1) == ours(generated, [note], n=1) == [True] * len(generated)
    assert reference.memorized(generated, n=TAU) == ours(generated, [note], n=TAU) == [False] * 3 + [True] * TAU


@pytest.mark.parametrize(
    ("length", "changed", "left"),
    [
        # One id of a run is changed: what remains on either side counts only where it is still τ long.
        (45, 20, []),
        (45, 40, [range(40)]),
        (70, 35, [range(35), range(36, 70)]),
        (60, 29, [range(30, 60)]),
        (60, 30, [range(30)]),
        (TAU, 0, []),
    ],
)
def test_both_see_a_planted_fault(tmp_path, length, changed, left):
    note = tuple(range(150_000, 150_200))
    reference = Reference(tmp_path / "index", [note, note[::-1]])
    run = note[50 : 50 + length]
    assert reference.memorized(run, n=TAU) == ours(run, [note, note[::-1]], n=TAU) == [True] * length
    faulty = (*run[:changed], note[7], *run[changed + 1 :])
    wanted = [any(index in part for part in left) for index in range(length)]
    assert reference.memorized(faulty, n=TAU) == ours(faulty, [note, note[::-1]], n=TAU) == wanted
