"""Headers, aliases, body-system parents and section boundaries (paper, Table 2)."""

import pytest

from clinaudit.errors import BadInputError
from clinaudit.templates.note import NoteReader, normalize_newlines
from clinaudit.templates.profile import DEFAULT_PROFILE, load_profile
from clinaudit.templates.spans import Span

PROFILE = load_profile()
READER = NoteReader(PROFILE)


def names(note: str) -> list[tuple[str, str]]:
    return [(section.name, note[slice(*section.span_chars)]) for section in READER.read(note).sections]


def test_lexicon_has_the_73_strings_of_table_2() -> None:
    assert len(PROFILE.lexicon) == 73
    assert len(PROFILE.ambiguous) == 8


def test_sections_cover_the_note_in_order() -> None:
    assert names("patient: x\ncc: cough\nhpi: worse") == [
        ("preamble", "patient: x\n"),
        ("Chief Complaint", "cc: cough\n"),
        ("History of Present Illness", "hpi: worse"),
    ]


def test_ambiguous_leaf_takes_the_nearest_parent_and_none_is_unassigned() -> None:
    note = "cardiovascular: a\nros:\ncardiovascular: b\nskin: c\npast medical history: d\npsychiatric: e\n"
    note += "objective:\nrespiratory: f"
    assert [name for name, _ in names(note)] == [
        "unassigned",
        "Review of Systems",
        "Review of Systems",
        "Physical Exam",
        "Past Medical History",
        "Review of Systems",
        "Physical Exam",
        "Physical Exam",
    ]


def test_capitals_alone_on_a_line_need_no_colon() -> None:
    note = "CHIEF COMPLAINT \n\nAnnual exam.\n\nPLAN\nrest\nP\nplan\nThe PLAN"
    assert names(note) == [
        ("Chief Complaint", "CHIEF COMPLAINT \n\nAnnual exam.\n\n"),
        ("Plan", "PLAN\nrest\nP\nplan\nThe PLAN"),
    ]


def test_longest_header_wins() -> None:
    heading = READER.read("past medical history / family history / social history: x").headings[0]
    assert heading.section == "PMH / FH / SH"
    assert heading.span_chars == Span(0, 55)


def test_empty_note_has_no_section() -> None:
    assert READER.read("").sections == ()


def test_newlines() -> None:
    assert normalize_newlines("a\r\nb\rc\n\r") == "a\nb\nc\n\n"


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (('name = "soap"', ""), "name: a text is needed"),
        (('headers = ["hpi"]', 'headers = ["cc"]'), "a header stands in two places"),
        (("[fields.hpi]", "[fields.hpy]"), "fields.hpi: missing"),
        (('parents = ["Review of Systems", "Physical Exam"]', 'parents = ["x"]'), "names a section that is not there"),
    ],
)
def test_wrong_profile_is_bad_input(tmp_path, edit: tuple[str, str], problem: str) -> None:
    path = tmp_path / "profile.toml"
    path.write_text(DEFAULT_PROFILE.read_text(encoding="utf-8").replace(*edit), encoding="utf-8")
    with pytest.raises(BadInputError) as caught:
        load_profile(path)
    assert problem in caught.value.render()


# Table 2: the 17 body-system headers, by the parents they stand under (the last two, "other", under either).
ROS_ONLY = ["constitutional", "genitourinary", "integumentary", "allergic/immunologic"]
EXAM_ONLY = ["general", "eyes", "nose", "neck", "lymphatic", "skin", "neurologic"]
BOTH = ["e/n/t", "cardiovascular", "respiratory", "gastrointestinal", "musculoskeletal", "psychiatric"]
OTHER = ["hematologic/lymphatic", "endocrine"]

PARENTS = [("ros", "Review of Systems"), ("physical exam", "Physical Exam"), ("objective", "Physical Exam")]


@pytest.mark.parametrize(("parent", "section"), PARENTS)
@pytest.mark.parametrize("leaf", [*BOTH, *OTHER])
def test_ambiguous_leaf_takes_the_nearest_preceding_parent(leaf: str, parent: str, section: str) -> None:
    other = "objective" if parent == "ros" else "ros"
    # A header that is no parent, and a leaf of the other parent alone, stand between and change nothing.
    between = "skin: a\n" if parent == "ros" else "constitutional: a\n"
    note = f"{other}:\n{parent}:\n{between}family history: b\n{leaf}: c\n{other}:\n"
    resolved = [(heading.header, heading.section) for heading in READER.read(note).headings]
    assert (leaf, section) in resolved
    assert resolved[-1] == (other, dict(PARENTS)[other])


@pytest.mark.parametrize("leaf", [*BOTH, *OTHER])
def test_ambiguous_leaf_without_a_parent_before_it_is_unassigned(leaf: str) -> None:
    note = f"hpi: a\n{leaf}: b\nros:\n{leaf}: c"
    assert names(note)[1:] == [
        ("unassigned", f"{leaf}: b\n"),
        ("Review of Systems", "ros:\n"),
        ("Review of Systems", f"{leaf}: c"),
    ]


@pytest.mark.parametrize(
    ("leaf", "section"),
    [*((leaf, "Review of Systems") for leaf in ROS_ONLY), *((leaf, "Physical Exam") for leaf in EXAM_ONLY)],
)
@pytest.mark.parametrize("before", ["", "ros:\n", "physical exam:\n", "objective:\n"])
def test_a_leaf_of_one_parent_stands_there_whatever_is_before(leaf: str, section: str, before: str) -> None:
    assert names(f"{before}{leaf}: x")[-1] == (section, f"{leaf}: x")


def test_a_parent_in_the_middle_of_a_line_is_none() -> None:
    assert [name for name, _ in names("ros:\nsee physical exam: x\nrespiratory: y")] == ["Review of Systems"] * 2
