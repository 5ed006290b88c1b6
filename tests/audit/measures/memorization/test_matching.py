"""Matching in ids against the set of tuples it replaces; regions and covered tokens by hand."""

import random
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.memorization_twin import Twin, lf, patients_holding

from clinaudit.audit.measures.generation.record import Generation
from clinaudit.audit.measures.memorization.matching import covered_tokens, find_matches, merge_overlapping_matches
from clinaudit.audit.measures.memorization.patient_text import PatientText, concatenate_sequences
from clinaudit.audit.measures.memorization.specificity.patient_count import SpecificityEngine, count_patients
from clinaudit.audit.measures.memorization.verbatim import attribute_generations
from clinaudit.audit.runtime.model.token_cache import TokenCache, open_token_cache
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.priors.corpus.note_texts import pack_notes
from clinaudit.priors.diagnoses import clinical_terms, load_panel
from clinaudit.templates.note import NoteReader
from clinaudit.templates.profile import load_profile


def begins_by_definition(generated: list[int], notes: list[list[int]], n: int) -> list[bool]:
    windows = {tuple(note[at : at + n]) for note in notes for at in range(len(note) - n + 1)}
    return [tuple(generated[at : at + n]) in windows for at in range(len(generated))]


def matches(generations: list[list[int]], notes: list[list[int]], n: int) -> list[list[bool]]:
    return [
        begins.tolist()
        for begins in find_matches(concatenate_sequences(generations), concatenate_sequences(notes), match_tokens=n)
    ]


@pytest.mark.parametrize("block", range(10))
def test_matches_equal_a_set_of_tuples(block: int) -> None:
    rng = random.Random(block)
    for _ in range(400):
        # Few distinct ids make periodic text and many chance hits; n from below to above the length of a seed.
        n, alphabet = rng.choice([1, 2, 3, 7, 8, 9, 15, 30]), rng.choice([1, 2, 3, 50, 2**32])
        notes = [[rng.randrange(alphabet) for _ in range(rng.randrange(90))] for _ in range(rng.randrange(5))]
        generations: list[list[int]] = []
        for _ in range(rng.randrange(4)):
            generated: list[int] = []
            for _ in range(rng.randrange(4)):
                note = rng.choice(notes) if notes else []
                begin = rng.randrange(len(note) + 1)
                generated += note[begin : begin + rng.randrange(60)]
                generated += [rng.randrange(alphabet)] * rng.randrange(2)
            generations.append(generated)
        expected = [begins_by_definition(generated, notes, n) for generated in generations]
        assert matches(generations, notes, n) == expected, (n, notes, generations)


def test_no_match_crosses_from_one_sequence_into_the_next() -> None:
    run = list(range(40))
    assert not any(matches([run], [run[:20], run[20:]], 30)[0])
    assert not any(flag for begins in matches([run[:20], run[20:]], [run], 30) for flag in begins)
    assert matches([run], [run], 30) == [[True] * 11 + [False] * 29]


def test_ids_at_both_ends_of_their_range() -> None:
    assert matches([[0, 2**32 - 1, 0]], [[2**32 - 1, 0]], 2) == [[False, True, False]]
    assert matches([[0] * 30], [[0] * 29], 30) == [[False] * 30]


def test_one_id_repeated_through_a_long_note() -> None:
    generated = [5] * 500 + [6] + [5] * 500
    begins = matches([generated], [[5] * 20_000], 30)[0]
    assert begins == [True] * 471 + [False] * 30 + [True] * 471 + [False] * 29


def flags(text: str) -> np.ndarray:
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
def test_covered_tokens_and_regions(begins: str, n: int, covered: str, regions: list[tuple[int, int]]) -> None:
    assert covered_tokens(flags(begins), match_tokens=n).tolist() == flags(covered).tolist()
    assert [tuple(region) for region in merge_overlapping_matches(flags(begins), match_tokens=n)] == regions


def test_sequences_laid_end_to_end() -> None:
    sequences = concatenate_sequences([(1, 2), (), (3,)])
    assert [sequences[index].tolist() for index in range(len(sequences))] == [[1, 2], [], [3]]
    assert len(concatenate_sequences([])) == 0
    assert matches([], [[1]], 1) == []
    assert matches([[], [1]], [], 1) == [[], [False]]


