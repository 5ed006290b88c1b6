"""The examples of docs/note-templates.md do what the page says."""

import re
from pathlib import Path

import pytest

from clinaudit.templates.header_styles import FACTS, STYLES, HeaderFinder, Pattern
from clinaudit.templates.note import NoteReader
from clinaudit.templates.profile import SHIPPED, load_profile

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "note-templates.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_profile_from_scratch_reads_the_note_above_it(tmp_path: Path) -> None:
    (profile,) = [block for block in blocks("toml") if block.startswith('name = "elm valley"')]
    (note,) = [block for block in blocks("text") if block.startswith("ELM VALLEY HEALTH")]
    (tmp_path / "ours.toml").write_text(profile, encoding="utf-8")
    found = NoteReader(load_profile(tmp_path / "ours.toml")).read(note).fields
    assert {fact: field.value for fact, field in found.items()} == {
        "name": "Ada Lund",
        "dob": "01/02/1980",
        "sex": "F",
        "visit_date": "03/14/2024",
        "provider": "Jo Ek, MD",
        "practice": "Elm Clinic",
        "chief_complaint": "Low mood",
        "hpi": "Since two weeks …",
    }


def test_the_example_of_patterns() -> None:
    (block,) = [block for block in blocks("toml") if block.startswith('# "Brandon Green')]
    first, second = re.findall(r"regex = '(.*)'", block)
    line = "Brandon Green (DOB 1/2/1980), MRN 4711"
    assert {line[slice(*span)] for span in Pattern(first).spans(line).values()} == {"Brandon Green", "1/2/1980"}
    line = "He is a 46-year-old male"
    assert {line[slice(*span)] for span in Pattern(second).spans(line).values()} == {"46", "male"}


@pytest.mark.parametrize("style", STYLES)
def test_the_table_of_styles_has_each_style_with_an_example_of_it(style: str) -> None:
    (row,) = re.findall(rf"^\| `{style}` \|(.*)\|.*\|$", PAGE, re.MULTILINE)
    examples = re.findall(r"`([^`]+)`", row)
    finder = HeaderFinder(["plan", "past medical history", "hpc"], [style])
    assert examples
    assert all(len(list(finder.find(example))) == 1 for example in examples)


def test_every_fact_and_every_shipped_profile_is_named() -> None:
    assert all(f"`{name}`" in PAGE for name in (*FACTS, *SHIPPED))
