"""Headers and sections of a note, and where facts stand in it: labels, patterns, positions (docs/note-templates.md)."""

from pathlib import Path

import pytest
from support.cases import read_rows

from clinaudit.templates.note import NoteReader, normalize_newlines
from clinaudit.templates.profile import load_profile
from clinaudit.templates.shown_text import Span

CASES = read_rows("template_cases.txt")

HEAD = """name = "t"
date_formats = "day_first"
header_styles = ["colon"]
"""
TAIL = """
[[sections]]
name = "Encounter"
headers = ["provider"]
[[sections]]
name = "Complaint"
headers = ["cc"]
[fields.chief_complaint]
headers = ["cc"]
[fields.provider]
headers = ["provider"]
"""
LABELS = """
[fields.name]
labels = ["Name", "patient"]
[fields.dob]
labels = ["DOB:"]
"""
ABSENT = ["age", "sex", "visit_date", "practice", "hpi", "marital_status", "occupation", "children", "medications"]


def find(
    tmp_path: Path, note: str, *, head: str = "", fields: str = LABELS, also_absent: tuple[str, ...] = ()
) -> dict[str, str]:
    """Return the values found in `note`, after checking that each stands where its span says."""
    path = tmp_path / "t.toml"
    absent = [fact for fact in ABSENT if f"fields.{fact}]" not in fields and f"<{fact}>" not in head + fields]
    path.write_text(f"{HEAD}{head}\nnot_in_notes = {[*absent, *also_absent]!r}\n{TAIL}{fields}", encoding="utf-8")
    found = NoteReader(load_profile(path)).read(note).fields
    for field in found.values():
        assert note[slice(*field.value_chars)] == field.value
        assert field.span_chars.start <= field.value_chars.start
        assert field.value_chars.end <= field.span_chars.end
    return {fact: field.value for fact, field in found.items()}


@pytest.mark.parametrize(("note", "expected"), CASES["test_labels"])
def test_labels(tmp_path: Path, note: str, expected: dict[str, str]) -> None:
    assert find(tmp_path, note, head='other_labels = ["MRN"]\nblanks = ["___"]') == expected


def test_a_delimiter_ends_a_value(tmp_path: Path) -> None:
    note = "Name: Ada Lund | Ward 3 | DOB: 1/2/60 | x\n"
    assert find(tmp_path, note, head='delimiter = "|"') == {"name": "Ada Lund", "dob": "1/2/60"}


def test_bold_and_dashed_labels_where_the_header_styles_say_so(tmp_path: Path) -> None:
    note = "**Name:** Ada Lund\n**DOB**: 1/2/60\n"
    styles = 'header_styles = ["markdown"]'
    assert find(tmp_path, note) == {}
    path = tmp_path / "t.toml"
    path.write_text(path.read_text().replace('header_styles = ["colon"]', styles))
    found = NoteReader(load_profile(path)).read(note).fields
    assert {fact: field.value for fact, field in found.items()} == {"name": "Ada Lund", "dob": "1/2/60"}
    path.write_text(path.read_text().replace("markdown", "dash"))
    found = NoteReader(load_profile(path)).read("Name - Ada Lund-Ode\nDOB – 1/2/60\n").fields
    assert {fact: field.value for fact, field in found.items()} == {"name": "Ada Lund-Ode", "dob": "1/2/60"}


def test_facts_under_headings_of_their_own_are_in_the_banner(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text(
        """name = "t"
date_formats = "day_first"
header_styles = ["markdown"]
not_in_notes = ["age", "sex", "practice", "hpi", "marital_status", "occupation", "children", "medications", "provider"]
[[sections]]
name = "Encounter"
headers = ["patient", "born", "seen"]
[[sections]]
name = "Complaint"
headers = ["cc"]
[fields]
name.headers = ["patient"]
dob.headers = ["born"]
visit_date.headers = ["seen"]
chief_complaint.headers = ["cc"]
""",
        encoding="utf-8",
    )
    note = "## Patient\n\nAda Lund\n## Born\n1/2/1980\nin Elm\n## Seen\n3/4/2024\n## CC\ncough\nfever\n"
    found = NoteReader(load_profile(tmp_path / "t.toml")).read(note).found
    assert {fact: field.value for fact, field in found.placed.items()} == {
        "name": "Ada Lund",
        "dob": "1/2/1980",
        "visit_date": "3/4/2024",
        "chief_complaint": "cough\nfever",
    }
    assert note[: found.banner_end].endswith("3/4/2024\n")


PATTERN = """
[[patterns]]
regex = '^(?P<name>[^(\\n]+) \\(DOB (?P<dob>[^)]+)\\), MRN \\d+(?: (?P<age>\\d+)(?P<sex>[MF]))?$'
"""


@pytest.mark.parametrize(("note", "expected"), CASES["test_one_pattern_gives_several_facts"])
def test_one_pattern_gives_several_facts(tmp_path: Path, note: str, expected: dict[str, str]) -> None:
    assert find(tmp_path, note, fields=PATTERN) == expected


def test_a_pattern_may_look_in_the_whole_note(tmp_path: Path) -> None:
    fields = LABELS + "[[patterns]]\nwhere = \"note\"\nregex = '(?P<age>\\d+)-year-old (?P<sex>\\w+)'\n"
    found = find(tmp_path, "cc: a 46-year-old male, brother of a 50-year-old\n", fields=fields)
    assert (found["age"], found["sex"]) == ("46", "male")
    # In prose it tells nothing of where an opening ends; in the banner it does.
    reader = NoteReader(load_profile(tmp_path / "t.toml"))
    assert reader.read("cc: a 46-year-old male\n").found.placed.keys() == {"chief_complaint"}
    assert reader.read("a 46-year-old male\ncc: x\n").found.placed.keys() == {"age", "sex", "chief_complaint"}
    assert "age" not in load_profile(tmp_path / "t.toml").layouts[0].placed


BANNER = "\nElm Clinic, North Road\n\n  Lund, Ada | 1/2/1980 | F \nseen by Jo Ek\n\ncc: cough\nprovider: Ann\n"


@pytest.mark.parametrize(("position", "value"), CASES["test_position_in_an_unlabelled_banner"])
def test_position_in_an_unlabelled_banner(tmp_path: Path, position: str, value: str | None) -> None:
    fields = f"[fields.name]\nposition = {{ {position} }}\n"
    assert find(tmp_path, BANNER, fields=fields, also_absent=("dob",)).get("name") == value


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
