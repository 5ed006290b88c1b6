"""Diagnosis labels of patients: from the corpus's table, or annotated from their notes (paper, Appendix G).

Owns which source a label comes from, the labels' rows in the evidence, and which parts of a prompt the annotations show
to reveal a diagnosis. Knows nothing of cohorts or generations.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final, Literal

from clinaudit.audit.measures.judge.annotation import Annotation, HistoryJudge, PatientHistory, annotate_patient
from clinaudit.audit.measures.judge.verdict import Judge
from clinaudit.audit.runtime.choices import JudgeChoice
from clinaudit.audit.runtime.cluster.ray_runner import ALL_CORES, ShardRunner
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.run.evidence_tables import Row
from clinaudit.audit.runtime.run.processes import batches
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.diagnoses import Diagnosis
from clinaudit.priors.facts import PatientFacts
from clinaudit.priors.prompts import NO_FINDINGS, Revealed
from clinaudit.priors.tiers import Fact

#: Text of notes that a process labels at a time, in characters, and what the last patient has more.
_SHARD_CHARS: Final = 1 << 18


@dataclass(frozen=True, slots=True)
class Labels:
    """Which patient has which diagnosis, as far as it is known."""

    source: Literal["table"] | JudgeChoice
    #: Patient id -> diagnosis id -> status; an absent entry is unknown.
    status: Mapping[str, Mapping[str, bool]]
    #: By patient id: of every patient where labels come from the notes, else empty.
    annotations: Mapping[str, Sequence[Annotation]]


@dataclass(frozen=True, slots=True)
class Annotator:
    """Labels patients with the diagnoses of a panel, from their own notes."""

    choice: JudgeChoice
    judge: Judge
    panel: Sequence[Diagnosis]
    corpus: Corpus
    #: Who reads the notes where no server does, which changes no label.
    runner: ShardRunner = ALL_CORES

    def annotate(self, patients: Collection[PatientFacts], progress: Progress) -> dict[str, list[Annotation]]:
        """Return for each patient id one annotation for each diagnosis of the panel."""

        def histories() -> Iterator[PatientHistory]:
            # Lazily: a corpus can hold more text than fits in memory.
            return (self._history_of(facts) for facts in patients)

        if isinstance(self.judge, HistoryJudge):
            annotated = self.judge.annotate_many(histories, self.panel)
        else:
            shards = batches(histories(), lambda one: sum(map(len, one.notes)), _SHARD_CHARS)
            annotated = chain.from_iterable(self.runner.map(_annotate, (self.judge, self.panel), shards))
        annotations: dict[str, list[Annotation]] = {}
        with progress.stage("annotating", total=len(patients), unit="patients") as advance:
            for facts, rows in zip(patients, annotated, strict=True):
                annotations[facts.patient_id] = rows
                advance(1)
        return annotations

    def _history_of(self, facts: PatientFacts) -> PatientHistory:
        # Fragments of different tiers may be of different notes.
        starts, histories = zip(*map(_part_at_history, facts.sources), strict=True)
        return PatientHistory(
            notes=[note.text for note in self.corpus.notes_of(facts.patient_id)],
            note_start="\n\n".join(starts),
            hpi="\n\n".join(filter(None, histories)),
            medications=facts.medications,
        )


def _annotate(task: tuple[Judge, Sequence[Diagnosis]], histories: Iterable[PatientHistory]) -> list[list[Annotation]]:
    judge, panel = task
    return [annotate_patient(history, panel=panel, judge=judge) for history in histories]


def _part_at_history(facts: PatientFacts) -> tuple[str, str]:
    """Return what stands before the history of present illness of a note, and the history."""
    note, hpi = facts.note, facts.in_note.get(Fact.HPI)
    return (note, "") if hpi is None else (note[: hpi.span_chars.start], note[slice(*hpi.span_chars)])


def labels_of_table(corpus: Corpus, panel: Sequence[Diagnosis]) -> Labels | None:
    """Return the labels of the corpus's table for the diagnoses of a panel; None without a table."""
    table = corpus.diagnosis_labels
    if table is None:
        return None
    known = {diagnosis.id for diagnosis in panel}
    status: dict[str, dict[str, bool]] = {patient_id: {} for patient_id in corpus.patients}
    for (patient_id, diagnosis), present in table.items():
        if diagnosis in known and patient_id in status:
            status[patient_id][diagnosis] = present
    return Labels("table", status, {})


