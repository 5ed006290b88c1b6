"""The line of an entry in a TOML text."""

import tomllib
from types import SimpleNamespace

import pytest

from clinaudit.templates import text_file
from clinaudit.templates.text_file import TomlLines

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
