"""Tags: which occurrences share one, the intervals of dates, the way back; where a masked value stands again."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import read_rows
from support.pii.masked_by_rules import mask_prompt
from support.pii.pattern_detector import PatternDetector

from clinaudit.audit.pii.detectors.rules import RuleDetector, SuspectedDetector
from clinaudit.audit.pii.masking import unmask_text
from clinaudit.audit.pii.masking.detection import EnsembleDetector, FoldedText, find_values, fold_value
from clinaudit.audit.pii.masking.tags import Hidden, merge_hidden
from clinaudit.audit.pii.masking.written_tags import OWN, find_written_tags
from clinaudit.audit.pii.taxonomy import categories

ROWS = read_rows("pii/rows.txt")

DETECTOR = PatternDetector()


def masked(text: str, query: str | None = None) -> str:
    result = mask_prompt(text, query, DETECTOR)
    assert result.text is not None
    assert unmask_text(result.text, result.forms) == (text, 0)
    return result.text


@pytest.mark.parametrize(("text", "expected"), ROWS["how a text is tagged"])
def test_how_a_text_is_tagged(text: str, expected: str) -> None:
    assert masked(text) == expected


def test_days_are_counted_on_in_the_order_of_the_text() -> None:
    result = mask_prompt("Seen 03/05/2024, 13/05/2024 and 01/02/2024.", None, DETECTOR)
    assert unmask_text("<DATE_1+7d>, <DATE_2+10d-1d>, <DATE_1+10d>", result.forms) == (
        "10/05/2024, 12/05/2024, 13/05/2024",
        0,
    )
    unclear = mask_prompt("Seen 03/05/2024.", None, DETECTOR)
    assert unmask_text("<DATE_1+7d>", unclear.forms) == ("<DATE_1+7d>", 1)


def test_an_answer_gets_its_values_back_and_keeps_tags_that_nobody_gave() -> None:
    result = mask_prompt("Seen 01/02/2024, that is January 2, 2024, by Ada Lund; 12/31/2023.", None, DETECTOR)
    answer = "<PATIENT_1>: <DATE_1>, <DATE_1>, <DATE_1> (not <DATE_9> or <DATE_1-3d>)"
    assert unmask_text(answer, result.forms) == (
        "Ada Lund: 01/02/2024, January 2, 2024, 01/02/2024 (not <DATE_9> or 12/30/2023)",
        1,
    )


PIECES = [
    *("Ada Lund", "Lund, Ada", "Kari Lund", "ADA", "01/02/2024", "January 2, 2024", "born 03/04/1990", "555-0143"),
    *("123-45-6789", "1 2 3 4 5 6 7 8 9", "93-year-old", "34-year-old nurse", "Aarhus", "asthma", "<DATE_1>", "<", ">"),
    *("PATIENT_1", "[patient_1", "]", "&lt;", "&gt;", "<PATIENT_1 ", "DATE_1", "+1", "4d", "\\_1", "＜", "＞"),
    *("{", "DATE"),
    *("<PATIENT_", "_1>", "\r\n", "\t", "🩺", "e\u0301", "\u202e", "\u200b", "\0", " ", ".", "\u2028", "ß", "ﬁ"),
]


@settings(deadline=None)
@given(
    st.lists(st.one_of(st.sampled_from(PIECES), st.text(st.characters(exclude_categories=["Cs"]), max_size=8))).map(
        "".join
    ),
    st.sampled_from([None, "How old is she?", "Which job suits Ada Lund?", "Where?"]),
)
def test_unmask_gives_every_text_back(text: str, query: str | None) -> None:
    result = mask_prompt(text, query, DETECTOR)
    assert result.text is not None
    assert unmask_text(result.text, result.forms) == (text, 0)
    tags = [(one.start, one.end) for one in find_written_tags(result.text)]
    left = [span for span in DETECTOR.detect(result.text) if categories()[span.category].direct]
    assert all(any(start <= span.start and span.end <= end for start, end in tags) for span in left)


def _escaped(tag: str, escape: str) -> str:
    return "".join(escape.format(ord(mark), ord(mark)) if mark in "<>_+-" else mark for mark in tag)


#: What models and transports make of a tag.
SPELLINGS = [
    str,
    str.lower,
    str.title,
    lambda tag: f"< {tag[1:-1]} >",
    lambda tag: f"[{tag[1:-1]}]",
    lambda tag: f"«{tag[1:-1]}»",
    lambda tag: f"{tag[:-1]}/>",
    lambda tag: f"&lt;{tag[1:-1]}&gt;",
    lambda tag: tag.replace("_", " "),
    lambda tag: tag.replace("_", "-"),
    lambda tag: tag.replace("_", "\\_"),
    lambda tag: tag.replace("_", "__").replace("-", " − "),
    lambda tag: tag.replace("-", "–").replace("+", " + "),
    lambda tag: _escaped(tag, "&#{};"),
    lambda tag: _escaped(tag, "%{:02X}"),
    lambda tag: _escaped(tag, "\\u{:04x}"),
]


@settings(deadline=None, max_examples=150)
@given(st.lists(st.sampled_from([*PIECES, '"', '{"a": "', '"}', "[", ", "])).map("".join), st.randoms())
def test_an_answer_of_the_prompt_itself_in_any_spelling_gives_the_prompt(text: str, rng: random.Random) -> None:
    result = mask_prompt(text, None, DETECTOR)
    assert result.text is not None
    answer, place = [], 0
    for tag in list(find_written_tags(result.text)):
        written = result.text[tag.start : tag.end]
        if not tag.is_plain:
            continue
        spelled = rng.choice(SPELLINGS)(written)
        if spelled in result.forms.get(OWN, ()):
            spelled = written
        answer += [result.text[place : tag.start], spelled]
        place = tag.end
    assert unmask_text("".join([*answer, result.text[place:]]), result.forms) == (text, 0)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(st.characters(exclude_categories=["Cs"]), max_size=8))))
def test_unmask_gives_back_what_the_command_s_own_detectors_find(pieces: list[str]) -> None:
    text = " ".join(pieces)
    result = mask_prompt(text, "How old is she?", EnsembleDetector([RuleDetector(), SuspectedDetector(of_names=True)]))
    assert result.text is None or unmask_text(result.text, result.forms) == (text, 0)


def test_what_overlaps_is_masked_whole_and_goes_by_the_direct_identifier() -> None:
    found = [Hidden(0, 8, "city"), Hidden(5, 9, "ssn"), Hidden(20, 25, "age"), Hidden(9, 10, "age")]
    assert merge_hidden(found) == [Hidden(0, 9, "ssn"), Hidden(9, 10, "age"), Hidden(20, 25, "age")]


LETTERS = "ab1 -\né"


def places_one_by_one(text: str, hidden: list[Hidden], values: list[str]) -> set[tuple[int, int]]:
    """Every stretch between hidden ones that folds to a value and is of whole words."""
    covered = {place for one in hidden for place in range(one.start, one.end)}
    wanted = {fold_value(value) for value in values}
    found = set()
    for start in range(len(text)):
        for end in range(start + 1, len(text) + 1):
            stretch = text[start:end]
            if covered & set(range(start, end)) or not (stretch[0].isalnum() and stretch[-1].isalnum()):
                continue
            edges = text[start - 1 : start] + text[end : end + 1]
            if fold_value(stretch) in wanted and not any(map(str.isalnum, edges)):
                found.add((start, end))
    return found


def test_one_pass_finds_what_one_search_a_value_does() -> None:
    rng = random.Random(7)
    some = 0
    for _ in range(300):
        text = "".join(rng.choice(LETTERS) for _ in range(30))
        at = rng.randrange(28)
        hidden = [Hidden(at, at + 2, "mrn")]
        values = ["".join(rng.choice("ab1") for _ in range(rng.randint(4, 6))) for _ in range(30)]
        found = find_values(FoldedText(text, hidden), [(value, Hidden(0, 1, "school")) for value in values])
        long_enough = [value for value in values if len(value) >= (5 if value.isdecimal() else 4)]
        assert {(one.start, one.end) for one in found} == places_one_by_one(text, hidden, long_enough)
        some += bool(found)
    assert some > 20
