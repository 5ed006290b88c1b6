"""What both audits show of each patient at each level of access, and what is missing for a verdict.

Of several generations of a patient at a level the largest value counts.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from clinaudit.audit.results.comparison.evidence import RunEvidence
from clinaudit.audit.unlearning.certificate.joint_test import STATED, Figures, Place
from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.schema.certificate import CertificateRow
from clinaudit.reports.schema.record import Arm

MEMORIZED: Final = "memorized tokens"
ATTRIBUTABLE: Final = "attributable tokens"
LONGEST: Final = "longest match in tokens"
LONGEST_NEAR: Final = "longest near-verbatim text in tokens"
TEXT_MEASURES: Final = (ATTRIBUTABLE, MEMORIZED, LONGEST, LONGEST_NEAR)
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

    def never_seen(self, named: Collection[str]) -> set[str]:
        """Return the patients whom the model was not trained on and who are not named."""
        return {patient for patient, arm in self.arms.items() if arm == "nontrain" and patient not in named}


def read_audit_figures(evidence: RunEvidence) -> AuditFigures:
    """Return the figures of every patient of a run."""
    arms: dict[str, Arm] = {}
    values: dict[str, dict[Place, float | None]] = {}
    generations: dict[tuple[str, str], set[str]] = {}
    near = evidence.longest_near_matches
    for row in evidence.metrics:
        arms[row.patient_id] = row.arm
        generations.setdefault((row.patient_id, row.tier), set()).add(row.generation_id)
        own = values.setdefault(row.patient_id, {})
        found: dict[str, float | None] = {
            ATTRIBUTABLE: row.attributable_tokens,
            MEMORIZED: row.memorized_tokens,
            LONGEST: evidence.longest_matches.get(row.generation_id, 0),
            LONGEST_NEAR: None if near is None else near.get(row.generation_id, 0),
        }
        for measure, value in found.items():
            _raise_to(own, (row.tier, measure), value)
    tiers = {row.generation_id: (row.patient_id, row.tier) for row in evidence.metrics}
    for (generation_id, diagnosis), judgement in evidence.judgements.items():
        patient_id, tier = tiers.get(generation_id, ("", ""))
        if (patient_id, diagnosis) in evidence.diagnosed:
            outcome = judgement.outcome
            stated = None if outcome == "unjudged" else float(outcome == "positive")
            _raise_to(values[patient_id], (tier, STATED + diagnosis), stated)
    lacking = {
        (prior.patient_id, prior.tier)
        for prior in evidence.priors
        if prior.excluded and prior.reason == "no distinguishing fact"
    }
    return AuditFigures(arms, values, generations, lacking)


def _raise_to(values: dict[Place, float | None], place: Place, value: float | None) -> None:
    """Keep the largest value; where one is missing, the place stays None unless another value is above 0."""
    known = values.get(place, value)
    if known is None or value is None:
        values[place] = (known or value) or None
    else:
        values[place] = max(known, value)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedFigures:
    """The figures of both runs, and what the rows of one patient stand beside."""

    before: AuditFigures
    after: AuditFigures
    #: In the run after.
    never_seen: Collection[str]
    #: Whether the runs had the same prompts, so that every generation has its counterpart.
    same_prompts: bool
    #: Of a model retrained without the named patients.
    reference: Figures | None = None

    def rows(self, patient: str) -> list[CertificateRow]:
        """Return the figures of one patient, each with what is missing for a verdict."""
        return [row for tier in TIER_IDS for row in self._of_tier(patient, tier)]

    def _of_tier(self, patient: str, tier: str) -> Iterator[CertificateRow]:
        place = patient, tier
        if place in self.before.without_facts and place in self.after.without_facts:
            # No attacker can make this prompt: the patient has no such fact.
            return
        before, after = (set(run.generations.get(place, ())) for run in (self.before, self.after))
        if not before or not after:
            yield CertificateRow(tier=tier, measure="all figures", before=None, after=None, reason=NO_TIER)
            return
        gap = NO_VALUE if self.same_prompts and before != after else None
        stated = {
            measure
            for run in (self.before, self.after)
            for at, measure in run.values[patient]
            if at == tier and measure.startswith(STATED)
        }
        for measure in (*TEXT_MEASURES, *sorted(stated)):
            yield self._of_measure(patient, (tier, measure), gap)

    def _of_measure(self, patient: str, place: Place, gap: str | None) -> CertificateRow:
        before, after = (run.values[patient].get(place) for run in (self.before, self.after))
        missing = NO_VALUE if before is None or after is None else None
        return CertificateRow(
            tier=place[0],
            measure=place[1],
            before=before,
            after=after,
            **below(self.after.values, after, place, self.never_seen),
            reference=None if self.reference is None else self.reference.get(patient, {}).get(place),
            reason=gap or missing,
        )


def below(figures: Figures, value: float | None, place: Place, never_seen: Collection[str]) -> dict[str, int]:
    """Return how many never-seen patients have less than a value of a figure (`below`), of so many (`controls`)."""
    found = (figures.get(patient, {}).get(place) for patient in never_seen)
    known = [one for one in found if one is not None]
    return {"below": 0 if value is None else sum(one < value for one in known), "controls": len(known)}


def joined(*families: Figures, patients: Sequence[str] | Collection[str]) -> dict[str, dict[Place, float | None]]:
    """Return all figures of these patients together."""
    return {
        patient: {place: value for family in families for place, value in family.get(patient, {}).items()}
        for patient in patients
    }


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
