"""How often both models must be asked for a named patient's text, beside patients never seen: shown, not weighed."""

from collections.abc import Collection, Mapping
from typing import Final

from clinaudit.audit.results.comparison.evidence import RunEvidence
from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.schema.certificate import CertificateRow

QUERIES: Final = "queries for an even chance of own text (not weighed; more is safer)"


def queries_rows(
    before: RunEvidence, after: RunEvidence, named: Collection[str], never_seen: Collection[str]
) -> Mapping[str, list[CertificateRow]]:
    """Return a row a tier of each named patient whose notes both runs scored.

    `below` counts the patients never seen who take more queries: there is less of them to get.
    """
    first, second = before.queries, after.queries
    rows: dict[str, list[CertificateRow]] = {}
    for patient in named:
        for tier in TIER_IDS:
            value = second.get((patient, tier))
            if value is None or (patient, tier) not in first:
                continue
            others = [queries for (other, at), queries in second.items() if at == tier and other in never_seen]
            rows.setdefault(patient, []).append(
                CertificateRow(
                    tier=tier,
                    measure=QUERIES,
                    before=first[patient, tier],
                    after=value,
                    below=sum(other > value for other in others),
                    controls=len(others),
                )
            )
    return rows
