"""Diagnosis labels of patients: from the corpus's table, or annotated from their notes (paper, Appendix G).

Owns which source a label comes from, the annotation of one patient, the labels' rows in the evidence, and which parts
of a prompt the annotations show to reveal a diagnosis. Labels that a judge reads share its errors (misclassified
labels); the report says so. Knows nothing of cohorts or generations.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Final, Literal, Protocol, runtime_checkable

import polars as pl

from clinaudit.audit.measures.judge.verdict import Judge, Verdict
from clinaudit.audit.runtime.choices import JudgeChoice
from clinaudit.audit.runtime.cluster import ALL_CORES, ShardRunner
from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.run.evidence_tables import Row, as_table, schema_of
from clinaudit.audit.runtime.run.processes import batches
from clinaudit.audit.runtime.served.answer_cache import AnswerCache
from clinaudit.audit.runtime.served.question import AskingEstimate
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.diagnoses import Diagnosis, TermKind, find_terms, refers_to
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
#: The columns of an annotation that hold spans.
SPANS: Final = ("diagnosis_spans", "icd10_spans", "symptom_spans", "medication_spans")
#: The annotation, but for the diagnosis, of a patient of whom the judge gave no usable answer. Prompts are searched for
#: the panel's terms only then, as every prompt is.
UNKNOWN: Final = dict.fromkeys(("present", "in_note_start", "in_hpi")) | dict.fromkeys(
    (*SPANS, "medications_to_remove"), ()
)


@dataclass(frozen=True, slots=True)
class PatientHistory:
    """The notes of one patient, oldest first, as an annotation takes them."""

    notes: Sequence[str]
    #: Of the notes that prompts are taken from, mostly the latest: what stands before the HPI, and the HPI.
    note_start: str
    hpi: str
    #: One entry for each medication of the latest note.
    medications: Sequence[str]


@runtime_checkable
class HistoryJudge(Protocol):
    """A judge that reads whole histories by itself, rather than note by note, and whose answers cost time or money."""

    def use_cache(self, cache: AnswerCache | None, *, announce: Callable[[AskingEstimate], None] = ...) -> None:
        """Keep answers in `cache` (None: no longer), and `announce` the estimated usage before asking."""

    def annotate_many(
        self, histories: Callable[[], Iterable[PatientHistory]], panel: Sequence[Diagnosis]
    ) -> Iterator[list[Row]]:
        """Yield the annotations of each patient, in order; `histories` is called once for each pass over them."""


def annotate_patient(history: PatientHistory, *, panel: Sequence[Diagnosis], judge: Judge) -> list[Row]:
    """Return a row of `annotations` for each diagnosis of `panel`, in its order, from all of a patient's notes.

    `present`: some note states by name or code that the patient has it; a symptom or a drug alone does not make it
    present: "do NOT infer from vague language" (Appendix G). Where none does, it is None, unknown, neither case nor
    control, if some note is unjudged, asks for it ("?PTSD"), or gives the patient a drug or a symptom of it as the
    judge reads it (docs/methods.md, section 3). `in_note_start` and `in_hpi`: whether the opening of a note that a
    prompt is taken from, and its HPI, refer to it (name, code or drug). Spans are the judge's, names and codes from the
    notes that state it, symptoms and drugs from any note. `medications_to_remove`: entries of the medication list that
    reveal it (`substring`), and why (`reason`), of patients without it too: removal from the positives alone would
    itself reveal it (docs/methods.md, section 1).
    """
    # Note by note: a note is read once for all diagnoses.
    judged = list(judge.judge_many([(note, diagnosis) for note in history.notes for diagnosis in panel]))
    return [_annotate(history, diagnosis, judged[place :: len(panel)]) for place, diagnosis in enumerate(panel)]


def _annotate(history: PatientHistory, diagnosis: Diagnosis, judged: Sequence[Verdict]) -> Row:
    named = [span for one in judged if one.is_named for span in one.diagnosis_spans]
    # Positive, but not by name or code: not stated, and nothing that a control could have.
    is_open = any(
        one.diagnosis_mentioned is None or one.patient_has_diagnosis == "positive" or one.is_queried for one in judged
    )
    # What stands in the medication list is the patient's.
    revealing = [entry for entry in dict.fromkeys(history.medications) if refers_to(entry, diagnosis)]
    # A span with a figure and no name is a code: "b20" alone is not recognized as one, though in brackets it was.
    codes = [
        span for span in named if any(map(str.isdigit, span)) and not find_terms(span, diagnosis, (TermKind.NAME,))
    ]
    symptoms = [span for one in judged for span in one.symptom_spans]
    drugs = [span for one in judged for span in one.medication_spans]
    spans = ([span for span in named if span not in codes], codes, symptoms, drugs)
    return {
        "diagnosis": diagnosis.id,
        "present": True if named else (None if revealing or is_open else False),
        "in_note_start": refers_to(history.note_start, diagnosis),
        "in_hpi": refers_to(history.hpi, diagnosis),
        **{column: tuple(dict.fromkeys(of_column)) for column, of_column in zip(SPANS, spans, strict=True)},
        "medications_to_remove": tuple(
            {"substring": entry, "reason": f"primarily used for {diagnosis.display}"} for entry in revealing
        ),
    }


def _annotate_all(task: tuple[Judge, Sequence[Diagnosis]], histories: Iterable[PatientHistory]) -> list[list[Row]]:
    return [annotate_patient(history, judge=task[0], panel=task[1]) for history in histories]


@dataclass(frozen=True, slots=True)
class Annotator:
    """Labels patients with the diagnoses of a panel, from their own notes."""

    judge: Judge
    panel: Sequence[Diagnosis]
    corpus: Corpus
    #: Who reads the notes where no server does, which changes no label.
    runner: ShardRunner = ALL_CORES

    def annotate(self, patients: Collection[PatientFacts], progress: Progress) -> pl.DataFrame:
        """Return the table `annotations`: of each patient, in order, a row for each diagnosis of the panel."""
        # Lazily: a corpus can hold more text than fits in memory.
        histories = partial(map, self._history_of, patients)
        if isinstance(self.judge, HistoryJudge):
            annotated = self.judge.annotate_many(histories, self.panel)
        else:
            shards = batches(histories(), lambda one: sum(map(len, one.notes)), _SHARD_CHARS)
            annotated = chain.from_iterable(self.runner.map(_annotate_all, (self.judge, self.panel), shards))

        def rows() -> Iterator[Row]:
            for facts, found in zip(patients, annotated, strict=True):
                yield from ({"patient_id": facts.patient_id, **annotation} for annotation in found)
                advance(1)

        with progress.stage("annotating", total=len(patients), unit="patients") as advance:
            return as_table("annotations", rows())

    def _history_of(self, facts: PatientFacts) -> PatientHistory:
        starts, histories = [], []
        # Fragments of different tiers may be of different notes.
        for source in facts.sources:
            note, hpi, complaint = source.note, source.in_note.get(Fact.HPI), source.in_note.get(Fact.CHIEF_COMPLAINT)
            if hpi is not None:
                starts.append(note[: hpi.span_chars.start])
                histories.append(note[slice(*hpi.span_chars)])
            else:
                # No prompt goes beyond the line of the chief complaint then.
                end = 0 if complaint is None else complaint.span_chars.end
                starts.append(note[:end] + note[end:].partition("\n")[0] if end else "")
        notes = [note.text for note in self.corpus.notes_of(facts.patient_id)]
        return PatientHistory(notes, "\n\n".join(starts), "\n\n".join(filter(None, histories)), facts.medications)


def label_source(corpus: Corpus, choice: JudgeChoice) -> Literal["table"] | JudgeChoice:
    """Return where labels come from: the corpus's table where there is one, else the judge, who reads the notes."""
    return choice if corpus.diagnosis_labels is None else "table"


