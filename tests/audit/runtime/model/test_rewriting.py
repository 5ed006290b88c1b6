"""Signs of rewritten text: notes as they are and as servers, gateways and files write them."""

import unicodedata

import pytest

from clinaudit.audit.runtime.model.rewriting import seem_rewritten

NOTES = [
    f"Patient: Zoë Roe\nDOB: {day:02}/03/1960\n\nHPI:\n  - cough for 9 days, can't sleep\n  - fever\n\nPlan: rest 1 d\n"
    for day in range(1, 30)
]
ANSWERS = [note[20:] for note in NOTES[:5]]


@pytest.mark.parametrize(
    "change",
    [
        str.lower,
        str.upper,
        lambda text: " ".join(text.split()),
        lambda text: text.replace("\n\n", "\n"),
        lambda text: text.replace("\n  ", "\n"),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\\n"),
        lambda text: text.replace("\n", "  \n"),
        lambda text: text.replace("\n", "<br>"),
        lambda text: text.replace("'", "&#39;"),
        lambda text: text.replace("'", "\u2019"),
        lambda text: text.replace(" ", "\u00a0"),
        lambda text: text.replace(" ", " \u200b"),
        lambda text: text.replace(" ", "\u2581"),
        lambda text: text.replace(" ", "Ġ"),
        lambda text: text.replace("HPI", "**HPI**"),
        lambda text: text.replace("1960", "####"),
        lambda text: "".join("X" if sign.isdecimal() else sign for sign in text),
        lambda text: text.replace("fever", "<PERSON>"),
        lambda text: unicodedata.normalize("NFD", text + "é"),
        lambda text: text[:9] + "\0" + text[9:],
        lambda _text: "\n",
    ],
)
def test_what_others_write_in_place_of_notes(change):
    assert seem_rewritten(list(map(change, ANSWERS)), NOTES)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text,
        lambda text: text.strip(),
        lambda text: text[:30],
        lambda text: text.replace("cough", "Pain (left), 7/10").replace("rest", "ibuprofen 400 mg; see Dr. Ek"),
        lambda text: text + "</s>",
    ],
)
def test_other_words_are_no_sign(change):
    assert not seem_rewritten(list(map(change, ANSWERS)), NOTES)


def test_one_answer_or_a_mark_that_notes_hold_is_no_sign():
    assert not seem_rewritten([ANSWERS[0].replace("'", "\u2019"), *ANSWERS[1:]], NOTES)
    assert not seem_rewritten([one + "*" for one in ANSWERS], [*NOTES, *(note + "*" for note in NOTES)])
    # A note with carriage returns is read with line feeds, too.
    assert not seem_rewritten(ANSWERS, [note.replace("\n", "\r\n") for note in NOTES])
