"""Towns in small letters, and occupations that no verb tells; and what stands in their places and is neither."""

import pytest
from support.pii.masked_by_rules import masked


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("She lives in silverton.", "She lives in <CITY_1>."),
        ("lives in cedar bend with pain", "lives in <CITY_1> with pain"),
        ("moved to tacoma last year", "moved to <CITY_1> last year"),
        ("from boston, ma, for asthma", "from <CITY_1>, ma, for asthma"),
        ("retired glazier, 58", "retired <OCCUPATION_1>, 58"),
        ("Real estate agent. A sign painter, a court reporter.", "<OCCUPATION_1>. A <OCCUPATION_2>, a <OCCUPATION_3>."),
        ("land surveyor and tile setter", "<OCCUPATION_1> and <OCCUPATION_2>"),
    ],
)
def test_what_tells_where_and_as_what_somebody_lives_is_masked(text: str, expected: str) -> None:
    assert masked(text) == expected


def test_an_occupation_beside_an_age_is_masked() -> None:
    assert "crane operator" not in masked("55f, crane operator")
    assert "stone mason" not in masked("She is 62, stone mason, with asthma.")


@pytest.mark.parametrize(
    "text",
    [
        "lives in a house, in fear, in assisted living; moved to the icu",
        "moved to sitting, moved to hospice care and comfort. Grew up in poverty.",
        "lives in ohio, moved to texas",
        "The agent of choice; the retired valve; an alkylating agent, 20 mg",
        "potassium 4, chloride 101, pain agent",
    ],
)
def test_what_stands_in_their_places_stays(text: str) -> None:
    assert masked(text) == text
