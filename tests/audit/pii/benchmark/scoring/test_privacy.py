"""Privacy, balance, and occurrences of entities at the borders of tokens."""

import pytest

from clinaudit.audit.pii.benchmark.scoring.privacy import (
    balance_score,
    find_occurrences,
    mask_texts,
    privacy_score,
)

ORIGINAL = "Ann Lee is 25. Ann Lee was born in 1925 and lives in Oslo."
ENTITIES = ["Ann Lee", "25", "Oslo"]


@pytest.mark.parametrize(
    ("masked", "expected"),
    [
        (ORIGINAL, 0),
        ("<PERSON> is <AGE>. <PERSON> was born in 1925 and lives in <CITY>.", 1),  # the year is no age
        ("<PERSON> is 25. Ann Lee was born in 1925 and lives in <CITY>.", 0.5),
        ("Ann Lee is 25. Ann Lee was born in 1925 and lives in Oslo. Oslo!", -0.25),
    ],
)
def test_privacy_is_the_share_of_occurrences_that_are_gone(masked: str, expected: float) -> None:
    assert privacy_score(ENTITIES, ORIGINAL, masked) == pytest.approx(expected)


def test_a_text_without_entities_has_no_privacy_score_and_a_look_alike_is_left_all_the_same() -> None:
    assert privacy_score([], ORIGINAL, ORIGINAL) is privacy_score(["Bergen"], ORIGINAL, ORIGINAL) is None
    assert privacy_score(["Ann"], "Ann.", "\uff21nn.") == 0


def test_balance() -> None:
    # The rows of the paper's Table 8.
    assert [round(balance_score(p, u), 2) for p, u in ((0, 1), (1, 0.52), (0.83, 0.89))] == [0.5, 0.76, 0.86]
    assert [balance_score(0.83, 0.89, alpha=alpha) for alpha in (0, 1)] == [0.89, 0.83]


@pytest.mark.parametrize(
    ("entities", "text", "expected"),
    [
        (["25"], "Aged 25, born 1925, room 25b, 25% of 25.", [(5, "25"), (30, "25"), (37, "25")]),
        (["250"], "1,250 or 250.75 or 250.", [(19, "250")]),
        (["$4,200"], "owes $4,200; not US$4,200.50", [(5, "$4,200")]),
        (["@ab_c"], "x@ab_c and @ab_cd and @ab_c", [(1, "@ab_c"), (22, "@ab_c")]),
        # The longest takes its place first, also where a shorter one begins before it.
        (["New York", "York City Hall", "York"], "New York City Hall, York", [(4, "York City Hall"), (20, "York")]),
        (["Ann", "Ann Lee"], "Ann Lee and Ann", [(0, "Ann Lee"), (12, "Ann")]),
        (["ann"], "Ann", []),
        ([""], "Ann", []),
        (["a.b"], "a.b axb", [(0, "a.b")]),
    ],
)
def test_occurrences(entities: list[str], text: str, expected: list[tuple[int, str]]) -> None:
    found = find_occurrences(entities, text)
    assert [(span.start, entity) for span, entity in found] == expected
    assert [text[start:end] for (start, end), _ in found] == [entity for _, entity in expected]


def test_every_occurrence_is_replaced_and_nothing_else() -> None:
    tags = {"Ann Lee": "<PERSON_1>", "Ann": "<NICKNAME_1>", "25": "<AGE_1>"}
    assert mask_texts("Ann Lee (Ann) is 25, born 1925.", tags) == "<PERSON_1> (<NICKNAME_1>) is <AGE_1>, born 1925."
