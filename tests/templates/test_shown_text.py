"""A note as a reader sees it, where each character of it stands, and line breaks that are none."""

import unicodedata
from pathlib import Path

import pytest
from support.patient_facts import NOTE, facts_of

from clinaudit.priors.tiers import Fact
from clinaudit.templates.shown_text import show, unbroken_form


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Plan: rest\tnow\n", "Plan: rest\tnow\n"),
        ("Zoë, 5 µg · ≥ 3 €", "Zoë, 5 µg · ≥ 3 €"),
        ("Date\u00a0of\u2009visit:\u3000x\u2007y", "Date of visit: x y"),
        ("\ufeff\u200bPa\u00adtient:\u200e Ada\u2060", "Patient: Ada"),
        # Bullets of Word, what stands for a picture, joiners, fillers and tags; the sign of a ratio for a colon.
        ("\uf0b7\ufffcPa\u034ftient\u2236\u3164 \U000e0020A\u2800da\U000e0100", "Patient: Ada"),
        ("Plan\ua789 rest\ufe55", "Plan: rest:"),
        ("one\x0btwo\x0cthree\u2028four\u0085five", "one\ntwo\nthree\nfour\nfive"),
        ("a\x00b\x07c", "abc"),
        ("\uff24\uff2f\uff22\uff1a\u3000\uff11\uff0f\uff12", "DOB: 1/2"),
    ],
)
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


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (r"CC: cough\.br\HPI: long\.br\\.br\Plan: rest", r"line breaks written as HL7 escapes (\.br\)"),
        (r"CC: cough\X0D\\X0A\HPI: long\X0A\Plan: rest\X0A\.", r"line breaks written as HL7 escapes (\.br\)"),
        (r"CC: cough\nHPI: long\nPlan: rest\n", r"line breaks written as a literal \n"),
        (r"CC: cough\r\nHPI: long\r\nPlan: rest\r\n", r"line breaks written as a literal \n"),
        ("CC: cough&#10;HPI: long&#xA;Plan: rest&#13;", "line breaks written as character references (&#10;)"),
        ("CC: cough HPI: long Plan: rest " * 12, "no line breaks"),
        ("CC: cough HPI: long Plan: rest", None),
        ("CC: cough\nHPI: long\nPlan: rest\n" * 12, None),
        ("CC: cough\u2028HPI: long\u2028Plan: rest" * 12, None),
        # Breaks stand in the note beside a path that only looks like some.
        (r"CC: see C:\new\notes\nurse" + "\nHPI: long\nPlan: rest\nSigned\n", None),
        ("> CC: cough\n> HPI: long\n>\n> Plan: rest\n> Signed", "signs or numbers before its lines"),
        ("001 CC: cough\n002 HPI: long\n\n003 Plan: rest\n004 Signed\n", "signs or numbers before its lines"),
        ("CC: cough\n1. ibuprofen\n2. rest\n3. ice\n4. heat", None),
        ("", None),
    ],
)
def test_line_breaks_that_are_written_out_are_named(text: str, form: str | None) -> None:
    assert unbroken_form(text) == form
