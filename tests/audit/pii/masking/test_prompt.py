"""What is masked, what stays, and what is withheld."""

import re

import pytest
from support.cases import read_rows
from support.pii.masked_by_rules import mask_prompt
from support.pii.pattern_detector import PATTERNS, PatternDetector

from clinaudit.audit.pii.masking import PromptMasker, unmask_text
from clinaudit.audit.pii.masking.prompt import DETECTOR_FAILED, RESIDUAL
from clinaudit.audit.pii.taxonomy import EntitySpan

ROWS = read_rows("pii/rows.txt")

DETECTOR = PatternDetector()
TEXT = "Ada Lund, a 34-year-old nurse of Aarhus with asthma, SSN 123-45-6789."


@pytest.mark.parametrize(("query", "text"), ROWS["a quasi identifier stays where the question needs it"])
def test_a_quasi_identifier_stays_where_the_question_needs_it(query: str | None, text: str) -> None:
    assert mask_prompt(TEXT, query, DETECTOR).text == text


@pytest.mark.parametrize(("text", "query", "expected"), ROWS["what is masked beside a question"])
def test_what_is_masked_beside_a_question(text: str, query: str | None, expected: str) -> None:
    masked = mask_prompt(text, query, DETECTOR)
    assert masked.text == expected
    assert unmask_text(expected, masked.forms) == (text, 0)


def test_safe_harbor_keeps_nothing_that_hipaa_lists() -> None:
    asked = mask_prompt("A nurse of Aarhus.", "Where is a job for her?", DETECTOR)
    assert asked.text == "A nurse of Aarhus."
    listed = mask_prompt("A nurse of Aarhus.", "Where is a job for her?", DETECTOR, policy="safe-harbor")
    assert listed.text == "A nurse of <CITY_1>."


def test_what_is_hidden_is_what_tags_stand_for() -> None:
    hidden = PromptMasker(DETECTOR).hidden_in(f"{TEXT} Ada was well.")
    assert [f"{TEXT} Ada was well."[one.start : one.end] for one in hidden] == [
        *("Ada Lund", "34", "nurse", "Aarhus", "123-45-6789", "Ada"),
    ]  # fmt: skip


def test_all_of_a_text_is_hidden_where_it_is_withheld() -> None:
    broken = PatternDetector(fails_on="asthma")
    assert [(one.start, one.end) for one in PromptMasker(broken).hidden_in(TEXT)] == [(0, len(TEXT))]


def test_the_question_is_masked_with_the_tags_of_its_text() -> None:
    text, query = "Ada Lund is 34-year-old. Per Lund is 41-year-old.", "How old was Per Lund on 01/02/2024?"
    masked = mask_prompt(text, query, DETECTOR)
    assert masked.text == "<PATIENT_1> is <AGE_1>-year-old. <PATIENT_2> is 41-year-old."
    assert masked.query == "How old was <PATIENT_2> on <DATE_1>?"
    assert unmask_text(masked.query, masked.forms) == (query, 0)


@pytest.mark.parametrize(
    "again",
    [
        *("ADA\nLUND", "Ada   Lund", "ada lund", "A\u200bda Lund", "Ада Lund".replace("Ада", "Ａda"), "\u202eAda Lund"),
        *("Ada.Lund", "Ada_Lund", "Mr Lund", "lund, ada"),
    ],
)
def test_a_value_that_is_masked_stands_nowhere_else(again: str) -> None:
    masked = mask_prompt(f"Ada Lund was seen. {again} was well.", None, DETECTOR)
    assert masked.text is not None
    assert "lund" not in masked.text.casefold()
    assert unmask_text(masked.text, masked.forms)[0] == f"Ada Lund was seen. {again} was well."


def test_clinical_content_stays() -> None:
    patterns = {**PATTERNS, "drug": "albuterol", "medical_condition": "wheezing"}
    text = "asthma and wheezing on albuterol"
    assert mask_prompt(text, None, PatternDetector(patterns)).text == text


