"""The disease category of a patient, from the codes of the notes or from the words of the title (AMNESIA, 3.1).

Owns which source counts: ICD-10 codes in the notes, then words of the title, then words of the lists of problems; else
`other`. The paper asks a language model about each title; served.py does that. Knows nothing of questions.
"""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Final

from clinaudit.audit.unlearning.benchmark.categories.taxonomy import (
    OTHER,
    categories_of_text,
    category_of_code,
    ranked,
)
from clinaudit.audit.unlearning.benchmark.charts import ASSESSMENT_SECTIONS, Chart

#: A code in brackets, with its dot, or at the start of a line: `(i10)`, `E11.9`, `I10 hypertension`. A bare `b12` in
#: a line is a vitamin.
_CODE: Final = re.compile(
    r"[(\[](?!A1C|B12)([A-TV-Z]\d[0-9A-Z](?:\.[0-9A-Z]{1,4})?)[)\]]"
    r"|(?<![\w.])([A-TV-Z]\d[0-9A-Z]\.[0-9A-Z]{1,4})(?![\w.])"
    r"|(?m:^)[ \t*•-]*(?!B12)([A-TV-Z]\d\d)(?=[ \t:-])",
    re.IGNORECASE,
)
#: What others of a family have is no disease of the patient.
_OF_OTHERS: Final = frozenset({"Family History"})
_PROBLEM_SECTIONS: Final = ASSESSMENT_SECTIONS | {"Current Problems", "Past Medical History"}


@dataclass(frozen=True, slots=True)
class Assigned:
    """A patient's category, all that fit, the primary one first, and what they were read from."""

    categories: tuple[str, ...]
    #: `codes`, `lexicon`, `served`, `given`, or `none` for `other` where nothing told of a category.
    source: str

    @property
    def primary(self) -> str:
        """The patient's category."""
        return self.categories[0]


def assign_category(chart: Chart) -> Assigned:
    """Return the category that most codes of a chart belong to, else most words; ties in the taxonomy's order."""
    codes = _codes(chart)
    by_code = Counter(category for code in codes if (category := category_of_code(code)) is not None)
    if by_code:
        return Assigned(ranked(by_code), "codes")
    for text in (chart.title(), _problems(chart)):
        named = categories_of_text(text)
        if named:
            return Assigned(ranked(named), "lexicon")
    return Assigned((OTHER,), "none")


def _codes(chart: Chart) -> set[str]:
    """Return the distinct codes of a chart, in capitals: a problem that is copied forward counts once."""
    return {
        next(filter(None, match.groups())).upper()
        for note in chart.notes
        for part in note.parts
        if part.section not in _OF_OTHERS
        for match in _CODE.finditer(part.text)
    }


def _problems(chart: Chart) -> str:
    return "\n".join(part.text for note in chart.notes for part in note.of_sections(frozenset(_PROBLEM_SECTIONS)))
