"""Where the questions of all patients come from: templates, a served model, or a file; one interface over the three.

Owns the choice, and how questions of a model or a file are chosen from. A patient gets eight questions, or those that a
file gives, or is dropped with the reason. Knows nothing of categories or splits.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from clinaudit.audit.console.progress import Progress
from clinaudit.audit.unlearning.benchmark.charts import Chart
from clinaudit.audit.unlearning.benchmark.questions.candidates import Candidate, CandidateMaker
from clinaudit.audit.unlearning.benchmark.questions.checks import problem_of
from clinaudit.audit.unlearning.benchmark.questions.findings import MOST_WORDS, Finding, read_findings
from clinaudit.audit.unlearning.benchmark.questions.given import GivenQuestion
from clinaudit.audit.unlearning.benchmark.questions.selection import Chosen, choose_questions
from clinaudit.audit.unlearning.benchmark.questions.served import ask_for_questions, read_questions
from clinaudit.audit.unlearning.benchmark.records import QuestionOrigin
from clinaudit.audit.unlearning.benchmark.served_model import BenchModel
from clinaudit.errors import BadInputError
from clinaudit.priors.diagnoses import Diagnosis, load_panel

TRUTH_FILE: Final = "truth.jsonl"
#: Lists of problems hold a name and a code, which is no detail.
_IN_PROSE: Final = frozenset({"hpi", "mental health history", "past medical history", "gynecological history"})


def read_truth(corpus: Path) -> Mapping[str, list[Mapping[str, str]]]:
    """Return the planted mentions by patient id; none where the corpus is not the demo's.

    Raises `BadInputError` where a line of the file is none of the demo's.
    """
    path = corpus / TRUTH_FILE
    if not path.is_file():
        return {}
    found: dict[str, list[Mapping[str, str]]] = {}
    for row, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            record = json.loads(line)
            found[record["patient_id"]] = [
                {name: str(mention[name]) for name in ("note_id", "diagnosis", "section", "status", "text")}
                for mention in record["mentions"]
            ]
        except (ValueError, TypeError, KeyError):
            raise BadInputError(
                f"{TRUTH_FILE}, line {row}: this is no line of the demo's truth; make the demo again, or take the file "
                "out of the corpus"
            ) from None
    return found


def planted_findings(
    chart: Chart, mentions: Iterable[Mapping[str, str]], diagnoses: Iterable[Diagnosis]
) -> list[Finding]:
    """Return what was planted of the patient's own diagnoses, the latest note's wording of each."""
    shown = {diagnosis.id: diagnosis.display for diagnosis in diagnoses}
    notes = {note.note_id: note for note in chart.notes}
    found: dict[str, Finding] = {}
    for mention in mentions:
        note, value = notes.get(mention["note_id"]), mention["text"].rstrip(".;")
        if (
            note is not None
            and mention["status"] == "present"
            and mention["section"] in _IN_PROSE
            and mention["diagnosis"] in shown
            and value in note.text
            and len(value.split()) <= MOST_WORDS
        ):
            subject = shown[mention["diagnosis"]]
            found[subject] = Finding("diagnosis", subject, value, note.note_id, note.complaint())
    return list(found.values())


NO_FINDING: Final = "the note template finds nothing to ask about in the notes"
NOT_GIVEN: Final = "the file gives no question on the patient"
NONE_USABLE: Final = "none of the questions given may be asked"
IdentifierCheck = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Asking:
    """What every source needs: the charts, the check for identifiers, the seed, and where refusals are counted."""

    charts: Mapping[str, Chart]
    holds_identifier: IdentifierCheck
    seed: int
    refused: Counter[str]

    def problem(self, patient_id: str, candidate: Candidate) -> str | None:
        """Return why a question must not be asked of a patient, and count it."""
        texts = [note.text for note in self.charts[patient_id].notes]
        problem = problem_of(candidate, texts, self.holds_identifier)
        self.refused.update([problem] if problem else [])
        return problem


class QuestionSource(Protocol):
    """Asks about all patients."""

    origin: QuestionOrigin

    def choose(self, asking: Asking, progress: Progress) -> Iterator[tuple[str, Chosen | str]]:
        """Yield each patient with the questions chosen, or why there are none."""
        ...


class TemplateSource:
    """Questions by templates, from the findings of the notes."""

    origin: QuestionOrigin = "templates"

    def __init__(self, corpus: Path) -> None:
        self._truth = read_truth(corpus) if corpus.is_dir() else {}

    def choose(self, asking: Asking, progress: Progress) -> Iterator[tuple[str, Chosen | str]]:
        """Yield each patient with the questions chosen; a description singles one patient out among all."""
        panel = load_panel()
        findings: dict[str, list[Finding]] = {
            patient_id: [*read_findings(chart), *planted_findings(chart, self._truth.get(patient_id, ()), panel)]
            for patient_id, chart in asking.charts.items()
        }
        maker = CandidateMaker(findings, asking.holds_identifier, panel)
        with progress.stage("asking by templates", total=len(findings), unit="patients") as advance:
            for patient_id, found in findings.items():
                yield patient_id, _choose(asking, patient_id, maker.make(patient_id)) if found else NO_FINDING
                advance(1)


class ServedSource:
    """Questions that a served model writes."""

    origin: QuestionOrigin = "served"

    def __init__(self, model: BenchModel) -> None:
        self._model = model

    def choose(self, asking: Asking, progress: Progress) -> Iterator[tuple[str, Chosen | str]]:
        """Yield each patient with the questions chosen; raises `IncompleteError` where no answer came."""

        def reader(chart: Chart) -> Callable[[str], list[Candidate] | str]:
            return lambda answer: read_questions(answer, chart, asking.holds_identifier)

        inquiries = [(ask_for_questions(chart), reader(chart)) for chart in asking.charts.values()]
        readings = self._model.ask(
            inquiries, title="asking the model for questions", unit="patients", progress=progress
        )
        for patient_id, reading in zip(asking.charts, readings, strict=True):
            if reading.found is None:
                yield patient_id, f"the model wrote no usable questions: {reading.reason}"
            else:
                yield patient_id, _choose(asking, patient_id, reading.found)


class GivenSource:
    """Questions made elsewhere: all of them that may be asked, withheld where the file says so."""

    origin: QuestionOrigin = "given"

    def __init__(self, given: Mapping[str, Sequence[GivenQuestion]]) -> None:
        self.given = given

    def choose(self, asking: Asking, progress: Progress) -> Iterator[tuple[str, Chosen | str]]:
        """Yield each patient with the questions of the file."""
        with progress.stage("checking the questions", total=len(asking.charts), unit="patients") as advance:
            for patient_id in asking.charts:
                held = self.given.get(patient_id, ())
                usable = [one for one in held if asking.problem(patient_id, one.candidate) is None]
                holdout = frozenset(place for place, one in enumerate(usable) if one.is_holdout)
                chosen = Chosen(tuple(one.candidate for one in usable), holdout)
                yield patient_id, chosen if usable else (NONE_USABLE if held else NOT_GIVEN)
                advance(1)


def _choose(asking: Asking, patient_id: str, candidates: Iterator[Candidate] | list[Candidate]) -> Chosen | str:
    return choose_questions(
        patient_id, candidates, accept=lambda candidate: asking.problem(patient_id, candidate), seed=asking.seed
    )
