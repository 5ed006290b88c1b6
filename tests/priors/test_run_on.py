"""Prompts that run on into sections whose headers the note template does not know: named, and not fitting."""

from pathlib import Path

import pytest
from support.patient_facts import NOTE, opening

from clinaudit.priors.fragments import LONG_COMPLAINT, LONGEST_COMPLAINT, find_known_headers


@pytest.mark.parametrize(
    ("line", "header"),
    [
        ("PMHx: nil of note", "pmhx"),
        ("Pmhx: T2dm, HTN", "pmhx"),
        ("DHx : NKDA.", "dhx"),
        ("PMHx nill", "pmhx"),
        ("Dhx. allergies to ibuprofen", "dhx"),
        ("FHx,", "fhx"),
        ("DH Salbutamol NKDA", "dh"),
        ("O/E well", "o/e"),
        ("Past medical history None", "past medical history"),
        ("CURRENT MEDICATIONS", "current medications"),
        ("Examination", "examination"),
        ("**Plan** rest", "plan"),
        ("3. Plan: rest", "plan"),
        ("Plan - rest", "plan"),
    ],
)
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r", "\u2028", "\n\u200b", "\n\u00a0"])
def test_a_line_that_begins_with_a_known_header(line: str, header: str, ending: str) -> None:
    note = f"cough{ending}{line}{ending}more"
    ((found, span),) = find_known_headers(note)
    assert found == header
    # From the line's beginning, with what stands before the header and shows nothing.
    assert span.start == len(f"cough{ending.rstrip(chr(0x200B) + chr(0xA0))}")


@pytest.mark.parametrize(
    "line",
    [
        *("Plan was to wait, which did not help.", "History of the same last year", "Ex smoker"),
        *("Past medical history is of no help", "exam today", "BP 120/80 at home", "Works: from home"),
        *("worse at night, PMH: asthma", "Reasonable sleep: no", "Medications taken"),
    ],
)
def test_prose_is_no_header(line: str) -> None:
    assert list(find_known_headers(f"cough\n{line}\nmore")) == []


def test_a_complaint_that_swallows_the_next_sections_makes_the_prompt_unfit(tmp_path: Path) -> None:
    note = NOTE.replace("CC: low mood\n", "CC: low mood\nHx: for weeks\nPMHx nill\nDDx: PE\n")
    assert opening(tmp_path, NOTE, "encounter_cc").unbroken
    found = opening(tmp_path, note, "encounter_cc")
    assert (found.unbroken, found.runs_on) == (False, ("ddx", "hx", "pmhx"))
    # The tier of the history knows what "Hx" heads.
    assert opening(tmp_path, note, "encounter_cc_hpi").runs_on == ("ddx", "pmhx")
    # What stands after the prompt is no part of it.
    assert opening(tmp_path, note, "encounter").unbroken


def test_what_stands_between_a_fact_and_the_header_that_ends_the_prompt_is_looked_at(tmp_path: Path) -> None:
    note = NOTE.replace("64-year-old female, tired.\n", "tired.\nFHx: none\n")
    assert opening(tmp_path, note, "encounter_cc").unbroken
    assert opening(tmp_path, note, "encounter_cc_hpi").runs_on == ("fhx",)


def test_a_section_that_the_template_finds_stands_where_the_layout_has_it(tmp_path: Path) -> None:
    note = NOTE.replace("CC: low mood\n", "CC: low mood\nallergies: none\n")
    found = opening(tmp_path, note, "encounter_cc_hpi")
    assert (found.unbroken, found.runs_on) == (True, ())


@pytest.mark.parametrize(
    ("characters", "runs_on"), [(LONGEST_COMPLAINT, ()), (LONGEST_COMPLAINT + 1, (LONG_COMPLAINT,))]
)
def test_a_complaint_is_short(tmp_path: Path, characters: int, runs_on: tuple[str, ...]) -> None:
    note = NOTE.replace("low mood", "x" * characters)
    for tier in ("encounter_cc", "encounter_cc_hpi"):
        found = opening(tmp_path, note, tier)
        assert (found.unbroken, found.runs_on) == (not runs_on, runs_on)
    assert opening(tmp_path, note, "encounter").unbroken


BANNER = (
    "patient: Ada Lund\ndob: 02/03/1960\n{}visit date: 05/01/2024\n{}provider: Jo Ek, MD\nlocation: {}\ncc: cough\n"
)
PROSE = "Has been low since the winter, drinks at night, was told about HIV and lost work over it, and more of that.\n"


@pytest.mark.parametrize(
    ("between", "again", "location", "fits"),
    [
        ("", "", "Elm", True),
        ("Insurance: none\nPhone: 555 0100\n", "", "Elm", True),
        (PROSE, "", "Elm", True),
        # Each is shorter than a stretch may be; together they are a history.
        (PROSE, PROSE, "Elm", False),
        ("Pmhx: depression, HIV\n", "", "Elm", False),
        ("", "", f"Elm, {PROSE.strip()} {PROSE}", False),
    ],
)
def test_a_history_among_the_lines_of_a_banner_does_not_fit(
    tmp_path: Path, between: str, again: str, location: str, fits: bool
) -> None:
    note = BANNER.format(between, again, location) + "hpi: since a week\nplan: rest\n"
    assert opening(tmp_path, note, "encounter").unbroken is fits
