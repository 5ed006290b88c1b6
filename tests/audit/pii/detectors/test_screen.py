"""Does the engine find what each rule's pattern does by itself, tried at each place of a text?"""

import re
from dataclasses import replace

import pytest
import re2
from support.cases import read_cases
from support.pii.hostile_formats import planted_texts

from clinaudit.audit.pii.detectors.rules import SuspectedDetector, rule_groups
from clinaudit.audit.pii.detectors.screen import Screen

RULES = [
    replace(rule, checks=(), read=lambda match, rule: [(*match.span(), rule.kind)])
    for group in rule_groups()
    for rule in group.rules
]
SCREEN = Screen([rule.regex for rule in RULES])
TEXTS = [text for text, _ in read_cases("pii/masked_cases.txt")["masked"]]


def spans_by_engine(text):
    places = ((number, place) for number, own in SCREEN.stretches(text).items() for place in own)
    return {(number, span.start, span.end) for number, place in places for span in RULES[number].find(text, *place)}


def spans_by_trying(text):
    for number, rule in enumerate(RULES):
        yield from ((number, *match.span()) for match in rule.regex.finditer(text))


@pytest.mark.parametrize(
    "texts",
    [
        TEXTS,
        [planted.text for planted in planted_texts(60, seed=3)],
        ["\n\n".join(TEXTS), "".join(TEXTS).replace("\n", " ").replace("i", "ı").replace("K", "\u212a")],
    ],
    ids=["cases", "hostile", "long texts"],
)
def test_the_engine_finds_what_trying_at_each_place_does(texts):
    for text in texts:
        assert spans_by_engine(text) == set(spans_by_trying(text))


@pytest.mark.parametrize(
    ("pattern", "matches", "matches_not"),
    [
        (r"(?<!\w)MRN(?!\w)", ["MRN", "a MRN.", "ÉMRN"], ["xMRN", "MR N"]),
        (r"(?P<value>(?<![^\W_])a)", ["_a", "-a"], ["ba"]),
        (r"(?P<a>\d)-(?P=a)", ["1-1", "1-2"], ["1 1"]),
        (r"(?i:ab)c{2,9}", ["aBcc"], ["aBc", "abCC"]),
        (r"(?:ab){5}c{17,}?", ["ababab" + 16 * "c"], ["ababccc"]),
        (r"(?:a(?=b))?c(?=d|e(?=f))", ["cd", "xcef"], ["ab"]),
        (r"(?:x++|[^\W\d_])$", ["x", "a!"], ["1"]),
        (r"[]a-]{2}", ["]-"], ["b]"]),
        (
            r"(?i:\bfianc[eé]e? (?P<value>[^\W\d_]+))",
            ["fiancé Élodie", "FİANCé Ω", "fıanc\u212ae x"],
            ["finance Élodie"],
        ),
        ("[’°\u0100-\u024f]x", ["’x", "éx"], ["'x"]),
    ],
)
def test_a_pattern_is_relaxed_and_not_more_than_it_must_be(pattern, matches, matches_not):
    screen = Screen([re.compile(pattern)])
    assert [text for text in matches if not screen.stretches(text)] == []
    assert [text for text in matches_not if screen.stretches(text)] == []


def test_half_a_character_hides_nothing():
    assert [span.category for span in SuspectedDetector().detect("\ud83d SSN 412-55-6789")] != []


def test_where_an_automaton_gives_up_every_rule_is_tried(monkeypatch):
    screen = Screen([re.compile("a"), re.compile("b")])
    assert screen.stretches("a") == {0: [(0, 1)]}
    monkeypatch.setattr(re2.Set, "Match", lambda *_: None)
    assert screen.stretches("a") == {0: [(0, 1)], 1: [(0, 1)]}
