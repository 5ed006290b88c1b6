"""The cohort stage: matched cohorts, whose members are the targets that are probed (paper 3.2.2, Appendix D).

Owns the way from labelled patients to targets, and the sample that fills them up where the cohorts are small: text
that a model repeats is looked for in all targets, diagnoses in the cohorts alone. Knows nothing of how a label came
about, of prompts or of generations.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from clinaudit.audit.choices import Controls, Matcher
from clinaudit.audit.cohorts.cohort import Candidate, Cohort, build_cohort, draw_unmatched
from clinaudit.audit.cohorts.matched_sets import MatchRequest
from clinaudit.audit.cohorts.missing_tiers import MissingTiers
from clinaudit.audit.cohorts.secret_sizes import draw_secret_number, lower_size
from clinaudit.audit.console.progress import Progress
from clinaudit.audit.settings import AuditSettings
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.corpus.patient import Split
from clinaudit.priors.diagnoses import Diagnosis
from clinaudit.priors.facts import PatientFacts

#: Targets of each split that a sample fills up to, where the cohorts hold fewer (docs/methods.md, section 4).
SAMPLE_SIZE = 200
#: The digit of the secret draw that lowers the sample; the last one lowers a cell.
_DIGIT_OF_SAMPLE = 1


@dataclass(frozen=True, slots=True)
class CohortChoice:
    """How cohorts are chosen; each field is the option of that name."""

    patients_per_cell: int
    matcher: Matcher
    #: A second matcher, on whose cohorts the deltas are measured again (sensitivity analysis).
    second_matcher: Matcher | None
    controls: Controls
    #: Largest distance of a matched pair, in standard deviations of the propensity's logit; None: no caliper.
    caliper: float | None
    #: Whether exchanges and drops for balance follow the matching.
    refined: bool
    seed: int
    #: By which sizes that follow from a setting are lowered (`secret_sizes`).
    secret: int

    @classmethod
    def of(cls, settings: AuditSettings, corpus: Corpus) -> "CohortChoice":
        """Return what the settings ask for, of this corpus."""
        return cls(
            patients_per_cell=settings.patients_per_cell,
            matcher=settings.matcher,
            second_matcher=settings.second_matcher,
            controls=settings.controls,
            caliper=settings.caliper,
            refined=not settings.no_refine,
            seed=settings.seed,
            secret=draw_secret_number(corpus),
        )


@dataclass(frozen=True, slots=True)
class Targets:
    """The patients that are probed."""

    cohorts: tuple[Cohort, ...]
    #: The same diagnoses matched by `--second-matcher`; empty without it.
    second_cohorts: tuple[Cohort, ...]
    #: Patient id -> diagnoses of the cohorts it is in, by either matcher; none for a patient of the sample.
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
    candidates = _candidates(facts, status, missing_tiers)
    size = lower_size(choice.patients_per_cell, choice.secret)
    matchers = [matcher for matcher in (choice.matcher, choice.second_matcher) if matcher is not None]
    cohorts: dict[Matcher, tuple[Cohort, ...]] = {}
    with progress.stage("matching cohorts", total=len(matchers) * len(panel), unit="cohorts") as advance:
        for matcher in matchers:
            for diagnosis in panel:
                cohort = build_cohort(
                    candidates,
                    diagnosis=diagnosis.id,
                    request=MatchRequest(size, matcher, choice.caliper, choice.refined),
                    controls=choice.controls,
                    seed=choice.seed,
                )
                cohorts[matcher] = (*cohorts.get(matcher, ()), cohort)
                advance(1)
    first, *second = cohorts.values()
    diagnoses: dict[str, tuple[str, ...]] = {}
    for of_matchers in zip(*cohorts.values(), strict=True):
        for patient_id in sorted({member.patient_id for cohort in of_matchers for member in cohort.members}):
            diagnoses[patient_id] = (*diagnoses.get(patient_id, ()), of_matchers[0].diagnosis)
    sampled = not diagnoses
    _fill_up(facts, diagnoses, choice)
    return Targets(
        cohorts=first,
        second_cohorts=second[0] if second else (),
        diagnoses=diagnoses,
        sampled=sampled,
    )


def foresee_targets(
    facts: Mapping[str, PatientFacts],
    *,
    status: Mapping[str, Mapping[str, bool]],
    panel: Sequence[Diagnosis],
    choice: CohortChoice,
) -> tuple[dict[str, int], dict[str, tuple[str, ...]]]:
    """Return the most matched sets by diagnosis, and targets with their diagnoses as `match_cohorts` would have about.

    Nobody is matched: patients of the four groups stand in at random, and the cohorts may be smaller by up to a half.
    """
    candidates = _candidates(facts, status, {})
    size = lower_size(choice.patients_per_cell, choice.secret)
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


def _candidates(
    facts: Mapping[str, PatientFacts], status: Mapping[str, Mapping[str, bool]], missing_tiers: MissingTiers
) -> list[Candidate]:
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
    size = lower_size(SAMPLE_SIZE, choice.secret, digit=_DIGIT_OF_SAMPLE)
    rng = np.random.default_rng(choice.seed)
    splits: tuple[Split, ...] = ("train", "nontrain")
    members = set(diagnoses)
    for split in splits:
        ids = [known.patient_id for known in facts.values() if known.arm == split]
        others = [patient_id for patient_id in ids if patient_id not in members]
        lacking = max(0, size - (len(ids) - len(others)))
        picked = rng.permutation(len(others))[:lacking]
        diagnoses.update((others[index], ()) for index in sorted(picked))
