"""Diagnosis labels of patients: from the corpus's table, or annotated from their notes (paper, Appendix G).

Owns which source a label comes from, the annotation of one patient, the labels' rows in the evidence, and which parts
of a prompt the annotations show to reveal a diagnosis. Labels that a judge reads share its errors (misclassified
labels); the report says so. Knows nothing of cohorts or generations.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain
from typing import Final, Literal, Protocol, runtime_checkable

import polars as pl

from clinaudit.audit.measures.judge.verdict import Judge
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


@dataclass(frozen=True, slots=True)
class Annotation:
    """One row of `annotations.parquet` for one patient; every span stands verbatim in one of the notes.

    With the diagnosis alone it is that of a patient of whom the judge gave no usable answer.
    """

    diagnosis: str
    #: Some note states by name or code that the patient has it. A symptom or a drug alone does not make it present:
    #: "do NOT infer from vague language" (Appendix G). It does not leave it absent either. None is unknown: the table
    #: has no row for it; or no note states it, and some note asks for it, gives the patient a symptom or a drug of it,
    #: or was not judged.
    present: bool | None = None
    #: Whether the opening of a note that a prompt is taken from, and its HPI, refer to the diagnosis (name, code or
    #: drug). None: unknown; the prompt is then searched for the panel's terms only, as every prompt is.
    in_note_start: bool | None = None
    in_hpi: bool | None = None
    #: Names and codes come from the notes that state it; symptoms and drugs from any note.
    diagnosis_spans: tuple[str, ...] = ()
    icd10_spans: tuple[str, ...] = ()
    symptom_spans: tuple[str, ...] = ()
    medication_spans: tuple[str, ...] = ()
    #: Entries of the medication list that reveal it (`substring`), and why (`reason`). Listed for patients without the
    #: diagnosis too: removal from the positives alone would itself reveal it (docs/methods.md, section 1).
    medications_to_remove: tuple[Mapping[str, str], ...] = ()


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
    ) -> Iterator[list[Annotation]]:
        """Yield the annotations of each patient, in order; `histories` is called once for each pass over them."""


def annotate_patient(history: PatientHistory, *, panel: Sequence[Diagnosis], judge: Judge) -> list[Annotation]:
    """Return one annotation for each diagnosis of `panel`, in its order, from all of a patient's notes.

    Where no note states the diagnosis, the label is unknown, neither case nor control, if some note is unjudged, asks
    for it ("?PTSD"), or gives the patient a drug or a symptom of it as the judge reads it (docs/methods.md, section 3).
    """
    # Note by note: a note is read once for all diagnoses.
    judged = list(judge.judge_many([(note, diagnosis) for note in history.notes for diagnosis in panel]))
    annotations = []
    for place, diagnosis in enumerate(panel):
        of_notes = judged[place :: len(panel)]
        named = [span for one in of_notes if one.verdict and one.is_named for span in one.verdict.diagnosis_spans]
        # Positive, but not by name or code: not stated, and nothing that a control could have.
        is_open = any(
            one.verdict is None or one.verdict.patient_has_diagnosis == "positive" or one.is_queried for one in of_notes
        )
        # A span with a figure and no name is a code: "b20" alone is not recognized as one, though in brackets it was.
        codes = [
            span for span in named if any(map(str.isdigit, span)) and not find_terms(span, diagnosis, (TermKind.NAME,))
        ]
        revealing = [entry for entry in dict.fromkeys(history.medications) if refers_to(entry, diagnosis)]
        spans = {"diagnosis_spans": [span for span in named if span not in codes], "icd10_spans": codes}
        for kind in (TermKind.SYMPTOM, TermKind.MEDICATION):
            found = ((note, term.span) for note in history.notes for term in find_terms(note, diagnosis, (kind,)))
            spans[f"{kind}_spans"] = [note[slice(*span)] for note, span in found]
        why = f"primarily used for {diagnosis.display}"
        annotations.append(
            Annotation(
                diagnosis.id,
                # What stands in the medication list is the patient's.
                True if named else (None if revealing or is_open else False),
                refers_to(history.note_start, diagnosis),
                refers_to(history.hpi, diagnosis),
                **{kind: tuple(dict.fromkeys(of_kind)) for kind, of_kind in spans.items()},
                medications_to_remove=tuple({"substring": entry, "reason": why} for entry in revealing),
            )
        )
    return annotations


def _annotate(task: tuple[Judge, Sequence[Diagnosis]], histories: Iterable[PatientHistory]) -> list[list[Annotation]]:
    return [annotate_patient(history, judge=task[0], panel=task[1]) for history in histories]


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
        # Lazily: a corpus can hold more text than fits in memory.
        histories = partial(map, self._history_of, patients)
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
    table = corpus.diagnosis_labels
    if table is None:
        return None
    keys = ((patient_id, diagnosis.id) for patient_id in sorted(corpus.patients) for diagnosis in panel)
    schema = schema_of("labels")
    rows = pl.DataFrame([(*key, table.get(key)) for key in keys], schema=list(schema.items())[:3], orient="row")
    source = pl.when(pl.col("present").is_not_null()).then(pl.lit("table"))
    return rows.with_columns(source=source, reason=pl.when(source.is_null()).then(pl.lit(NO_ROW)))


def labels_of_annotations(annotations: pl.DataFrame, *, source: JudgeChoice) -> pl.DataFrame:
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
    table = labels_of_table(annotator.corpus, annotator.panel)
    if table is not None:
        return table, None
    annotations = annotator.annotate(facts.values(), progress)
    return labels_of_annotations(annotations, source=annotator.choice), annotations


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
