"""Does the first pass say of every place where a rule matches that it may?"""

import re

import pytest
import re2
from support.cases import read_cases
from support.pii.hostile_formats import planted_texts

from clinaudit.audit.pii.detectors.rule_table import rule_groups
from clinaudit.audit.pii.detectors.rules import SuspectedDetector
from clinaudit.audit.pii.detectors.screen import Screen, relaxed

RULES = [rule for group in rule_groups() for rule in group.rules if rule.finder is None]
SCREEN = Screen([rule.regex for rule in RULES])
TEXTS = [text for text, _ in read_cases("pii/masked_cases.txt")["masked"]]


@pytest.mark.parametrize(
    "texts",
    [TEXTS, [planted.text for planted in planted_texts(170, seed=3)], ["\n\n".join(TEXTS)]],
    ids=["cases", "hostile", "one long text"],
)
def test_no_match_begins_outside_the_stretches(texts):
    for text in texts:
        found = SCREEN.stretches(text)
        for number, rule in enumerate(RULES):
            stretches = found.get(number, [])
            begins = [match.start() for match in rule.regex.finditer(text)]
            assert all(any(start <= begin < end for start, end in stretches) for begin in begins), rule.regex.pattern


@pytest.mark.parametrize(
    ("pattern", "matches", "matches_not"),
    [
        (r"(?<!\w)MRN(?!\w)", ["MRN", "a MRN."], ["xMRN", "MRN1"]),
        (r"[A-Z](?<![\w-].)\d{7}(?=,? (?i:is))", ["A1234567, IS"], ["xA1234567 is", "A123456 is", "A1234567 was"]),
        (r"(\d)-\1", ["1-1", "1-2"], ["1-"]),
        (r"(?i:ab)c{2,9}", ["aBcc"], ["aBc", "abCC"]),
        (r"(?:x++|[^\W\d_])$", ["x", "a!"], ["1"]),
        (r"\bman\b", ["a man."], ["manage"]),
    ],
)
def test_a_pattern_is_relaxed_and_not_more_than_it_must_be(pattern, matches, matches_not):
    searched = re2.compile(relaxed(re.compile(pattern), ascii_alone=True))
    assert [text for text in matches if not searched.search(text)] == []
    assert [text for text in matches_not if searched.search(text)] == []


def test_beyond_ascii_any_letter_may_be_meant():
    searched = re2.compile(relaxed(re.compile(r"(?i)\bfianc[eé]e?\b (?P<value>[^\W\d_]+)"), ascii_alone=False))
    assert searched.search("fiancé Élodie")
    assert searched.search("FİANCé Ω")
    assert not searched.search("finance Élodie")


def test_half_a_character_hides_nothing():
    assert [span.category for span in SuspectedDetector().detect("\ud83d SSN 412-55-6789")] != []


def test_where_the_automaton_gives_up_every_rule_is_tried(monkeypatch):
    screen = Screen([re.compile("a"), re.compile("b")])
    assert screen.stretches("a") == {0: [(0, 1)]}
    monkeypatch.setattr(screen._ascii[0], "_set", type("Full", (), {"Match": lambda *_: None})())
    assert screen.stretches("a") == {0: [(0, 1)], 1: [(0, 1)]}
