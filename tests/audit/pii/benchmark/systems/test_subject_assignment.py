"""Which entity is whose: by turns and the nearest name before it, over the text and the spans alone."""

import pytest

from clinaudit.audit.pii.benchmark.systems.answers import assign_subjects
from clinaudit.audit.pii.entity_span import EntitySpan


def spans_in(text: str, *pairs: tuple[str, str]) -> list[EntitySpan]:
    """One span a pair of text and category, each found after the one before."""
    found, start = [], 0
    for words, category in pairs:
        start = text.index(words, start)
        found.append(EntitySpan(start, start + len(words), category, "test"))
        start += len(words)
    return found


CASES = {
    "no name is one subject": (
        "She is 34 and lives in Ashford.",
        [("34", "age"), ("Ashford", "city")],
        [["34", "Ashford"]],
    ),
    "nothing was found": ("All is well.", [], []),
    "the nearest name before": (
        "Ann Bell is 34. Bob Crane works at Norvale. Ann Bell has asthma.",
        [
            ("Ann Bell", "full_name"),
            ("34", "age"),
            ("Bob Crane", "full_name"),
            ("Norvale", "company"),
            ("Ann Bell", "full_name"),
            ("asthma", "diagnosis"),
        ],
        [["Ann Bell", "34", "Ann Bell", "asthma"], ["Bob Crane", "Norvale"]],
    ),
    "a first name is the person of the whole name": (
        "Ann Bell is here. Bob Crane too. Ann turned 34.",
        [("Ann Bell", "full_name"), ("Bob Crane", "full_name"), ("Ann", "nickname"), ("34", "age")],
        [["Ann Bell", "Ann", "34"], ["Bob Crane"]],
    ),
    "what stands before the first name is that name's": (
        "At 34, Ann Bell retired.",
        [("34", "age"), ("Ann Bell", "full_name")],
        [["34", "Ann Bell"]],
    ),
    "speakers without names in the text": (
        "[PER_1]: I am 34.\n[PER_2]: I live in Ashford.\n[PER_1]: I have asthma.",
        [("34", "age"), ("Ashford", "city"), ("asthma", "diagnosis")],
        [["34", "asthma"], ["Ashford"]],
    ),
    "a named speaker owns the turn, and whom a turn names owns what follows": (
        "Ann Bell: I am 34.\nBob Crane: I am 51.\nAnn Bell: My brother Carl Dorn is 29.",
        [
            ("Ann Bell", "full_name"),
            ("34", "age"),
            ("Bob Crane", "full_name"),
            ("51", "age"),
            ("Ann Bell", "full_name"),
            ("Carl Dorn", "full_name"),
            ("29", "age"),
        ],
        [["Ann Bell", "34", "Ann Bell"], ["Bob Crane", "51"], ["Carl Dorn", "29"]],
    ),
    "a label that opens one line alone is no speaker": (
        "Address: 12 Elm Road\nAge: 34",
        [("12 Elm Road", "street_address"), ("34", "age")],
        [["12 Elm Road", "34"]],
    ),
}


@pytest.mark.parametrize(("text", "pairs", "expected"), CASES.values(), ids=CASES.keys())
def test_each_entity_goes_to_one_subject(text, pairs, expected) -> None:
    spans = spans_in(text, *pairs)
    found = assign_subjects(text, spans)
    assert [[text[span.start : span.end] for span in subject] for subject in found] == expected
    assert sorted(span for subject in found for span in subject) == sorted(spans)


def test_the_order_of_the_spans_does_not_matter() -> None:
    text, pairs, _ = CASES["the nearest name before"]
    spans = spans_in(text, *pairs)
    assert assign_subjects(text, spans[::-1]) == assign_subjects(text, spans)
