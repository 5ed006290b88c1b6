"""What is found in other readings of a text, and where a model that names people and places is agreed with."""

import pytest
from support.pii.pattern_detector import PatternDetector

from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.pii.masking.detection import AgreedNames, EnsembleDetector
from clinaudit.audit.pii.masking.spoken_numbers import spoken
from clinaudit.audit.pii.plain_text import normalize_text

DETECTOR = EnsembleDetector([PatternDetector()])


def found_in(text: str) -> list[tuple[str, str]]:
    return [(span.category, text[span.start : span.end]) for span in DETECTOR.detect(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("SSN 1 2 3 - 4 5 - 6 7 8 9 is hers", [("ssn", "1 2 3 - 4 5 - 6 7 8 9")]),
        ("by A d a   L u n d.", [("patient_name", "A d a   L u n d")]),
        ("seen by Ada\n  Lund, who", [("patient_name", "Ada\n  Lund")]),
        ("seen by Ad\na Lund, who", [("patient_name", "Ad\na Lund")]),
        ("seen by Ad\r\na Lund, who", [("patient_name", "Ad\r\na Lund")]),
        ("seen by Ada\x1fLund, who", [("patient_name", "Ada\x1fLund")]),
        ("seen by A\x00da Lund, who", [("patient_name", "A\x00da Lund")]),
        # A label, an item or a heading begins a line of its own.
        ("seen by Ada\nLund: well", []),
        ("seen by Ada\nLUND\n", []),
        ("seen by Ada\n- Lund", []),
        ("a b c d", []),
    ],
)
def test_other_readings_find_what_is_spelled_out_or_runs_on(text: str, found: list[tuple[str, str]]) -> None:
    assert found_in(text) == found


@pytest.mark.parametrize(
    ("text", "figures"),
    [
        ("SSN five-one-two 44 1234", "SSN 512 44 1234"),
        ("on six zero two, five five five, oh one four three.", "on 602 555 0143."),
        ("born nineteen forty-six", "born 1946"),
        ("March, nineteen oh five", "March, 1905"),
        ("two thousand and one", "2001"),
        ("double five, triple three", "55 333"),
        ("three days, two times", None),
        ("one hundred and five", None),
        ("10-20 mg one or two", None),
        ("one twenty over eighty", None),
    ],
)
def test_spelled_numbers_are_read_as_figures(text: str, figures: str | None) -> None:
    plain = normalize_text(text)
    read = plain.replaced(spoken(plain.text))
    assert (None if read is plain else read.text) == figures


def test_a_name_at_the_end_of_a_line_does_not_take_the_next_word() -> None:
    patterns = PatternDetector({"patient_name": r"Ada \w+"})
    text = "seen by Ada Lund\nreports wheezing"
    assert [text[span.start : span.end] for span in EnsembleDetector([patterns]).detect(text)] == ["Ada Lund"]


def test_spans_that_overlap_all_stand() -> None:
    patterns = [PatternDetector({"patient_name": "Ada Lund"}), PatternDetector({"city": "Lund of Aarhus"})]
    text = "Ada Lund of Aarhus"
    assert [text[span.start : span.end] for span in EnsembleDetector(patterns).detect(text)] == [
        "Ada Lund",
        "Lund of Aarhus",
    ]
    assert EnsembleDetector(patterns).name == "patterns + patterns"


@pytest.mark.parametrize(
    ("text", "category", "agreed"),
    [
        ("Then [Qiang Sun] came.", "full_name", "full_name"),
        ("To whom it may concern: [Qiang Sun] is here.", "full_name", "full_name"),
        ("We spoke of [Qiang Sun].", "full_name", "full_name"),
        ("I saw [Quex] today.", "full_name", "full_name"),
        ("[Quex] lives alone.", "full_name", "full_name"),
        # Whatever the model calls somebody who does what people do.
        ("[Quex] said no.", "company", "full_name"),
        ("[Quex] and his wife.", "city", "full_name"),
        ("She lives in [Quexford].", "city", "city"),
        ("Walks near [Lake Quex].", "landmark", "landmark"),
        # Nothing beside it, or nothing of a person.
        ("[Headaches]", "full_name", None),
        ("[Quexing] for 3 weeks.", "full_name", None),
        ("[Quexford] was normal.", "city", None),
        ("Bought at [Quex Stores].", "company", None),
        ("[Ripple Quex], daily.", "company", None),
        # Clinical words, abbreviations and small letters never.
        ("I saw [Headaches] today.", "full_name", None),
        ("I saw [FBC] today.", "full_name", None),
        ("Sent to [MSU].", "city", None),
        ("I saw [hypothyroid] today.", "full_name", None),
        ("We spoke of [Prediabetes Sun].", "full_name", None),
        ("I saw [Sertraline] today.", "full_name", None),
        ("Works in [RLQX].", "city", None),
        ("Of [the West Coast].", "landmark", None),
    ],
)
def test_the_context_decides(text: str, category: str, agreed: str | None) -> None:
    written = text[text.index("[") + 1 : text.index("]")]
    start = text.index("[")
    named = [EntitySpan(start, start + len(written), category, "a stub")]
    found = AgreedNames(lambda _: named).detect(text.replace("[", "").replace("]", ""))
    assert [span.category for span in found] == ([] if agreed is None else [agreed])
