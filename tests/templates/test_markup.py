"""Tags of de-identification: which values are nothing else, and what a patient's facts are then."""

import pytest

from clinaudit.templates.markup import find_styles, is_tag


@pytest.mark.parametrize(
    ("value", "style"),
    [
        ("[**Known lastname 123**]", "[** **]"),
        ("[**2118-6-2**]", "[** **]"),
        ("Dr. [**First Name8 (NamePattern2) **] [**Last Name (un) 99**], MD", "[** **]"),
        ("___", "___"),
        ("___.", "___"),
        ("Mr. ____", "___"),
        ("<NAME>", "<NAME>"),
        ("<PERSON_1>", "<NAME>"),
        ("<DATE: 3>", "<NAME>"),
        ("[NAME]", "[NAME]"),
        ("[PATIENT NAME]", "[NAME]"),
        ("[REDACTED]", "[NAME]"),
        ("**NAME[AAA, BBB]", "**NAME[ ]"),
        ("**DATE[Jan 1 2007]", "**NAME[ ]"),
        ("XXXXX", "XXXX"),
    ],
)
def test_a_tag_is_no_value(value: str, style: str) -> None:
    assert is_tag(value)
    assert find_styles(f"seen by {value} today") == {style}


SIGNS = ["<5 mg/dL", "[x] yes [ ] no", "**Important**", "<LOW>", "**BOLD", "BP __/__", "XXX", "snake____case"]


@pytest.mark.parametrize(
    "value",
    ["Ada Lund", "Ada ___", "___ HCV cirrhosis", "60 year old [**Last Name**]", "AXXXXB", "", "--", "Mr.", *SIGNS],
)
def test_what_tells_something_is_a_value(value: str) -> None:
    assert not is_tag(value)
    if value in SIGNS:
        assert find_styles(value) == set()
