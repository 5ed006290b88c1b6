"""Header styles: what each takes for a header, with positions, and what it does not (docs/note-templates.md)."""

import pytest
from support.cases import read_rows

from clinaudit.templates.header_styles import DEFAULT_STYLES, STYLES, HeaderFinder, find_unlisted

CASES = read_rows("template_cases.txt")

HEADERS = ["plan", "past medical history", "medical history", "p", "c/o", "bp"]


@pytest.mark.parametrize(("style", "note", "expected"), CASES["headers_by_style"])
def test_style_takes_exactly_these_for_headers(style: str, note: str, expected: list[str]) -> None:
    found = list(HeaderFinder(HEADERS, [style]).find(note))
    assert [note[slice(*span)] for _, span in found] == expected
    assert all(header in HEADERS for header, _ in found)


def test_every_style_is_tested() -> None:
    assert {style for style, *_ in CASES["headers_by_style"]} == set(STYLES)


def test_styles_stand_together_and_the_longest_header_wins() -> None:
    note = "## Past Medical History\nPLAN\nPlan: x\n1. Plan\n- Plan"
    found = [header for header, _ in HeaderFinder(HEADERS, STYLES).find(note)]
    assert found == ["past medical history", "plan", "plan", "plan", "plan"]
    assert [header for header, _ in HeaderFinder(HEADERS, DEFAULT_STYLES).find(note)] == ["plan", "plan"]


@pytest.mark.parametrize(
    ("header", "style", "note"),
    [
        # What a Turkish keyboard, old print and German capitals make of a header, which lower case alone does not undo.
        ("medical history", "colon", "Medıcal History: x"),
        ("medical history", "colon", "MEDİCAL HİSTORY: x"),
        ("medical history", "lead_in", "Medical Hiſtory x"),
        ("größe", "capitals", "GRÖSSE\n"),
        ("größe", "colon", "GRÖßE: x"),
    ],
)
def test_a_header_is_found_as_it_was_given_however_its_letters_are_written(header: str, style: str, note: str) -> None:
    assert [found for found, _ in HeaderFinder(["plan", header], [style]).find(note)] == [header]


def test_without_headers_nothing_is_one() -> None:
    assert list(HeaderFinder([], STYLES).find("Plan: x\n\n## \n[]")) == []


@pytest.mark.parametrize(
    ("style", "text", "found"),
    [
        ("inline", "Born at term. BIRTH HISTORY: well. HISTORY: cough.", ["HISTORY:"]),
        (
            "lead_in",
            "Ex smoker\nEx NAD\nMedication review done\nMedication; none\nHistory of asthma",
            ["Ex", "Medication;"],
        ),
    ],
)
def test_a_word_of_another_heading_or_of_prose_is_no_header(style: str, text: str, found: list[str]) -> None:
    finder = HeaderFinder(["history", "ex", "medication"], [style])
    assert [text[slice(*span)] for _, span in finder.find(text)] == found


@pytest.mark.parametrize(
    ("styles", "found"),
    [
        (("capitals_colon",), ["CORONARY RISK FACTORS: none", "BP: 120/80"]),
        (("capitals",), ["PROBLEM LIST"]),
        (("colon", "lead_in", "inline"), []),
    ],
)
def test_headings_that_no_profile_lists(styles: tuple[str, ...], found: list[str]) -> None:
    text = "Plan: x\nCORONARY RISK FACTORS: none\nBP: 120/80\n\nPROBLEM LIST\nASPIRIN\n\nLOPRESSOR 50 MG\n\nA\n"
    lines = [text[start : text.index("\n", start)] for start in sorted(find_unlisted(text, styles))]
    assert lines == found