def label_patients(facts: Mapping[str, PatientFacts], annotator: Annotator, progress: Progress) -> Labels:
    """Return the labels of the corpus's table or, without one, those annotated from the notes (Appendix G)."""
    table = labels_of_table(annotator.corpus, annotator.panel)
    if table is not None:
        return table
    annotations = annotator.annotate(facts.values(), progress)
    status = {
        patient_id: {row.diagnosis: row.present for row in rows if row.present is not None}
        for patient_id, rows in annotations.items()
    }
    return Labels(annotator.choice, status, annotations)


def annotate_members(
    patient_ids: Collection[str],
    *,
    facts: Mapping[str, PatientFacts],
    labels: Labels,
    annotator: Annotator,
    progress: Progress,
) -> dict[str, list[Annotation]]:
    """Return the annotations of the cohorts' members; with a table, `present` is its label (None where it has none).

    Other targets are asked for no diagnosis, so that nothing need be found in their notes; a served judge never sees
    them where there is a table.
    """
    chosen = {patient_id: facts[patient_id] for patient_id in sorted(patient_ids)}
    if labels.source != "table":
        return {patient_id: list(labels.annotations[patient_id]) for patient_id in chosen}
    annotations = annotator.annotate(chosen.values(), progress)
    return {
        patient_id: [
            replace(row, present=labels.status[patient_id].get(row.diagnosis, None)) for row in annotations[patient_id]
        ]
        for patient_id in chosen
    }


def label_rows(labels: Labels, facts: Mapping[str, PatientFacts], panel: Sequence[Diagnosis]) -> Iterator[Row]:
    """Yield the rows of `labels.parquet`, of every patient of the corpus and diagnosis of the panel.

    `source` is null where no source says anything, `reason` is why a label is unknown.
    """
    for patient_id in sorted(facts):
        status = labels.status.get(patient_id, {})
        annotated = {row.diagnosis: row for row in labels.annotations.get(patient_id, ())}
        for diagnosis in panel:
            present = status.get(diagnosis.id)
            annotation = annotated.get(diagnosis.id)
            yield {
                "patient_id": patient_id,
                "diagnosis": diagnosis.id,
                "present": present,
                "source": labels.source if annotation is not None or present is not None else None,
                "reason": None if present is not None else _why_unknown(annotation),
            }


def _why_unknown(annotation: Annotation | None) -> str:
    if annotation is None:
        return "the diagnoses table has no row"
    if annotation.in_note_start is None:
        return "the judge gave no usable answer"
    if annotation.medication_spans or annotation.symptom_spans or annotation.medications_to_remove:
        return "the notes do not name it, but give a drug or a symptom of it"
    return "some note asks whether the patient has it, or was not judged"


def revealed_by_judge(judge: Judge, annotations: Mapping[str, Sequence[Annotation]]) -> Revealed:
    """Return the parts of notes that a judge of whole histories found to reveal diagnoses (paper, Appendix G).

    Nothing for the lexicon judge: it finds the panel's terms, and every prompt is searched for these anyway.
    """
    if not isinstance(judge, HistoryJudge):
        return NO_FINDINGS
    rows = [(patient_id, row) for patient_id, found in annotations.items() for row in found]
    medications: dict[str, set[str]] = {}
    for _, row in rows:
        medications.setdefault(row.diagnosis, set()).update(item.substring for item in row.medications_to_remove)
    return Revealed(
        medications={diagnosis: sorted(pieces) for diagnosis, pieces in medications.items()},
        in_opening={(patient_id, row.diagnosis) for patient_id, row in rows if row.in_note_start},
        in_hpi={(patient_id, row.diagnosis) for patient_id, row in rows if row.in_hpi},
    )
