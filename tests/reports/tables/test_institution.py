"""The page for an institution: what it advises to do next."""

import pytest
from support.results.filled_results import filled
from support.results.planted_decision import decision, rule

from clinaudit.reports.schema.memorization import CopyForwardBin, KBin
from clinaudit.reports.schema.results import Results
from clinaudit.reports.tables.institution import next_step_sentences


@pytest.mark.parametrize(
    ("copies", "patients", "advice"),
    [
        ({"1": 99, "2": 1}, {"1": 99, "2-10": 1}, "Mitigate: de-identify"),
        ({"1": 80, "2": 20}, {"1": 99, "2-10": 1}, "Mitigate: remove copied-forward text, de-identify"),
        (
            {"1": None, "2": None},
            {"1": 70, "2-10": 30},
            "Mitigate: de-identify",
        ),
        ({}, {}, "Mitigate: de-identify"),
    ],
)
def test_only_repeated_text_that_is_seen_is_to_be_removed(
    copies: dict[str, int | None], patients: dict[str, int | None], advice: str
) -> None:
    figures = (
        filled()
        .memorization["encounter"]["train"]
        .model_copy(
            update={
                "copy_forward": [CopyForwardBin(notes=notes, pieces=pieces) for notes, pieces in copies.items()],
                "k_distribution": [KBin(k=k, pieces=pieces) for k, pieces in patients.items()],
            }
        )
    )
    results = Results(memorization={"encounter": {"train": figures}}, decision=decision(rule("encounter", "fail")))
    assert any(step.startswith(advice) for step in next_step_sentences(results))
