"""Names of diagnoses, sections and tiers as readers see them."""

import pytest

from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.wording.names import SHORT_TIER_TITLES, asker_words, display_title, display_words, tier_title


@pytest.mark.parametrize(
    ("identifier", "title", "words"),
    [
        ("hiv", "HIV", "HIV"),
        ("ptsd", "PTSD", "PTSD"),
        ("abortion", "Recorded abortion", "a recorded abortion"),
        ("bipolar", "Bipolar disorder", "bipolar disorder"),
        ("past_medical_history", "Past medical history", "past medical history"),
        ("american indian", "American Indian", "American Indian"),
    ],
)
def test_labels_keep_capitals_where_they_belong(identifier: str, title: str, words: str) -> None:
    assert display_title(identifier) == title
    assert display_words(identifier) == words


def test_every_tier_has_a_title_a_short_one_and_an_asker() -> None:
    assert set(SHORT_TIER_TITLES) == set(TIER_IDS)
    assert not {tier_title(tier) for tier in TIER_IDS} & set(TIER_IDS)
    assert all("_" not in asker_words(tier) for tier in (*TIER_IDS, "my_own"))
