"""What the rules take of a note, with positions and non-matches (paper, Table 3), and what of that is boilerplate."""

from pathlib import Path

import pytest
from support.boilerplate_twin import boilerplate_characters
from support.sample_notes import SAMPLES

from clinaudit.priors.diagnoses import clinical_terms, drug_words, load_panel
from clinaudit.templates.note import NoteReader, Rule
from clinaudit.templates.profile import load_profile
from clinaudit.templates.shown_text import Span

PROFILE = load_profile()
READER = NoteReader(PROFILE)

# (rule, note, the exact substrings that must match, in order)
MATCHES = [
    (Rule.HEADER_PREFIX, "cc: cough\nhpi: worse", ["cc:", "hpi:"]),
    (Rule.HEADER_PREFIX, "  CC: cough", ["  CC:"]),
    (
        Rule.HEADER_PREFIX,
        "past medical history / family history / social history: x",
        ["past medical history / family history / social history:"],
    ),
    (Rule.HEADER_PREFIX, "communicable diseases (eg stds): none", ["communicable diseases (eg stds):"]),
    (Rule.HEADER_PREFIX, "the cc: cough", []),
    (Rule.HEADER_PREFIX, "cc cough", []),
    (Rule.HEADER_PREFIX, "cc : cough", []),
    (Rule.HEADER_PREFIX, "accc: cough", []),
    (Rule.HEADER_PREFIX, "results: an alias, not a header of Table 2", []),
    (
        Rule.NEGATIVE_ROS,
        "respiratory: negative for cough, wheezing.\nplan",
        ["respiratory: negative for cough, wheezing."],
    ),
    (Rule.NEGATIVE_ROS, "Negative for chest pain; walks daily", ["Negative for chest pain;"]),
    (
        Rule.NEGATIVE_ROS,
        "musculoskeletal:neurological: negative for dizziness\nx",
        ["musculoskeletal:neurological: negative for dizziness"],
    ),
    (Rule.NEGATIVE_ROS, "integumentary/breast: negative for rash.", ["integumentary/breast: negative for rash."]),
    (Rule.NEGATIVE_ROS, "the swab was negative for strep", []),
    (Rule.NEGATIVE_ROS, "respiratory: positive for cough", []),
    (Rule.NEGATIVE_ROS, "respiratory: negative forceps", []),
    (
        Rule.LAST_REVIEWED,
        "allergies:\nlast reviewed on 1/02/2003 10:23 am by doe, jane\nnkda",
        ["last reviewed on 1/02/2003 10:23 am by doe, jane"],
    ),
    (Rule.LAST_REVIEWED, "topics; last reviewed 01/2", []),
    (Rule.LAST_REVIEWED, "last review was fine", []),
    (Rule.DATE_TIME_LINE, "1/02/2003 10:23 am seen\nx", ["1/02/2003 10:23 am seen"]),
    (Rule.DATE_TIME_LINE, " 12-31-99 call", [" 12-31-99 call"]),
    (Rule.DATE_TIME_LINE, "on 1/02/2003 she fell", []),
    (Rule.DATE_TIME_LINE, "1/02-2003 mixed", []),
    (Rule.DATE_TIME_LINE, "1/02/20031 too long", []),
    (Rule.DATE_TIME_LINE, "120/80 seated", []),
    (Rule.BY_NAME_LINE, "reviewed by Dr. Smith\nx", ["by Dr. Smith"]),
    (Rule.BY_NAME_LINE, "entered by Smith, Jane", ["by Smith, Jane"]),
    (Rule.BY_NAME_LINE, "note by jane smith, md", ["by jane smith, md"]),
    (Rule.BY_NAME_LINE, "seen by J. O'Neil RN", ["by J. O'Neil RN"]),
    (Rule.BY_NAME_LINE, "reviewed on 1/02/2003 10:23 am by doe, jane", ["by doe, jane"]),
    (Rule.BY_NAME_LINE, "pain relieved by rest, ice", []),
    (Rule.BY_NAME_LINE, "she completed therapy, relieved by rest, ice", []),
    (Rule.BY_NAME_LINE, "upset by what they do", []),
    (Rule.BY_NAME_LINE, "seen by Dr. Smith and sent home with her son today", []),
    (Rule.BY_NAME_LINE, "bitten by dog", []),
    # Only a surname may follow in lower case: what comes after it may be what the note reveals.
    (Rule.BY_NAME_LINE, "referred by dr. roe for depression", []),
    (Rule.BY_NAME_LINE, "followed by dr. roe for hiv.", []),
    (Rule.BY_NAME_LINE, "caused by mr smith abuse", []),
    (Rule.BY_NAME_LINE, "seen by dr. j. roe", ["by dr. j. roe"]),
    (Rule.BY_NAME_LINE, "seen by Dr. Jane Q. Roe", ["by Dr. Jane Q. Roe"]),
    (Rule.SEE_REFERENCE, "constitutional: see hpi", ["see hpi"]),
    (Rule.SEE_REFERENCE, "See  below, see ATTACHED", ["See  below", "see ATTACHED"]),
    (Rule.SEE_REFERENCE, "oversee hpi", []),
    (Rule.SEE_REFERENCE, "see historycal", []),
    (Rule.SEE_REFERENCE, "see dr smith", []),
    (
        Rule.COMBINED_HISTORY,
        "past medical history / family history / social history:\nall of it\nallergies: nkda",
        ["past medical history / family history / social history:\nall of it\n"],
    ),
    (Rule.COMBINED_HISTORY, "past medical history:\nasthma", []),
]


