"""What the rules take of a note, with positions and non-matches (paper, Table 3), and what of that is boilerplate."""

from pathlib import Path

import pytest
from support.boilerplate_twin import boilerplate_characters
from support.cases import read_rows
from support.sample_notes import SAMPLES

from clinaudit.priors.diagnoses import clinical_terms, drug_words, load_panel
from clinaudit.templates.note import NoteReader, Rule
from clinaudit.templates.profile import load_profile
from clinaudit.templates.shown_text import Span

PROFILE = load_profile()
READER = NoteReader(PROFILE)
CASES = read_rows("template_cases.txt")


@pytest.mark.parametrize(("rule", "note", "expected"), CASES["matches"])
def test_rule_matches_exactly_these_spans(rule: Rule, note: str, expected: list[str]) -> None:
    spans = sorted(READER.read(note).spans_by_rule[rule])
    assert [note[start:end] for start, end in spans] == expected


def test_mask_is_the_union_of_all_rules() -> None:
    note = "ros:\nrespiratory: negative for cough; walks"
    assert bytes(READER.read(note).templated).decode("latin-1") == "\x01" * 4 + "\x00" + "\x01" * 32 + "\x00" * 6
    assert note[5:37] == "respiratory: negative for cough;"


def test_a_slice_would_make_a_false_line_start() -> None:
    note = "she was negative for strep"
    assert not any(READER.read(note).templated)
    assert any(READER.read(note[8:]).templated)


@pytest.mark.parametrize(("rule", "note", "expected"), CASES["positions"])
def test_rule_matches_at_exactly_these_places(rule: Rule, note: str, expected: list[list[int]]) -> None:
    assert [list(span) for span in sorted(READER.read(note).spans_by_rule[rule])] == expected


@pytest.mark.parametrize("header", sorted(PROFILE.lexicon))
def test_every_header_of_table_2_is_templated_through_its_colon(header: str) -> None:
    assert READER.read(f"x\n {header.title()}: y").spans_by_rule[Rule.HEADER_PREFIX] == [Span(2, 4 + len(header))]
    assert READER.read(f"x {header}: y\n{header} y\n{header}s: y").spans_by_rule[Rule.HEADER_PREFIX] == []


# Table 3, word for word.
TARGETS = [
    *("hpi", "history", "ros", "pe", "exam", "note", "chart", "assessment", "plan", "above", "below", "prior"),
    *("previous", "attached"),
]


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_of_table_3_is_a_reference(target: str) -> None:
    assert READER.read(f"skin: see {target}.").spans_by_rule[Rule.SEE_REFERENCE] == [Span(6, 10 + len(target))]
    assert READER.read(f"see {target}x, seen {target}, see my {target}").spans_by_rule[Rule.SEE_REFERENCE] == []


@pytest.mark.parametrize("credential", ["MD", "DO", "NP", "PA", "RN"])
def test_every_credential_of_table_3_ends_an_attribution(credential: str) -> None:
    for name in (f"Jane Roe {credential}", f"Jane Roe, {credential}", f"jane roe, {credential.lower()}"):
        assert READER.read(f"seen by {name}").spans_by_rule[Rule.BY_NAME_LINE] == [Span(5, 8 + len(name))]
        assert READER.read(f"seen by {name} at noon").spans_by_rule[Rule.BY_NAME_LINE] == []


TERMS = clinical_terms(load_panel())
TELLING = NoteReader(PROFILE, TERMS)
COMBINED = "past medical history / family history / social history:"


@pytest.mark.parametrize(("note", "expected"), CASES["boilerplate"])
def test_boilerplate_is_exactly_this(note: str, expected: list[str]) -> None:
    read = TELLING.read(note)
    mask = read.boilerplate
    assert all(by_rules for by_rules, flag in zip(read.templated, mask, strict=True) if flag)
    stretches = "".join(char if flag else "\0" for char, flag in zip(note, mask, strict=True)).split("\0")
    assert [stretch for stretch in stretches if stretch] == expected
    assert list(map(bool, mask)) == boilerplate_characters(note)


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
    plain, spaced = TELLING.read(note), TELLING.read(written)
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
    assert 1 not in TELLING.read("negative\u200bfor cough").templated


def test_a_site_adds_a_diagnosis_of_its_own() -> None:
    note = "skin: negative for gout."
    assert 1 in TELLING.read(note).boilerplate
    panel = load_panel({"gout": {"names": ["gout"]}})
    assert 1 not in NoteReader(PROFILE, clinical_terms(panel)).read(note).boilerplate


def test_the_lists_of_drugs_are_read_without_their_comments() -> None:
    words = drug_words()
    assert {"aspirin", "carboxymaltose", "augmentin", "depo-medrol"} <= words
    assert not any("#" in word or word in {"compiled", "hand"} for word in words)


def test_the_rules_of_the_paper_are_as_they_were() -> None:
    """What is no boilerplate is templated all the same: the paper's tables count whole lines."""
    assert {rule.value for rule in Rule} == {
        *("header_prefix", "negative_ros", "last_reviewed", "date_time_line", "by_name_line"),
        *("see_reference", "combined_history"),
    }
    for note in ("negative for cough but positive for hiv", "03/14/2019 hiv test came back positive"):
        assert set(TELLING.read(note).templated) == {1}
        assert 1 in TELLING.read(note).templated


@pytest.mark.parametrize("name", SAMPLES)
def test_what_is_templated_or_boilerplate_in_a_part_is_that_of_the_whole(name: str) -> None:
    reader = NoteReader(load_profile(Path(name)), TERMS)
    text = SAMPLES[name] + (
        "\nros:\npsychiatric: negative for anxiety.\nlast reviewed on 1/02/2024 by doe, jane\n1/2/2024 3 pm\nsee hpi.\n"
        "past medical history / family history / social history:\nnone\nplan: rest\n"
        # Neither a term nor a cue ends with its line.
        "negative for bipolar\ndisorder, rash.\nsee hpi, has a history\n\nof falls; last reviewed on 1/02/2024"
    )
    note = reader.read(text)
    whole, boilerplate = note.templated, note.boilerplate
    for start in range(0, len(text), 7):
        for end in (start, start + 1, start + 40, len(text)):
            part, place = reader.read(text), Span(start, min(end, len(text)))
            assert part.templated_in(place) == whole[start:end]
            assert part.boilerplate_in(place) == boilerplate[start:end]
