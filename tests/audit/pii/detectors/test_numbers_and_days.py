"""Numbers, days and ages by kind: what is masked of them by rules alone, and what looks like them and stays."""

import re

import pytest
from support.cases import read_cases
from support.pii.labelled_identifiers import labelled_texts
from support.pii.masked_by_rules import masked

CASES = [case for cases in read_cases("pii/number_cases.txt").values() for case in cases]
TAG = r"<[A-Z][A-Z_0-9]*_\d+>"
#: How many days a tag is after another is the tags' matter.
INTERVAL = re.compile(r"(?<=\d)[+-]\d+d(?=>)")


def masked_by_rules(text: str) -> str:
    return INTERVAL.sub("", masked(text))


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_a_kind_is_masked_whole_and_nothing_else_is(text: str, expected: str | None) -> None:
    assert masked_by_rules(text) == (text if expected is None else expected)


@pytest.mark.parametrize("count", [200, pytest.param(1000, marks=pytest.mark.simulation)])
def test_of_a_thousand_identifiers_with_a_label_none_is_left_and_nothing_beside_them_is_masked(count: int) -> None:
    planted = list(labelled_texts(count, seed=1))
    wrong = [
        one.kind
        for one in planted
        if not re.fullmatch(re.escape(one.before) + TAG + re.escape(one.behind), masked_by_rules(one.text))
    ]
    assert wrong == []
    assert len({one.kind for one in planted}) > 20