@pytest.mark.parametrize(("rule", "note", "expected"), MATCHES)
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


# (rule, note, where it matches: half-open, in characters of the whole note)
POSITIONS = [
    (Rule.HEADER_PREFIX, "x\n\tBP: 1\nbp: 2 bp: 3", [(2, 6), (9, 12)]),
    (Rule.NEGATIVE_ROS, "a\nnegative for b. c\nros: negative  for d\ne", [(2, 17), (20, 40)]),
    (Rule.LAST_REVIEWED, "x\n  Last  reviewed now\nlast reviewed\nnot last reviewed", [(2, 22), (23, 36)]),
    (Rule.LAST_REVIEWED, "last reviewedly\nlastreviewed", []),
    (Rule.DATE_TIME_LINE, "1/2/99 a\n12/31/999 b\n1-2-2003\nc 1/2/99", [(0, 8), (9, 20), (21, 29)]),
    (Rule.DATE_TIME_LINE, "1/2/9\n123/1/99\n1/123/99\n2003/1/2\n1.2.2003\n1/2", []),
    (Rule.BY_NAME_LINE, "by Dr. Roe\nby Dr. Roe and left at noon\nread by Roe, Jane", [(0, 10), (44, 56)]),
    (Rule.BY_NAME_LINE, "by jane roe, np\nby jane roe, phd\nstandby Dr. Roe", [(0, 15)]),
    (Rule.SEE_REFERENCE, "see hpi; see plans; SEE\tplan see\nplan", [(0, 7), (20, 28)]),
    (Rule.COMBINED_HISTORY, "past medical history / family history / social history:\nx", [(0, 57)]),
    (
        Rule.COMBINED_HISTORY,
        "cc: a\nPast Medical History / Family History / Social History: b\nc\n  plan: d",
        [(6, 68)],
    ),
    # Only as a header: at a line's start, with its colon, and spelled as one.
    (Rule.COMBINED_HISTORY, "see past medical history / family history / social history: x", []),
    (Rule.COMBINED_HISTORY, "past medical history / family history / social history reviewed", []),
    (Rule.COMBINED_HISTORY, "past medical history/family history/social history: x", []),
]


@pytest.mark.parametrize(("rule", "note", "expected"), POSITIONS)
def test_rule_matches_at_exactly_these_places(rule: Rule, note: str, expected: list[tuple[int, int]]) -> None:
    assert [tuple(span) for span in sorted(READER.read(note).spans_by_rule[rule])] == expected


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