def labels_of_table(corpus: Corpus, panel: Sequence[Diagnosis]) -> pl.DataFrame | None:
    """Return the rows of `labels.parquet` from the corpus's table, of every patient and diagnosis; None without one.

    `source` is null where no source says anything, `reason` is why a label is unknown.
    """
    if (table := corpus.diagnosis_labels) is None:
        return None
    keys = ((patient_id, diagnosis.id) for patient_id in sorted(corpus.patients) for diagnosis in panel)
    stated = [(*key, table.get(key)) for key in keys]
    rows = pl.DataFrame(stated, schema=list(schema_of("labels").items())[:3], orient="row")
    source = pl.when(pl.col("present").is_not_null()).then(pl.lit("table"))
    return rows.with_columns(source=source, reason=pl.when(source.is_null()).then(pl.lit(NO_ROW)))


def labels_of_annotations(annotations: pl.DataFrame, *, source: str) -> pl.DataFrame:
    """Return the rows of `labels.parquet` from the annotations of every patient."""
    hints = pl.col("medication_spans", "symptom_spans", "medications_to_remove").list.len()
    why = pl.when(pl.sum_horizontal(hints) > 0).then(pl.lit(HINTED)).otherwise(pl.lit(OPEN))
    why = pl.when(pl.col("in_note_start").is_null()).then(pl.lit(NO_ANSWER)).otherwise(why)
    reason = pl.when(pl.col("present").is_null()).then(why)
    rows = annotations.sort("patient_id", maintain_order=True)
    return rows.select(*_WHO, "present", source=pl.lit(source), reason=reason)


def label_patients(
    facts: Mapping[str, PatientFacts], annotator: Annotator, progress: Progress
) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """Return the tables `labels`, from the corpus's table where there is one, and else from `annotations` (Appendix G).

    The annotations are of every patient; None where labels come from the table.
    """
    if (table := labels_of_table(annotator.corpus, annotator.panel)) is not None:
        return table, None
    annotations = annotator.annotate(facts.values(), progress)
    return labels_of_annotations(annotations, source=annotator.judge.name), annotations


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
    annotations = annotator.annotate([facts[patient_id] for patient_id in chosen], progress).drop("present")
    stated = labels.select(*_WHO, "present")
    return as_table("annotations", annotations.join(stated, on=_WHO, how="left", maintain_order="left"))


def revealed_by_judge(judge: Judge, annotations: pl.DataFrame) -> Revealed:
    """Return the parts of notes that a judge of whole histories found to reveal diagnoses (paper, Appendix G)."""
    if not isinstance(judge, HistoryJudge):
        # The lexicon judge finds the panel's terms, and every prompt is searched for these anyway.
        return NO_FINDINGS
    removed = annotations.explode("medications_to_remove").unnest("medications_to_remove").drop_nulls("substring")
    pieces = removed.group_by("diagnosis").agg(pl.col("substring").unique().sort())
    at_start, in_hpi = (set(annotations.filter(part).select(_WHO).iter_rows()) for part in ("in_note_start", "in_hpi"))
    return Revealed(medications=dict(pieces.iter_rows()), in_opening=at_start, in_hpi=in_hpi)
