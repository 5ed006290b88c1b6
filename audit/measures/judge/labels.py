"""Diagnosis labels of patients: from the corpus's table, or annotated from their notes (paper, Appendix G).

Owns which source a label comes from, the labels' rows in the evidence, and which parts of a prompt the annotations show
to reveal a diagnosis. Knows nothing of cohorts or generations.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Final, Literal

import polars as pl

from clinaudit.audit.measures.judge.annotation import Annotation, HistoryJudge, PatientHistory, annotate_patient
from clinaudit.audit.measures.judge.verdict import Judge
from clinaudit.audit.runtime.choices import JudgeChoice
from clinaudit.audit.runtime.cluster.ray_runner import ALL_CORES, ShardRunner
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.run.evidence_tables import Row, as_table, schema_of
from clinaudit.audit.runtime.run.processes import batches
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.diagnoses import Diagnosis
from clinaudit.priors.facts import PatientFacts
from clinaudit.priors.prompts import NO_FINDINGS, Revealed
from clinaudit.priors.tiers import Fact

#: Text of notes that a process labels at a time, in characters, and what the last patient has more.
_SHARD_CHARS: Final = 1 << 18
#: Why a label is unknown.
NO_ROW: Final = "the diagnoses table has no row"
NO_ANSWER: Final = "the judge gave no usable answer"
HINTED: Final = "the notes do not name it, but give a drug or a symptom of it"
OPEN: Final = "some note asks whether the patient has it, or was not judged"
_WHO: Final = ("patient_id", "diagnosis")


@dataclass(frozen=True, slots=True)
class Annotator:
    """Labels patients with the diagnoses of a panel, from their own notes."""

    choice: JudgeChoice
    judge: Judge
    panel: Sequence[Diagnosis]
    corpus: Corpus
    #: Who reads the notes where no server does, which changes no label.
    runner: ShardRunner = ALL_CORES

    def annotate(self, patients: Collection[PatientFacts], progress: Progress) -> pl.DataFrame:
        """Return the table `annotations`: of each patient, in order, a row for each diagnosis of the panel."""

        def histories() -> Iterator[PatientHistory]:
            # Lazily: a corpus can hold more text than fits in memory.
            return (self._history_of(facts) for facts in patients)

        if isinstance(self.judge, HistoryJudge):
            annotated = self.judge.annotate_many(histories, self.panel)
        else:
            shards = batches(histories(), lambda one: sum(map(len, one.notes)), _SHARD_CHARS)
            annotated = chain.from_iterable(self.runner.map(_annotate, (self.judge, self.panel), shards))

        def rows() -> Iterator[Row]:
            for facts, found in zip(patients, annotated, strict=True):
                yield from ({"patient_id": facts.patient_id, **asdict(annotation)} for annotation in found)
                advance(1)

        with progress.stage("annotating", total=len(patients), unit="patients") as advance:
            return as_table("annotations", rows())

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
    """Return what stands before the history of present illness of a note, and the history.

    Without one no prompt goes beyond the line of the chief complaint: what stands below it is in none.
    """
    note, hpi, complaint = facts.note, facts.in_note.get(Fact.HPI), facts.in_note.get(Fact.CHIEF_COMPLAINT)
    if hpi is not None:
        return note[: hpi.span_chars.start], note[slice(*hpi.span_chars)]
    end = 0 if complaint is None else complaint.span_chars.end
    return note[:end] + note[end:].partition("\n")[0] if end else "", ""


def label_source(corpus: Corpus, choice: JudgeChoice) -> Literal["table"] | JudgeChoice:
    """Return where labels come from: the corpus's table where there is one, else the judge, who reads the notes."""
    return choice if corpus.diagnosis_labels is None else "table"


