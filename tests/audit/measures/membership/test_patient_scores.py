"""Notes are standardized by never-seen notes of others alone, of like length, and both arms alike."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clinaudit.audit.measures import membership
from clinaudit.audit.measures.membership import Values, mean_by_patient, standardize_notes


def brute_force(values: Values, tokens: list[int], patients: list[str], never_seen: list[bool], like: int) -> Values:
    """Standardize by the definition: sort all candidates by difference of log length, then by place among lengths."""
    found = []
    places = sorted((k for k in range(len(tokens)) if never_seen[k]), key=lambda k: (tokens[k], k))
    for note, own in enumerate(patients):
        place = sum(tokens[k] < tokens[note] for k in places)

        def away(k: int, note: int = note, place: int = place) -> tuple[float, float]:
            return abs(np.log(tokens[k]) - np.log(tokens[note])), abs(places.index(k) + 0.5 - place)

        others = sorted((k for k in places if patients[k] != own), key=away)
        reference = values[others[:like]]
        found.append((values[note] - reference.mean(axis=0)) / reference.std(axis=0, ddof=1))
    return np.array(found)


def test_by_hand_and_never_by_ones_own_notes() -> None:
    values = np.array([[5.0], [1.0], [3.0], [100.0], [200.0]])
    standardized = standardize_notes(
        values, tokens=[9] * 5, patients=["t", "a", "b", "c", "c"], never_seen=[False, True, True, True, True]
    )
    # Of t: 1, 3, 100, 200. Of either of c's notes: 1 and 3, mean 2, deviation √2.
    assert standardized[0, 0] == pytest.approx((5 - 76) / np.std([1, 3, 100, 200], ddof=1))
    assert standardized[3:, 0] == pytest.approx([98 / np.sqrt(2), 198 / np.sqrt(2)])
    names, means = mean_by_patient(standardized, ["t", "a", "b", "c", "c"])
    assert names == ["a", "b", "c", "t"]
    assert means[2, 0] == pytest.approx(148 / np.sqrt(2))


@given(st.integers(0, 2**32 - 1), st.integers(6, 40), st.integers(2, 9))
@settings(max_examples=60, deadline=None)
def test_against_the_definition(seed: int, notes: int, like: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(notes, 2))
    tokens, patients = rng.integers(1, 12, notes).tolist(), [f"p{k}" for k in rng.integers(0, notes, notes)]
    never_seen = [int(name[1:]) % 2 == 0 for name in patients]
    if min(len({k for k, one in enumerate(patients) if never_seen[k] and one != own}) for own in patients) < 2:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(membership, "LIKE_NOTES", like)
        fast = standardize_notes(values, tokens=tokens, patients=patients, never_seen=never_seen)
    assert fast == pytest.approx(brute_force(values, tokens, patients, never_seen, like), abs=1e-9)


def test_length_is_taken_out() -> None:
    # The score follows the length alone: nobody stands out, though the one trained on has the longest note but one.
    tokens = [*range(100, 400), 390]
    values = np.array(tokens, dtype=float)[:, np.newaxis]
    standardized = standardize_notes(
        values, tokens=tokens, patients=[f"p{k}" for k in range(301)], never_seen=[True] * 300 + [False]
    )
    assert (values[-1, 0] - values[:-1, 0].mean()) / values[:-1, 0].std() > 1.6
    assert abs(standardized[-1, 0]) < 1.5
    assert np.abs(standardized[30:270, 0]).max() < 0.2


def test_one_note_of_another_is_too_little() -> None:
    with pytest.raises(ValueError, match="fewer than two"):
        standardize_notes(np.zeros((2, 1)), tokens=[3, 3], patients=["a", "b"], never_seen=[True, False])


def found_at_tenth(seed: int, *, own_are_others: bool = False) -> bool:
    """Draw arms that are alike, patients with a level of their own; whether one trained on lies above the tenth."""
    rng = np.random.default_rng(seed)
    patients = 24
    owners = [str(k) for k in range(patients + 1) for _ in range(6)]
    levels = np.repeat(rng.normal(size=patients + 1), 6)
    values = (levels + rng.normal(size=len(levels)) / 3)[:, np.newaxis]
    names = [f"{owner}-{k}" for k, owner in enumerate(owners)] if own_are_others else owners
    standardized = standardize_notes(
        values, tokens=[50] * len(owners), patients=names, never_seen=[owner != str(patients) for owner in owners]
    )
    named, means = mean_by_patient(standardized, owners)
    score = dict(zip(named, means[:, 0], strict=True))
    trained = score.pop(str(patients))
    return bool(trained > sorted(score.values())[-1 - patients // 10])


@pytest.mark.simulation
def test_where_the_arms_are_alike_as_many_trained_on_lie_above_a_percentile_as_never_seen() -> None:
    # Above the third highest of 24 lies a 25th patient with a probability of 3 / 25.
    draws = 1000
    share = np.mean([found_at_tenth(seed) for seed in range(draws)])
    assert share == pytest.approx(3 / 25, abs=3 * np.sqrt(0.12 * 0.88 / draws))
    # Were never-seen patients standardized by their own notes as well, more of those trained on would be found.
    assert np.mean([found_at_tenth(seed, own_are_others=True) for seed in range(draws)]) > share
