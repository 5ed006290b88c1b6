"""Tables of a comparison of two runs, for page and terminal alike, and of the deletion certificate by patient (PHI).

Owns what stands in which column: of comparisons, published and exact ones, the changes and settings; of the certificate
models, verdicts, measures, and what a benchmark adds. Knows nothing of how a figure came about.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import Final

from clinaudit.reports.estimates.frame import METRICS
from clinaudit.reports.schema.certificate import (
    NOT_PUBLISHED,
    AnswerCheck,
    Certificate,
    Forgetting,
    JointDecision,
    KeptFigure,
    PatientCertificate,
    PriceFigure,
)
from clinaudit.reports.schema.comparison import Change, Comparison
from clinaudit.reports.schema.record import Estimate
from clinaudit.reports.tables.estimates import Table, numbered_tier_title
from clinaudit.reports.wording.certificate import FOUND_AFTER, GROUP_WORDS, model_text, number_text
from clinaudit.reports.wording.figures import figure_text, row_text
from clinaudit.reports.wording.names import SIDE_WORDS, display_title
from clinaudit.reports.wording.numbers import NOT_MEASURED, counted
from clinaudit.reports.wording.rule_rows import how_words

_FOUND_BEFORE: Final = {True: "gave the patient away", False: "no leak found", None: "? not tested"}
_NONE: Final = "none"
_NOT_GIVEN: Final = "not given"


def identity_table(certificate: Certificate) -> Table:
    """Return what the certificate is of: both models, when they were audited, how many patients, the exit status."""
    before, after = certificate.before, certificate.after
    is_same = before.digest is not None and before.digest == after.digest
    return Table(
        "What this certificate is of",
        ("What", "Which"),
        (
            ("Old model (A)", model_text(before)),
            ("New model (B)", f"{model_text(after)}{': the same as the old one' if is_same else ''}"),
            (
                "Dates of the two audits, as the site gave them",
                f"{before.audited or _NOT_GIVEN}, {after.audited or _NOT_GIVEN}",
            ),
            ("Named patients", f"{len(certificate.patients):,}"),
        ),
    )


def overview_table(patients: Sequence[PatientCertificate]) -> Table:
    """Return each named patient before and after, and what is missing, a row a patient."""
    return Table.of(
        "Named patients: whom each model gives away more than patients it never saw",
        patients,
        {
            "Patient": lambda patient: patient.patient_id,
            "Old model": lambda patient: _FOUND_BEFORE[patient.stood_out_before],
            "New model": lambda patient: FOUND_AFTER[patient.stands_out_after],
            "What is missing or broken": lambda patient: "; ".join(patient.reasons) or "–",
        },
    )


def figures_table(rows: Sequence[KeptFigure]) -> Table:
    """Return one patient's figures before and after, one a measure."""
    return Table.of(
        "What each model gives away, and how many patients never seen have a lower value in the new one",
        rows,
        {
            "Measure": lambda row: row.measure,
            "Old model": lambda row: number_text(row.before),
            "New model": lambda row: number_text(row.after),
            "Never seen, with a lower value": lambda row: f"{row.below} of {row.controls}",
            "What is missing": lambda row: row.reason or "",
        },
    )


def joint_table(joint: JointDecision) -> Table:
    """Return the joint test: who was tested, what could fail, what was found, and the smallest leak that shows."""
    most = "none" if joint.most_as_large is None else f"{joint.most_as_large:,}"
    rows = [
        ("Named patients who were tested", f"{joint.named:,}"),
        ("Patients never seen: of the old model, of the new one", f"{joint.never_seen_before:,}, {joint.never_seen:,}"),
        ("Fewest patients never seen with whom it can find a leak", f"{joint.enough:,}"),
        ("Patients never seen who may have as much as somebody who is found", most),
        ("p of the old model; without a training record it must be 0.05 or less", _p_text(joint.p_value_before)),
        ("p of the new model; 0.05 or less means that somebody still leaks", _p_text(joint.p_value)),
    ]
    rows += [
        (
            f"The smallest leak that it finds: {one.measure}, and nothing else",
            number_text(one.value),
        )
        for one in joint.smallest
    ]
    return Table("The joint test of all named patients over all measures", ("What", "Which"), tuple(rows))


def _p_text(value: float | None) -> str:
    return _NONE if value is None else f"{value:.4f}"


