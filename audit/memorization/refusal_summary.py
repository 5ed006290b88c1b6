"""How often a model refused to answer, over the generations of one tier and arm (docs/methods.md, section 2).

Owns the counts. Knows nothing of how a refusal is told from an answer, or of what a gate makes of it.
"""

from collections.abc import Sequence

from clinaudit.audit.memorization.summary import GenerationMetrics
from clinaudit.audit.statistics.intervals import clopper_pearson
from clinaudit.reports.exact.memorization import Refusals


def summarize_refusals(rows: Sequence[GenerationMetrics]) -> Refusals | None:
    """Return the refusals among all generations that were asked for; None where they were not looked for."""
    if all(row.refused is None for row in rows):
        return None
    patients = {row.patient_id for row in rows}
    refused = [row for row in rows if row.refused]
    refused_patients = {row.patient_id for row in refused}
    return Refusals(
        generations=len(rows),
        refused=len(refused),
        patients=len(patients),
        refused_patients=len(refused_patients),
        share=clopper_pearson(len(refused_patients), len(patients)),
    )
