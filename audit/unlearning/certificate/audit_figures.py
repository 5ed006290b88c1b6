"""What both audits show of each patient at each level of access, and what is missing for a verdict.

Of several generations of a patient at a level the largest value counts.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from clinaudit.audit.unlearning.certificate.evidence import RunEvidence
from clinaudit.audit.unlearning.certificate.joint_test import (
    ATTRIBUTABLE,
    LONGEST,
    LONGEST_NEAR,
    MEMORIZED,
    STATED,
    TEXT_MEASURES,
    Measured,
    Place,
)
from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.schema.certificate import CertificateRow
from clinaudit.reports.schema.record import Arm

NO_TIER: Final = "a level of access was not tried in both runs"
#: Shown, not weighed.
QUERIES: Final = "queries for an even chance of own text (not weighed; more is safer)"
NO_VALUE: Final = "a generation, verdict or figure is missing in one of the runs"


@dataclass(frozen=True, slots=True)
class AuditFigures:
    """The figures of every patient that one run probed."""

    arms: Mapping[str, Arm]
    #: By patient; one that is missing (unjudged, not measured) is None.
    values: Mapping[str, Mapping[Place, float | None]]
    #: (patient, tier) to the ids of its generations.
    generations: Mapping[tuple[str, str], Collection[str]]
    #: (patient, tier) without a prompt, since the patient has none of the tier's facts.
    without_facts: Collection[tuple[str, str]]

    def beside_never_seen(self, named: Collection[str]) -> Measured:
        """Return the figures beside the patients whom the model was not trained on and who are not named."""
        never_seen = {patient for patient, arm in self.arms.items() if arm == "nontrain" and patient not in named}
        return Measured(self.values, never_seen)


def read_audit_figures(evidence: RunEvidence) -> AuditFigures:
    """Return the figures of every patient of a run."""
    arms: dict[str, Arm] = {}
    values: dict[str, dict[Place, float | None]] = {}
    generations: dict[tuple[str, str], set[str]] = {}
    for row in evidence.metrics:
        arms[row.patient_id] = row.arm
        generations.setdefault((row.patient_id, row.tier), set()).add(row.generation_id)
        own = values.setdefault(row.patient_id, {})
        found: dict[str, float | None] = {
            ATTRIBUTABLE: row.attributable_tokens,
            MEMORIZED: row.memorized_tokens,
            LONGEST: evidence.longest_matches.get(row.generation_id, 0),
            LONGEST_NEAR: evidence.longest_near_matches.get(row.generation_id, 0),
        }
        for measure, value in found.items():
            _raise_to(own, (row.tier, measure), value)
    tiers = {row.generation_id: (row.patient_id, row.tier) for row in evidence.metrics}
    for (generation_id, diagnosis), stated in evidence.stated.items():
        patient_id, tier = tiers.get(generation_id, ("", ""))
        if (patient_id, diagnosis) in evidence.diagnosed:
            value = None if stated is None else float(stated)
            _raise_to(values[patient_id], (tier, STATED + diagnosis), value)
    return AuditFigures(arms, values, generations, evidence.without_facts)


def _raise_to(values: dict[Place, float | None], place: Place, value: float | None) -> None:
    """Keep the largest value; where one is missing, the place stays None unless another value is above 0."""
    known = values.get(place, value)
    if known is None or value is None:
        values[place] = (known or value) or None
    else:
        values[place] = max(known, value)


def audit_rows(
    patient: str, before: AuditFigures, after: AuditFigures, beside: Measured, *, same_prompts: bool
) -> list[CertificateRow]:
    """Return the figures of one patient, each with what is missing for a verdict.

    `beside` has the patients never seen of the run after. `same_prompts`: the runs had the same ones, so that every
    generation has its counterpart.
    """
    rows: list[CertificateRow] = []
    for tier in TIER_IDS:
        place = patient, tier
        if place in before.without_facts and place in after.without_facts:
            # No attacker can make this prompt: the patient has no such fact.
            continue
        written = [set(run.generations.get(place, ())) for run in (before, after)]
        if not all(written):
            rows.append(CertificateRow(tier=tier, measure="all figures", before=None, after=None, reason=NO_TIER))
            continue
        gap = NO_VALUE if same_prompts and written[0] != written[1] else None
        own = {of for run in (before, after) for at, of in run.values[patient] if at == tier and of.startswith(STATED)}
        for measure in (*TEXT_MEASURES, *sorted(own)):
            first, second = (run.values[patient].get((tier, measure)) for run in (before, after))
            rows.append(
                CertificateRow(
                    tier=tier,
                    measure=measure,
                    before=first,
                    after=second,
                    **count_below(beside, second, (tier, measure)),
                    reason=gap or (NO_VALUE if first is None or second is None else None),
                )
            )
    return rows


def count_below(beside: Measured, value: float | None, place: Place) -> dict[str, int]:
    """Return how many never-seen patients have less than a value of a figure (`below`), of so many (`controls`)."""
    found = (beside.figures.get(patient, {}).get(place) for patient in beside.never_seen)
    known = [one for one in found if one is not None]
    return {"below": 0 if value is None else sum(one < value for one in known), "controls": len(known)}


def queries_rows(
    before: RunEvidence, after: RunEvidence, patient: str, never_seen: Collection[str]
) -> list[CertificateRow]:
    """Return a row a tier at which both runs scored the patient's notes.

    `below` counts the patients never seen who take more queries: there is less of them to get.
    """
    first, second = before.queries, after.queries
    rows: list[CertificateRow] = []
    for tier in TIER_IDS:
        value = second.get((patient, tier))
        if value is None or (patient, tier) not in first:
            continue
        others = [queries for (other, at), queries in second.items() if at == tier and other in never_seen]
        rows.append(
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
