"""One number a patient and measure: the one table that the certificate, its page and its test read.

Of several levels of access, or uses of questions, the largest value counts: so a patient with six diagnoses or a long
chart has no more figures than another, and no more chances to stand out (docs/methods.md, section 12).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from clinaudit.audit.statistics.grouping import grouped
from clinaudit.audit.unlearning.certificate.evidence import RunEvidence
from clinaudit.audit.unlearning.certificate.joint_test import (
    DIAGNOSES,
    IDENTIFIERS,
    LOSS,
    MEASURES,
    OWN_TEXT,
    Figures,
    Pool,
)
from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.schema.certificate import KeptFigure
from clinaudit.reports.schema.record import Arm

NO_TIER: Final = "a level of access was not tried in both runs"
NO_VALUE: Final = "a generation, verdict or figure is missing in one of the runs"


@dataclass(frozen=True, slots=True)
class AuditFigures:
    """The figures of every patient that one run probed."""

    arms: Mapping[str, Arm]
    figures: Figures
    #: Tokens of each patient's notes: more text holds more that is met by chance.
    chart_tokens: Mapping[str, int]
    #: (patient, tier) to the ids of its generations.
    generations: Mapping[tuple[str, str], Collection[str]]
    #: (patient, tier) without a prompt, since the patient has none of the tier's facts.
    without_facts: Collection[tuple[str, str]]


def read_audit_figures(evidence: RunEvidence, named: Collection[str]) -> AuditFigures:
    """Return the figures of the patients of a run: `{"p1": {"own text, in tokens": 40.0, ...}, ...}`."""
    arms = {answer.patient_id: answer.arm for answer in evidence.metrics}
    generations: dict[tuple[str, str], set[str]] = {}
    for answer in evidence.metrics:
        generations.setdefault((answer.patient_id, answer.tier), set()).add(answer.generation_id)
    verdicts = _verdicts_on_own(evidence)
    losses = _loss_figures(evidence, [one for one, arm in arms.items() if arm == "nontrain" or one in named])
    figures: dict[str, dict[str, float | None]] = {}
    for patient, answers in grouped(evidence.metrics, lambda answer: answer.patient_id).items():
        found: dict[str, float | None] = {
            OWN_TEXT: max(float(answer.near_verbatim_attributable_tokens) for answer in answers)
        }
        if patient in losses:
            found[LOSS] = losses[patient]
        shares = [_share(verdicts[answer.generation_id]) for answer in answers if answer.generation_id in verdicts]
        if shares:
            found[DIAGNOSES] = _largest(shares)
        if evidence.own_identifiers is not None:
            found[IDENTIFIERS] = float(max(evidence.own_identifiers.get(answer.generation_id, 0) for answer in answers))
        figures[patient] = found
    return AuditFigures(arms, figures, evidence.chart_tokens, generations, evidence.without_facts)


def _verdicts_on_own(evidence: RunEvidence) -> dict[str, list[bool | None]]:
    """Return whether each generation states each of the patient's own diagnoses that it was read for."""
    patients = {answer.generation_id: answer.patient_id for answer in evidence.metrics}
    found: dict[str, list[bool | None]] = {}
    for (generation_id, diagnosis), stated in evidence.stated.items():
        if (patients.get(generation_id, ""), diagnosis) in evidence.diagnosed:
            found.setdefault(generation_id, []).append(stated)
    return found


def _share(verdicts: Sequence[bool | None]) -> float | None:
    return None if None in verdicts else sum(map(bool, verdicts)) / len(verdicts)


def _largest(values: Iterable[float | None]) -> float | None:
    """Return the largest value; None where one is missing, since that might be the largest."""
    found = list(values)
    known = [value for value in found if value is not None]
    return None if len(known) < len(found) else max(known)


def _loss_figures(evidence: RunEvidence, pool: Collection[str]) -> dict[str, float]:
    """Return the share of the reference's loss on each patient's notes that the model has lost: 1 is known by heart.

    The reference is the control model where it scored everybody's notes, else the median patient of the pool, named
    and never-seen alike: the test must not know who is named.
    """
    losses = {patient: evidence.losses[patient] for patient in pool if patient in evidence.losses}
    if not losses:
        return {}
    typical = median(own for own, _ in losses.values())
    has_control = all(control is not None and control > 0 for _, control in losses.values())
    references = {patient: control if has_control and control else typical for patient, (_, control) in losses.items()}
    return {patient: 1 - own / references[patient] for patient, (own, _) in losses.items() if references[patient] > 0}


def missing_of(patient: str, before: AuditFigures, after: AuditFigures, *, same_prompts: bool) -> set[str]:
    """Return what is missing of a patient's audits for a verdict, in words.

    `same_prompts`: the runs had the same ones, so that every generation has its counterpart.
    """
    missing = set()
    for tier in TIER_IDS:
        place = patient, tier
        if place in before.without_facts and place in after.without_facts:
            # No attacker can make this prompt: the patient has no such fact.
            continue
        written = [set(run.generations.get(place, ())) for run in (before, after)]
        if not all(written):
            missing.add(NO_TIER)
        elif same_prompts and written[0] != written[1]:
            missing.add(NO_VALUE)
    return missing


def figure_rows(patient: str, before: Pool, after: Pool) -> list[KeptFigure]:
    """Return each figure of a patient before and after, beside the patients never seen.

    `below` counts those who have less of it after, of so many (`controls`).
    """
    kept = [pool.figures.get(patient, {}) for pool in (before, after)]
    # What was not measured before of anybody can show a leak after, and lacks nothing.
    measured_before = {measure for figures in before.figures.values() for measure in figures}
    rows = []
    for measure in MEASURES:
        if not any(measure in figures for figures in kept):
            continue
        first, second = (figures.get(measure) for figures in kept)
        others = [after.figures.get(one, {}).get(measure) for one in sorted(after.never_seen)]
        known = [one for one in others if one is not None]
        rows.append(
            KeptFigure(
                measure=measure,
                before=first,
                after=second,
                below=0 if second is None else sum(one < second for one in known),
                controls=len(known),
                reason=NO_VALUE if second is None or (first is None and measure in measured_before) else None,
            )
        )
    return rows
