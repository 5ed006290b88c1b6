"""Who is audited: diagnosis labels, matched cohorts, and the targets they make (docs/how-it-works.md, section 3).

Owns the way from a corpus to its targets. Knows nothing of prompts or generations.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from clinaudit.audit.cohorts.cohort import Candidate, Cohort, build_cohort
from clinaudit.audit.cohorts.matchers import Matcher
from clinaudit.audit.console.progress import Progress
from clinaudit.audit.inputs import AuditInputs
from clinaudit.audit.judge.annotation import Annotation, Annotator, PatientHistory, annotate_patient
from clinaudit.priors.facts import FactReader, PatientFacts
from clinaudit.priors.prompts import NOTHING_MORE, Revealed
from clinaudit.priors.tiers import Fact

#: Train (and nontrain) patients sampled where no cohort can be made (docs/how-it-works.md, section 3).
SAMPLE_SIZE = 200


@dataclass(frozen=True, slots=True)
class Labels:
    """Which patient has which diagnosis, as far as it is known."""

    source: Literal["table", "lexicon", "openai"]
    #: Patient id -> diagnosis id -> status; an absent one is unknown.
    status: Mapping[str, Mapping[str, bool]]
    #: By patient id; of all patients where labels come from the notes, else empty.
    annotations: Mapping[str, Sequence[Annotation]]


@dataclass(frozen=True, slots=True)
class Targets:
    """The patients that are probed."""

    cohorts: tuple[Cohort, ...]
    #: The same diagnoses matched by `--second-matcher`; empty without it.
    second_cohorts: tuple[Cohort, ...]
    #: Patient id -> diagnoses of the cohorts it is in, by either matcher.
    diagnoses: Mapping[str, tuple[str, ...]]
    #: Whether there was no cohort and targets are a sample.
    sampled: bool


def read_facts(inputs: AuditInputs, progress: Progress) -> dict[str, PatientFacts]:
    """Return what is known of each patient of the corpus."""
    reader = FactReader(inputs.profile)
    facts: dict[str, PatientFacts] = {}
    with progress.stage("reading facts", total=len(inputs.corpus.patients), unit="patients") as advance:
        for patient_id in inputs.corpus.patients:
            facts[patient_id] = reader.read(inputs.corpus, patient_id)
            advance(1)
    return facts


def label_patients(inputs: AuditInputs, facts: Mapping[str, PatientFacts], progress: Progress) -> Labels:
    """Return the labels of the corpus' table or, without one, of annotating each patient's notes (Appendix G)."""
    table = inputs.corpus.diagnosis_labels
    if table is not None:
        known = {diagnosis.id for diagnosis in inputs.sensitive}
        status: dict[str, dict[str, bool]] = {patient_id: {} for patient_id in inputs.corpus.patients}
        for (patient_id, diagnosis), present in table.items():
            if diagnosis in known and patient_id in status:
                status[patient_id][diagnosis] = present
        return Labels("table", status, {})
    annotations = _annotate(inputs, facts.values(), progress)
    status = {
        patient_id: {row.diagnosis: row.present for row in rows if row.present is not None}
        for patient_id, rows in annotations.items()
    }
    return Labels(inputs.settings.judge, status, annotations)


def annotate_targets(
    inputs: AuditInputs, facts: Mapping[str, PatientFacts], labels: Labels, targets: Targets, progress: Progress
) -> dict[str, list[Annotation]]:
    """Return the annotations of the targets; `present` is the label where a table gives one."""
    chosen = {patient_id: facts[patient_id] for patient_id in sorted(targets.diagnoses)}
    if labels.source != "table":
        return {patient_id: list(labels.annotations[patient_id]) for patient_id in chosen}
    annotations = _annotate(inputs, chosen.values(), progress)
    return {
        patient_id: [
            replace(row, present=labels.status[patient_id].get(row.diagnosis, None)) for row in annotations[patient_id]
        ]
        for patient_id in chosen
    }


def _annotate(
    inputs: AuditInputs, patients: Collection[PatientFacts], progress: Progress
) -> dict[str, list[Annotation]]:
    def histories() -> Iterator[PatientHistory]:
        # One after the other: a corpus holds more text than memory does.
        return (_history_of(inputs, facts) for facts in patients)

    judge = inputs.judge
    if isinstance(judge, Annotator):
        annotated = judge.annotate_many(histories, inputs.sensitive)
    else:
        annotated = (annotate_patient(history, panel=inputs.sensitive, judge=judge) for history in histories())
    annotations: dict[str, list[Annotation]] = {}
    with progress.stage("annotating", total=len(patients), unit="patients") as advance:
        for facts, rows in zip(patients, annotated, strict=True):
            annotations[facts.patient_id] = rows
            advance(1)
    return annotations


def _history_of(inputs: AuditInputs, facts: PatientFacts) -> PatientHistory:
    hpi = facts.in_note.get(Fact.HPI)
    latest = facts.note
    return PatientHistory(
        notes=[note.text for note in inputs.corpus.notes_of(facts.patient_id)],
        note_start=latest[: hpi.span_chars.start] if hpi else latest,
        hpi=latest[slice(*hpi.span_chars)] if hpi else "",
        medications=facts.medications,
    )


def revealed_by_judge(inputs: AuditInputs, annotations: Mapping[str, Sequence[Annotation]]) -> Revealed:
    """Return what a judge that reads whole histories found to give diagnoses away (paper, Appendix G).

    Nothing for the lexicon judge: what it finds are the panel's terms, which every prompt is searched for anyway.
    """
    if not isinstance(inputs.judge, Annotator):
        return NOTHING_MORE
    rows = [(patient_id, row) for patient_id, found in annotations.items() for row in found]
    medications: dict[str, set[str]] = {}
    for _, row in rows:
        medications.setdefault(row.diagnosis, set()).update(item.substring for item in row.medications_to_remove)
    return Revealed(
        medications={diagnosis: sorted(pieces) for diagnosis, pieces in medications.items()},
        in_opening={(patient_id, row.diagnosis) for patient_id, row in rows if row.in_note_start},
        in_hpi={(patient_id, row.diagnosis) for patient_id, row in rows if row.in_hpi},
    )


def match_cohorts(
    inputs: AuditInputs, facts: Mapping[str, PatientFacts], labels: Labels, progress: Progress
) -> Targets:
    """Match a cohort for each diagnosis; without any, sample targets (docs/how-it-works.md, section 3)."""
    settings = inputs.settings
    candidates = [
        Candidate(
            patient_id=known.patient_id,
            arm=known.arm,
            age=known.age,
            sex=known.sex,
            note_count=known.note_count,
            status=labels.status[known.patient_id],
        )
        for known in facts.values()
    ]
    matchers = [matcher for matcher in (settings.matcher, settings.second_matcher) if matcher is not None]
    cohorts: dict[Matcher, tuple[Cohort, ...]] = {}
    with progress.stage("matching cohorts", total=len(matchers) * len(inputs.panel), unit="cohorts") as advance:
        for matcher in matchers:
            for diagnosis in inputs.panel:
                cohort = build_cohort(
                    candidates,
                    diagnosis=diagnosis.id,
                    patients_per_cell=settings.patients_per_cell,
                    matcher=matcher,
                    controls=settings.controls,
                    seed=settings.seed,
                    caliper=settings.caliper,
                )
                cohorts[matcher] = (*cohorts.get(matcher, ()), cohort)
                advance(1)
    first, *second = cohorts.values()
    diagnoses: dict[str, tuple[str, ...]] = {}
    for of_matchers in zip(*cohorts.values(), strict=True):
        for patient_id in sorted({member.patient_id for cohort in of_matchers for member in cohort.members}):
            diagnoses[patient_id] = (*diagnoses.get(patient_id, ()), of_matchers[0].diagnosis)
    sampled = not diagnoses
    return Targets(
        cohorts=first,
        second_cohorts=second[0] if second else (),
        diagnoses=dict.fromkeys(_sample(inputs), ()) if sampled else diagnoses,
        sampled=sampled,
    )


def _sample(inputs: AuditInputs) -> list[str]:
    rng = np.random.default_rng(inputs.settings.seed)
    chosen: list[str] = []
    for split in ("train", "nontrain"):
        ids = inputs.corpus.patient_ids(split)
        picked = rng.permutation(len(ids))[:SAMPLE_SIZE]
        chosen += [ids[index] for index in sorted(picked)]
    return chosen
