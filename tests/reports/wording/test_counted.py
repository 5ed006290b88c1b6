"""A number with its noun."""

import pytest

from clinaudit.reports.wording.numbers import counted


@pytest.mark.parametrize(
    ("number", "words", "text"),
    [
        (0, ("tag",), "0 tags"),
        (1, ("tag",), "1 tag"),
        (2, ("tag",), "2 tags"),
        (1_200, ("prompt",), "1,200 prompts"),
        (1, ("prompt asks", "prompts ask"), "1 prompt asks"),
        (3, ("prompt asks", "prompts ask"), "3 prompts ask"),
    ],
)
def test_one_is_in_the_singular(number: int, words: tuple[str, ...], text: str) -> None:
    assert counted(number, *words) == text
