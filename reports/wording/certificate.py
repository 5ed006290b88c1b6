"""What the deletion certificate says in sentences, for its page and for the page of the comparison.

Owns the wording. Knows nothing of how a verdict came about (docs/comparing-runs.md).
"""

from clinaudit.reports.schema.certificate import PatientCertificate
from clinaudit.reports.wording.numbers import counted


def figures_sentence(patient: PatientCertificate) -> str:
    """Return how many figures of a patient could tell whether it is forgotten, and how many could not."""
    rows = [*patient.measures, *patient.questions]
    if not rows:
        return "No figure of the patient was measured."
    silent = sum(row.status == "says nothing" for row in rows)
    open_ = sum(row.status == "not shown" for row in rows)
    parts = [f"{len(rows) - silent - open_} could tell whether the patient is forgotten"]
    if silent:
        parts.append(f"{silent} could not, since their level is the largest value there is, and say nothing")
    if open_:
        parts.append(f"{open_} could not be weighed, as their rows say")
    return f"Of {counted(len(rows), 'figure')} {'; '.join(parts)}."
