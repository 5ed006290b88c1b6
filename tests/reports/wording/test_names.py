"""Names of diagnoses, sections and tiers as readers see them."""

import pytest

from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.schema.identity import read_identity
from clinaudit.reports.wording.names import (
    SHORT_TIER_TITLES,
    asker_words,
    display_title,
    display_words,
    identity_line,
    model_digest,
    tier_title,
)
from clinaudit.reports.wording.numbers import counted


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


NAMELESS = {"digests": {"model": "ab" * 32}}
IDENTITY = {"model_name": "Ward notes 1.5B", "institution": "St. Invented Hospital", "date": "2026-11-20"}


@pytest.mark.parametrize(
    ("provenance", "line"),
    [
        (
            {**NAMELESS, "identity": IDENTITY},
            "Model Ward notes 1.5B (abababababab…) · Institution St. Invented Hospital · Date 2026-11-20",
        ),
        (NAMELESS, "Model ________ (abababababab…) · Institution ________ · Date ________"),
        ({}, "Model ________ · Institution ________ · Date ________"),
    ],
)
def test_what_was_not_given_is_a_line_to_write_on(provenance: dict[str, object], line: str) -> None:
    assert identity_line(read_identity(provenance), model_digest(provenance)) == line


@pytest.mark.parametrize("digests", [None, "text", {"model": None}, {}])
def test_a_record_without_a_digest_shows_none(digests: object) -> None:
    assert model_digest({"digests": digests}) is None
