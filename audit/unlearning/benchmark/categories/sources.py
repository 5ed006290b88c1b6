"""Where the categories of all patients come from: the notes, a served model, or a file.

Owns the choice. A patient whom the file leaves out, or of whom the model says nothing usable, is read from the notes,
and the source says so. Knows nothing of questions.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from clinaudit.audit.console.progress import Progress
from clinaudit.audit.unlearning.benchmark.categories.assignment import Assigned, assign_category
from clinaudit.audit.unlearning.benchmark.categories.served import ask_for_category, read_category
from clinaudit.audit.unlearning.benchmark.categories.taxonomy import OTHER, name_of, taxonomy
from clinaudit.audit.unlearning.benchmark.charts import Chart
from clinaudit.audit.unlearning.benchmark.served_model import BenchModel
from clinaudit.priors.corpus.files import find_given_file
from clinaudit.priors.corpus.header import Header
from clinaudit.priors.corpus.records import Problems, iter_records

_ROLE: Final = "the categories"


def read_given_categories(path: Path, patients: Mapping[str, str]) -> dict[str, str]:
    """Return the category of each patient that the file names; `patients` gives whom each id means.

    Raises `BadInputError` listing all problems: patients whom the corpus does not have, categories of no taxonomy of
    ours, and two categories of one patient.
    """
    file = find_given_file(path, _ROLE)
    known = {
        written.casefold(): category for category in (*taxonomy(), OTHER) for written in (category, name_of(category))
    }
    problems = Problems()
    found: dict[str, str] = {}
    for row, record in iter_records(file, header=Header(("patient_id", "category")), problems=problems):
        patient_id, category = (str(record.get(column) or "").strip() for column in ("patient_id", "category"))
        if patient_id not in patients:
            problems.add(file.name, "is no patient of the corpus who has notes", row=row, column="patient_id")
        elif category.casefold() not in known:
            what = f"is none of {', '.join((*taxonomy(), OTHER))}"
            problems.add(file.name, what, row=row, column="category")
        elif found.setdefault(patients[patient_id], known[category.casefold()]) != known[category.casefold()]:
            problems.add(file.name, "gives a patient two categories", row=row, column="category")
    if not found and not len(problems):
        problems.add(file.name, "has no rows")
    problems.raise_any(_ROLE)
    return found


def categories_of_notes(charts: Sequence[Chart]) -> dict[str, Assigned]:
    """Return the category of each patient, from codes and words of the notes."""
    return {chart.patient_id: assign_category(chart) for chart in charts}


def categories_of_file(charts: Sequence[Chart], given: Mapping[str, str]) -> dict[str, Assigned]:
    """Return the category of each patient: the file's, with what the notes tell of besides."""
    found = categories_of_notes(charts)
    return {key: _first(given[key], held, "given") if key in given else held for key, held in found.items()}


def categories_of_model(charts: Sequence[Chart], model: BenchModel, progress: Progress) -> dict[str, Assigned]:
    """Return the category of each patient: the model's, from the title; raises `IncompleteError` without an answer."""

    def reader(title: str) -> Callable[[str], tuple[str, str] | str]:
        return lambda answer: read_category(answer, title)

    titled = [chart for chart in charts if chart.title()]
    inquiries = [(ask_for_category(chart.title()), reader(chart.title())) for chart in titled]
    readings = model.ask(inquiries, title="asking the model for categories", unit="titles", progress=progress)
    found = categories_of_notes(charts)
    for chart, reading in zip(titled, readings, strict=True):
        if reading.found is not None:
            found[chart.patient_id] = _first(reading.found[0], found[chart.patient_id], "served")
    return found


def _first(category: str, of_notes: Assigned, source: str) -> Assigned:
    others = tuple(other for other in of_notes.categories if other != category and of_notes.source != "none")
    return Assigned((category, *others), source)
