"""Which categories questions need, and of whom."""

import pytest

from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.pii.relevance import intents, needed_categories, needed_spans
from clinaudit.audit.pii.taxonomy import categories

COUPLE = "Ada Lund is a 34-year-old nurse in Aarhus. She earns 4,200 a month. Her husband Per Lund is 41 and a pilot."
REFERRAL = "I saw Mrs. Ada Lund, 34, with Dr. Bo Moe. The patient is a nurse. Her mother, Kari Lund, is 71."
FIRST_PERSON = "I am 52 and work as a teacher. My son is 19 and a student."


def spans_of(text: str, *found: tuple[str, str]) -> list[EntitySpan]:
    return [EntitySpan(text.index(word), text.index(word) + len(word), category, "test") for word, category in found]


IN_COUPLE = spans_of(
    COUPLE,
    *(("Ada Lund", "full_name"), ("34", "age"), ("nurse", "occupation"), ("Aarhus", "city")),
    *(("4,200", "monthly_income"), ("Per Lund", "full_name"), ("41", "age"), ("pilot", "occupation")),
)
IN_REFERRAL = spans_of(
    REFERRAL,
    *(("Ada Lund", "patient_name"), ("34", "age"), ("Bo Moe", "full_name"), ("nurse", "occupation")),
    *(("Kari Lund", "relative_name"), ("71", "age")),
)
IN_FIRST_PERSON = spans_of(
    FIRST_PERSON, ("52", "age"), ("teacher", "occupation"), ("19", "age"), ("student", "occupation")
)


@pytest.mark.parametrize(
    ("query", "category"),
    [
        ("What dose of amoxicillin is right?", "weight"),
        ("Which drug interactions are there?", "age"),
        ("Can she afford the rent?", "monthly_income"),
        ("Is the MORTGAGE within reach?", "credit_score"),
        ("Should he change his career?", "occupation"),
        ("Which visa do they need?", "nationality"),
        ("Where could I go hiking nearby?", "city"),
        ("How old is he?", "age"),
        ("How should she celebrate Ramadan?", "religion"),
        ("Can they buy a house?", "account_balance"),
    ],
)
def test_an_intent_needs_its_categories(query: str, category: str) -> None:
    assert category in needed_categories(query)


@pytest.mark.parametrize("query", [None, "", "Summarize this.", "Hello there", "Please rewrite the text politely."])
def test_a_question_without_intent_needs_nothing(query: str | None) -> None:
    assert needed_categories(query) == frozenset()
    assert needed_spans(COUPLE, IN_COUPLE, query) == []


def test_words_are_whole_and_of_any_case() -> None:
    assert "occupation" not in needed_categories("What does the jobber want?")
    assert needed_categories("how  many\nmg") == needed_categories("HOW MANY MG") != frozenset()
    # A verb of the table without its noun shows nothing.
    assert needed_categories("What should he buy?") == frozenset()


def test_the_table_needs_no_name_and_every_quasi_identifier_is_needed_by_some_intent() -> None:
    needed = frozenset().union(*(intent.needs for intent in intents()))
    assert not any(categories()[category].type == "PER" for category in needed)
    # A ward tells nobody anything about a question.
    assert {one.id for one in categories().values() if not one.direct} - needed == {"ward"}


@pytest.mark.parametrize(
    ("text", "spans", "query", "needed"),
    [
        (COUPLE, IN_COUPLE, "What career should she choose?", ["nurse"]),
        (COUPLE, IN_COUPLE, "What job suits her husband?", ["pilot"]),
        (COUPLE, IN_COUPLE, "Is Ada's career stable?", ["nurse"]),
        (COUPLE, IN_COUPLE, "How old are they?", ["34", "41"]),
        (COUPLE, IN_COUPLE, "Which job pays better?", ["nurse", "4,200", "pilot"]),
        (COUPLE, IN_COUPLE, "How old is my daughter?", []),
        (REFERRAL, IN_REFERRAL, "How old is the patient?", ["34"]),
        (REFERRAL, IN_REFERRAL, "How old is she?", ["34"]),
        (REFERRAL, IN_REFERRAL, "Which dose is right?", ["34"]),
        (REFERRAL, IN_REFERRAL, "How old is her mother?", ["71"]),
        (FIRST_PERSON, IN_FIRST_PERSON, "What job should I look for?", ["teacher"]),
        (FIRST_PERSON, IN_FIRST_PERSON, "What job should my son look for?", ["student"]),
    ],
)
def test_what_is_needed_is_of_whom_the_question_is_about(
    text: str, spans: list[EntitySpan], query: str, needed: list[str]
) -> None:
    assert [text[span.start : span.end] for span in needed_spans(text, spans, query)] == needed


def test_of_somebody_alone_any_pronoun_means_them() -> None:
    text = "Robin Doe, 34, of Aarhus."
    spans = spans_of(text, ("Robin Doe", "full_name"), ("34", "age"), ("Aarhus", "city"))
    assert [text[span.start : span.end] for span in needed_spans(text, spans, "How old is he?")] == ["34"]


def test_a_text_that_mentions_nobody_is_about_whoever_is_asked_about() -> None:
    text = "34, lives in Aarhus."
    spans = spans_of(text, ("34", "age"), ("Aarhus", "city"))
    assert [text[span.start : span.end] for span in needed_spans(text, spans, "Where does she live?")] == ["Aarhus"]


@pytest.mark.parametrize("query", ["Write her a short reminder of her next visit", "Is the region of pain typical?"])
def test_a_visit_to_a_clinic_is_no_place(query: str) -> None:
    assert not {"city", "county", "landmark"} & needed_categories(query)
