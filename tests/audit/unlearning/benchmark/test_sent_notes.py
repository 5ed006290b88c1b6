"""Which notes of a long chart a served model is shown."""

import pytest

from clinaudit.audit.unlearning.benchmark import served_model
from clinaudit.audit.unlearning.benchmark.served_model import notes_to_send

NOTES = ["gout 1", "lupus 22", "gout 333", "cough 4444"]


@pytest.mark.parametrize(
    ("room", "facts", "sent"),
    [
        (100, (), NOTES),
        (18, (), ["gout 333", "cough 4444"]),
        (17, (), ["cough 4444"]),
        # What holds a fact comes first, the latest of them before the others.
        (18, ("gout",), ["gout 1", "gout 333"]),
        (16, ("lupus",), ["lupus 22"]),
        (18, ("lupus",), ["lupus 22", "cough 4444"]),
        (4, ("gout",), ["gout"]),
        (4, (), ["coug"]),
    ],
)
def test_notes_that_hold_the_facts_come_first_then_the_latest_in_their_order(
    monkeypatch: pytest.MonkeyPatch, room: int, facts: tuple[str, ...], sent: list[str]
) -> None:
    monkeypatch.setattr(served_model, "MOST_NOTE_CHARS", room)
    assert notes_to_send(NOTES, facts=facts) == sent


def test_a_chart_of_any_length_fits_a_question() -> None:
    assert sum(map(len, notes_to_send(["x" * 70_000] * 9, facts=["y"]))) <= served_model.MOST_NOTE_CHARS
