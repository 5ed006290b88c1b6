"""Profiles that cannot work: each is refused with file, line and cause (docs/note-templates.md)."""

import copy
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.note_layouts import PROFILE as THREE_LAYOUTS

from clinaudit.errors import BadInputError
from clinaudit.templates import text_file
from clinaudit.templates.names import NO_LAYOUT
from clinaudit.templates.note import NoteReader
from clinaudit.templates.profile import SHIPPED, load_profile, make_profile
from clinaudit.templates.profile_problems import read_profile_table
from clinaudit.templates.text_file import TomlLines, parse_toml

RIGHT = r"""name = "ours"
date_formats = ["%m/%d/%Y"]
header_styles = ["colon", "capitals"]
other_labels = ["mrn"]
not_in_notes = ["age", "sex", "children", "occupation", "marital_status", "medications"]

[[sections]]
name = "Complaint"
headers = ["cc", "reason"]

[[sections]]
name = "HPI"
headers = ["hpi"]

[ambiguous]
parents = ["HPI"]
leaves = ["skin"]

[templated]
header = "hpi"

[[patterns]]
regex = '(?P<provider>Dr \w+), (?P<practice>\w+)'

[fields.name]
labels = ["patient"]

[fields.dob]
labels = ["dob"]

[fields.visit_date]
position = { line = 1, part = 2, delimiter = "|" }

[fields.chief_complaint]
headers = ["cc"]

[fields.hpi]
headers = ["hpi"]
"""
LAYOUTS = '\n[[layouts]]\nname = "a"\nsignature = "^A"\n\n[[layouts]]\nname = "b"\n'

# (what is replaced, by what, the line, the cause)
WRONG: dict[str, tuple[str, str, int, str]] = {
    "format without a directive": ('"%m/%d/%Y"', '"YYYY-MM-DD"', 2, "no directives for year, month and day"),
    "format that is none": ('"%m/%d/%Y"', '"%m/%d/%Q"', 2, "is no strptime format"),
    "both orders of a date": ('["%m/%d/%Y"]', '["%m/%d/%Y", "%d/%m/%Y"]', 2, "03/04/2024 has two readings"),
    "unknown name of formats": ('["%m/%d/%Y"]', '"british"', 2, "one of the names day_first and month_first"),
    "no formats": ('date_formats = ["%m/%d/%Y"]', "", 1, "date_formats: missing"),
    "empty formats": ('["%m/%d/%Y"]', "[]", 2, "at least one format"),
    "no name": ('name = "ours"', "", 1, "name: a text is needed"),
    "unknown entry": ('other_labels = ["mrn"]', 'other_label = ["mrn"]', 4, "other_label: unknown entry"),
    "unknown style": ('"capitals"]', '"caps"]', 3, "unknown style; known are colon, capitals"),
    "header in no section": ('headers = ["cc"]', 'headers = ["chief"]', 35, "is no header of a section"),
    "header twice": ('headers = ["hpi"]\n\n[amb', 'headers = ["hpi", "CC:"]\n\n[amb', 13, "stands in two places: cc"),
    "section twice": ('name = "HPI"', 'name = "Complaint"', 12, "used twice or reserved"),
    "section without headers": ('headers = ["cc", "reason"]', "headers = []", 7, "at least one header"),
    "empty header": ('"reason"]', '" "]', 9, "is empty, or no text"),
    "unknown fact": ("[fields.dob]", "[fields.birthday]", 28, "fields.birthday: unknown fact; known are age"),
    "fact left out": ('[fields.dob]\nlabels = ["dob"]', "", 25, "fields.dob: missing; say where dob stands"),
    "fact with no place": ('labels = ["dob"]', "labels = []", 28, "fields.dob: missing"),
    "fact both absent and placed": ('["age", "sex"', '["dob", "age", "sex"', 5, "fields or patterns say where dob"),
    "unknown absent fact": ('["age", "sex"', '["height", "age", "sex"', 5, "not_in_notes[1]: unknown fact"),
    "empty label": ('labels = ["dob"]', 'labels = [":"]', 29, "fields.dob.labels[1]: is empty"),
    "label of two facts": ('labels = ["dob"]', 'labels = ["Patient:"]', 29, "is that of fields.name too: patient"),
    "label that is a header": ('labels = ["dob"]', 'labels = ["Reason"]', 29, "is a header of a section too"),
    "label that is no list": ('labels = ["dob"]', 'labels = "dob"', 29, "a list of texts is needed"),
    "group that is no fact": ("?P<practice>", "?P<clinic>", 23, "group clinic is no fact"),
    "no named group": ("(?P<provider>Dr \\w+), (?P<practice>\\w+)", "Dr", 23, "has no named group"),
    "invalid regex": ("(?P<provider>Dr", "((?P<provider>Dr", 23, "no valid regular expression"),
    "regex that needs backtracking": ("'(?P<provider>", "'(?=Dr)(?P<provider>", 23, "look-around is not read"),
    "regex without end": ("Dr \\w+", "Dr" + " \\w+" * 400, 23, "longer than 1000 characters"),
    "place of a pattern": ("[[patterns]]", '[[patterns]]\nwhere = "top"', 23, "is banner (the default) or note"),
    "line 0": ("line = 1, part = 2", "line = 0", 32, "number of a non-blank line"),
    "part without a delimiter": (', delimiter = "|"', "", 32, "part needs a delimiter"),
    "part 0": ("part = 2", "part = 0", 32, "part: is a number from 1"),
    "parent that is no section": ('parents = ["HPI"]', 'parents = ["Exam"]', 16, "names a section that is not there"),
    "leaf that is a header": ('leaves = ["skin"]', 'leaves = ["CC"]', 17, "stands in a section too: cc"),
    "templated header": ('header = "hpi"', 'header = "history"', 20, "is no header of a section"),
}
# The same of a profile with two layouts.
WRONG_LAYOUTS: dict[str, tuple[str, str, int, str]] = {
    "layout that hides those after it": ('signature = "^A"', "", 40, "no layout after it is ever used"),
    "layouts of one name": ('name = "b"', 'name = "a"', 45, "that no other layout has"),
    "reserved name": ('name = "b"', 'name = "no layout"', 45, "'no layout' is reserved"),
    "invalid signature": ('"^A"', '"^A("', 42, "no valid regular expression"),
    "required fact without a place": ('signature = "^A"', 'required = ["age"]', 42, "nothing says where age stands"),
    "unknown required fact": ('signature = "^A"', 'required = ["mrn"]', 42, "unknown fact"),
    "sections of a layout": ('name = "b"', 'name = "b"\nsections = []', 46, "sections: unknown entry"),
    "format of a layout": ('name = "b"', 'name = "b"\ndate_formats = ["d.m.Y"]', 46, "no directives for year"),
}


