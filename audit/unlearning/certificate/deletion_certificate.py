"""The deletion certificate: named patients before and after, with the collapse check (docs/comparing-runs.md).

Owns who is a control, whose generations are checked for collapse, and what is weighed beside the two audits. The named
patients are the forget set of the unlearning literature, the retained ones its retain set; controls are held out. The
rule for one patient is in `forgetting_verdict`, the check itself in `collapse`; what may be published is decided in
`coarse_comparison`.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from clinaudit.audit.measures.generation.record import Generation
from clinaudit.audit.results.comparison.evidence import RunEvidence
from clinaudit.audit.results.comparison.run_pair import ComparedRun, RunPair
from clinaudit.audit.results.ranges.counts import share_range
from clinaudit.audit.statistics.intervals import estimate_share
from clinaudit.audit.unlearning.certificate.bench_result import BenchResult
from clinaudit.audit.unlearning.certificate.canaries import SealedCanaries, check_canaries, count_written
from clinaudit.audit.unlearning.certificate.collapse import Group, Pairs, check_group, neighbouring_pairs
from clinaudit.audit.unlearning.certificate.compared_answers import Evidence, measure_collateral
from clinaudit.audit.unlearning.certificate.forgetting_verdict import (
    ANSWERS_COLLAPSED,
    CANARY,
    LEVEL_PATIENTS,
    OF_THE_RUNS,
    PURGED,
    STATED,
    TEXT_MEASURES,
    MeasuredRuns,
    PatientMeasures,
    certify_patient,
    not_shown,
    read_measures,
    weigh,
    worst_of,
)
from clinaudit.audit.unlearning.certificate.question_block import weigh_answers
from clinaudit.audit.unlearning.certificate.robustness_block import weigh_trials
from clinaudit.audit.unlearning.metrics.answer_collapse import has_collapsed
from clinaudit.reports.schema.certificate import (
    CanaryCheck,
    Certificate,
    CertificateRow,
    CertifiedModel,
    PatientCertificate,
    Shortfall,
    Trigger,
)
from clinaudit.reports.schema.certificate_blocks import BenchBlocks
from clinaudit.reports.schema.comparison import FORGETTING_VERDICTS, Forgetting, HealthCheck, LevelCounts
from clinaudit.reports.schema.identity import read_identity
from clinaudit.reports.schema.numbers import Estimate, exact_estimate, exactly
from clinaudit.reports.tally.coarse_comparison import coarsen_forgetting


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


#: The certificates of the named patients with what the benchmark says, the blocks, and what lacks patients.
Weighed = tuple[list[PatientCertificate], BenchBlocks, list[Shortfall]]
ByPatient = Mapping[str, Sequence[Generation]]


def weigh_bench(
    result: BenchResult, patients: Sequence[PatientCertificate], *, evidence: Evidence | None = None
) -> Weighed:
    """Weigh what the answers and the trials of the model after say of the named patients.

    `evidence` is that of both runs: what they write of retained patients' notes is part of the price.
    """
    named = [patient.patient_id for patient in patients]
    asked, tried = weigh_answers(result, named), weigh_trials(result, named)
    weighed = []
    for patient in patients:
        one = patient.patient_id
        # Trials are made of all whom the split forgets, and say nothing of others.
        is_tried = one in result.patients and result.patients[one].role == "forget"
        rows = tried.rows.get(one, [])
        leaks = asked.leaks.get(one, set()) | (tried.leaks if is_tried else set())
        leaks |= {row.reason for row in rows if row.status == "still leaks" and row.reason is not None}
        # Whom the benchmark does not ask about, its answers say nothing of.
        collapses = {ANSWERS_COLLAPSED} if asked.block.collapsed and one in asked.rows else set()
        own = weigh(patient, leaks=leaks, collapses=collapses, lacking=asked.lacking[one])
        weighed.append(own.model_copy(update={"questions": [*asked.rows.get(one, []), *rows]}))
    blocks = BenchBlocks(
        questions=asked.block,
        robustness=tried.robustness,
        detectability=tried.detectability,
        collateral=measure_collateral(result, named, evidence),
    )
    return weighed, blocks, [*asked.shortfalls, *tried.shortfalls]


_NO_CONTROLS: Final = "there are no patients never seen to compare with"
#: Of `beside`: what was weighed, in words.
SEALED_CANARIES: Final = "sealed canaries"
ANSWERS: Final = "answers to a benchmark's questions"
TRIALS: Final = "whether forgetting survives being tried"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Who is to be forgotten, and what the site gives beside the two runs."""

    named: Sequence[str]
    #: What the site says of the request; it decides nothing.
    trigger: Trigger | None = None
    #: The run of a model that was retrained without the named patients, found comparable.
    reference: RunEvidence | None = None
    canaries: SealedCanaries | None = None
    #: The answers of the model after to a benchmark's questions.
    bench: BenchResult | None = None

    @property
    def beside(self) -> list[str]:
        """What is weighed beside the two runs, in words."""
        given = {
            SEALED_CANARIES: self.canaries is not None,
            ANSWERS: self.bench is not None,
            TRIALS: self.bench is not None and self.bench.robustness is not None,
        }
        return [words for words, is_given in given.items() if is_given]


