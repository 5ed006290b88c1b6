"""Categories that a file gives, for `clinaudit unlearn build --categories FILE` (docs/unlearning.md).

Owns the file's columns: `patient_id`, and `category` by its id or its name. A problem is named by file, row and column,
never by what stands there.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from clinaudit.audit.unlearning.benchmark.categories.taxonomy import OTHER, name_of, taxonomy
from clinaudit.priors.corpus.files import find_given_file
from clinaudit.priors.corpus.header import Header
from clinaudit.priors.corpus.problems import Problems
from clinaudit.priors.corpus.records import iter_records

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
