"""Token entropy: hand cases, and what must hold of any tokens."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clinaudit.audit.unlearning.metrics.answer_scores import token_entropy


def entropy_twin(tokens: list[int]) -> float:
    """The formula as it is written down, token by token."""
    shares = [tokens.count(token) / len(tokens) for token in set(tokens)]
    return -sum(share * math.log(share) for share in shares) / math.log(len(tokens))


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        ([], None),
        ([5], None),
        ([5, 5], 0.0),
        ([5] * 200, 0.0),
        ([1, 2], 1.0),
        ([1, 2, 3, 4], 1.0),
        # Shares 1/2, 1/4, 1/4: 1.5 bits of log2(4) = 2.
        ([1, 1, 2, 3], 0.75),
    ],
)
def test_hand_cases(tokens: list[int], expected: float | None) -> None:
    assert token_entropy(tokens) == expected


@given(st.lists(st.integers(0, 5), min_size=2, max_size=40))
def test_equals_the_twin_and_is_zero_only_of_equal_tokens(tokens: list[int]) -> None:
    entropy = token_entropy(tokens)
    assert entropy == pytest.approx(entropy_twin(tokens), abs=1e-12)
    assert entropy is not None
    assert 0.0 <= entropy <= 1.0
    assert (entropy == 0.0) == (len(set(tokens)) == 1)