def labels_of_table(corpus: Corpus, panel: Sequence[Diagnosis]) -> pl.DataFrame | None:
    """Return the rows of `labels.parquet` from the corpus's table; None without a table.

    They are of every patient and diagnosis of the panel, by id. `source` is null where no source says anything,
    `reason` is why a label is unknown.
    """
    table = corpus.diagnosis_labels
    if table is None:
        return None
    schema = schema_of("labels")
    given = pl.DataFrame(
        [(*who, present) for who, present in table.items()], schema=list(schema.items())[:3], orient="row"
    )
    patients = pl.DataFrame({"patient_id": sorted(corpus.patients)}, schema_overrides={"patient_id": pl.String})
    known = pl.col("present").is_not_null()
    return (
        patients.join(
            pl.DataFrame({"diagnosis": [diagnosis.id for diagnosis in panel]}), how="cross", maintain_order="left_right"
        )
        .join(given, on=_WHO, how="left", maintain_order="left")
        .with_columns(source=pl.when(known).then(pl.lit("table")), reason=pl.when(~known).then(pl.lit(NO_ROW)))
        .match_to_schema(schema)
    )


def label_patients(
    facts: Mapping[str, PatientFacts], annotator: Annotator, progress: Progress
) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """Return the tables `labels`, and `annotations` of every patient where labels are read off the notes (Appendix G).

    Labels are those of the corpus's table where there is one; the annotations are then None.
    """
    table = labels_of_table(annotator.corpus, annotator.panel)
    if table is not None:
        return table, None
    annotations = annotator.annotate(facts.values(), progress)
    return labels_of_annotations(annotations, source=annotator.choice), annotations


def labels_of_annotations(annotations: pl.DataFrame, *, source: JudgeChoice) -> pl.DataFrame:
    """Return the rows of `labels.parquet` from the annotations of every patient."""
    hints = ("medication_spans", "symptom_spans", "medications_to_remove")
    reason = (
        pl.when(pl.col("present").is_not_null())
        .then(None)
        .when(pl.col("in_note_start").is_null())
        .then(pl.lit(NO_ANSWER))
        .when(pl.sum_horizontal(pl.col(hints).list.len()) > 0)
        .then(pl.lit(HINTED))
        .otherwise(pl.lit(OPEN))
    )
    return annotations.sort("patient_id", maintain_order=True).select(
        *_WHO, "present", pl.lit(source).alias("source"), reason.alias("reason")
    )


def annotate_members(
    patient_ids: Iterable[str],
    *,
    facts: Mapping[str, PatientFacts],
    labels: pl.DataFrame,
    annotated: pl.DataFrame | None,
    annotator: Annotator,
    progress: Progress,
) -> pl.DataFrame:
    """Return the table `annotations` of these patients; with a table, `present` is its label (null where it has none).

    `labels` and `annotated` are as from `label_patients`. Others are asked for no diagnosis, so that nothing need be
    found in their notes; a served judge never sees them where there is a table.
    """
    chosen = sorted(patient_ids)
    if annotated is not None:
        return annotated.filter(pl.col("patient_id").is_in(chosen)).sort("patient_id", maintain_order=True)
    annotations = annotator.annotate([facts[patient_id] for patient_id in chosen], progress)
    stated = labels.select(*_WHO, "present")
    return (
        annotations.drop("present")
        .join(stated, on=_WHO, how="left", maintain_order="left")
        .select(list(schema_of("annotations")))
    )


def revealed_by_judge(judge: Judge, annotations: pl.DataFrame) -> Revealed:
    """Return the parts of notes that a judge of whole histories found to reveal diagnoses (paper, Appendix G).

    Nothing for the lexicon judge: it finds the panel's terms, and every prompt is searched for these anyway.
    """
    if not isinstance(judge, HistoryJudge):
        return NO_FINDINGS
    pieces = annotations.explode("medications_to_remove").select(
        "diagnosis", substring=pl.col("medications_to_remove").struct.field("substring")
    )
    return Revealed(
        medications=dict(
            pieces.drop_nulls().group_by("diagnosis").agg(pl.col("substring").unique().sort()).iter_rows()
        ),
        in_opening=set(annotations.filter("in_note_start").select(_WHO).iter_rows()),
        in_hpi=set(annotations.filter("in_hpi").select(_WHO).iter_rows()),
    )
