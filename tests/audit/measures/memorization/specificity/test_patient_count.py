"""K by both engines: one suite, counted by hand and against `in`."""

import random

import numpy as np
import pytest
from support.elsewhere import Elsewhere
from support.packed_notes import pack_notes
from support.simulations import first_of

from clinaudit.audit.measures.memorization.specificity import patient_count as specificity
from clinaudit.audit.measures.memorization.specificity.patient_count import (
    SpecificityEngine,
    copy_patients,
    count_patients,
)

BOTH = pytest.mark.parametrize("engine", ["aho-corasick", "windows"])


def k(texts: list[str], patients: list[list[str]], engine: SpecificityEngine) -> list[int]:
    found = count_patients(texts, pack_notes(patients), engine=engine, threads=2)
    assert list(found) == list(dict.fromkeys(texts))
    return [found[text] for text in texts]


def k_by_definition(texts: list[str], patients: list[list[str]]) -> list[int]:
    clean = [[note.replace("\r\n", "\n").replace("\r", "\n") for note in notes] for notes in patients]
    return [sum(any(text in note for note in notes) for notes in clean) for text in texts]


LONG = (
    "the patient reports a cough for three days, worse at night, and no fever at all. plan: rest and fluids, as before."
)


@BOTH
@pytest.mark.parametrize(
    ("texts", "patients", "expected"),
    [
        # Patients are counted, not notes and not occurrences.
        ([LONG], [[LONG, LONG + LONG], ["x" + LONG], ["nothing"]], [2]),
        # Carriage returns read as line feeds; the text has line feeds already.
        (["a\nb" * 20], [["a\r\nb" * 20], ["a\rb" * 20], ["a\nb" * 20], ["a b" * 20]], [3]),
        # Nothing crosses from one note into the next, of one patient or of two.
        ([LONG], [[LONG[:50], LONG[50:]], [LONG[:70]], [LONG[70:]]], [0]),
        # Case counts, and so does a letter whose lower case is longer.
        (["İSTANBUL " * 12, "i̇stanbul " * 12], [["İSTANBUL " * 12]], [1, 0]),
        # Nested and overlapping texts are all seen.
        ([LONG, LONG[20:80], LONG[40:], LONG[:60]], [[LONG], [LONG[:80]]], [1, 2, 1, 2]),
        # A text that is a note, one that begins it, one that ends it.
        ([LONG, "x" + LONG, LONG + "x"], [[LONG], ["x" + LONG], [LONG + "x"]], [3, 1, 1]),
        # Short texts beside long ones, of one byte to one below what the windows take.
        (["c", "cough", "a cough for t", "a cough for th", "漢", "漢字"], [[LONG], ["漢字"], [""]], [1, 1, 1, 1, 1, 1]),
        # Characters of several bytes do not match from within.
        (["é" * 30], [["é" * 31], ["é" * 29 + "e"], ["\u0301" + "é" * 29]], [1]),
        # Empty notes, and no patient at all.
        ([LONG], [["", ""], [""]], [0]),
        ([LONG, "x"], [], [0, 0]),
        ([], [[LONG]], []),
    ],
)
def test_by_hand(engine: SpecificityEngine, texts: list[str], patients: list[list[str]], expected: list[int]) -> None:
    assert k_by_definition(texts, patients) == expected
    assert k(texts, patients, engine) == expected


@BOTH
@pytest.mark.parametrize("length", [14, 15, 16, 46, 47, 48, 62, 63, 64, 94, 95, 96, 200])
def test_every_alignment_of_every_kind_of_window(engine: SpecificityEngine, length: int) -> None:
    rng = random.Random(length)
    text = "".join(rng.choices("abcdefgh", k=length))
    near = [text[:at] + "X" + text[at + 1 :] for at in range(length)]
    # At each of 70 places in the corpus, alone in its note; and once with each of its bytes changed.
    patients = [["." * rng.randrange(3), "-" * before + text] for before in range(70)] + [[one] for one in near]
    assert k([text], patients, engine) == [70]


@BOTH
@pytest.mark.parametrize("block", first_of(12, always=3))
def test_random_corpora(engine: SpecificityEngine, block: int) -> None:
    rng = random.Random(block)
    for _ in range(25):
        units = rng.choice(
            [["a"], ["a", "b"], ["ab", "é", "漢字", "😀", "\r\n", "\r", " "], [LONG[:37], LONG[37:60], "z"]]
        )
        patients = [
            ["".join(rng.choices(units, k=rng.randrange(120))) for _ in range(rng.randrange(1, 4))]
            for _ in range(rng.randrange(1, 9))
        ]
        if rng.random() < 0.5:
            patients.append([note for notes in patients for note in notes])
        clean = [note.replace("\r\n", "\n").replace("\r", "\n") for notes in patients for note in notes]
        texts = set()
        for _ in range(60):
            note = rng.choice(clean)
            begin = rng.randrange(len(note) + 1)
            text = note[begin : begin + rng.choice([1, 20, 50, 100, 400])]
            if rng.random() < 0.3:
                text += rng.choice([*units, "x"]).replace("\r\n", "\n").replace("\r", "\n")
            texts.add(text)
        wanted = sorted(texts - {""})
        assert k(wanted, patients, engine) == k_by_definition(wanted, patients)


