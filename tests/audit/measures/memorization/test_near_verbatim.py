"""Near matches and their regions against a brute-force twin: Sellers' algorithm over every window and every note."""

import random
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clinaudit.audit.measures.memorization.near_verbatim import (
    NearMatches,
    NearVerbatimText,
    edit_budget,
    find_near_matches,
    seed_length,
)
from clinaudit.audit.measures.memorization.patient_text import concatenate_sequences
from clinaudit.templates.spans import Span

Region = tuple[int, int, int, int]


def distance_to_some_run(window: list[int], note: list[int]) -> int:
    """Sellers (1980): the least Levenshtein distance of the window to any run of the note."""
    row = [0] * (len(note) + 1)
    for count, token in enumerate(window, start=1):
        below = [count]
        for place, other in enumerate(note, start=1):
            below.append(min(row[place - 1] + (token != other), row[place] + 1, below[-1] + 1))
        row = below
    return min(row)


def twin(generations: list[list[int]], notes: list[list[int]], note_of: list[int], n: int) -> list[Region]:
    windows: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
    for index, generated in enumerate(generations):
        for note, ids in zip(note_of, notes, strict=True):
            for start in range(len(generated) - n + 1):
                if distance_to_some_run(generated[start : start + n], ids) <= n // 10:
                    windows[note, index].add(start)
    regions: list[Region] = []
    for (note, index), starts in sorted(windows.items()):
        merged: list[list[int]] = []
        for start in sorted(starts):
            if merged and start <= merged[-1][1] - 1:
                merged[-1][1] = start + n
            else:
                merged.append([start, start + n])
        regions += [(note, index, start, end) for start, end in merged]
    return regions


def regions_in(matches: NearMatches, generation: int) -> list[tuple[int, Span]]:
    return [(note, Span(start, end)) for note, index, start, end in regions_of(matches) if index == generation]


def regions_of(matches: NearMatches) -> list[Region]:
    columns = (matches.notes, matches.generations, matches.starts, matches.ends)
    return [tuple(row) for row in np.stack(columns, axis=1).tolist()]


def found_and_wanted(
    generations: list[list[int]], notes: list[list[int]], n: int, note_of: list[int] | None = None
) -> tuple[list[Region], list[Region]]:
    matches = find_near_matches(
        concatenate_sequences(generations), concatenate_sequences(notes), match_tokens=n, note_of=note_of
    )
    found = regions_of(matches)
    for index, generated in enumerate(generations):
        flags = [False] * len(generated)
        for _, _, start, end in (region for region in found if region[1] == index):
            flags[start:end] = [True] * (end - start)
        assert matches.covered_tokens(index, length=len(generated)).tolist() == flags
    return found, twin(generations, notes, note_of or list(range(len(notes))), n)


def edited(rng: random.Random, ids: list[int], *, alphabet: int, rate: float) -> list[int]:
    copy: list[int] = []
    for token in ids:
        kind = rng.choice(("drop", "change", "add")) if rng.random() < rate else "keep"
        if kind != "drop":
            copy.append(rng.randrange(alphabet) if kind == "change" else token)
        if kind == "add":
            copy.append(rng.randrange(alphabet))
    return copy


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(rng=st.randoms(use_true_random=False), n=st.integers(9, 22), alphabet=st.sampled_from([1, 2, 3, 6, 60]))
def test_flags_and_regions_equal_the_twin(rng: random.Random, n: int, alphabet: int) -> None:
    """Periodic and random text, copies stitched from several notes and edited, notes with two readings."""

    def text(length: int) -> list[int]:
        period = rng.choice([1, 2, 3, 5, max(1, length)])
        return ([rng.randrange(alphabet) for _ in range(period)] * length)[:length]

    notes = [text(rng.randint(0, 45)) for _ in range(rng.randint(1, 4))]
    note_of = [rng.randrange(3) for _ in notes]
    generations = []
    for _ in range(rng.randint(1, 3)):
        generated: list[int] = []
        for _ in range(rng.randint(0, 3)):
            source = rng.choice(notes)
            start = rng.randint(0, len(source))
            rate = rng.choice([0.0, 0.05, 0.15])
            generated += edited(rng, source[start:], alphabet=max(2, alphabet), rate=rate)
            generated += text(rng.randint(0, 6))
        generations.append(generated)
    found, wanted = found_and_wanted(generations, notes, n, note_of)
    assert found == wanted


@pytest.mark.parametrize("n", [1, 2, 7, 9])
def test_without_a_budget_a_near_match_is_a_verbatim_match(n: int) -> None:
    rng = random.Random(n)
    notes = [[rng.randrange(3) for _ in range(40)] for _ in range(3)]
    generations = [[rng.randrange(3) for _ in range(60)], notes[1][5:30] + notes[2]]
    assert edit_budget(n) == 0
    found, wanted = found_and_wanted(generations, notes, n)
    assert found
    assert found == wanted


#: A note of tokens that occur once, and what becomes of its tokens 5 to 35 in the generation.
NOTE = list(range(100, 160))
COPY = NOTE[5:35]


