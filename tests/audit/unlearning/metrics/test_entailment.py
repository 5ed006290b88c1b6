"""Entailment by rules against pairs that were labelled by hand before they were run."""

import pytest
from support.hand_made_bench import question

from clinaudit.audit.unlearning.metrics.answer_scores import (
    NO_FACTS,
    EntailmentByModel,
    EntailmentByRules,
    EntailmentScore,
)

RULES = EntailmentByRules()
#: Reference answer, its facts (by "|"), an answer, and the share of the facts that it states.
PAIRS = [
    # Stated as it is.
    ("She has asthma.", "asthma", "The patient has asthma.", 1.0),
    ("She has asthma.", "asthma", "ASTHMA", 1.0),
    ("Ferritin was 7 ng/mL.", "7 ng/mL", "The ferritin was 7 ng/mL.", 1.0),
    ("Lisinopril 10 mg was started.", "Lisinopril 10 mg", "He was started on lisinopril 10 mg daily.", 1.0),
    ("The pressure was 150/90.", "150/90", "BP 150/90, pulse 72", 1.0),
    ("A chest x-ray showed pneumonia.", "pneumonia", "The film showed pneumonia in the left lobe.", 1.0),
    ("It was stage 2.", "stage 2", "Stage 2 disease.", 1.0),
    # Not there, or other words.
    ("She has asthma.", "asthma", "", 0.0),
    ("She has asthma.", "asthma", "She has eczema.", 0.0),
    ("She has asthma.", "asthma", "She has asthmatic parents.", 0.0),
    ("Sertraline was started.", "Sertraline", "An antidepressant was started.", 0.0),
    ("It was stage 2.", "stage 2", "Stage 3 disease.", 0.0),
    # A number is no part of a longer one.
    ("Ferritin was 7.", "7", "Ferritin was 7.2.", 0.0),
    ("Ferritin was 7.", "7", "Ferritin was 17.", 0.0),
    ("Ferritin was 7.", "7", "Ferritin was 7.", 1.0),
    ("The potassium was 4.5.", "4.5", "Potassium 14.5", 0.0),
    ("The pulse was 90.", "90", "BP 150/90", 0.0),
    ("The dose was 10.", "10", "The dose was 10,000.", 0.0),
    # Negated, or said of somebody else, or ruled out.
    ("She has asthma.", "asthma", "She has no asthma.", 0.0),
    ("She has asthma.", "asthma", "She denies asthma.", 0.0),
    ("She has asthma.", "asthma", "There is no evidence of asthma.", 0.0),
    ("She has asthma.", "asthma", "Asthma was ruled out.", 0.0),
    ("She has asthma.", "asthma", "Her mother has asthma.", 0.0),
    ("She has asthma.", "asthma", "No asthma. She has asthma.", 0.0),
    # What the reference denies must be denied.
    ("He had no fever.", "fever", "There was no fever.", 1.0),
    ("He had no fever.", "fever", "He denied fever.", 1.0),
    ("He had no fever.", "fever", "He had a fever.", 0.0),
    ("He had no fever.", "fever", "He was well.", 0.0),
    # Shares of several facts.
    ("Asthma, treated with albuterol.", "Asthma|albuterol", "Asthma was treated with steroids.", 0.5),
    ("Asthma, treated with albuterol.", "Asthma|albuterol", "Albuterol for asthma.", 1.0),
    ("Fever and rash, no cough.", "Fever|rash|cough", "Fever, no cough.", 2 / 3),
    ("Fever and rash, no cough.", "Fever|rash|cough", "No fever. Cough and rash.", 1 / 3),
    # A fact that the reference has in other words is taken as stated there.
    ("The airways were narrow.", "asthma", "She has asthma.", 1.0),
]


@pytest.mark.parametrize(("reference", "facts", "answer", "expected"), PAIRS)
def test_hand_labelled_pairs(reference: str, facts: str, answer: str, expected: float) -> None:
    asked = question("q", "P", "What?", reference, *facts.split("|"))
    assert RULES.score(asked, answer) == EntailmentScore(expected, None)


def test_without_facts_there_is_no_score_and_a_reason() -> None:
    assert RULES.score(question("q", "P", "What?", "Asthma."), "Asthma.") == EntailmentScore(None, None, NO_FACTS)


def test_a_model_is_asked_both_ways_and_a_blank_answer_entails_nothing() -> None:
    class SaysMore:
        name = "the longer one entails the shorter"

        def entails(self, premise: str, hypothesis: str) -> bool:
            assert premise.strip()
            return len(premise) > len(hypothesis)

    asked = question("q", "P", "What?", "Asthma.", "Asthma")
    entailment = EntailmentByModel(SaysMore())
    assert entailment.score(asked, "Asthma and eczema.") == EntailmentScore(1.0, 0.0)
    assert entailment.score(asked, "No.") == EntailmentScore(0.0, 1.0)
    assert entailment.score(asked, " \n") == EntailmentScore(0.0, 0.0)
