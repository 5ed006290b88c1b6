"""Profiles that cannot work: each is refused with file, entry and cause (docs/note-templates.md)."""

import copy
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.cases import read_rows
from support.note_layouts import PROFILE as THREE_LAYOUTS

from clinaudit.errors import BadInputError
from clinaudit.templates.header_styles import NO_LAYOUT
from clinaudit.templates.note import NoteReader
from clinaudit.templates.profile import SHIPPED, load_profile, make_profile, read_profile_table
from clinaudit.templates.text_file import parse_toml

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

CASES = read_rows("template_cases.txt")
WRONG, WRONG_LAYOUTS = ({what: case for what, *case in CASES[name]} for name in ("wrong_profiles", "wrong_layouts"))


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
def test_wrong_profile_is_refused_with_entry_and_cause(tmp_path: Path, what: str) -> None:
    old, new, cause = (WRONG | WRONG_LAYOUTS)[what]
    head, spoiled = ("", RIGHT) if what in WRONG else (RIGHT, LAYOUTS)
    assert spoiled.count(old) == 1
    message = refuse(tmp_path / "ours.toml", head + spoiled.replace(old, new))
    assert "note template ours.toml is not valid" in message
    assert any(re.match(r"  [\w.[\]]+: ", row) and cause in row for row in message.splitlines()), message


def test_all_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    text = (
        RIGHT.replace('"%m/%d/%Y"', '"MM"').replace('labels = ["dob"]', "labels = []").replace("?P<practice>", "?P<x>")
    )
    message = refuse(tmp_path / "ours.toml", text)
    assert [row.split(":")[0].strip() for row in message.splitlines()[1:]] == [
        *("date_formats[1]", "patterns[1].regex", "fields.dob", "fields.practice"),
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
