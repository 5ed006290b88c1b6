"""Matches, regions, source notes and K by hand; of random corpora the twins hold them."""

import numpy as np
import polars as pl
import pytest
from support.packed_notes import pack_notes

from clinaudit.audit.measures.memorization.patient_specificity import count_patients, number_texts
from clinaudit.audit.measures.memorization.patient_text import concatenate_sequences
from clinaudit.audit.measures.memorization.source_attribution import attribute_region, cut_region_text
from clinaudit.audit.measures.memorization.verbatim import (
    covered_tokens,
    find_matches,
    label_piece,
    merge_overlapping_matches,
)
from clinaudit.templates.note import NoteReader
from clinaudit.templates.profile import load_profile
from clinaudit.templates.shown_text import Span


def matches(generations, notes, n):
    return [
        begins.tolist()
        for begins in find_matches(concatenate_sequences(generations), concatenate_sequences(notes), match_tokens=n)
    ]


def test_no_match_crosses_from_one_sequence_into_the_next():
    run = list(range(40))
    assert not any(matches([run], [run[:20], run[20:]], 30)[0])
    assert not any(flag for begins in matches([run[:20], run[20:]], [run], 30) for flag in begins)
    assert matches([run], [run], 30) == [[True] * 11 + [False] * 29]


def flags(text):
    return np.array([char == "x" for char in text])


@pytest.mark.parametrize(
    ("begins", "n", "covered", "regions"),
    [
        ("", 3, "", []),
        (".....", 3, ".....", []),
        ("x....", 3, "xxx..", [(0, 3)]),
        # Matches that share one token merge; matches that only touch stay apart.
        ("x.x....", 3, "xxxxx..", [(0, 5)]),
        ("x..x...", 3, "xxxxxx.", [(0, 3), (3, 6)]),
        ("xx...x...", 3, "xxxx.xxx.", [(0, 4), (5, 8)]),
        # With n = 1 nothing overlaps.
        ("xx.x", 1, "xx.x", [(0, 1), (1, 2), (3, 4)]),
    ],
)
def test_covered_tokens_and_regions(begins, n, covered, regions):
    assert covered_tokens(flags(begins), match_tokens=n).tolist() == flags(covered).tolist()
    assert [tuple(region) for region in merge_overlapping_matches(flags(begins), match_tokens=n)] == regions


PROFILE = load_profile()


def test_a_token_is_templated_where_any_of_its_characters_is():
    note = "cc: cough\nsee hpi now\nplan: rest"
    # Tokens cut across the rules' spans: "cc:", "see hpi" and "plan:".
    tokens = ["c", "c: ", "co", "ugh\ns", "ee", " hpi n", "ow", "\np", "lan", ":", "", " rest"]
    ends = [sum(map(len, tokens[: index + 1])) for index in range(len(tokens))]
    spans = [Span(end - len(token), end) for token, end in zip(tokens, ends, strict=True)]
    # The generation holds the note from "c: " on, after a word of its own; its piece is all of that.
    text = "new " + note[1:]
    chars = [Span(0, 4), *(Span(start + 3, end + 3) for start, end in spans[1:])]
    region = cut_region_text(text, chars, Span(1, len(tokens)))
    (piece,) = attribute_region(region, [note])
    assert (piece.text, piece.note_chars) == (note[1:], Span(1, len(note)))
    segments, segment_of, is_templated, _ = label_piece(piece, NoteReader(PROFILE).read(note))
    templated = [token for token, flag in zip(tokens[1:], is_templated, strict=True) if flag]
    assert templated == ["c: ", "ugh\ns", "ee", " hpi n", "\np", "lan", ":"]
    assert [segments[segment].name for segment in segment_of] == ["Chief Complaint"] * 7 + ["Plan"] * 4
    assert [(segment.name, text[slice(*segment.span_chars)]) for segment in segments] == [
        ("Chief Complaint", "c: cough\nsee hpi now\n"),
        ("Plan", "plan: rest"),
    ]


def k(texts, patients):
    found = dict(count_patients(pl.Series(texts, dtype=pl.String), pack_notes(patients)).iter_rows())
    assert found.keys() == set(texts)
    return [found[text] for text in texts]


def k_by_definition(texts, patients):
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
        # Ruled lines of one anchor, shorter and longer than those of the notes.
        (["-" * length for length in (40, 70, 71, 99)], [["-" * 70 + "\n" + "-" * 60], ["-" * 98]], [2, 2, 1, 0]),
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
def test_patients_are_counted_by_hand(texts, patients, expected):
    assert k_by_definition(texts, patients) == expected
    assert k(texts, patients) == expected


def test_equal_texts_have_one_number_and_different_ones_have_two():
    text = np.frombuffer(b"she raises goats. she raises goats! he keeps bees.", dtype=np.uint8)
    rng = np.random.default_rng(0)
    begins = np.append([0, 18, 0, 36], rng.integers(0, 45, 500))
    ends = np.append([16, 34, 17, 50], begins[4:] + rng.integers(1, 6, 500))
    texts = [bytes(text[begin:end]) for begin, end in zip(begins, ends, strict=True)]
    distinct, numbers = number_texts(text, begins, ends)
    assert [bytes(text[distinct.begins[one] : distinct.ends[one]]) for one in numbers.tolist()] == texts
    assert numbers.tolist()[:4] == [0, 0, 1, 2]
    assert len(distinct.begins) == len(set(texts))
