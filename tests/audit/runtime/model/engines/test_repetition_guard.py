"""The repetition guard against hand-computed cuts and a brute-force twin."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clinaudit.audit.runtime.model.engines.repetition_guard import REPEATED_NGRAM, RepetitionGuard, first_repeated_ngram


def brute_force(token_ids, n):
    """Every pair of positions, compared."""
    for second in range(len(token_ids) - n + 1):
        for first in range(second):
            if token_ids[first : first + n] == token_ids[second : second + n]:
                return second
    return None


@pytest.mark.parametrize(
    ("token_ids", "n", "start"),
    [
        ([], 2, None),
        ([1], 1, None),
        ([1, 1], 1, 1),
        ([1, 1], 2, None),
        ([1, 1, 1], 2, 1),  # occurrences may overlap
        ([1, 2, 1, 2], 2, 2),
        ([1, 2, 1, 2, 1], 3, 2),
        ([1, 2, 3, 9, 1, 2, 3], 3, 4),
        ([1, 2, 3, 9, 2, 3, 1, 2], 2, 4),  # 2 3 recurs before 1 2 does
        ([5, 6, 7, 8], 2, None),
    ],
)
def test_first_repeated_ngram(token_ids, n, start):
    assert first_repeated_ngram(token_ids, n) == start


def test_default_is_the_20_of_appendix_a():
    assert REPEATED_NGRAM == 20
    once = list(range(20))
    assert first_repeated_ngram([*once, 99, *once[:19]]) is None
    assert first_repeated_ngram([*once, 99, *once]) == 21
    assert first_repeated_ngram([7] * 20) is None
    assert first_repeated_ngram([7] * 21) == 1


@given(st.lists(st.integers(0, 2), max_size=60), st.integers(1, 6))
@example([0, 0, 0, 0], 3)
def test_equals_brute_force(token_ids, n):
    assert first_repeated_ngram(token_ids, n) == brute_force(token_ids, n)


@given(st.lists(st.integers(0, 2), max_size=40), st.integers(1, 4))
def test_guard_fires_with_the_token_that_completes_the_second_occurrence(token_ids, n):
    guard = RepetitionGuard(n)
    fired = [guard.push(token) for token in token_ids]
    start = brute_force(token_ids, n)
    assert guard.repeat_start == start
    if start is None:
        assert not any(fired)
        assert guard.kept == tuple(token_ids)
    else:
        assert fired.index(True) == start + n - 1
        assert all(fired[start + n - 1 :])
        assert guard.kept == tuple(token_ids[:start])
