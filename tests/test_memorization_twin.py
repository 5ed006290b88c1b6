"""Matching, regions, the split, source notes, echo and K against a brute-force twin written from the definitions."""

from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clinaudit.audit.composition import NoteReader
from clinaudit.audit.matching import windows_of
from clinaudit.audit.memorization import Generation, PatientText, locate_generation
from clinaudit.audit.specificity import count_patients
from clinaudit.audit.tokens import ModelTokenizer
from clinaudit.templates.profile import load_profile

N = 4
READER = NoteReader(load_profile())

# Short repeated words make stitched, nested and periodic regions; the rest are unicode, headers and carriage returns.
WORDS = ["a", "b", "ab", " ", "\n", "\r\n", "\r", "é", "漢", "😀", "cc: ", "plan:", "aaa", "negative for ", "."]
TEXTS = st.lists(st.sampled_from(WORDS), min_size=0, max_size=30).map("".join)


def lf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


@dataclass
class Twin:
    """Everything computed the slow, obvious way."""

    tokenizer: ModelTokenizer
    notes: list[str]

    def memorized(self, ids: tuple[int, ...]) -> list[int]:
        variants = [self.tokenizer.encode(text) for note in self.notes for text in {note, lf(note)}]
        starts = []
        for start in range(len(ids) - N + 1):
            window = ids[start : start + N]
            if any(window == note[at : at + N] for note in variants for at in range(len(note) - N + 1)):
                starts.append(start)
        return starts

    def regions(self, ids: tuple[int, ...]) -> list[tuple[int, int]]:
        regions: list[tuple[int, int]] = []
        for start in self.memorized(ids):
            if regions and start <= regions[-1][1] - 1:
                regions[-1] = (regions[-1][0], start + N)
            else:
                regions.append((start, start + N))
        return regions

    def text(self, ids: tuple[int, ...], start: int, end: int) -> str:
        """Characters that the bytes of tokens start..end contribute to."""
        before = b"".join(map(self.tokenizer.bytes_of, ids[:start]))
        through = b"".join(map(self.tokenizer.bytes_of, ids[:end]))
        whole = b"".join(map(self.tokenizer.bytes_of, ids))
        if len(before) == len(through):
            return ""
        owner: list[int] = []
        for index, char in enumerate(whole.decode("utf-8")):
            owner += [index] * len(char.encode("utf-8"))
        return lf(whole.decode("utf-8")[owner[len(before)] : owner[len(through) - 1] + 1])

    def split(self, ids: tuple[int, ...], start: int, end: int) -> tuple[set[tuple[int, int]], int]:
        if start >= end:
            return set(), 0
        notes = [lf(note) for note in self.notes]

        def stands(a: int, b: int) -> bool:
            text = self.text(ids, a, b)
            return bool(text) and any(text in note for note in notes)

        if stands(start, end):
            return {(start, end)}, 0
        prefix = max([b for b in range(start + 1, end) if stands(start, b)], default=start)
        suffix = min([a for a in range(start + 1, end) if stands(a, end)], default=end)
        found = {(start, prefix)} if prefix > start else set()
        found |= {(suffix, end)} if suffix < end else set()
        if not found:
            more, dropped = self.split(ids, start + 1, end - 1)
            return more, dropped + min(2, end - start)
        more, dropped = self.split(ids, prefix, suffix)
        return found | more, dropped


@pytest.fixture(scope="module")
def tokenizer(tokenizer_directory) -> ModelTokenizer:
    return ModelTokenizer(tokenizer_directory)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    notes=st.lists(TEXTS, min_size=1, max_size=4),
    others=st.lists(st.lists(TEXTS, min_size=1, max_size=2), max_size=4),
    generated=TEXTS,
    prompt=TEXTS,
    data=st.data(),
)
def test_one_generation_equals_the_twin(tokenizer, notes, others, generated, prompt, data) -> None:
    # Half the time the generation is stitched from the notes themselves, cut anywhere, so that regions are long.
    if data.draw(st.booleans()):
        parts = [data.draw(st.sampled_from(notes)) for _ in range(3)]
        cuts = [data.draw(st.integers(0, len(part))) for part in parts]
        generated = "".join(part[cut:] + part[: cut // 2] for part, cut in zip(parts, cuts, strict=True))
    ids, spans = tokenizer.encode_with_spans(generated)
    text, laid = tokenizer.decode_with_spans(ids)
    assert (text, laid) == (generated, spans)
    generation = Generation("g", "p", "train", "public", (), (), prompt, text, ids, tuple(spans), "stop")
    patient = PatientText([(f"n{i}", note) for i, note in enumerate(notes)], tokenizer, READER, N)
    prompt_ids = tokenizer.encode(prompt)
    located = locate_generation(generation, patient, prompt_windows=windows_of([prompt_ids], n=N), n=N)

    twin = Twin(tokenizer, notes)
    starts = twin.memorized(ids)
    assert located.memorized == tuple(any(s <= i < s + N for s in starts) for i in range(len(ids)))
    regions = twin.regions(ids)
    assert [tuple(region.span_tokens) for region in located.regions] == regions
    echo_starts = [
        s for s in range(len(ids) - N + 1) if ids[s : s + N] in [prompt_ids[i : i + N] for i in range(len(prompt_ids))]
    ]
    assert located.echo == tuple(
        memorized and any(s <= i < s + N for s in echo_starts) for i, memorized in enumerate(located.memorized)
    )
    for region, (start, end) in zip(located.regions, regions, strict=True):
        pieces, dropped = twin.split(ids, start, end)
        assert {tuple(piece.span_tokens) for piece in region.pieces} == pieces
        assert region.dropped_tokens == dropped
        assert region.stitched == (pieces != {(start, end)})
    clean = [lf(note) for note in notes]
    people = [notes, *others]
    counts = count_patients({piece.piece.text for piece in located.pieces}, people)
    for piece in located.pieces:
        wanted = twin.text(ids, *piece.piece.span_tokens)
        assert piece.piece.text == wanted == lf(text[slice(*piece.span_chars)])
        holders = [index for index, note in enumerate(clean) if wanted in note]
        assert (piece.piece.note, piece.piece.copy_forward_count) == (holders[-1], len(holders))
        assert piece.piece.note_start_chars == clean[holders[-1]].index(wanted)
        assert counts[wanted] == sum(any(wanted in lf(note) for note in person) for person in people)
        # Segments partition the piece, in characters and in tokens.
        assert "".join(text[slice(*segment.span_chars)] for segment in piece.segments) == text[slice(*piece.span_chars)]
        assert [token for segment in piece.segments for token in segment.tokens] == list(
            range(*piece.piece.span_tokens)
        )
