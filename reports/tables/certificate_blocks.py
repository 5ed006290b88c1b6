"""Tables of what a benchmark adds to the deletion certificate by patient (PHI).

Owns what stands in which column. Knows nothing of how a figure came about.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from clinaudit.reports.schema.answer_check import AnswerCheck
from clinaudit.reports.schema.certificate_blocks import (
    CollateralGroup,
    DetectabilityBlock,
    QuestionBlock,
    QuestionRow,
    RobustnessBlock,
    RobustnessStatus,
)
from clinaudit.reports.schema.comparison import COLLATERAL_CHANGES
from clinaudit.reports.schema.numbers import EstimateRange
from clinaudit.reports.tables.comparison import COLLATERAL_GROUPS
from clinaudit.reports.tables.table import Table
from clinaudit.reports.wording.unlearning import TRAITS

USES: Final = {"train": "in training", "holdout": "withheld", "rephrased": "rephrased", "tried": "the worst trial"}
ASKED: Final = {"forget": "forgotten by the split", "retain": "retained", "never_trained": "never trained on"}
_STATUSES: Final[dict[RobustnessStatus | None, str]] = {
    "above": "✗ above",
    "within": "✓ within",
    "open": "? open",
    None: "shown alone",
}
_YES: Final = {True: "yes", False: "not shown", None: "not measured"}


def question_rows_table(rows: Iterable[QuestionRow]) -> Table:
    """Return what answers keep of one patient, by the use of the questions."""
    return Table.of(
        "Answers to questions: before, after, and how many never trained on have less of it",
        rows,
        {
            "Questions": lambda row: USES.get(row.use, row.use),
            "Figure": lambda row: row.measure,
            "Before": lambda row: _share(row.before),
            "After": lambda row: _share(row.after),
            "Less": lambda row: str(row.below),
            "Never trained on": lambda row: str(row.controls),
            "Retrained": lambda row: _share(row.reference),
            "What is missing": lambda row: row.reason or "",
        },
    )


def question_groups_table(block: QuestionBlock) -> Table:
    """Return what answers keep of all named patients together."""
    return Table.of(
        "All named patients together",
        block.groups,
        {
            "Questions": lambda group: USES.get(group.use, group.use),
            "Figure": lambda group: group.measure,
            "Named": lambda group: str(group.patients),
            "Never trained on": lambda group: str(group.controls),
            "Before": lambda group: figure_text(group.before),
            "After": lambda group: figure_text(group.after),
            "Floor": lambda group: figure_text(group.floor),
            "Retrained": lambda group: figure_text(group.reference),
        },
    )


def answer_health_table(checks: Sequence[AnswerCheck]) -> Table:
    """Return whether answers still read as those of the model before, question by question."""
    return Table.of(
        "Do answers still read as before? Noise and silence are no forgetting",
        checks,
        {
            "Whose questions": lambda check: ASKED.get(check.group, check.group),
            "What is measured": lambda check: check.question,
            "Before": lambda check: _share(check.a),
            "After": lambda check: _share(check.b),
            "May be": lambda check: check.allowed if check.limit is None else f"{check.allowed}: {check.limit:.3f}",
            "Passed": lambda check: (
                {True: "✓ yes", False: "✗ no", None: "? open"}[check.passed]
                + ("" if check.reason is None else f": {check.reason}")
            ),
        },
    )


def robustness_table(block: RobustnessBlock) -> Table:
    """Return what came of each trial."""
    return Table.of(
        "Trials of the model after, on all whom the split forgets",
        block.rows,
        {
            "Trial": lambda row: row.test,
            "Figure": lambda row: row.measure,
            "Forgotten": lambda row: figure_text(row.value),
            "Never trained on": lambda row: figure_text(row.floor),
            "Difference": lambda row: figure_text(row.difference),
            "Retrained": lambda row: figure_text(row.reference),
            "Found": lambda row: _STATUSES[row.status],
        },
    )


def detectability_table(block: DetectabilityBlock) -> Table:
    """Return how far each trait tells forgotten patients from those never trained on."""
    return Table.of(
        "How often a forgotten patient has more of it than one never trained on; 0.5 is best",
        block.rows,
        {
            "Trait": lambda row: TRAITS.get(row.trait, row.trait),
            "AUROC": lambda row: figure_text(row.auroc),
            "p": lambda row: "" if row.p_value is None else f"{row.p_value:.3f}",
            "Told apart": lambda row: _YES[row.told_apart],
        },
    )


def collateral_table(groups: Sequence[CollateralGroup]) -> Table:
    """Return what it cost retained patients."""
    return Table(
        "Retained patients: model utility (MU), and how answers on each changed",
        ("Whose", "Patients", "MU before", "MU after", "Change", *COLLATERAL_CHANGES),
        tuple(
            (
                COLLATERAL_GROUPS.get(group.group, group.group),
                str(group.patients),
                figure_text(group.before),
                figure_text(group.after),
                figure_text(group.change),
                *(str(group.bins.get(name, 0)) for name in COLLATERAL_CHANGES),
            )
            for group in groups
        ),
    )


def retained_text_table(groups: Sequence[CollateralGroup]) -> Table:
    """Return how much of retained patients' own notes the runs write."""
    return Table.of(
        "Retained patients: share of the audits’ text that is their own, clinically revealing and nobody else’s",
        groups,
        {
            "Whose": lambda group: COLLATERAL_GROUPS.get(group.group, group.group),
            "Before": lambda group: figure_text(group.text_before),
            "After": lambda group: figure_text(group.text_after),
            "Change": lambda group: figure_text(group.text_change),
        },
    )


def figure_text(estimate: EstimateRange) -> str:
    """Return an exact figure to three decimals with its interval, or why there is none."""
    if estimate.value is None:
        return estimate.reason or "none"
    if estimate.confidence_low is None or estimate.confidence_high is None:
        return f"{estimate.value:.3f}"
    return f"{estimate.value:.3f} ({estimate.confidence_low:.3f} to {estimate.confidence_high:.3f})"


def _share(value: float | None) -> str:
    return "none" if value is None else f"{value:.3f}"