@dataclass(frozen=True, slots=True)
class Certified:
    """The certificate by patient (PHI), the same without names, and what of it may be published."""

    certificate: Certificate
    exact: Forgetting
    published: Forgetting


@dataclass(frozen=True, slots=True)
class _Measured:
    """What the evidence of both runs shows of the named patients."""

    patients: list[PatientCertificate]
    health: list[HealthCheck] = field(default_factory=list)
    #: Patients that each group of the collapse check rests on.
    sizes: Mapping[str, int] = field(default_factory=dict)
    #: The held-out patients of the run after, and how many of them would not pass the rule for named ones.
    controls: int = 0
    controls_above: int = 0
    canaries: CanaryCheck | None = None
    blocks: BenchBlocks | None = None
    shortfalls: list[Shortfall] = field(default_factory=list)


def certify(request: Request, pair: RunPair, evidence: Evidence | None) -> Certified:
    """Certify the named patients; without the evidence of both runs nothing is shown."""
    if evidence is None:
        measured = _Measured([not_shown(patient_id, PURGED) for patient_id in request.named])
    else:
        measured = _measure(request, pair, evidence)
    rows = (row for patient in measured.patients for row in patient.measures)
    measured = replace(measured, shortfalls=held_out_shortfalls(rows))
    if request.bench is not None:
        patients, blocks, short = weigh_bench(request.bench, measured.patients, evidence=evidence)
        shortfalls = [*measured.shortfalls, *short]
        measured = replace(measured, patients=patients, blocks=blocks, shortfalls=shortfalls)
    return _conclude(measured, request, pair)


def _measure(request: Request, pair: RunPair, evidence: Evidence) -> _Measured:
    named = request.named
    before, after = (read_measures(run) for run in evidence)
    held_out = [_held_out(run, set(named)) for run in (before, after)]
    retrained = None if request.reference is None else read_measures(request.reference)
    runs = MeasuredRuns(
        before=before,
        after=after,
        levels_before=before.levels(held_out[0]),
        levels_after=after.levels(held_out[1]),
        ngram=pair.b.ngram,
        same_prompts=pair.same_prompts,
        longest_tokens=pair.b.longest_tokens,
        reference=retrained,
        levels_reference={} if retrained is None else retrained.levels(_held_out(retrained, set(named))),
    )
    texts = tuple(_by_patient(run.generations) for run in evidence)
    groups = _group(before, named)
    health, sizes = _check_groups(texts[0], texts[1], groups, ngram=pair.b.ngram)
    collapsed = has_collapsed(health)
    others = _BigramsOfOthers(texts[0])
    patients = []
    for patient_id in named:
        own = Group(patient_id, texts[0].get(patient_id, ()), texts[1].get(patient_id, ()), others.of(patient_id))
        own_collapsed = has_collapsed(check_group(own, ngram=pair.b.ngram, counts_repetition=False))
        patients.append(certify_patient(patient_id, runs, collapsed=collapsed, own_collapsed=own_collapsed))
    above = sum(after.exceeds(patient, runs.levels_after) for patient in held_out[1])
    measured = _Measured(patients, health, sizes, len(held_out[1]), above)
    return measured if request.canaries is None else _look_for_canaries(measured, request.canaries, evidence, groups)