def test_a_duration_is_masked_where_it_tells_of_a_life() -> None:
    patterns = {"duration": r"(?:a|an|\d+) (?:days?|weeks?|hours|seconds|years)"}
    clinical = (
        "Twice a day every 6 hours, for a week. Refill below 3 seconds. Cough for 2 weeks, seen again in 3 weeks.\n"
        "Married.\nTaken for 10 days"
    )
    assert mask_prompt(clinical, None, PatternDetector(patterns)).text == clinical
    lives = "Married for 25 years. Has 12 years of work experience. She lived in a tent for 3 weeks; cough for 2 weeks"
    assert mask_prompt(lives, None, PatternDetector(patterns)).text == (
        "Married for <DURATION_1>. Has <DURATION_2> of work experience. She lived in a tent for <DURATION_3>;"
        " cough for 2 weeks"
    )
    worked = "She works nights and takes it twice a day"
    assert mask_prompt(worked, None, PatternDetector(patterns)).text == worked


class _Uncovered:
    """Finds a name only once what stood before it is a tag."""

    name = "uncovered"

    def detect(self, text: str) -> list[EntitySpan]:
        found = PatternDetector().detect(text)
        if "<SSN_1> Hidden" in text:
            start = text.index("Hidden")
            found.append(EntitySpan(start, start + len("Hidden"), "full_name", self.name))
        return sorted(found)


def test_what_a_mask_uncovers_is_masked_too() -> None:
    assert mask_prompt("123-45-6789 Hidden", None, _Uncovered()).text == "<SSN_1> <PERSON_1>"


def test_a_detector_that_always_finds_more_ends_in_a_withheld_text() -> None:
    class Endless:
        name = "endless"

        def detect(self, text: str) -> list[EntitySpan]:
            place = next((number for number, letter in enumerate(text) if letter.islower()), None)
            return [] if place is None else [EntitySpan(place, place + 1, "other_code", self.name)]

    assert mask_prompt("abcdefgh", None, Endless()).withheld == RESIDUAL


@pytest.mark.parametrize("on", ["Ada", "asthma", "How old"])
def test_where_a_detector_fails_the_text_is_withheld(on: str) -> None:
    masked = mask_prompt(TEXT, "How old is she?", PatternDetector(fails_on=on))
    assert (masked.text, masked.query, masked.tags, dict(masked.forms)) == (None, None, 0, {})
    assert masked.withheld == DETECTOR_FAILED
    assert masked.failure is not None
    assert re.fullmatch(r"RuntimeError at pattern_detector\.py:\d+", masked.failure)


def test_a_full_machine_withholds_no_text() -> None:
    class Full(PatternDetector):
        def detect(self, text: str) -> list[EntitySpan]:
            raise MemoryError(text)

    with pytest.raises(MemoryError):
        mask_prompt(TEXT, None, Full())


def test_no_representation_holds_what_was_found() -> None:
    shown = f"{PromptMasker(DETECTOR).mask((TEXT, 'How old is Ada Lund?'))!r} {DETECTOR.detect(TEXT)!r}"
    assert not any(word in shown for word in ("Ada", "6789", "Aarhus"))


KEPT = frozenset({"Kari Nord", "Aarhus trial", "lund"})


@pytest.mark.parametrize(("text", "expected", "kept"), ROWS["a term that is kept stays"])
def test_a_term_that_is_kept_stays(text: str, expected: str, kept: int) -> None:
    patterns = {**PATTERNS, "full_name": "Kari.{1,2}Nord(?:berg)?|KARI  nord", "city": "(?i:aarhus)"}
    masked = mask_prompt(text, None, PatternDetector(patterns), keep=KEPT)
    assert masked.text == expected
    assert masked.stays == {"kept term": kept}
    assert unmask_text(expected, masked.forms) == (text, 0)


def test_what_found_a_tag_and_what_stays_are_told() -> None:
    masked = mask_prompt(f"{TEXT} Ada was seen by Ada Lund.", "Which job suits her?", DETECTOR)
    assert masked.kinds == {"PATIENT": 3, "AGE": 1, "CITY": 1, "SSN": 1}
    assert masked.found_by["PATIENT_1"] == {"masked elsewhere in the record": 1, "patterns": 2}
    assert masked.found_by["SSN_1"] == {"patterns": 1}
    assert masked.stays == {"OCCUPATION": 1}
