"""How likely texts are by counts of tokens, worked out by hand."""

from math import log

import pytest

from clinaudit.audit.runtime.model.token_counts import likelihood_by_counts


def test_tokens_and_pairs_are_smoothed_as_it_is_said() -> None:
    # Of 4 tokens with half a one more for each of 4: 2 has 1.5 of 6. After 1 stood 2 and 3: (1 + 2 x 1/4) / (2 + 2).
    found = likelihood_by_counts([[1, 2]], [[1, 2], [1, 3]], vocabulary=4)
    assert found == pytest.approx((log(0.25), log(0.375)))


def test_after_a_token_that_nobody_wrote_the_token_alone_counts() -> None:
    found = likelihood_by_counts([[0, 2]], [[1, 2], [1, 3]], vocabulary=4)
    assert found == pytest.approx((log(0.25), log(0.25)))
