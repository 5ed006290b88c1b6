"""Names of diagnoses, sections and tiers as readers see them."""

from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.wording.names import (
    SHORT_TIER_TITLES,
    asker_words,
    tier_title,
)


def test_every_tier_has_a_title_a_short_one_and_an_asker() -> None:
    assert set(SHORT_TIER_TITLES) == set(TIER_IDS)
    assert not {tier_title(tier) for tier in TIER_IDS} & set(TIER_IDS)
    assert all("_" not in asker_words(tier) for tier in (*TIER_IDS, "my_own"))
