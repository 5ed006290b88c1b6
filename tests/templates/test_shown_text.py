"""A note as a reader sees it, where each character of it stands, and line breaks that are none."""

import unicodedata
from pathlib import Path

import pytest
from support.cases import read_rows
from support.patient_facts import NOTE, facts_of

from clinaudit.priors.tiers import Fact
from clinaudit.templates.shown_text import show, unbroken_form

CASES = read_rows("template_cases.txt")


@pytest.mark.parametrize(("text", "shown"), CASES["test_what_is_seen_of_a_text_and_where_it_stands"])
def test_what_is_seen_of_a_text_and_where_it_stands(text: str, shown: str) -> None:
    found, offsets = show(text)
    assert found == shown
    places = range(len(text) + 1) if offsets is None else offsets
    assert len(places) == len(shown) + 1
    assert places[len(shown)] == len(text)
    for at, char in enumerate(shown):
        stands = text[places[at]]
        assert char in (
            stands,
            unicodedata.normalize("NFKC", stands),
            dict.fromkeys("\u2236\ua789\ufe55", ":").get(stands),
        ) or (stands.isspace() and char.isspace())


@pytest.mark.parametrize("blank", ["\u00a0", "\u2009", "\u2007", "\u3000", "\u200b \u200d", "\ufeff "])
def test_facts_are_found_whatever_the_blanks_and_their_spans_are_those_of_the_note(tmp_path: Path, blank: str) -> None:
    plain, text = facts_of(tmp_path / "plain", NOTE), NOTE.replace(" ", blank)
    known = facts_of(tmp_path / "odd", f"\u200b{text}")
    assert {**known.values, Fact.HPI: ""} == {**plain.values, Fact.HPI: ""}
    # Where characters that show nothing stand within the words of a rule, what it takes counts as revealing.
    assert known.medications[: len(plain.medications)] == plain.medications
    assert (known.age, known.sex) == (plain.age, plain.sex)
    for fact, field in known.in_note.items():
        held = known.note[slice(*field.value_chars)]
        assert show(held).text == field.value == plain.in_note[fact].value
    assert [show(known.note[slice(*item.span_chars)]).text for item in known.headers] == [
        plain.note[slice(*item.span_chars)] for item in plain.headers
    ]


@pytest.mark.parametrize(("text", "form"), CASES["test_line_breaks_that_are_written_out_are_named"])
def test_line_breaks_that_are_written_out_are_named(text: str, form: str | None) -> None:
    assert unbroken_form(text) == form
