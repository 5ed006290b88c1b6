"""Tables of the deletion certificate by patient (PHI): models, verdicts, measures, and what a benchmark adds.

Owns what stands in which column. Knows nothing of how a figure came about.
"""

from collections.abc import Sequence
from typing import Final

from clinaudit.reports.schema.certificate import (
    Certificate,
    JointDecision,
    KeptFigure,
    PatientCertificate,
    PriceFigure,
)
from clinaudit.reports.schema.numbers import Estimate
from clinaudit.reports.tables.table import Table
from clinaudit.reports.wording.certificate import FOUND_AFTER, GROUP_WORDS, model_text, number_text

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
            ("Old model", model_text(before)),
            ("New model", f"{model_text(after)}{': the same as the old one' if is_same else ''}"),
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
