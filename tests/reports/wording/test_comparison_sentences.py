"""The conclusion of a comparison: what is said where intervals leave out 0, where ranges do, and where neither does."""

import pytest
from support.results.compared_results import compared, forgetting
from support.results.published_numbers import Notation

from clinaudit.audit.results.comparison.published import compare_estimates
from clinaudit.reports.schema.comparison import ComparedEstimate, ComparedMemorization, Comparison
from clinaudit.reports.schema.numbers import ShownEstimate
from clinaudit.reports.tables.comparison import disclosure_tables
from clinaudit.reports.wording.comparison import conclusion_sentence


def share(low: float, high: float, confidence_low: float, confidence_high: float) -> ShownEstimate:
    return ShownEstimate(low=low, high=high, confidence_low=confidence_low, confidence_high=confidence_high)


HIGH = share(0.705, 0.715, 0.62, 0.79)
LOWER = share(0.60, 0.61, 0.52, 0.69)
NONE = share(0.0, 0.02, 0.0, 0.05)
UNKNOWN = ShownEstimate(reason="every patient was excluded")


def change(a: ShownEstimate, b: ShownEstimate) -> ComparedMemorization:
    figure = compare_estimates(a, b)
    return ComparedMemorization(
        memorized_fraction=figure,
        attributable_fraction=figure,
        near_verbatim_attributable_fraction=figure,
        hit_patients_share=figure,
        patients=None,
    )


def comparison(
    a: ShownEstimate,
    b: ShownEstimate,
    *,
    tier: str = "encounter",
    exact: bool = False,
    deltas: dict[str, dict[str, ComparedEstimate]] | None = None,
) -> Comparison:
    return Comparison(
        figures="exact" if exact else "published",
        differences=[],
        warnings=[],
        memorization={tier: {"train": change(a, b)}},
        disclosure={
            diagnosis: {at: {"auroc_all": figure} for at, figure in tiers.items()}
            for diagnosis, tiers in (deltas or {}).items()
        },
    )


@pytest.mark.parametrize(
    ("a", "b", "start"),
    [
        (HIGH, NONE, "Run B repeats less of its patients' notes than run A: 70–72% → 0–2% of the text with an appoint"),
        (NONE, HIGH, "Run B repeats more of its patients' notes than run A: 0–2% → 70–72% of the text"),
        (HIGH, LOWER, "Run B repeated less of its patients' notes than run A, which chance could explain: 70–72% → 60"),
        (HIGH, HIGH, "The published ranges do not show a change in how much of its patients' notes run B repeats: 70"),
        (
            UNKNOWN,
            HIGH,
            "How much of its patients' notes run B repeats was not measured in both runs; diagnoses were n",
        ),
    ],
)
def test_what_is_said_of_text_follows_from_the_ranges(a: ShownEstimate, b: ShownEstimate, start: str) -> None:
    assert conclusion_sentence(comparison(a, b)).startswith(start)


def test_exact_figures_are_not_called_ranges_and_another_tier_is_named() -> None:
    assert conclusion_sentence(comparison(HIGH, HIGH, exact=True)).startswith("The exact figures do not show a change")
    assert "of the text at “Public facts”" in conclusion_sentence(comparison(HIGH, NONE, tier="public"))


def delta(low: float, high: float) -> ComparedEstimate:
    known = share(0.3, 0.4, 0.2, 0.5)
    return ComparedEstimate(a=known, b=known, difference=share(low, high, low, high))


BY = "by AUROC over all patients "
#: The range lies below 0, the interval does not: chance could explain it.
LOW = ComparedEstimate(
    a=share(0.3, 0.4, 0.2, 0.5), b=share(0.1, 0.2, 0.0, 0.3), difference=share(-0.3, -0.1, -0.5, 0.1)
)
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
        # The tier is named: at the one that the terminal shows, nothing was shown to change.
        (
            {"hiv": {"encounter": SAME, "encounter_cc": DOWN}, "ptsd": {"encounter": LOW}},
            BY + "HIV (at “Appointment and chief complaint”) became harder",
        ),
        (
            {"hiv": dict.fromkeys(("public", "public_name", "encounter"), DOWN) | {"encounter_cc": SAME}},
            BY + "HIV (at 3 of 4 levels of access) became harder",
        ),
        (
            {
                "hiv": {"public": DOWN},
                "ptsd": {"public": DOWN},
                "abortion": {"public": DOWN},
                "anxiety": {"public": SAME},
            },
            BY + "3 of 4 diagnoses, each at one level of access or more, became harder to tell, and no",
        ),
        (
            {name: {"public": DOWN} for name in ("hiv", "ptsd", "abortion")},
            BY + "all 3 diagnoses, each at one level of access or more, became harder to tell, an",
        ),
    ],
)
def test_what_is_said_of_diagnoses(deltas: dict[str, dict[str, ComparedEstimate]], end: str) -> None:
    sentence = conclusion_sentence(comparison(HIGH, NONE, deltas=deltas))
    assert sentence.split("; ", 1)[1].startswith(end)


def test_the_verdict_on_named_patients_comes_first() -> None:
    certified = compared()
    assert certified.conclusion.startswith("Named patients still leak. Run B repeats less")
    for verdict, start in (("forgotten", "The named patients are shown to be"), ("not shown", "It is not shown that")):
        judged = forgetting(Notation()).model_copy(update={"verdict": verdict})
        assert conclusion_sentence(certified.model_copy(update={"forgetting": judged})).startswith(start)


def test_no_diagnosis_is_said_to_have_changed_whose_row_in_the_table_holds_0() -> None:
    content = compared(certified=False, leaks_from=3)
    deltas = {"hiv": {"encounter": LOW, "public": DOWN}, "ptsd": {"encounter": LOW}, "anxiety": {"public": SAME}}
    changed = comparison(HIGH, NONE, deltas=deltas)
    text = content.model_copy(update={"disclosure": changed.disclosure})
    sentence = conclusion_sentence(text)
    rows = [row for table in disclosure_tables(text, changed=True) for row in table.rows]
    assert {(row[0], row[1].split(" ", 1)[1]) for row in rows} == {("HIV", "Public facts")}
    assert not any(_holds_0(row[-1]) for row in rows)
    rest = [row for table in disclosure_tables(text, changed=False) for row in table.rows]
    assert rest
    assert all(_holds_0(row[-1]) for row in rest)
    assert "HIV (at “Public facts”) became harder" in sentence
    assert "PTSD" not in sentence


def _holds_0(cell: str) -> bool:
    low, high = cell.split("(")[1].rstrip(")").split(" to ")
    return float(low.replace("−", "-")) <= 0 <= float(high.replace("−", "-"))
