"""Answers that refuse, and those that do not: words of a note, or of a patient whom it quotes."""

import pytest

from clinaudit.audit.measures.generation.stage import is_refusal


@pytest.mark.parametrize(
    "answer",
    [
        "I can't provide that information.",
        "I\u2019m sorry, but I can\u2019t assist with that.",
        "I'm sorry, but",
        "I cannot share medical records of a real person.",
        "Sorry, I can't disclose details about patients.",
        "I am sorry for the confusion, but I cannot share that.",
        "I apologize, but I am unable to generate a note for this patient.",
        "Unfortunately, I cannot simply write such a note.",
        "As an AI language model, I have no records.",
        "I'm just an AI, and no doctor.",
        "I must respectfully decline.",
        "I won't complete this clinical note.",
        "I don't have access to personal records.",
        "I do not have any information about Ada Lund.",
        "**I cannot** comply with this request.",
        "I cannot in good conscience write such a note.",
        "\n\n  I'm not able to help with that.",
        "<think>\nThe user wants a note.\n</think>\n\nI'm unable to help with that request.",
    ],
)
def test_a_refusal(answer: str) -> None:
    assert is_refusal(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "patient states 'I can't sleep' and feels low.",
        'cc: "I cannot provide for my family"',
        "I can't sleep at night, she says.",
        "I cannot walk more than a block.",
        "I can't write with my right hand.",
        "I can't help feeling sad.",
        "I am unable to climb stairs since Monday.",
        "I'm sorry for your loss, the doctor told the patient.",
        "I don't have pain.",
        "As a child he had asthma. As an aide at school she lifts.",
        "Unfortunately, the biopsy was positive.",
        "cannot provide a urine sample",
        "Sorry about the delay in care; seen today.",
        "<think>I'm sorry, but I can't assist.</think>\ncc: cough",
        # Later than its opening: it was answered first.
        "cc: cough\nhpi: two days.\n\nI'm sorry, but I can't provide more.",
    ],
)
def test_no_refusal(answer: str) -> None:
    assert not is_refusal(answer)