def _look_for_canaries(
    measured: _Measured,
    sealed: SealedCanaries,
    evidence: Evidence,
    groups: Mapping[str, Collection[str]],
) -> _Measured:
    """Add the canaries; runs that kept no texts have nothing to look for them in, and then nobody is certified."""
    if not all(run.written for run in evidence):
        return measured
    tallies = count_written(sealed, *(run.written for run in evidence))
    patients = []
    for patient in measured.patients:
        own = tallies.get(patient.patient_id)
        leaks = [CANARY] if own is not None and own.after else []
        patients.append(weigh(patient, leaks=leaks).model_copy(update={"canaries": own}))
    return replace(measured, patients=patients, canaries=check_canaries(sealed, tallies, groups))


def _held_out(run: PatientMeasures, named: Collection[str]) -> list[str]:
    return sorted(patient for patient, arm in run.arms.items() if arm == "nontrain" and patient not in named)


def _by_patient(generations: Sequence[Generation]) -> dict[str, list[Generation]]:
    found: dict[str, list[Generation]] = {}
    for generation in generations:
        found.setdefault(generation.patient_id, []).append(generation)
    return found


def _group(run: PatientMeasures, named: Collection[str]) -> dict[str, set[str]]:
    """Return who is named, who else was trained on, and who was never seen, of all whom a run probed."""
    probed = run.arms.keys()
    return {
        "named": set(named),
        "retained": {patient for patient in probed - set(named) if run.arms[patient] == "train"},
        "controls": {patient for patient in probed - set(named) if run.arms[patient] != "train"},
    }


def _check_groups(
    before: ByPatient, after: ByPatient, groups: Mapping[str, Collection[str]], *, ngram: int
) -> tuple[list[HealthCheck], dict[str, int]]:
    """Return the collapse check of the named, the retained and the controls, and the number of patients of each."""
    sizes: dict[str, int] = {}
    health: list[HealthCheck] = []
    for name, members in groups.items():
        patients = before.keys() & after.keys() & set(members)
        known = neighbouring_pairs(_texts(before, before.keys() - patients))
        group = Group(name, _texts(before, patients), _texts(after, patients), known)
        health += check_group(group, ngram=ngram)
        sizes[name] = len(patients)
    return health, sizes


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


def _model_of(run: ComparedRun) -> CertifiedModel:
    identity = read_identity(run.record)
    return CertifiedModel(digest=run.model, name=identity.model_name, audited=identity.date)


def _conclude(measured: _Measured, request: Request, pair: RunPair) -> Certified:
    patients, health = measured.patients, measured.health
    share = Estimate(value=None, n=0, reason=_NO_CONTROLS)
    if measured.controls:
        share = estimate_share(measured.controls_above, measured.controls)
    verdict = worst_of(patient.verdict for patient in patients)
    collapsed = has_collapsed(health)
    reasons = {reason for patient in patients for reason in patient.reasons}
    certificate = Certificate(
        verdict=verdict,
        before=_model_of(pair.a),
        after=_model_of(pair.b),
        trigger=request.trigger,
        has_reference=request.reference is not None,
        collapsed=collapsed,
        controls_above_level=exact_estimate(share),
        health=health,
        differences=list(pair.differences),
        patients=patients,
        shortfalls=measured.shortfalls,
        canaries=measured.canaries,
        bench=measured.blocks,
    )
    collateral = None if measured.blocks is None else measured.blocks.collateral
    exact = Forgetting(
        verdict=verdict,
        named=exactly(len(patients)),
        patients={of: exactly(sum(patient.verdict == of for patient in patients)) for of in FORGETTING_VERDICTS},
        before=_of_level(sum(patient.leaked_before for patient in patients), len(patients)),
        controls=_of_level(measured.controls_above, measured.controls) if measured.controls else None,
        controls_above_level=exact_estimate(share),
        collapsed=collapsed,
        health=health,
        reasons=sorted(reasons),
        beside=request.beside,
        collateral={one.group: {name: exactly(count) for name, count in one.bins.items()} for one in collateral or ()},
    )
    published = coarsen_forgetting(exact, group_sizes=measured.sizes, run_reasons=sorted(reasons & OF_THE_RUNS))
    if published.controls is not None:
        shown = share_range(published.controls.above, published.controls.within)
        published = published.model_copy(update={"controls_above_level": shown})
    return Certified(certificate, exact, published)


def _of_level(above: int, patients: int) -> LevelCounts:
    return LevelCounts(above=exactly(above), within=exactly(patients - above))
