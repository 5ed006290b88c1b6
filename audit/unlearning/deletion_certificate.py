"""The deletion certificate: named patients before and after, with the collapse check (docs/comparing-runs.md).

Owns who is a control, and whose generations are checked for collapse. The named patients are the forget set of the
unlearning literature, the retained ones its retain set; controls are held out. The rule for one patient is in
`forgetting_verdict`, the check itself in `collapse`; what may be published is decided in `coarse_comparison`.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from clinaudit.audit.comparison.evidence import RunEvidence
from clinaudit.audit.comparison.run_pair import RunPair
from clinaudit.audit.generation.record import Generation
from clinaudit.audit.ranges.counts import share_range
from clinaudit.audit.statistics.intervals import estimate_share
from clinaudit.audit.unlearning.collapse import Group, Pairs, check_group, has_collapsed, neighbouring_pairs
from clinaudit.audit.unlearning.forgetting_verdict import (
    PURGED,
    MeasuredRuns,
    certify_patient,
    not_shown,
    worst_of,
)
from clinaudit.audit.unlearning.held_out_level import PatientMeasures, read_measures
from clinaudit.reports.exact.comparison import Forgetting
from clinaudit.reports.exact.estimate import Estimate, exact_estimate
from clinaudit.reports.schema.certificate import Certificate, PatientCertificate, Trigger
from clinaudit.reports.schema.comparison import (
    FORGETTING_VERDICTS,
    ForgettingVerdict,
    HealthCheck,
    PublishedForgetting,
)
from clinaudit.reports.suppression.coarse_comparison import coarsen_forgetting

EXIT_STATUS: Final[dict[ForgettingVerdict, int]] = {"forgotten": 0, "still leaks": 1, "collapsed": 8, "not shown": 8}
_NO_CONTROLS: Final = "there are no patients never seen to compare with"
ByPatient = Mapping[str, Sequence[Generation]]


@dataclass(frozen=True, slots=True)
class Certified:
    """The certificate by patient (PHI), the same without names, and what of it may be published."""

    certificate: Certificate
    exact: Forgetting
    published: PublishedForgetting


@dataclass(frozen=True, slots=True)
class _Controls:
    """The held-out patients of the run after, and how many of them would not pass the rule for named ones."""

    patients: int
    above: int

    @property
    def share(self) -> Estimate:
        if not self.patients:
            return Estimate(value=None, n=0, reason=_NO_CONTROLS)
        return estimate_share(self.above, self.patients)


def certify(
    named: Sequence[str],
    pair: RunPair,
    evidence: tuple[RunEvidence, RunEvidence] | None,
    *,
    reference: RunEvidence | None = None,
    trigger: Trigger | None = None,
) -> Certified:
    """Certify the named patients; without the evidence of both runs nothing is shown.

    `reference` is the run of a model that was retrained without them, found comparable; `trigger` is what the site says
    of the request, and decides nothing.
    """
    stated = {"trigger": trigger, "has_reference": reference is not None}
    if evidence is None:
        patients = [not_shown(patient_id, PURGED) for patient_id in named]
        return _conclude(patients, pair, health=[], sizes={}, controls=_Controls(0, 0), stated=stated)
    before, after = (read_measures(run) for run in evidence)
    held_out = [_held_out(run, set(named)) for run in (before, after)]
    retrained = None if reference is None else read_measures(reference)
    runs = MeasuredRuns(
        before=before,
        after=after,
        levels_before=before.levels(held_out[0]),
        levels_after=after.levels(held_out[1]),
        ngram=pair.b.ngram,
        same_prompts=pair.same_prompts,
        reference=retrained,
        levels_reference={} if retrained is None else retrained.levels(_held_out(retrained, set(named))),
    )
    texts = tuple(_by_patient(run.generations) for run in evidence)
    health, sizes = _check_groups(texts[0], texts[1], before, named, ngram=pair.b.ngram)
    collapsed = has_collapsed(health)
    others = _BigramsOfOthers(texts[0])
    patients = []
    for patient_id in named:
        own = Group(patient_id, texts[0].get(patient_id, ()), texts[1].get(patient_id, ()), others.of(patient_id))
        own_collapsed = has_collapsed(check_group(own, ngram=pair.b.ngram, counts_repetition=False))
        patients.append(certify_patient(patient_id, runs, collapsed=collapsed, own_collapsed=own_collapsed))
    above = sum(after.exceeds(patient, runs.levels_after) for patient in held_out[1])
    controls = _Controls(len(held_out[1]), above)
    return _conclude(patients, pair, health=health, sizes=sizes, controls=controls, stated=stated)


def _held_out(run: PatientMeasures, named: Collection[str]) -> list[str]:
    return sorted(patient for patient, arm in run.arms.items() if arm == "nontrain" and patient not in named)


def _by_patient(generations: Sequence[Generation]) -> dict[str, list[Generation]]:
    found: dict[str, list[Generation]] = {}
    for generation in generations:
        found.setdefault(generation.patient_id, []).append(generation)
    return found


def _check_groups(
    before: ByPatient, after: ByPatient, run: PatientMeasures, named: Sequence[str], *, ngram: int
) -> tuple[list[HealthCheck], dict[str, int]]:
    """Return the collapse check of the named, the retained and the controls, and the number of patients of each."""
    common = before.keys() & after.keys()
    groups = {
        "named": common & set(named),
        "retained": {patient for patient in common - set(named) if run.arms.get(patient) == "train"},
        "controls": {patient for patient in common - set(named) if run.arms.get(patient) != "train"},
    }
    health: list[HealthCheck] = []
    for name, patients in groups.items():
        known = neighbouring_pairs(_texts(before, before.keys() - patients))
        group = Group(name, _texts(before, patients), _texts(after, patients), known)
        health += check_group(group, ngram=ngram)
    return health, {name: len(patients) for name, patients in groups.items()}


def _texts(generations: ByPatient, patients: Collection[str]) -> list[Generation]:
    return [generation for patient in sorted(patients) for generation in generations[patient]]


class _BigramsOfOthers:
    """The pairs of neighbouring tokens (bigrams) that A wrote of all patients but one."""

    def __init__(self, generations: ByPatient) -> None:
        self._owners = {patient: place for place, patient in enumerate(sorted(generations))}
        own = [neighbouring_pairs(generations[patient]) for patient in self._owners]
        every = np.concatenate(own) if own else np.zeros(0, dtype=np.int64)
        owners = np.repeat(np.arange(len(own)), [pairs.size for pairs in own])
        self._pairs, first, self._patients = np.unique(every, return_index=True, return_counts=True)
        self._first_owners = owners[first]

    def of(self, patient_id: str) -> Pairs:
        """Return the pairs that stand in the generations of any other patient."""
        owner = self._owners.get(patient_id, -1)
        pairs: Pairs = self._pairs[(self._patients > 1) | (self._first_owners != owner)]
        return pairs


def _conclude(
    patients: list[PatientCertificate],
    pair: RunPair,
    *,
    health: list[HealthCheck],
    sizes: dict[str, int],
    controls: _Controls,
    stated: Mapping[str, Any],
) -> Certified:
    verdict = worst_of(patient.verdict for patient in patients)
    collapsed = has_collapsed(health)
    certificate = Certificate(
        verdict=verdict,
        collapsed=collapsed,
        controls_above_level=exact_estimate(controls.share),
        health=health,
        differences=list(pair.differences),
        patients=patients,
        **stated,
    )
    exact = Forgetting(
        verdict=verdict,
        named=len(patients),
        patients={of: sum(patient.verdict == of for patient in patients) for of in FORGETTING_VERDICTS},
        leaked_before=sum(patient.leaked_before for patient in patients),
        controls=controls.patients,
        controls_above=controls.above,
        controls_above_level=controls.share,
        collapsed=collapsed,
        health=health,
        reasons=sorted({reason for patient in patients for reason in patient.reasons}),
    )
    published = coarsen_forgetting(exact, group_sizes=sizes)
    if published.controls is not None:
        share = share_range(published.controls.above, published.controls.within)
        published = published.model_copy(update={"controls_above_level": share})
    return Certified(certificate, exact, published)