def refuse(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInputError) as caught:
        load_profile(path)
    return caught.value.render()


def test_the_profile_that_is_made_wrong_is_right(tmp_path: Path) -> None:
    for text in (RIGHT, RIGHT + LAYOUTS):
        (tmp_path / "ours.toml").write_text(text, encoding="utf-8")
        assert load_profile(tmp_path / "ours.toml").layouts


@pytest.mark.parametrize("what", [*WRONG, *WRONG_LAYOUTS])
def test_wrong_profile_is_refused_with_line_and_cause(tmp_path: Path, what: str) -> None:
    old, new, line, cause = (WRONG | WRONG_LAYOUTS)[what]
    head, spoiled = ("", RIGHT) if what in WRONG else (RIGHT, LAYOUTS)
    assert spoiled.count(old) == 1
    message = refuse(tmp_path / "ours.toml", head + spoiled.replace(old, new))
    assert "note template ours.toml is not valid" in message
    assert any(f"line {line}: " in row and cause in row for row in message.splitlines()), message


def test_all_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    text = (
        RIGHT.replace('"%m/%d/%Y"', '"MM"').replace('labels = ["dob"]', "labels = []").replace("?P<practice>", "?P<x>")
    )
    message = refuse(tmp_path / "ours.toml", text)
    assert [row.split(":")[0].strip() for row in message.splitlines()[1:]] == [
        "line 2",
        "line 23",
        "line 25",
        "line 28",
    ]


def test_a_key_given_twice_is_said_with_its_line(tmp_path: Path) -> None:
    message = refuse(tmp_path / "ours.toml", RIGHT.replace('labels = ["dob"]', 'labels = ["dob"]\nlabels = ["born"]'))
    assert "line 30" in message