@BOTH
def test_periodic_texts(engine: SpecificityEngine) -> None:
    texts = ["a" * length for length in (15, 47, 95, 300, 301)] + ["a" * 200 + "b", "b" + "a" * 200, "ab" * 100]
    texts += ["b" + "a" * length + "b" for length in (100, 5000, 5001)]
    patients = [["a" * 300], ["a" * 5000 + "b"], ["ab" * 101], ["a" * 94, "a" * 46, "a" * 14]]
    assert k(texts, patients, engine) == k_by_definition(texts, patients)


def test_many_texts_take_narrower_windows(monkeypatch) -> None:
    from clinaudit.audit.measures.memorization.specificity import window_index

    rng = random.Random(5)
    notes = [["".join(rng.choices("abcdefghij ", k=3000))] for _ in range(20)]
    texts = [notes[rng.randrange(20)][0][begin : begin + 150] for begin in range(0, 2800, 7)]
    packed = pack_notes(notes)
    wide = count_patients(texts, packed, engine="windows")
    for most in (400 * 40, 400 * 20, 1):
        monkeypatch.setattr(window_index, "_MOST_WINDOWS", most)
        (index,), left = window_index.build_indexes([text.encode() for text in texts], packed)
        assert left == []
        assert index.kind.stride == (32 if most == 400 * 40 else 16)
        assert count_patients(texts, packed, engine="windows") == wide == count_patients(texts, packed)


@pytest.mark.parametrize(
    ("texts", "strides"),
    [
        # Own characters within boilerplate: most windows of a wide block are everybody's, a narrow one has room.
        ([LONG[:70] + f"{number:06}" + LONG[70:] for number in range(300)], [32]),
        # Own characters behind it: no block is without shared windows, so these are for the automaton.
        (["-" * 300 + f"{number:06}" for number in range(5_000)], []),
        (["-" * 300 + f"{number:06}" for number in range(300)], [16]),
    ],
)
def test_texts_that_share_boilerplate_are_not_compared_at_each_of_its_places(texts: list[str], strides) -> None:
    from clinaudit.audit.measures.memorization.specificity import window_index

    patients = [[texts[0] + LONG, texts[7]], [texts[7][:-1]], ["-" * 4_000 + texts[5]]]
    packed = pack_notes(patients)
    indexes, left = window_index.build_indexes([text.encode() for text in texts], packed)
    assert [index.kind.stride for index in indexes] == strides
    assert len(left) == len(texts) - sum(len(index.members) for index in indexes)
    for index in indexes:
        assert max(index.buckets[1:] - index.buckets[:-1]) <= window_index._MOST_IN_ANY_BUCKET
    assert k(texts, patients, "windows") == k_by_definition(texts, patients)


def test_ranges_of_patients_add_up_and_progress_counts_every_byte(monkeypatch) -> None:
    patients = [[LONG, LONG[:60]], ["x"], [LONG * 3], [""], [LONG]]
    notes = pack_notes(patients)
    for part in (1, 100, 10_000):
        monkeypatch.setattr(specificity, "PART_BYTES", part)
        for texts in ([LONG], ["x"], [LONG, "x"]):
            seen: list[int] = []
            found = count_patients(texts, notes, engine="windows", threads=3, advance=seen.append)
            assert found == dict(zip(texts, k_by_definition(texts, patients), strict=True))
            assert sum(seen) == pytest.approx(notes.size, abs=len(patients) * 2)


def test_an_empty_text_is_refused() -> None:
    with pytest.raises(ValueError, match="empty text"):
        count_patients([""], pack_notes([["a"]]))


def test_shards_of_a_corpus_count_as_the_whole() -> None:
    rng = np.random.default_rng(5)
    words = ["fever", "cough", "naïve", "denies pain", "x" * 90, "\n"]
    patients = [[" ".join(rng.choice(words, size=40)) for _ in range(3)] for _ in range(30)]
    notes = pack_notes(patients)
    texts = {patients[index][0][begin : begin + size] for index in range(30) for begin, size in ((3, 4), (9, 60))}
    sharded = count_patients(texts, notes, engine="windows", runner=Elsewhere())
    assert sharded == count_patients(texts, notes, engine="windows")
    assert sharded == count_patients(texts, notes, engine="aho-corasick")
    part = copy_patients(notes, range(7, 9))
    assert [part.notes_of(0), part.notes_of(1)] == [notes.notes_of(7), notes.notes_of(8)]
