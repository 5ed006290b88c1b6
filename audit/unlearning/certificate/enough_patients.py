"""How many patients would be enough, where a certificate is not shown for too few of them (docs/comparing-runs.md).

Owns the arithmetic. Knows nothing of verdicts.
"""

from collections.abc import Iterable

from clinaudit.audit.unlearning.certificate.held_out_level import LEVEL_PATIENTS, STATED, TEXT_MEASURES
from clinaudit.reports.schema.certificate import CertificateRow, Shortfall


def held_out_shortfalls(rows: Iterable[CertificateRow]) -> list[Shortfall]:
    """Return the measures whose level has too few held-out patients, each once, with the fewest of any tier.

    Of a diagnosis the held-out patients count who have it and whose texts were judged.
    """
    fewest: dict[str, int] = {}
    for row in rows:
        is_measure = row.measure in TEXT_MEASURES or row.measure.startswith(STATED)
        if is_measure and row.status == "not shown" and row.level is None:
            fewest[row.measure] = min(row.controls, fewest.get(row.measure, row.controls))
    return [
        Shortfall(figure=measure, group="controls", patients=patients, enough=LEVEL_PATIENTS)
        for measure, patients in sorted(fewest.items())
        if patients < LEVEL_PATIENTS
    ]
