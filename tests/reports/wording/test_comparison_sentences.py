"""The conclusion of a comparison: what is said where an interval leaves out 0, and where it does not."""

import pytest
from support.compared_results import compared, forgetting

from clinaudit.audit.results.comparison.comparison import compare_rows
from clinaudit.audit.statistics.estimates import mean_row
from clinaudit.reports.estimates.frame import Row, at
from clinaudit.reports.schema.comparison import Change, Comparison
from clinaudit.reports.wording.comparison import conclusion_sentence

PLACE = {"form": "text", "tier": "encounter", "arm": "train"}
HIGH, LOWER, NONE = (mean_row("attributable_fraction", total, 80, 130, **PLACE) for total in (92.3, 90.0, 0.0))
UNKNOWN = at("attributable_fraction", **PLACE)._replace(reason="every patient was excluded")


def comparison(
    a: Row, b: Row, *, tier: str = "encounter", exact: bool = False, deltas: dict[str, dict[str, Change]] | None = None
) -> Comparison:
    text = compare_rows(a._replace(tier=tier), b._replace(tier=tier))
    changes = [
        change.model_copy(update={"diagnosis": diagnosis, "tier": at})
        for diagnosis, tiers in (deltas or {}).items()
        for at, change in tiers.items()
    ]
    figures = "exact" if exact else "published"
    return Comparison(figures=figures, differences=[], warnings=[], changes=[text, *changes])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("a", "b", "start"),
    [
        (HIGH, NONE, "Run B repeats less of its patients' notes than run A: 71% → 0% of the text with an appoint"),
        (NONE, HIGH, "Run B repeats more of its patients' notes than run A: 0% → 71% of the text"),
        (
            HIGH,
            LOWER,
            "The published figures do not show a change in how much of its patients' notes run B repeats: 71",
        ),
        (
            UNKNOWN,
            HIGH,
            "How much of its patients' notes run B repeats was not measured in both runs; diagnoses were n",
        ),
    ],
)
def test_what_is_said_of_text_follows_from_the_interval(a: Row, b: Row, start: str) -> None:
    assert conclusion_sentence(comparison(a, b)).startswith(start)


def test_exact_figures_are_said_to_be_and_another_tier_is_named() -> None:
    assert conclusion_sentence(comparison(HIGH, HIGH, exact=True)).startswith("The exact figures do not show a change")
    assert "of the text at “Public facts”" in conclusion_sentence(comparison(HIGH, NONE, tier="public"))


def delta(low: float, high: float) -> Change:
    row = at("auroc_all", form="text", arm="train-nontrain")._replace(value=0.3, low=0.2, high=0.4)
    return Change.of(row, row, row._replace(value=(low + high) / 2, low=low, high=high))


BY = "by AUROC over all patients "
UP, DOWN, SAME = delta(0.1, 0.3), delta(-0.3, -0.1), delta(-0.2, 0.2)


@pytest.mark.parametrize(
    ("deltas", "end"),
    [
        ({}, "diagnoses were not measured in both runs."),
        ({"hiv": {"public": SAME}}, "no diagnosis is shown to have become easier or harder to tell."),
        (
            {"hiv": {"public": SAME, "encounter": UP}, "ptsd": {"public": DOWN}},
            BY + "HIV (at “Appointment reminder”) became easier to tell, and PTSD (at “Public facts”) harder.",
        ),
        # One tier at which it became easier outweighs those at which it became harder.
        (
            {"hiv": {"public": DOWN, "encounter": UP}},
            BY + "HIV (at “Appointment reminder”) became easier to tell.",
        ),
        (
            {"hiv": {"public": DOWN}},
            BY + "HIV (at “Public facts”) became harder to tell, and no diagnosis is shown",
        ),
        (
            {"hiv": dict.fromkeys(("public", "public_name", "encounter"), DOWN) | {"encounter_cc": SAME}},
            BY + "HIV (at 3 of 4 levels of access) became harder",
        ),
    ],
)
def test_what_is_said_of_diagnoses(deltas: dict[str, dict[str, Change]], end: str) -> None:
    sentence = conclusion_sentence(comparison(HIGH, NONE, deltas=deltas))
    assert sentence.split("; ", 1)[1].startswith(end)


def test_the_verdict_on_named_patients_comes_first() -> None:
    certified = compared()
    assert certified.conclusion.startswith("Named patients still leak. ")
    for verdict, start in (("forgotten", "The named patients are shown to be"), ("not shown", "It is not shown that")):
        judged = forgetting().model_copy(update={"verdict": verdict})
        assert conclusion_sentence(certified.model_copy(update={"forgetting": judged})).startswith(start)
