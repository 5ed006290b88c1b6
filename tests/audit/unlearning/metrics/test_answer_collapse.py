"""Do answers still read as before: the five questions by hand, against a twin, and what noise and silence come to."""

import random
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clinaudit.audit.unlearning.benchmark.files import Answer
from clinaudit.audit.unlearning.metrics.answer_collapse import check_answers, has_collapsed
from clinaudit.reports.schema.certificate import AnswerCheck

EMPTY, LENGTH, DISTINCT, KNOWN, REPEATS = range(5)
#: Thirteen words of which no two answers share one but those at the ends.
USUAL = [f"the note says w{place} x{place} y{place} z{place} and that the patient is well" for place in range(6)]
GROUPS = {f"q{place}": "forget" if place < 3 else "retain" for place in range(6)}


def answers(texts: Sequence[str], *, sample: int = 0) -> list[Answer]:
    return [Answer("m", f"q{place}", text, None, sample=sample) for place, text in enumerate(texts)]


def check(after: Sequence[str], before: Sequence[str] = USUAL) -> dict[str, list[AnswerCheck]]:
    found: dict[str, list[AnswerCheck]] = {}
    for one in check_answers(answers(after), answers(before), GROUPS):
        found.setdefault(one.group, []).append(one)
    return found


def failed(checks: Sequence[AnswerCheck]) -> list[int]:
    return [place for place, one in enumerate(checks) if one.passed is False]


def test_the_five_figures_by_hand() -> None:
    own = check(USUAL)["forget"]
    # Thirteen words, with one whole run of eight: all differ. Of twelve pairs seven are others', too.
    assert [one.a for one in own] == pytest.approx([0.0, 13.0, 1.0, 7 / 12, 0.0])
    assert [one.a for one in own] == [one.b for one in own]
    assert [one.limit for one in own] == pytest.approx([0.1, 6.5, 0.5, 3.5 / 12, 0.2])
    assert has_collapsed([one for checks in check(USUAL).values() for one in checks]) is False


@pytest.mark.parametrize(
    ("of_forgotten", "questions"),
    [
        ("", [EMPTY, LENGTH, DISTINCT, KNOWN]),
        ("no", [LENGTH, DISTINCT, KNOWN]),
        ("the the the the the the the the the the the the", [DISTINCT, KNOWN, REPEATS]),
        ("a1 b2 c3 d4 e5 f6 g7 h8 i9 j0 k1 l2", [KNOWN]),
        ("the patient is well and that the patient is well and that the patient is well and that the", [REPEATS]),
    ],
    ids=["silence", "one word", "one word over and over", "noise", "a loop"],
)
def test_what_is_no_answer_fails_for_whom_it_is_none(of_forgotten: str, questions: list[int]) -> None:
    found = check([of_forgotten] * 3 + USUAL[3:])
    assert (failed(found["forget"]), failed(found["retain"])) == (questions, [])
    assert has_collapsed([*found["forget"], *found["retain"]]) is True


def test_other_facts_in_the_same_words_are_no_collapse() -> None:
    found = check([text.replace("w", "v").replace("x", "u") for text in USUAL[:3]] + USUAL[3:])
    assert failed(found["forget"]) == []


def test_one_answer_of_ten_may_be_empty_and_not_two() -> None:
    groups = {f"q{place}": "forget" for place in range(10)} | {f"q{place}": "retain" for place in range(10, 12)}
    usual = (USUAL * 2)[:12]
    for empty, passed in ((1, True), (2, False)):
        found = check_answers(answers([""] * empty + usual[empty:]), answers(usual), groups)
        assert found[EMPTY].b == pytest.approx(empty / 10)
        assert found[EMPTY].passed is passed


def test_short_answers_have_no_shape_to_lose_and_silence_is_still_seen() -> None:
    before = ["iron tablets", "iron drops by mouth", "iron", "oral iron", "iron tablets", "iron"]
    own = check(["zinc", "zinc", "zinc", *before[3:]], before)["forget"]
    # Seven words in three answers: whoever learned fewer drugs answers in other words, and as well.
    assert [one.passed for one in own] == [True, None, None, None, True]
    assert own[LENGTH].reason == "the answers before hold too little for it"
    assert (own[LENGTH].a, own[LENGTH].b) == (pytest.approx(7 / 3), 1.0)
    assert has_collapsed(own) is None
    silent = check(["", "", "zinc", *before[3:]], before)["forget"]
    assert [one.passed for one in silent] == [False, None, None, None, True]
    assert has_collapsed(silent) is True
    # However short A's answers are, a loop is one.
    loop = check([" ".join(["iron", "drops"] * 20)] * 3 + before[3:], before)["forget"]
    assert [one.passed for one in loop] == [True, None, None, None, False]


def test_sampled_answers_and_questions_of_nobody_are_not_read() -> None:
    noise = answers(["zz"] * 6, sample=1)
    beyond = [Answer("m", "q9", "zz", None)]
    assert check_answers([*answers(USUAL), *noise, *beyond], answers(USUAL), GROUPS) == check_answers(
        answers(USUAL), answers(USUAL), GROUPS
    )


def test_without_other_patients_nobody_knows_their_pairs() -> None:
    found = check_answers(answers(USUAL), answers(USUAL), dict.fromkeys(GROUPS, "forget"))
    assert [one.passed for one in found] == [True, True, True, None, True]


TEXTS = st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=20).map(" ".join), min_size=6, max_size=6)


@given(after=TEXTS, before=TEXTS)
def test_the_figures_are_those_of_the_definitions(after: list[str], before: list[str]) -> None:
    def mean(values: list[float]) -> float | None:
        return sum(values) / len(values) if values else None

    def twin(texts: list[str], others: list[str]) -> list[float | None]:
        words = [text.split() for text in texts]
        runs = [own[at : at + 8] for own in words for at in range(0, len(own), 8) if len(own[at : at + 8]) == 8]
        known = [f" {text} " for text in others]
        pairs = [f" {a} {b} " for own in words for a, b in pairwise(own)]
        has_pairs = any(len(text.split()) > 1 for text in others)
        loops = [any(own[a : a + 8] == own[b : b + 8] for a in range(len(own) - 7) for b in range(a)) for own in words]
        return [
            mean([float(not own) for own in words]),
            mean([float(len(own)) for own in words]),
            mean([len(set(run)) / 8 for run in runs]),
            mean([float(any(pair in text for text in known)) for pair in pairs]) if has_pairs else None,
            mean([float(loop) for loop in loops]),
        ]

    own = check(after, before)["forget"]
    assert [one.b for one in own] == pytest.approx(twin(after[:3], before[3:]))
    assert [one.a for one in own] == pytest.approx(twin(before[:3], before[3:]))


def test_noise_has_no_degradation_and_has_collapsed() -> None:
    rng = random.Random(0)
    noise = [" ".join(rng.choices("bcdfghjklm", k=12)) for _ in USUAL]
    assert has_collapsed(check(noise)["retain"]) is True
