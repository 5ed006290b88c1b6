"""What every question must hold to, which are chosen, and which are withheld."""

import pytest

from clinaudit.audit.unlearning.benchmark.questions.selection import (
    OWN_ANSWER,
    Candidate,
    choose_questions,
    holds_answer,
    problem_of,
    shared_holdouts,
)


def made(kind: str, number: int, *facts: str, about: str = "x", is_unique: bool = True) -> Candidate:
    fields = {"about": about, "kind": kind, "question": f"{kind} {number}?", "answer": " ".join(facts), "facts": facts}
    return Candidate(**fields, is_unique=is_unique)  # type: ignore[arg-type]


def choose(*candidates: Candidate, seed: int = 0, **options: object) -> list[Candidate]:
    chosen = choose_questions("P", candidates, **{"accept": lambda _: None, "seed": seed, **options})  # type: ignore[arg-type]
    assert not isinstance(chosen, str)
    return chosen


FACTUAL = [made("factual", place, f"f{place}") for place in range(4)]
REASONING = [made("reasoning", place, f"r{place}") for place in range(4)]


@pytest.mark.parametrize(
    ("question", "facts", "held"),
    [
        ("Is it 120/80?", ["120/80"], True),
        ("Was it Latex (Itching)?", ["latex (itching)"], True),
        ("Was it 1120/80?", ["120/80"], False),
        ("Which latex?", ["latex (itching)"], False),
    ],
)
def test_a_question_holds_its_answer_by_whole_words(question: str, facts: list[str], held: bool) -> None:
    assert holds_answer(question, "The answer.", facts) is held


def test_a_fact_must_stand_in_notes_and_answer() -> None:
    def nobody(_text: str) -> bool:
        return False

    question = made("factual", 1, "two")
    assert problem_of(question, ["one two"], nobody) is None
    assert "word for word" in str(problem_of(question, ["one"], nobody))
    assert problem_of(made("factual", 1, "1"), ["1"], nobody) == OWN_ANSWER
    assert problem_of(question, ["two"], lambda text: text == "two") == "the answer holds an identifier"
    assert problem_of(question, ["two"], lambda text: text == "factual 1?") == "the question holds an identifier"


def test_of_too_few_questions_the_reason_tells_which() -> None:
    # Four that share a fact are not four.
    shared = [made("factual", place, "same") for place in range(4)]
    for candidates, kind in ((FACTUAL[:3], "factual"), (FACTUAL, "reasoning"), (shared, "factual")):
        reason = f"fewer than four {kind} questions can be asked from the notes"
        assert choose_questions("P", candidates, accept=lambda _: None, seed=0) == reason


def test_the_withheld_question_is_the_one_that_the_others_tell_least_of() -> None:
    reasoning = [made("reasoning", place, f"f{place}", f"f{(place + 1) % 3}") for place in range(3)]
    reasoning.append(made("reasoning", 9, "new", "other"))
    for seed in range(5):
        chosen = choose(*FACTUAL, *reasoning, seed=seed)
        assert {one.question for one in chosen if one.is_holdout} == {"factual 3?", "reasoning 9?"}
        assert shared_holdouts(chosen) == 0


def test_descriptions_that_fit_nobody_else_and_new_kinds_come_first() -> None:
    factual = [made("factual", place, f"f{place}", about="same") for place in range(6)]
    factual += [made("factual", 6, "f6", about="rare"), made("factual", 7, "f7", about="odd", is_unique=False)]
    for seed in range(5):
        asked = {one.question for one in choose(*factual, *REASONING, seed=seed)}
        assert "factual 6?" in asked
        assert "factual 7?" not in asked


def test_a_refused_candidate_is_replaced() -> None:
    chosen = choose(
        *FACTUAL, made("factual", 4, "f4"), *REASONING, accept=lambda one: "no" if one.facts == ("f0",) else None
    )
    assert {one.facts for one in chosen[:4]} == {("f1",), ("f2",), ("f3",), ("f4",)}


def test_answers_with_terms_are_chosen_first_then_kinds_not_asked_yet() -> None:
    def answered(about: str, answer: str, question: str) -> Candidate:
        return Candidate(about=about, kind="factual", question=question, answer=answer, facts=(answer,))

    factual = [
        answered("a", "gout ptsd hiv", "1?"),
        answered("a", "gout ptsd flu", "2?"),
        answered("b", "ptsd cold", "3?"),
        answered("c", "pulse", "4?"),
        answered("d", "weight", "5?"),
        # What the question says itself is no term of the answer.
        answered("e", "hiv only", "hiv, 6?"),
    ]
    chosen = choose(*factual, *REASONING, seed=1, terms={("gout",), ("ptsd",), ("hiv",)})
    # A second question of a kind counts half of its two terms: one of a kind not asked yet goes first.
    assert [one.answer for one in chosen[:3]] == ["gout ptsd hiv", "ptsd cold", "gout ptsd flu"]
    assert chosen[3].about in {"c", "d", "e"}
