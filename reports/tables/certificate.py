"""Tables of the deletion certificate by patient (PHI): models, verdicts, measures, canaries, and what a benchmark adds.

Owns what stands in which column. Knows nothing of how a figure came about.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from clinaudit.reports.schema.answer_check import AnswerCheck
from clinaudit.reports.schema.certificate import (
    CanaryCheck,
    Certificate,
    CertificateRow,
    CollateralGroup,
    DetectabilityBlock,
    JointDecision,
    PatientCertificate,
    QuestionBlock,
    QuestionRow,
    RobustnessBlock,
    RobustnessStatus,
    Shortfall,
)
from clinaudit.reports.schema.comparison import COLLATERAL_CHANGES, EXIT_STATUS
from clinaudit.reports.schema.numbers import EstimateRange
from clinaudit.reports.tables.comparison import COLLATERAL_GROUPS, GROUPS, VERDICTS
from clinaudit.reports.tables.table import Table, numbered_tier_title
from clinaudit.reports.wording.certificate import DIGEST_SHOWN, model_text
from clinaudit.reports.wording.unlearning import TRAITS

_NONE: Final = "none"
_NOT_GIVEN: Final = "not given"


def identity_table(certificate: Certificate) -> Table:
    """Return what the certificate is of: both models, when they were audited, how many patients, the exit status."""
    before, after = certificate.before, certificate.after
    is_same = before is not None and after is not None and before.digest is not None and before.digest == after.digest
    dates = [_NOT_GIVEN if model is None else model.audited or _NOT_GIVEN for model in (before, after)]
    return Table(
        "What this certificate is of",
        ("What", "Which"),
        (
            ("Model before", model_text(before)),
            ("Model after", f"{model_text(after)}{': the same model as before' if is_same else ''}"),
            *_origin_rows(certificate),
            ("Audit before, audit after, as the site dates them", f"{dates[0]}, {dates[1]}"),
            ("Named patients", f"{len(certificate.patients):,}"),
            ("Exit status of the command", str(EXIT_STATUS[certificate.verdict])),
        ),
    )


def _origin_rows(certificate: Certificate) -> list[tuple[str, str]]:
    record = certificate.training_record
    if record is None:
        return []
    began = "weights that never saw a patient of the corpus"
    if record.started_from is not None:
        began = f"the weights of digest {record.started_from[:DIGEST_SHOWN]}…, of which nothing is known here"
    return [("Model after, by its training record", f"trained again without the named, from {began}")]


def overview_table(patients: Sequence[PatientCertificate]) -> Table:
    """Return each named patient with verdict and reasons, a row a patient."""
    return Table.of(
        "Named patients: verdict, and why",
        patients,
        {
            "Patient": lambda patient: patient.patient_id,
            "Verdict": lambda patient: " ".join(reversed(VERDICTS[patient.verdict])),
            "Why": lambda patient: "; ".join(patient.reasons) or "–",
        },
    )


def measures_table(rows: Iterable[CertificateRow]) -> Table:
    """Return one patient's measures in both runs beside their levels."""
    return Table.of(
        "Before, after, and how many of the patients never seen have less of it after",
        rows,
        {
            "Someone who knows": lambda row: numbered_tier_title(row.tier),
            "Figure": lambda row: row.measure,
            "Before": lambda row: _value_text(row.before),
            "After": lambda row: _value_text(row.after),
            "Less": lambda row: str(row.below),
            "Never seen": lambda row: str(row.controls),
            "Retrained": lambda row: _value_text(row.reference),
            "What is missing": lambda row: row.reason or "",
        },
    )


def joint_table(joint: JointDecision) -> Table:
    """Return the joint test: who was tested, what could fail, what was found, and the smallest leak that shows."""
    most = "none" if joint.most_as_large is None else f"{joint.most_as_large:,}"
    rows = [
        ("Named patients who were tested", f"{joint.named:,}"),
        ("Patients never seen: before, after", f"{joint.never_seen_before:,}, {joint.never_seen:,}"),
        ("Patients never seen without whom it cannot fail", f"{joint.enough:,}"),
        ("Patients never seen who may stand out as much as one who leaks", most),
        ("Joint p before; it must be 0.05 or less", _p_text(joint.p_value_before)),
        ("Joint p after; of 0.05 or less, somebody still leaks", _p_text(joint.p_value)),
    ]
    rows += [
        (
            f"The smallest leak that shows: {one.measure}, at one level of access, and nothing else",
            _NONE if one.tokens is None else f"{one.tokens:,.0f}",
        )
        for one in joint.smallest
    ]
    return Table("The joint test of all named patients over all figures", ("What", "Which"), tuple(rows))


def _p_text(value: float | None) -> str:
    return _NONE if value is None else f"{value:.4f}"


def shortfall_table(shortfalls: Sequence[Shortfall]) -> Table:
    """Return how many patients would be enough, figure by figure."""
    return Table.of(
        "What is not shown since too few patients have it, and how many would be enough",
        shortfalls,
        {
            "Figure": lambda short: short.figure,
            "Too few": lambda short: GROUPS.get(short.group, short.group),
            "There are": lambda short: f"{short.patients:,}",
            "Enough would be": lambda short: "no number" if short.enough is None else f"{short.enough:,}",
            "That is, further": lambda short: "" if short.enough is None else f"{short.enough - short.patients:,}",
        },
    )


def canary_table(check: CanaryCheck) -> Table:
    """Return how many sealed canaries each run writes, by whose notes they were put into."""
    return Table(
        "Sealed canaries, and how many of them each run writes",
        ("Put into notes of", "Canaries", "Before", "After"),
        tuple(
            (GROUPS.get(group, group), f"{tally.canaries:,}", f"{tally.before:,}", f"{tally.after:,}")
            for group, tally in check.groups.items()
        ),
    )


def _value_text(value: float | None) -> str:
    return _NONE if value is None else f"{value:.4g}" if value < 10_000 else f"{value:.0f}"


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
