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
    return Table(
        "Answers to questions: before, after, and how many never trained on have less of it",
        ("Questions", "Figure", "Before", "After", "Less", "Never trained on", "Retrained", "What is missing"),
        tuple(
            (
                USES.get(row.use, row.use),
                row.measure,
                _share(row.before),
                _share(row.after),
                str(row.below),
                str(row.controls),
                _share(row.reference),
                row.reason or "",
            )
            for row in rows
        ),
    )


def question_groups_table(block: QuestionBlock) -> Table:
    """Return what answers keep of all named patients together."""
    return Table(
        "All named patients together",
        ("Questions", "Figure", "Named", "Never trained on", "Before", "After", "Floor", "Retrained"),
        tuple(
            (
                USES.get(group.use, group.use),
                group.measure,
                str(group.patients),
                str(group.controls),
                figure_text(group.before),
                figure_text(group.after),
                figure_text(group.floor),
                figure_text(group.reference),
            )
            for group in block.groups
        ),
    )


def answer_health_table(checks: Sequence[AnswerCheck]) -> Table:
    """Return whether answers still read as those of the model before, question by question."""
    return Table(
        "Do answers still read as before? Noise and silence are no forgetting",
        ("Whose questions", "What is measured", "Before", "After", "May be", "Passed"),
        tuple(
            (
                ASKED.get(check.group, check.group),
                check.question,
                _share(check.a),
                _share(check.b),
                check.allowed if check.limit is None else f"{check.allowed}: {check.limit:.3f}",
                {True: "✓ yes", False: "✗ no", None: "? open"}[check.passed]
                + ("" if check.reason is None else f": {check.reason}"),
            )
            for check in checks
        ),
    )


def robustness_table(block: RobustnessBlock) -> Table:
    """Return what came of each trial."""
    return Table(
        "Trials of the model after, on all whom the split forgets",
        ("Trial", "Figure", "Forgotten", "Never trained on", "Difference", "Retrained", "Found"),
        tuple(
            (
                row.test,
                row.measure,
                figure_text(row.value),
                figure_text(row.floor),
                figure_text(row.difference),
                figure_text(row.reference),
                _STATUSES[row.status],
            )
            for row in block.rows
        ),
    )


def detectability_table(block: DetectabilityBlock) -> Table:
    """Return how far each trait tells forgotten patients from those never trained on."""
    return Table(
        "How often a forgotten patient has more of it than one never trained on; 0.5 is best",
        ("Trait", "AUROC", "p", "Told apart"),
        tuple(
            (
                TRAITS.get(row.trait, row.trait),
                figure_text(row.auroc),
                "" if row.p_value is None else f"{row.p_value:.3f}",
                _YES[row.told_apart],
            )
            for row in block.rows
        ),
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
    return Table(
        "Retained patients: share of the audits’ text that is their own, clinically revealing and nobody else’s",
        ("Whose", "Before", "After", "Change"),
        tuple(
            (
                COLLATERAL_GROUPS.get(group.group, group.group),
                figure_text(group.text_before),
                figure_text(group.text_after),
                figure_text(group.text_change),
            )
            for group in groups
        ),
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
