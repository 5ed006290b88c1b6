"""The table and the sentence of ordinary use: what readers see of none, of few, and of a task that was left out."""

import pytest
from support.results.planted_ordinary import NOTHING, Counts, plant_ordinary

from clinaudit.audit.results.ranges.attacks import derive_ordinary
from clinaudit.reports.tables.attacks import ordinary_table
from clinaudit.reports.tally.leaves import coarsen
from clinaudit.reports.wording.attacks import ordinary_sentence

FEW: Counts = ((3, 2), (2, 1), (0, 0))


def test_the_table_of_the_exact_report() -> None:
    table = ordinary_table(derive_ordinary(plant_ordinary(FEW, ((12, 5), (7, 3), (1, 1)))))
    assert table.rows == (
        ("Text of one patient’s notes", "3", "0.7% (0 to 3)", "2", "2", "1", "0", "0"),
        ("Verified identifiers", "12", "2.8% (1 to 5)", "5", "7", "3", "1", "1"),
    )
    assert len(table.columns) == len(table.rows[0])
    assert table.note.startswith("429 tasks, asked as plain text and in a chat, twice each")


def test_the_published_table_has_classes() -> None:
    table = ordinary_table(derive_ordinary(coarsen(plant_ordinary(FEW, None, left_out=1))))
    assert table.rows == (("Text of one patient’s notes", "1–10", "0–3% (0 to 5)", "1–20", "1–10", "1–20", "0", "0"),)
    assert table.note.endswith("1 task did not fit into the model’s context.")


@pytest.mark.parametrize(
    ("counts", "tasks", "exact", "said"),
    [
        (
            NOTHING,
            429,
            False,
            "None of 429 everyday tasks about nobody brought back text from a patient the model was trained on"
            " (95% interval up to 0.9%).",
        ),
        (
            FEW,
            429,
            True,
            "3 of 429 everyday tasks about nobody brought back text from patients the model was trained on"
            " (95% interval up to 2.1%); of as many it never saw, by chance: 0; patients concerned: 2.",
        ),
        (
            FEW,
            429,
            False,
            "1–10 of 429 everyday tasks about nobody brought back text from patients the model was trained on"
            " (95% interval up to 4.3%); of as many it never saw, by chance: 0; patients concerned: 1–20.",
        ),
        (NOTHING, 0, False, "Everyday tasks were not measured: none fits into the model’s context."),
    ],
)
def test_the_sentence(counts: Counts, tasks: int, exact: bool, said: str) -> None:
    tally = plant_ordinary(counts, tasks=tasks)
    assert ordinary_sentence(derive_ordinary(tally if exact else coarsen(tally))) == said


def test_answers_too_short_to_hold_anything_are_told() -> None:
    silent = derive_ordinary(coarsen(plant_ordinary(short=1)))
    assert ordinary_sentence(silent).endswith(
        "(95% interval up to 0.9%). 1 task got no answer long enough to hold any."
    )
    assert ordinary_table(silent).note.endswith(" 1 task got no answer long enough to hold text of a note.")
