"""The terms that make a clause of a note clinical: every term of a diagnosis of the panel, and every drug.

Owns the list of drugs (`drug_names.txt`, `drug_brands.txt`: words, several a line, a number sign begins a comment), and
where the terms stand in a text. Knows nothing of clauses.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from clinaudit.priors.diagnoses import Diagnosis, TermKind, find_terms
from clinaudit.templates.boilerplate import TermFinder
from clinaudit.templates.spans import Span

_LISTS = ("drug_names.txt", "drug_brands.txt")
_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")


@cache
def drug_words() -> frozenset[str]:
    """Return the words of drugs' names, in lower case."""
    texts = (Path(__file__).with_name(name).read_text(encoding="utf-8").lower() for name in _LISTS)
    return frozenset(word for text in texts for line in text.splitlines() for word in line.partition("#")[0].split())


def clinical_terms(panel: Sequence[Diagnosis]) -> TermFinder:
    """Return what finds the panel's names, ICD-10 codes, medications and symptoms, and the list's drugs, in a text."""

    def find(text: str) -> Iterator[Span]:
        for diagnosis in panel:
            for match in find_terms(text, diagnosis, tuple(TermKind)):
                yield match.span
        drugs = drug_words()
        for word in _WORD.finditer(text):
            written = word[0].lower()
            if written in drugs or ("-" in written and not drugs.isdisjoint(written.split("-"))):
                yield Span(*word.span())

    return find
