"""The cohort stage: matched cohorts, whose members are the targets that are probed (paper 3.2.2, Appendix D).

Owns the way from labelled patients to targets, the sample that fills them up where the cohorts are small (text that a
model repeats is looked for in all targets, diagnoses in the cohorts alone).
Before cohorts are matched it finds the tiers at which nothing can be asked of a patient for a diagnosis: a fact is
missing, the prompt refers to the diagnosis, or it exceeds the model's context. In such a tier the patient's whole
matched set is left out of the diagnosis' figures (docs/methods.md, section 1).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from clinaudit.audit.measures.cohorts.cohort import Candidate, Cohort, build_cohort, draw_unmatched
from clinaudit.audit.runtime.choices import Controls
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.settings import AuditSettings
from clinaudit.priors.corpus.patient import Split
from clinaudit.priors.diagnoses import Diagnosis
from clinaudit.priors.facts import PatientFacts
from clinaudit.priors.prompts import PromptWriter
from clinaudit.priors.renderings import ProbedTiers

#: Targets of each split that a sample fills up to, where the cohorts hold fewer (docs/methods.md, section 4).
SAMPLE_SIZE = 200


#: Patient id -> diagnosis -> ids of the tiers that cannot be asked; a patient who lacks none has no entry.
MissingTiers = Mapping[str, Mapping[str, frozenset[str]]]


@dataclass(frozen=True, slots=True)
class CohortChoice:
    """How cohorts are chosen; each field is the option of that name."""

    patients_per_cell: int
    controls: Controls
    #: Whether exchanges and drops for balance follow the matching.
    refined: bool
    seed: int
    #: Whether the control model answers, too: where nobody was held out, those trained on are matched among themselves.
    has_control: bool = False

    @classmethod
    def of(cls, settings: AuditSettings) -> "CohortChoice":
        """Return what the settings ask for."""
        return cls(
            patients_per_cell=settings.patients_per_cell,
            controls=settings.controls,
            refined=not settings.no_refine,
            seed=settings.seed,
        )


@dataclass(frozen=True, slots=True)
class Targets:
    """The patients that are probed."""

    cohorts: tuple[Cohort, ...]
    #: Patient id -> diagnoses of the cohorts it is in; none for a patient of the sample.
    diagnoses: Mapping[str, tuple[str, ...]]
    #: Whether there was no cohort, so that all targets are a sample.
    sampled: bool

    @property
    def members(self) -> list[str]:
        """The targets that stand in a cohort, by id."""
        return sorted(patient_id for patient_id, diagnoses in self.diagnoses.items() if diagnoses)


def match_cohorts(
    facts: Mapping[str, PatientFacts],
    *,
    status: Mapping[str, Mapping[str, bool]],
    panel: Sequence[Diagnosis],
    choice: CohortChoice,
    missing_tiers: MissingTiers,
    progress: Progress,
) -> Targets:
    """Match a cohort for each diagnosis of the panel, and fill the targets of each split up at random (seeded).

    `facts` are those of every patient of the corpus, sorted by id; `status` is by patient and diagnosis, where known.
    Patients of whom no tier is missing for a diagnosis are preferred for its cohort.
    """
    candidates = list_candidates(facts, status, missing_tiers)
    size = choice.patients_per_cell
    cohorts = []
    with progress.stage("matching cohorts", total=len(panel), unit="cohorts") as advance:
        for diagnosis in panel:
            cohort = build_cohort(
                candidates,
                diagnosis=diagnosis.id,
                sets=size,
                controls=choice.controls,
                seed=choice.seed,
                refined=choice.refined,
                has_control=choice.has_control,
            )
            cohorts.append(cohort)
            advance(1)
    diagnoses: dict[str, tuple[str, ...]] = {}
    for cohort in cohorts:
        for patient_id in sorted(member.patient_id for member in cohort.members):
            diagnoses[patient_id] = (*diagnoses.get(patient_id, ()), cohort.diagnosis)
    sampled = not diagnoses
    _fill_up(facts, diagnoses, choice)
    return Targets(cohorts=tuple(cohorts), diagnoses=diagnoses, sampled=sampled)


def foresee_targets(
    facts: Mapping[str, PatientFacts],
    *,
    status: Mapping[str, Mapping[str, bool]],
    panel: Sequence[Diagnosis],
    choice: CohortChoice,
) -> tuple[dict[str, int], dict[str, tuple[str, ...]]]:
    """Return for each diagnosis how many sets there can be at most, and roughly the targets of `match_cohorts`.

    The targets are about those that it would choose, each with its diagnoses. Nobody is matched: patients of the four
    groups stand in at random, and the cohorts may be smaller by up to a half.
    """
    candidates = list_candidates(facts, status)
    size = choice.patients_per_cell
    sets: dict[str, int] = {}
    diagnoses: dict[str, tuple[str, ...]] = {}
    for diagnosis in panel:
        cells = draw_unmatched(
            candidates, diagnosis=diagnosis.id, sets=size, controls=choice.controls, seed=choice.seed
        )
        sets[diagnosis.id] = len(cells[0])
        for patient_id in sorted(candidate.patient_id for cell in cells for candidate in cell):
            diagnoses[patient_id] = (*diagnoses.get(patient_id, ()), diagnosis.id)
    _fill_up(facts, diagnoses, choice)
    return sets, diagnoses


def list_candidates(
    facts: Mapping[str, PatientFacts],
    status: Mapping[str, Mapping[str, bool]],
    missing_tiers: MissingTiers = MappingProxyType({}),
) -> list[Candidate]:
    """Return every patient of the corpus as cohorts see them, in the order of `facts`."""
    return [
        Candidate(
            patient_id=known.patient_id,
            arm=known.arm,
            age=known.age,
            sex=known.sex,
            note_count=known.note_count,
            status=status[known.patient_id],
            missing_tiers=missing_tiers.get(known.patient_id, {}),
        )
        for known in facts.values()
    ]


def _fill_up(facts: Mapping[str, PatientFacts], diagnoses: dict[str, tuple[str, ...]], choice: CohortChoice) -> None:
    """Add patients at random who are no targets yet, as many as each split lacks to the sample's size, if there are."""
    rng = np.random.default_rng(choice.seed)
    splits: tuple[Split, ...] = ("train", "nontrain")
    members = set(diagnoses)
    for split in splits:
        ids = [known.patient_id for known in facts.values() if known.arm == split]
        others = [patient_id for patient_id in ids if patient_id not in members]
        lacking = max(0, SAMPLE_SIZE - (len(ids) - len(others)))
        picked = rng.permutation(len(others))[:lacking]
        diagnoses.update((others[index], ()) for index in sorted(picked))


