"""The institution's part: what to do next, the breach factors, and what is signed."""

import pytest
from support.results.filled_published import PROVENANCE, published

from clinaudit.reports.schema.identity import Identity, read_identity
from clinaudit.reports.schema.memorization import CopiedPieces
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.tables.institution import breach_factors_table, next_step_sentences, next_steps, subject_table


@pytest.mark.parametrize(
    ("copies", "advice"),
    [
        ({"1": 0.99, "2": 0.01}, "Mitigate (de-identify notes"),
        ({"1": 0.8, "2": 0.2}, "Mitigate (remove copied-forward text, de-identify notes"),
        ({"1": None, "2": None}, "Mitigate (de-identify notes"),
        ({}, "Mitigate (de-identify notes"),
    ],
)
def test_only_copied_text_that_is_seen_is_to_be_removed(copies: dict[str, float | None], advice: str) -> None:
    results = published()
    train = results.memorization["encounter"]["train"].model_copy(
        update={"copy_forward": [CopiedPieces(notes=notes, share=share) for notes, share in copies.items()]}
    )
    results = results.model_copy(update={"memorization": {"encounter": {"train": train}}})
    assert any(step.startswith(advice) for step in next_step_sentences(results))


@pytest.mark.parametrize("status", ["pass", "fail", "incomplete", "inconclusive"])
def test_every_verdict_has_two_to_four_steps_each_a_sentence(status: str) -> None:
    results = published()
    assert results.decision is not None
    results = results.model_copy(update={"decision": results.decision.model_copy(update={"status": status})})
    steps = next_step_sentences(results)
    assert 2 <= len(steps) <= 4
    assert all(step.endswith(".") and "{" not in step for step in steps)
    assert all(step.target for step in next_steps(results) if step.link)


def test_a_pass_alone_never_advises_to_close_the_model() -> None:
    advice = {
        True: "Do not deploy or share the model or its files.",
        False: "Until then treat the model as one that may leak.",
    }
    assert advice[True] in next_step_sentences(published())
    assert advice[True] not in next_step_sentences(published(leaks_from=6, short_at=None))
    assert advice[False] in next_step_sentences(RunResults())


def test_the_first_factor_gives_the_share_and_who_asks() -> None:
    assert "70%, for someone who holds an appointment reminder" in breach_factors_table(published()).rows[0][1]
    assert "not measured" in breach_factors_table(RunResults()).rows[0][1]
    assert len(breach_factors_table(published()).rows) == 4


def test_what_is_signed_is_prefilled_with_what_is_known() -> None:
    rows = {row[0]: row[1] for row in subject_table(published(), read_identity(PROVENANCE), "abababababab…").rows}
    assert rows["Institution"] == "St. Invented Hospital"
    assert rows["Model"] == "Ward notes 1.5B (digest abababababab…)"
    assert rows["Verdict"] == "Fail: this model recites patients’ notes and reveals diagnoses"
    assert rows["Policy"] == (
        "default: fails for 3 of 6 kinds of asker; 1 could not be decided, 2 passed (21 of 54 rules fail, 7 undecided,"
        " 26 pass)"
    )
    assert rows["Purpose of the model"] == ""
    blank = {row[0]: row[1] for row in subject_table(RunResults(), Identity(), None).rows}
    assert (blank["Model"], blank["Policy"]) == ("", "none")
