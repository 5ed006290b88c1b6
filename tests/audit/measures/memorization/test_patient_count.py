"""K counted by hand and against `in`; of random corpora it is held by `test_randomized_corpora.py`."""

import numpy as np
import polars as pl
import pytest
from support.elsewhere import Elsewhere
from support.packed_notes import pack_notes

from clinaudit.audit.measures.memorization import patient_count
from clinaudit.audit.measures.memorization.patient_count import count_patients
from clinaudit.audit.runtime.cluster.ray_runner import LocalRunner, ShardRunner


def k(texts: list[str], patients: list[list[str]]) -> list[int]:
    found = dict(count_patients(pl.Series(texts, dtype=pl.String), pack_notes(patients)).iter_rows())
    assert found.keys() == set(texts)
    return [found[text] for text in texts]


def k_by_definition(texts: list[str], patients: list[list[str]]) -> list[int]:
    clean = [[note.replace("\r\n", "\n").replace("\r", "\n") for note in notes] for notes in patients]
    return [sum(any(text in note for note in notes) for notes in clean) for text in texts]


LONG = (
    "the patient reports a cough for three days, worse at night, and no fever at all. plan: rest and fluids, as before."
)


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
        # Short texts beside long ones.
        (["c", "cough", "a cough for t", "a cough for th", "漢", "漢字"], [[LONG], ["漢字"], [""]], [1, 1, 1, 1, 1, 1]),
        # Characters of several bytes do not match from within.
        (["é" * 30], [["é" * 31], ["é" * 29 + "e"], ["\u0301" + "é" * 29]], [1]),
        # Empty notes, and no patient at all.
        ([LONG], [["", ""], [""]], [0]),
        ([LONG, "x"], [], [0, 0]),
        ([], [[LONG]], []),
    ],
)
def test_by_hand(texts: list[str], patients: list[list[str]], expected: list[int]) -> None:
    assert k_by_definition(texts, patients) == expected
    assert k(texts, patients) == expected


def test_periodic_texts() -> None:
    texts = ["a" * length for length in (15, 47, 95, 300, 301)] + ["a" * 200 + "b", "b" + "a" * 200, "ab" * 100]
    texts += ["b" + "a" * length + "b" for length in (100, 5000, 5001)]
    patients = [["a" * 300], ["a" * 5000 + "b"], ["ab" * 101], ["a" * 94, "a" * 46, "a" * 14]]
    assert k(texts, patients) == k_by_definition(texts, patients)


def test_a_phrase_without_end_is_counted_as_soon_as_any_text() -> None:
    # An automaton of all its states would take hours to build.
    phrase = "the " * 100_000
    assert k([phrase, "x" + phrase], [[phrase], [phrase + "x"], [phrase[:-1]]]) == [2, 0]


def test_an_empty_text_is_refused() -> None:
    with pytest.raises(ValueError, match="empty text"):
        count_patients(pl.Series([""]), pack_notes([["a"]]))


@pytest.mark.parametrize("runner", [LocalRunner(1), LocalRunner(3), Elsewhere()])
@pytest.mark.parametrize(("part_bytes", "most_chars"), [(1, 1), (100, 100), (10_000, 10_000)])
def test_shards_and_several_automata_count_as_one(
    monkeypatch: pytest.MonkeyPatch, runner: ShardRunner, part_bytes: int, most_chars: int
) -> None:
    rng = np.random.default_rng(5)
    words = ["fever", "cough", "naïve", "denies pain", "x" * 90, "\n"]
    patients = [[" ".join(rng.choice(words, size=40)) for _ in range(3)] for _ in range(8)]
    texts = [patients[index][0][begin : begin + size] for index in range(8) for begin, size in ((3, 4), (9, 60))]
    notes = pack_notes(patients)
    monkeypatch.setattr(patient_count, "PART_BYTES", part_bytes)
    monkeypatch.setattr(patient_count, "_MOST_CHARS", most_chars)
    monkeypatch.setattr(patient_count, "_STEP_BYTES", part_bytes)
    seen: list[int] = []
    found = dict(count_patients(pl.Series(texts), notes, runner=runner, advance=seen.append).iter_rows())
    assert [found[text] for text in texts] == k_by_definition(texts, patients)
    assert sum(seen) == pytest.approx(notes.size)
