"""What is found in other readings of a text, where nothing but a name can stand, and where a model is agreed with."""

import pytest
from support.pii.found_spans import found_in_group
from support.pii.pattern_detector import PatternDetector

from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.pii.masking.detection import AgreedNames, EnsembleDetector

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
    ("text", "names"),
    [
        ("Mr. April Good reports", ["April Good"]),
        ("Patient: Will A. May.", ["Will A. May"]),
        ("The patient, June Street, was", ["June Street"]),
        ("Her husband Will Best came", ["Will Best"]),
        ("Dear April Drug, please", ["April Drug"]),
        ("Name: August O'Brien", ["August O'Brien"]),
        ("Dr. May agreed, Dr. Good-Bell too", ["May", "Good-Bell"]),
        ("Will May is a 45-year-old", ["Will May"]),
        ("Will May (DOB 01/02/1950)", ["Will May"]),
        ("MS Contin 15 mg", []),
        ("the patient will be seen in May", []),
        ("Patient: alert, oriented", []),
        ("Her husband Will", []),
        ("Foley catheter, Parkinson disease", []),
    ],
)
def test_a_name_is_whatever_stands_where_names_stand(text: str, names: list[str]) -> None:
    assert [text[span.start : span.end] for span in found_in_group("places of names", text)] == names


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