def test_a_name_that_means_nothing_or_two_things_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInputError, match=f"none of those that ship: {', '.join(SHIPPED)}"):
        load_profile(Path("capital"))
    (tmp_path / "capitals").write_text(RIGHT, encoding="utf-8")
    with pytest.raises(BadInputError, match="ships, and a file here has that name too"):
        load_profile(Path("capitals"))
    assert load_profile(Path("./capitals").resolve()).name == "ours"


def paths_of(entry: object, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    inner = entry.items() if isinstance(entry, dict) else enumerate(entry) if isinstance(entry, list) else ()
    for key, value in inner:
        yield (*at, key)
        yield from paths_of(value, (*at, key))


@pytest.mark.parametrize("value", [3, True, "", "x", [], [3], ["x"], [{}], {}, {"line": 1}], ids=repr)
def test_any_entry_of_any_kind_is_refused_or_can_be_used(value: object) -> None:
    document = tomllib.loads(THREE_LAYOUTS)
    for path in paths_of(document):
        wrong: Any = copy.deepcopy(document)
        table = wrong
        for key in path[:-1]:
            table = table[key]
        table[path[-1]] = value
        table = read_profile_table(wrong)
        if not isinstance(table, list):
            profile = make_profile(table, wrong)
            note = NoteReader(profile).read("Name: x\nC/O y\n")
            assert note.layout_name in {*(layout.name for layout in profile.layouts), NO_LAYOUT}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\na" + ".a" * 20_000 + " = 1\n", "ours.toml, line 2: a key has more than 50 parts"),
        ("[a" + ' . "a"' * 20_000 + "]\n", "ours.toml, line 1: a key has more than 50 parts"),
        ("a = 1\n" + "#\n" * 2_000, "has more than 2,000 lines"),
        ("a = '" + "x" * (2 << 20) + "'\n", "has more than 2,097,152 characters"),
    ],
)
def test_a_file_that_would_take_long_to_read_is_refused(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "ours.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInputError, match=expected):
        load_profile(path)


def test_texts_with_many_full_stops_are_no_long_keys() -> None:
    text = (
        "# "
        + "a.b" * 10
        + "\na = '"
        + "e.g. " * 200
        + "'\nb = '"
        + r"\d{2}\.\d{2}" * 100
        + "'\nc = \""
        + '\\"' * 9
        + '"\n'
    )
    assert parse_toml(text, "it").keys() == {"a", "b", "c"}


TEXT = """# a profile
name = "x"   # = "y"

headers = [
  "a",
  # "b" is none
  "b",
]

[[sections]]
name = "one"

[[sections]]
name = "two"
headers = ["c", "d"]
regex = '''
^a
[[sections]]'''

[fields.dob]
labels = ["dob"]

[fields]
name.labels = ["n"]
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("name",), 2),
        (("headers",), 4),
        (("headers", 0), 5),
        (("headers", 1), 7),
        (("sections", 0), 10),
        (("sections", 0, "name"), 11),
        (("sections", 1), 13),
        (("sections", 1, "headers", 1), 15),
        (("sections", 1, "regex"), 16),
        (("fields", "dob"), 20),
        (("fields", "dob", "labels", 0), 21),
        (("fields", "name", "labels"), 24),
        # What is missing is at the nearest table around it.
        (("fields", "dob", "headers"), 20),
        (("fields", "sex"), 20),
        (("sections", 1, "leaves", 0), 13),
        (("date_formats",), 1),
        ((), 1),
    ],
)
def test_line_of_an_entry(path: tuple[str | int, ...], line: int) -> None:
    assert TomlLines(TEXT).line_of(path) == line


def test_separators_within_a_text_end_no_line() -> None:
    assert TomlLines('a = "x\u2028y"\r\nb = 1\r\n').line_of(("b",)) == 2


def test_many_wrong_entries_are_found_by_few_readings(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    def loads(text: str) -> dict[str, object]:
        read.append(len(text))
        return tomllib.loads(text)

    monkeypatch.setattr(text_file, "tomllib", SimpleNamespace(loads=loads, TOMLDecodeError=tomllib.TOMLDecodeError))
    text = "".join(f"k{number} = 1\n" for number in range(1000))
    assert TomlLines(text).line_of(("k700",)) == 701
    assert len(read) <= 12  # the binary logarithm of 1,000, and the whole