# (note, the stretches that are boilerplate, in order)
TABLE = [
    # A review of systems that tells nothing is boilerplate as it was, header and all.
    ("ros:\nrespiratory: negative for cough, wheezing.\nplan", ["ros:", "respiratory: negative for cough, wheezing."]),
    ("cc: cough\nsee hpi", ["cc:", "see hpi"]),
    # A clause with a term of the panel: a name, a code, a drug or a symptom.
    ("hiv test: negative for acute changes but she has been living with hiv since 2010", []),
    ("psychiatric: negative for anxiety; see hpi", ["see hpi"]),
    ("cc: F41.1\nplan: rest", ["plan:"]),
    ("plan: continue biktarvy.\nhpi: fine", ["hpi:"]),
    ("psychiatric: negative for flashbacks.", []),
    ("psychiatric: negative for aspirin allergy.", []),
    ("skin: negative for Depo-Medrol reaction.", []),
    # The list of a "negative for" ends at a contrast, and what is before it is a clause of its own.
    ("negative for cough but positive for hiv and hepatitis c", ["negative for cough"]),
    ("negative for cough, but lost her job", ["negative for cough"]),
    ("negative for all systems except a lump in the breast", ["negative for all systems"]),
    ("skin: negative for rash (positive patch test)", ["skin: negative for rash"]),
    ("negative for butter allergy, exceptions", ["negative for butter allergy, exceptions"]),
    # Cues of a finding, unless a negation stands before them in their clause.
    ("cc: diagnosed with lupus", []),
    ("cc: not diagnosed with lupus", ["cc:"]),
    ("cc: wasn't diagnosed with lupus", ["cc:"]),
    ("plan: history  of abuse", []),
    ("plan: denies a history of abuse", ["plan:"]),
    ("plan: no cough; history of abuse", ["plan:"]),
    ("plan: a history of abuse, no cough", []),
    # An item with a subject or verb of its own, or of more than a few words, tells something.
    ("negative for chest pain, edema, he tried to hang himself", ["negative for chest pain, edema"]),
    ("negative for cough, wheezing, whereas her syphilis titer rose", ["negative for cough, wheezing"]),
    ("negative for fever although her husband beats her", ["negative for fever"]),
    ("gi: negative for nausea and she confided that she was raped", ["gi: negative for nausea and"]),
    ("negative for rash, smokes crack with her son", ["negative for rash"]),
    ("negative for chills, yet drinks a pint of vodka", ["negative for chills"]),
    ("negative for pain, his huntington gene test came back", ["negative for pain"]),
    (
        "negative for pain, beaten black and blue by a jealous husband on fridays",
        ["negative for pain, beaten black and"],
    ),
    (
        "constitutional: negative for fever, chills, or night sweats",
        ["constitutional: negative for fever, chills, or night sweats"],
    ),
    ("negative for pain over 1,000 m", ["negative for pain over 1,000 m"]),
    ("negative for a history of syncope", ["negative for a history of syncope"]),
    # The date and review rules cover their stamp.
    ("03/14/2019 hiv test came back positive after a night out", []),
    ("03/14/2019 10:23 am she lost her job", ["03/14/2019 10:23 am"]),
    ("3-14-19, 9:05 she lost her job", ["3-14-19, 9:05"]),
    ("3/14/2019 37.5 mg", ["3/14/2019"]),
    ("last reviewed on 1/02/2003 10:23 am by doe, jane", ["last reviewed on 1/02/2003 10:23 am", "by doe, jane"]),
    ("last reviewed 01/02/2026 by dr. smith patient lost her job", ["last reviewed 01/02/2026"]),
    ("last reviewed 01/02/2026 patient disclosed two abortions", []),
    ("last reviewed with the patient, who wept", ["last reviewed"]),
    # Of the combined history its header alone.
    (f"{COMBINED}\nher husband beats her\nplan: rest", [COMBINED, "plan:"]),
    (f"{COMBINED}\nlast reviewed on 1/02/2003 by doe, jane", [COMBINED, "last reviewed on 1/02/2003", "by doe, jane"]),
    # A clause ends at `.`, `;` or a line break, and not within a number, after a title or an initial.
    ("cc: cough. hiv", ["cc:"]),
    ("cc: temperature 37.5 with hiv", []),
    ("seen for hiv by dr. roe\nsee hpi", ["see hpi"]),
    ("seen for hiv by dr. j. roe", []),
    ("hiv. seen by dr. roe", ["by dr. roe"]),
    # A name broken over two lines makes both tell.
    ("cc: bipolar\ndisorder, see hpi\nplan:", ["plan:"]),
    ("", []),
]


@pytest.mark.parametrize(("note", "expected"), TABLE)
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