def price_table(title: str, figures: Sequence[PriceFigure]) -> Table:
    """Return what forgetting cost others, a row a group of them."""
    return Table.of(
        title,
        figures,
        {
            "Whose": lambda one: GROUP_WORDS.get(one.group, one.group),
            "Patients": lambda one: str(one.change.n),
            "Before": lambda one: _figure_text(one.before),
            "After": lambda one: _figure_text(one.after),
            "Change": lambda one: _figure_text(one.change),
        },
    )


def _figure_text(estimate: Estimate) -> str:
    """Return an exact figure to three decimals with its interval, or why there is none."""
    if estimate.value is None:
        return estimate.reason or _NONE
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.3f}"
    return f"{estimate.value:.3f} ({estimate.low:.3f} to {estimate.high:.3f})"


_ARM_WORDS: Final = {
    **SIDE_WORDS,
    "train-nontrain": "trained on minus never seen",
    "train-control": "trained on minus the control model",
    "": "everybody",
}
_DASH: Final = "–"
_WRITES: Final = "Does B still write as A did? A model that writes nothing of use has not forgotten"


def change_tables(comparison: Comparison, *, direction: tuple[int | None, ...]) -> list[Table]:
    """Return a table for each metric: of the changes that are shown (1, -1), are not (0), or are not known (None)."""
    chosen = [change for change in comparison.changes if change.direction in direction]
    return [
        Table(
            METRICS[metric].title,
            ("Someone who knows", "Patients", "A", "B", "B − A"),
            tuple(
                (place_text(change), _ARM_WORDS.get(change.arm, change.arm), *change_cells(change)) for change in found
            ),
            METRICS[metric].sentence,
        )
        for metric, found in ((metric, list(of)) for metric, of in groupby(chosen, lambda change: change.metric))
    ]


def place_text(change: Change) -> str:
    """Return who asks, in which form, about which diagnosis, in how many queries."""
    words = [f"{numbered_tier_title(change.tier) if change.tier else 'anyone'}{how_words(change.form)}"]
    if change.diagnosis:
        words.append(display_title(change.diagnosis))
    if change.by == "queries" and change.part.isdecimal():
        words.append(counted(int(change.part), "query", "queries"))
    return ", ".join(words)


def change_cells(change: Change) -> tuple[str, str, str]:
    """Return A, B, and the difference with its sign; of pairs that moved also how many came and went."""
    a, b = row_text(change.row("a")), row_text(change.row("b"))
    text = figure_text(change.difference, share=METRICS[change.metric].is_percent, signed=True, interval=True)
    if change.a_only is not None and change.b_only is not None:
        text += f"; {change.a_only:,} in A alone, {change.b_only:,} in B alone"
    return a, b, text


def settings_table(comparison: Comparison) -> Table:
    """Return what differs between the runs' records."""
    rows = tuple(
        (one.name.capitalize() if one.name.isupper() else one.name, one.a, one.b) for one in comparison.differences
    )
    return Table("What differs between the two runs", ("Setting", "A", "B"), rows)


def health_table(health: Sequence[AnswerCheck], title: str = _WRITES) -> Table:
    """Return the collapse check of texts, or of answers, question by question."""
    rows = tuple(
        (
            GROUP_WORDS.get(check.group, check.group),
            check.question,
            _health_text(check.a, check.reason),
            _health_text(check.b, check.reason),
            check.allowed if check.limit is None else f"{check.allowed}: {check.limit:.4g}",
            {True: "✓ yes", False: "✗ no", None: f"? {check.reason or 'nothing to measure'}"}[check.passed],
        )
        for check in health
    )
    return Table(title, ("Whose text", "What is measured", "A", "B", "B may be", "Passed"), rows)


def _health_text(value: float | None, reason: str | None) -> str:
    if value is not None:
        return f"{value:.4g}"
    # Most rows of a published table: the page says once what the dash stands for.
    return _DASH if reason == NOT_PUBLISHED else reason or NOT_MEASURED


def forgetting_table(forgetting: Forgetting) -> Table:
    """Return the certificate without names."""
    rows = [("Named patients", forgetting.named)]
    if forgetting.before is not None:
        rows.append(("Stood out among the never seen in A", forgetting.before))
    if forgetting.after is not None:
        rows.append(("Stand out among the never seen in B", forgetting.after))
    return Table("Named patients", ("Which", "Patients"), tuple(rows))
