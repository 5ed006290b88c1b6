"""How many notes an answer draws on, and which tokens of a piece are templated, by hand."""

import pytest

from clinaudit.audit.measures.memorization.source_attribution import (
    attribute_region,
    count_source_notes,
    cut_region_text,
)
from clinaudit.audit.measures.memorization.verbatim import label_piece
from clinaudit.templates.note import NoteReader
from clinaudit.templates.profile import load_profile
from clinaudit.templates.spans import Span


@pytest.mark.parametrize(
    ("holders", "expected"),
    [
        ([], (0, 0)),
        ([(0,)], (1, 1)),
        # The latest note of each piece is another; one note holds all three.
        ([(0, 1), (0, 2), (0, 3)], (4, 1)),
        ([(0,), (1,), (2,)], (3, 3)),
        # Notes 1 and 2 cover it.
        ([(1,), (1, 3), (2,), (2,)], (3, 2)),
        # Greedy takes note 4, which holds most, and then needs two more; 5 and 6 would do.
        ([(5,), (4, 5), (4, 5), (4, 6), (4, 6), (6,)], (3, 3)),
    ],
)
def test_by_hand(holders, expected):
    assert count_source_notes(holders) == expected


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
