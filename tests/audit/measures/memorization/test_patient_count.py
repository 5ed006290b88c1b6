"""K counted by hand and against `in`; of random corpora it is held by `test_randomized_corpora.py`."""

import polars as pl
import pytest
from support.packed_notes import pack_notes

from clinaudit.audit.measures.memorization.patient_count import count_patients


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
def test_by_hand(texts, patients, expected):
    assert k_by_definition(texts, patients) == expected
    assert k(texts, patients) == expected
