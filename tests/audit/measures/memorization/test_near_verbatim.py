"""Near windows and their regions against a brute-force twin, and by hand."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.near_verbatim_twin import Run, near_regions

from clinaudit.audit.measures.memorization.near_verbatim import find_near_matches
from clinaudit.audit.measures.memorization.patient_text import concatenate_sequences


def find(generations, notes, n=30):
    return find_near_matches(concatenate_sequences(generations), concatenate_sequences(notes), match_tokens=n)


def regions_of(matches, notes):
    begins = concatenate_sequences(notes).starts.tolist()
    runs: dict[tuple[int, int, int], set[Run]] = {}
    for generation, start, end, reading, place, region in zip(*(column.tolist() for column in matches), strict=True):
        runs.setdefault((region, generation, reading), set()).add(Run(start, end, place - begins[reading]))
    return [(generation, reading, frozenset(own)) for (_, generation, reading), own in runs.items()]


def twin(generations, notes, n):
    return {
        (index, reading, region)
        for index, generated in enumerate(generations)
        for reading, note in enumerate(notes)
        for region in near_regions(generated, note, n)
    }


def edited(rng, ids, *, alphabet, rate):
    copy: list[int] = []
    for token in ids:
        kind = rng.choice(("drop", "change", "add")) if rng.random() < rate else "keep"
        if kind != "drop":
            copy.append(rng.randrange(alphabet) if kind == "change" else token)
        if kind == "add":
            copy.append(rng.randrange(alphabet))
    return copy


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(rng=st.randoms(use_true_random=False), n=st.integers(2, 32), alphabet=st.sampled_from([1, 2, 3, 6, 60]))
def test_regions_equal_the_twin(rng, n, alphabet):
    """Periodic and random text, copies stitched from several notes and edited."""

    def text(length):
        period = rng.choice([1, 2, 3, 5, max(1, length)])
        return ([rng.randrange(alphabet) for _ in range(period)] * length)[:length]

    # The longest repeat some seeds more often than may be.
    notes = [text(rng.randint(0, rng.choice([45, 45, 120]))) for _ in range(rng.randint(1, 4))]
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
    found = regions_of(find(generations, notes, n), notes)
    assert len(found) == len(set(found))
    assert set(found) == twin(generations, notes, n)


#: A note of tokens that occur once, and its tokens 10 to 40.
NOTE = list(range(100, 200))
COPY = NOTE[10:40]


@pytest.mark.parametrize(
    ("edits", "is_near"),
    [
        ({}, True),
        # At most six of thirty are missed, in runs of at least six.
        ({7: [1], 15: [2], 23: [3]}, True),
        ({place: [1] for place in range(12, 18)}, True),
        ({place: [1] for place in range(12, 19)}, False),
        ({6: [1], 13: [1], 20: [1], 27: [1]}, True),
        ({5: [1], 10: [1]}, False),
        # Six tokens added, or left out, between two runs; not seven.
        ({14: [1, 2, 3, 4, 5, 6, COPY[14]]}, True),
        ({14: [1, 2, 3, 4, 5, 6, 7, COPY[14]]}, False),
        ({place: [] for place in range(14, 20)}, True),
        ({place: [] for place in range(14, 21)}, False),
        # Two halves the other way round are in no order.
        ({place: [COPY[(place + 15) % 30]] for place in range(30)}, False),
        # Two tokens exchanged.
        ({10: [COPY[11]], 11: [COPY[10]]}, True),
    ],
)
def test_thirty_tokens_of_which_six_may_be_missed(edits, is_near):
    copy = [token for place, own in enumerate(COPY) for token in edits.get(place, [own])]
    # As long as a window; the note goes on where tokens were left out.
    window = (copy + NOTE[40:])[:30] if len(copy) < 30 else copy[:30]
    assert bool(find([window], [NOTE]).regions.size) == is_near


def test_a_copy_with_one_edit_in_twenty_tokens_is_one_region_where_verbatim_finds_nothing():
    note = list(range(1000, 1200))
    generated = [7 if place % 20 == 10 else token for place, token in enumerate(note)]
    matches = find([generated], [note])
    assert (matches.starts.min(), matches.ends.max(), {*matches.regions.tolist()}) == (0, 200, {0})
    assert matches.covered_tokens(0, length=200).tolist() == [place % 20 != 10 for place in range(200)]


def test_a_region_ends_where_its_last_run_does():
    generated = [1, 2, 3, *COPY, 4, 5, 6, *NOTE[43:49], 7, 8, 9, *NOTE[52:57]]
    # The last five tokens are no run, and the six before them are in a window of 24.
    matches = find([generated], [NOTE])
    assert (matches.starts.min(), matches.ends.max(), {*matches.regions.tolist()}) == (3, 42, {0})


def test_nothing_matches_across_two_notes_or_two_generations():
    assert not find([COPY], [COPY[:15], COPY[15:]]).regions.size
    assert not find([COPY[:15], COPY[15:]], [COPY]).regions.size