N = 4
ENGINES: tuple[SpecificityEngine, ...] = ("aho-corasick", "windows")
READER = NoteReader(load_profile(), clinical_terms(load_panel()))

# Short repeated words make stitched, nested and periodic regions; the rest are unicode, headers and carriage returns.
WORDS = ["a", "b", "ab", " ", "\n", "\r\n", "\r", "é", "漢", "😀", "cc: ", "plan:", "aaa", "negative for ", "."]
WORDS += ["hiv", "\u00a0", " but ", "positive ", "no ", "\n1/2/2003 ", "see hpi"]
TEXTS = st.lists(st.sampled_from(WORDS), min_size=0, max_size=30).map("".join)


@pytest.fixture(scope="module")
def tokenizer(tokenizer_directory) -> ModelTokenizer:
    return ModelTokenizer(tokenizer_directory)


@pytest.fixture(scope="module")
def cache(tokenizer, tmp_path_factory) -> Iterator[TokenCache]:
    run = RunDirectory(tmp_path_factory.mktemp("cache") / "run")
    run.create()
    with open_token_cache(run, "digest", tokenizer) as cache:
        yield cache


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    notes=st.lists(TEXTS, min_size=1, max_size=4),
    others=st.lists(st.lists(TEXTS, min_size=1, max_size=2), max_size=4),
    generated=TEXTS,
    prompt=TEXTS,
    data=st.data(),
)
def test_one_generation_equals_the_twin(tokenizer, cache, notes, others, generated, prompt, data) -> None:
    # Half the time the generation is stitched from the notes themselves, cut anywhere, so that regions are long.
    if data.draw(st.booleans()):
        parts = [data.draw(st.sampled_from(notes)) for _ in range(3)]
        cuts = [data.draw(st.integers(0, len(part))) for part in parts]
        generated = "".join(part[cut:] + part[: cut // 2] for part, cut in zip(parts, cuts, strict=True))
    ids, spans = tokenizer.encode_with_spans(generated)
    text, laid = tokenizer.decode_with_spans(ids)
    assert (text, laid) == (generated, spans)
    generation = Generation("g", "p", "train", "public", "text", (), (), prompt, text, ids, tuple(spans), "stop")
    patient = PatientText([(f"n{i}", note) for i, note in enumerate(notes)], cache, READER)
    (attributed,) = attribute_generations([generation], patient, tokenizer=tokenizer, match_tokens=N)

    twin = Twin(tokenizer, notes, N)
    assert attributed.memorized == twin.memorized(ids)
    assert attributed.echo == twin.echo(ids, prompt)
    regions = twin.regions(ids)
    assert [tuple(region.span_tokens) for region in attributed.regions] == regions
    for region, (start, end) in zip(attributed.regions, regions, strict=True):
        pieces, dropped = twin.split(ids, start, end)
        assert {tuple(piece.span_tokens) for piece in region.pieces} == pieces
        assert region.dropped_tokens == dropped
        assert region.stitched == (pieces != {(start, end)})
    people = [notes, *others]
    texts = {piece.piece.text for piece in attributed.pieces}
    counts = {engine: count_patients(texts, pack_notes(people), engine=engine) for engine in ENGINES}
    for piece in attributed.pieces:
        wanted = twin.text(ids, *piece.piece.span_tokens)
        assert piece.piece.text == wanted == lf(text[slice(*piece.span_chars)])
        holders = twin.holders(wanted)
        assert (piece.piece.note, piece.piece.copy_forward_count) == (holders[-1], len(holders))
        assert piece.piece.note_start_chars == twin.clean[holders[-1]].index(wanted)
        assert {found[wanted] for found in counts.values()} == {patients_holding(wanted, people)}
        assert [label.boilerplate for label in piece.labels] == twin.boilerplate(ids, *piece.piece.span_tokens)
        # Segments partition the piece, in characters and in tokens.
        assert "".join(text[slice(*segment.span_chars)] for segment in piece.segments) == text[slice(*piece.span_chars)]
        assert [token for segment in piece.segments for token in segment.tokens] == list(
            range(*piece.piece.span_tokens)
        )
