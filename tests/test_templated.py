"""The templated-text rules: matches with positions, and explicit non-matches (paper, Table 3)."""

import pytest

from clinaudit.templates.profile import load_profile
from clinaudit.templates.sections import SectionResolver
from clinaudit.templates.templated import Rule, TemplatedText

PROFILE = load_profile()
TEMPLATED = TemplatedText(PROFILE, SectionResolver(PROFILE))

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
    (
        Rule.NEGATIVE_ROS,
        "integumentary/breast: negative for rash.",
        ["integumentary/breast: negative for rash."],
    ),
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
    spans = sorted(TEMPLATED.spans_by_rule(note)[rule])
    assert [note[start:end] for start, end in spans] == expected


def test_mask_is_the_union_of_all_rules() -> None:
    note = "ros:\nrespiratory: negative for cough; walks"
    assert bytes(TEMPLATED.mask(note)).decode("latin-1") == "\x01" * 4 + "\x00" + "\x01" * 32 + "\x00" * 6
    assert note[5:37] == "respiratory: negative for cough;"


def test_a_slice_would_make_a_false_line_start() -> None:
    note = "she was negative for strep"
    assert not any(TEMPLATED.mask(note))
    assert any(TEMPLATED.mask(note[8:]))
