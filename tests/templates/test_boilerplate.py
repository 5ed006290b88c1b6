"""Boilerplate: what a verdict may leave out of a leak, by tables of notes and of what tells nothing in them."""

from pathlib import Path

import pytest
from support.boilerplate_twin import boilerplate_characters

from clinaudit.priors.diagnoses import clinical_terms, drug_words, load_panel
from clinaudit.templates.note import NoteReader, Rule
from clinaudit.templates.profile import load_profile

PROFILE = load_profile()
TERMS = clinical_terms(load_panel())
READER = NoteReader(PROFILE, TERMS)
COMBINED = "past medical history / family history / social history:"

# (note, the stretches that are boilerplate, in order)
TABLE = [
    # A review of systems that tells nothing is boilerplate as it was, header and all.
    ("ros:\nrespiratory: negative for cough, wheezing.\nplan", ["ros:", "respiratory: negative for cough, wheezing."]),
    ("cc: cough\nsee hpi", ["cc:", "see hpi"]),
    # A clause with a term of the panel: a name, a code, a drug or a symptom.
    ("hiv test: negative for acute changes but she has been living with hiv since 2010", []),
    ("psychiatric: negative for anxiety; see hpi", ["see hpi"]),
    ("cc: F41.1\nplan: rest", ["plan:"]),
    ("plan: continue biktarvy.\nhpi: fine", ["hpi:"]),
    ("psychiatric: negative for flashbacks.", []),
    ("psychiatric: negative for aspirin allergy.", []),
    ("skin: negative for Depo-Medrol reaction.", []),
    # The list of a "negative for" ends at a contrast, and what is before it is a clause of its own.
    ("negative for cough but positive for hiv and hepatitis c", ["negative for cough"]),
    ("negative for cough, but lost her job", ["negative for cough"]),
    ("negative for all systems except a lump in the breast", ["negative for all systems"]),
    ("skin: negative for rash (positive patch test)", ["skin: negative for rash"]),
    ("negative for butter allergy, exceptions", ["negative for butter allergy, exceptions"]),
    # Cues of a finding, unless a negation stands before them in their clause.
    ("cc: diagnosed with lupus", []),
    ("cc: not diagnosed with lupus", ["cc:"]),
    ("cc: wasn't diagnosed with lupus", ["cc:"]),
    ("plan: history  of abuse", []),
    ("plan: denies a history of abuse", ["plan:"]),
    ("plan: no cough; history of abuse", ["plan:"]),
    ("plan: a history of abuse, no cough", []),
    # An item with a subject or verb of its own, or of more than a few words, tells something.
    ("negative for chest pain, edema, he tried to hang himself", ["negative for chest pain, edema"]),
    ("negative for cough, wheezing, whereas her syphilis titer rose", ["negative for cough, wheezing"]),
    ("negative for fever although her husband beats her", ["negative for fever"]),
    ("gi: negative for nausea and she confided that she was raped", ["gi: negative for nausea and"]),
    ("negative for rash, smokes crack with her son", ["negative for rash"]),
    ("negative for chills, yet drinks a pint of vodka", ["negative for chills"]),
    ("negative for pain, his huntington gene test came back", ["negative for pain"]),
    (
        "negative for pain, beaten black and blue by a jealous husband on fridays",
        ["negative for pain, beaten black and"],
    ),
    (
        "constitutional: negative for fever, chills, or night sweats",
        ["constitutional: negative for fever, chills, or night sweats"],
    ),
    ("negative for pain over 1,000 m", ["negative for pain over 1,000 m"]),
    ("negative for a history of syncope", ["negative for a history of syncope"]),
    # The date and review rules cover their stamp.
    ("03/14/2019 hiv test came back positive after a night out", []),
    ("03/14/2019 10:23 am she lost her job", ["03/14/2019 10:23 am"]),
    ("3-14-19, 9:05 she lost her job", ["3-14-19, 9:05"]),
    ("3/14/2019 37.5 mg", ["3/14/2019"]),
    ("last reviewed on 1/02/2003 10:23 am by doe, jane", ["last reviewed on 1/02/2003 10:23 am", "by doe, jane"]),
    ("last reviewed 01/02/2026 by dr. smith patient lost her job", ["last reviewed 01/02/2026"]),
    ("last reviewed 01/02/2026 patient disclosed two abortions", []),
    ("last reviewed with the patient, who wept", ["last reviewed"]),
    # Of the combined history its header alone.
    (f"{COMBINED}\nher husband beats her\nplan: rest", [COMBINED, "plan:"]),
    (f"{COMBINED}\nlast reviewed on 1/02/2003 by doe, jane", [COMBINED, "last reviewed on 1/02/2003", "by doe, jane"]),
    # A clause ends at `.`, `;` or a line break, and not within a number, after a title or an initial.
    ("cc: cough. hiv", ["cc:"]),
    ("cc: temperature 37.5 with hiv", []),
    ("seen for hiv by dr. roe\nsee hpi", ["see hpi"]),
    ("seen for hiv by dr. j. roe", []),
    ("hiv. seen by dr. roe", ["by dr. roe"]),
    # A name broken over two lines makes both tell.
    ("cc: bipolar\ndisorder, see hpi\nplan:", ["plan:"]),
    ("", []),
]