def find_missing_tiers(
    facts: Mapping[str, PatientFacts],
    *,
    status: Mapping[str, Mapping[str, bool]],
    panel: Sequence[Diagnosis],
    probed: ProbedTiers,
    writer: PromptWriter,
    progress: Progress,
) -> MissingTiers:
    """Return which of the tiers asked cannot be made, for whom and for which diagnosis.

    A tier with two forms counts as missing if either cannot be made. Only patients who may be candidates are
    looked at: of known age and sex, and of known status for a diagnosis.
    """
    found: dict[str, dict[str, frozenset[str]]] = {}
    with progress.stage("finding who can be asked", total=len(facts), unit="patients") as advance:
        for patient_id, known in facts.items():
            diagnoses = [diagnosis.id for diagnosis in panel if diagnosis.id in status.get(patient_id, {})]
            if diagnoses and known.age is not None and known.sex:
                missing = _missing_of(known, probed, diagnoses, writer)
                if missing:
                    found[patient_id] = missing
            advance(1)
    return found


def _missing_of(
    facts: PatientFacts, probed: ProbedTiers, diagnoses: Sequence[str], writer: PromptWriter
) -> dict[str, frozenset[str]]:
    missing: dict[str, set[str]] = {}
    for tier in probed.tiers:
        for form in probed.written_forms:
            for prior in writer.write(facts, tier, diagnoses, form):
                if prior.excluded:
                    for diagnosis in prior.diagnoses:
                        missing.setdefault(diagnosis, set()).add(tier.id)
    return {diagnosis: frozenset(tiers) for diagnosis, tiers in missing.items()}