@pytest.mark.parametrize(
    ("edits", "is_near"),
    [
        ({}, True),
        ({7: [1]}, True),
        ({7: [1], 15: [2], 23: [3]}, True),
        ({7: [1], 15: [2], 23: [3], 24: [4]}, False),
        # Tokens added or left out: the note's run is shorter or longer than the window.
        ({7: [1, COPY[7]], 15: [2, COPY[15]], 23: []}, True),
        ({7: [], 15: [], 16: []}, True),
        ({7: [], 15: [], 16: [], 20: [9]}, False),
        # Seven tokens are the shortest run that three edits can leave.
        ({6: [1], 14: [2], 22: [3]}, True),
        # Two tokens exchanged are two edits.
        ({10: [COPY[11]], 11: [COPY[10]]}, True),
        ({10: [COPY[11]], 11: [COPY[10]], 20: [COPY[21]], 21: [COPY[20]]}, False),
    ],
)
def test_the_edit_budget_of_thirty_tokens_is_three(edits: dict[int, list[int]], is_near: bool) -> None:
    window = [token for place, own in enumerate(COPY) for token in edits.get(place, [own])]
    # The note goes on for as long as tokens were left out, and so does the generation.
    window = (window + NOTE[35:])[:30]
    assert (edit_budget(30), seed_length(30)) == (3, 7)
    matches = find_near_matches(concatenate_sequences([window]), concatenate_sequences([NOTE]), match_tokens=30)
    assert regions_of(matches) == ([(0, 0, 0, 30)] if is_near else [])


def test_a_copy_with_one_edit_in_twenty_tokens_is_one_region_where_verbatim_finds_nothing() -> None:
    note = list(range(1000, 1200))
    generated = [7 if place % 20 == 10 else token for place, token in enumerate(note)]
    matches = find_near_matches(concatenate_sequences([generated]), concatenate_sequences([note]), match_tokens=30)
    assert regions_in(matches, 0) == [(0, Span(0, 200))]


def test_nothing_matches_across_two_notes_or_two_generations() -> None:
    note = list(range(30))
    assert not regions_of(
        find_near_matches(concatenate_sequences([note]), concatenate_sequences([note[:15], note[15:]]), match_tokens=30)
    )
    assert not regions_of(
        find_near_matches(concatenate_sequences([note[:15], note[15:]]), concatenate_sequences([note]), match_tokens=30)
    )


def test_the_longest_region_is_named_by_the_last_note_that_holds_it() -> None:
    long, short = list(range(100, 150)), list(range(200, 235))
    generated = [*long, 1, 2, 3, 4, 5, *short]
    notes = [long, short, long]
    matches = find_near_matches(concatenate_sequences([[9], generated]), concatenate_sequences(notes), match_tokens=30)
    text = matches.text_of(1, length=len(generated), note_ids=["first", "short", "last"])
    # Three edits at the end are within the budget of the last windows.
    assert text.longest == ((Span(0, 53), "last"),)
    assert matches.text_of(0, length=1, note_ids=[]).longest == ()
    assert {note for note, _ in regions_in(matches, 1)} == {0, 1, 2}


def test_readings_of_one_note_count_together() -> None:
    ids = list(range(100, 160))
    # Neither reading holds the whole, as where carriage returns change the ids of the first half.
    readings = [[*ids[:35], *range(25)], [*range(25, 50), *ids[25:]]]
    matches = find_near_matches(
        concatenate_sequences([ids]), concatenate_sequences(readings), match_tokens=30, note_of=[0, 0]
    )
    assert regions_in(matches, 0) == [(0, Span(0, 60))]
    apart = find_near_matches(concatenate_sequences([ids]), concatenate_sequences(readings), match_tokens=30)
    assert len(regions_in(apart, 0)) == 2


@pytest.mark.parametrize(("generations", "notes"), [([], [[1] * 40]), ([[1] * 40], []), ([[], [1] * 5], [[1] * 40])])
def test_too_little_to_match_gives_no_region(generations: list[list[int]], notes: list[list[int]]) -> None:
    assert not regions_of(
        find_near_matches(concatenate_sequences(generations), concatenate_sequences(notes), match_tokens=30)
    )


def test_largest_ids_match() -> None:
    ids = [2**32 - 1 - place for place in range(30)]
    matches = find_near_matches(concatenate_sequences([ids]), concatenate_sequences([ids]), match_tokens=30)
    assert regions_of(matches) == [(0, 0, 0, 30)]


def test_bad_arguments_are_refused() -> None:
    one = concatenate_sequences([[1]])
    with pytest.raises(ValueError, match="at least one token"):
        find_near_matches(one, one, match_tokens=0)
    with pytest.raises(ValueError, match="reading of one note"):
        find_near_matches(one, one, match_tokens=30, note_of=[0, 1])


def test_near_text_of_a_generation_by_hand() -> None:
    note = list(range(100, 180))
    edited = [*note[:20], 1, *note[21:60], 2, 3, 4, 5, 6]
    matches = find_near_matches(
        concatenate_sequences([edited, [7] * 40]), concatenate_sequences([[8] * 40, note]), match_tokens=30
    )
    text = matches.text_of(0, length=len(edited), note_ids=["first", "second"])
    # Token 20 is changed, 21 to 59 are verbatim, and of the five at the end three are within the budget.
    assert text == NearVerbatimText(63, ((Span(0, 63), "second"),))
    assert matches.text_of(1, length=40, note_ids=["first", "second"]) == NearVerbatimText(0, ())
