"""Which categories questions need, and of whom."""

import pytest
from support.cases import read_rows
from support.pii.marked_samples import sample_of

from clinaudit.audit.pii.relevance import intents, needed_categories, needed_spans
from clinaudit.audit.pii.taxonomy import EntitySpan, categories

ROWS = read_rows("pii/rows.txt")

TEXTS = {
    "COUPLE": (
        "[A full_name|Ada Lund] is a [A age|34]-year-old [A occupation|nurse] in [A city|Aarhus]. She earns "
        "[A monthly_income|4,200] a month. Her husband [B full_name|Per Lund] is [B age|41] and a [B occupation|pilot]."
    ),
    "REFERRAL": (
        "I saw Mrs. [A patient_name|Ada Lund], [A age|34], with Dr. [B full_name|Bo Moe]. The patient is a "
        "[A occupation|nurse]. Her mother, [C relative_name|Kari Lund], is [C age|71]."
    ),
    "FIRST_PERSON": (
        "I am [A age|52] and work as a [A occupation|teacher]. My son is [B age|19] and a [B occupation|student]."
    ),
}


def needed_in(marked: str, query: str | None) -> list[str]:
    """What a question needs of the identifiers that are marked in a text."""
    sample = sample_of(marked)
    spans = sorted(EntitySpan(one.start, one.end, one.category, "test") for one in sample.entities())
    return [sample.description[span.start : span.end] for span in needed_spans(sample.description, spans, query)]


@pytest.mark.parametrize(("query", "category"), ROWS["an intent needs its categories"])
def test_an_intent_needs_its_categories(query: str, category: str) -> None:
    assert category in needed_categories(query)


@pytest.mark.parametrize("query", [None, "", "Summarize this.", "Hello there", "Please rewrite the text politely."])
def test_a_question_without_intent_needs_nothing(query: str | None) -> None:
    assert needed_categories(query) == frozenset()
    assert needed_in(TEXTS["COUPLE"], query) == []


def test_words_are_whole_and_of_any_case() -> None:
    assert "occupation" not in needed_categories("What does the jobber want?")
    assert needed_categories("how  many\nmg") == needed_categories("HOW MANY MG") != frozenset()
    # A verb of the table without its noun shows nothing.
    assert needed_categories("What should he buy?") == frozenset()


def test_the_table_needs_no_name_and_every_quasi_identifier_is_needed_by_some_intent() -> None:
    # An intent without words would be shown by every question.
    assert all(kinds and needs and needs <= categories().keys() for kinds, needs in intents())
    needed = frozenset().union(*(needs for _, needs in intents()))
    assert not any(categories()[category].type == "PER" for category in needed)
    # A ward tells nobody anything about a question.
    assert {one.id for one in categories().values() if not one.direct} - needed == {"ward"}


@pytest.mark.parametrize(("text", "query", "needed"), ROWS["what is needed is of whom a question is about"])
def test_what_is_needed_is_of_whom_the_question_is_about(text: str, query: str, needed: list[str]) -> None:
    assert needed_in(TEXTS.get(text, text), query) == needed


@pytest.mark.parametrize("query", ["Write her a short reminder of her next visit", "Is the region of pain typical?"])
def test_a_visit_to_a_clinic_is_no_place(query: str) -> None:
    assert not {"city", "county", "landmark"} & needed_categories(query)