@pytest.mark.parametrize(("note", "expected"), TABLE)
def test_boilerplate_is_exactly_this(note: str, expected: list[str]) -> None:
    mask = READER.read(note).boilerplate
    stretches = "".join(char if flag else "\0" for char, flag in zip(note, mask, strict=True)).split("\0")
    assert [stretch for stretch in stretches if stretch] == expected
    assert list(map(bool, mask)) == boilerplate_characters(note)


@pytest.mark.parametrize("note", [note for note, _ in TABLE])
def test_boilerplate_is_templated(note: str) -> None:
    read = READER.read(note)
    assert all(by_rules for by_rules, flag in zip(read.templated, read.boilerplate, strict=True) if flag)


SPACES = ["\u00a0", "\u2007", "\u202f", "\u2009", "\u3000"]
SPACED = [
    "  respiratory: negative for cough, wheezing.",
    " last reviewed on 1/02/2003 10:23 am by doe, jane",
    " 1/02/2003 10:23 am",
    "seen by dr. j. roe",
    "skin: see hpi",
    f"{COMBINED}\n all of it\n plan: rest",
]


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("note", SPACED)
def test_every_space_of_a_note_is_a_blank(note: str, space: str) -> None:
    written = note.replace(" ", space)
    plain, spaced = READER.read(note), READER.read(written)
    assert (spaced.templated, spaced.boilerplate, spaced.sections) == (
        plain.templated,
        plain.boilerplate,
        plain.sections,
    )
    assert 1 in spaced.templated
    assert spaced.text == written


def test_a_header_that_holds_a_cue_is_a_header() -> None:
    note = "history of present illness: fine\nhistory of present illness: hiv"
    mask = NoteReader(load_profile(Path("capitals")), TERMS).read(note).boilerplate
    assert [index for index, flag in enumerate(mask) if flag] == list(range(len("history of present illness:")))


def test_a_zero_width_space_is_no_blank() -> None:
    assert 1 not in READER.read("negative\u200bfor cough").templated


def test_a_site_adds_a_diagnosis_of_its_own() -> None:
    note = "skin: negative for gout."
    assert 1 in READER.read(note).boilerplate
    panel = load_panel({"gout": {"names": ["gout"]}})
    assert 1 not in NoteReader(PROFILE, clinical_terms(panel)).read(note).boilerplate


def test_the_lists_of_drugs_are_read_without_their_comments() -> None:
    words = drug_words()
    assert {"aspirin", "carboxymaltose", "augmentin", "depo-medrol"} <= words
    assert not any("#" in word or word in {"compiled", "hand"} for word in words)


def test_the_rules_of_the_paper_are_as_they_were() -> None:
    """What is no boilerplate is templated all the same: the paper's tables count whole lines."""
    assert {rule.value for rule in Rule} == {
        "header_prefix",
        "negative_ros",
        "last_reviewed",
        "date_time_line",
        "by_name_line",
        "see_reference",
        "combined_history",
    }
    for note in ("negative for cough but positive for hiv", "03/14/2019 hiv test came back positive"):
        assert set(READER.read(note).templated) == {1}
        assert 1 in READER.read(note).templated
