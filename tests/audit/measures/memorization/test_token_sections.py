"""Which tokens of a piece are templated, and in which section they stand."""

from clinaudit.audit.measures.memorization.source_attribution import Piece, cut_region_text
from clinaudit.audit.measures.memorization.verbatim import compose_piece
from clinaudit.templates.note import NoteReader
from clinaudit.templates.profile import load_profile
from clinaudit.templates.spans import Span

PROFILE = load_profile()


def test_a_token_is_templated_where_any_of_its_characters_is() -> None:
    note = "cc: cough\nsee hpi now\nplan: rest"
    # Tokens cut across the rules' spans: "cc:", "see hpi" and "plan:".
    tokens = ["c", "c: ", "co", "ugh\ns", "ee", " hpi n", "ow", "\np", "lan", ":", "", " rest"]
    ends = [sum(map(len, tokens[: index + 1])) for index in range(len(tokens))]
    spans = [Span(end - len(token), end) for token, end in zip(tokens, ends, strict=True)]
    # The generation holds the note from "c: " on, after a word of its own; its piece is all of that.
    text = "new " + note[1:]
    chars = [Span(0, 4), *(Span(start + 3, end + 3) for start, end in spans[1:])]
    region = cut_region_text(text, chars, Span(1, len(tokens)))
    piece = Piece(Span(1, len(tokens)), note[1:], note=0, note_start_chars=1, copy_forward_count=1)
    labels, segments = compose_piece(piece, region, NoteReader(PROFILE).read(note))
    templated = [token for token, label in zip(tokens[1:], labels, strict=True) if label.templated]
    assert templated == ["c: ", "ugh\ns", "ee", " hpi n", "\np", "lan", ":"]
    assert [label.section for label in labels] == ["Chief Complaint"] * 7 + ["Plan"] * 4
    assert [(segment.section, text[slice(*segment.span_chars)]) for segment in segments] == [
        ("Chief Complaint", "c: cough\nsee hpi now\n"),
        ("Plan", "plan: rest"),
    ]
