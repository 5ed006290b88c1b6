"""The seed terms that tell which phrases are of a patient's disease (AMNESIA, appendix E, Table 7).

Owns where they come from: AMNESIA's lists of three categories (`seeds.toml`), else the terms of the sensitive
diagnoses to which the notes refer. Knows nothing of phrases or scores.
"""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from clinaudit.audit.unlearning.metrics.words import Words, words_of
from clinaudit.priors.diagnoses import Diagnosis, load_panel, refers_to

_PATH: Final = Path(__file__).with_name("seeds.toml")


@dataclass(frozen=True)
class Seeds:
    """Seed terms, each as its words."""

    by_category: Mapping[str, frozenset[Words]]
    #: The sensitive diagnoses, for patients of a category without a list.
    panel: tuple[Diagnosis, ...]
    #: Phrases that every note holds.
    generic: frozenset[Words]

    def of_patient(self, category: str, notes: Sequence[str]) -> frozenset[Words]:
        """Return the seeds of a patient: its category's, else those of the diagnoses that its notes refer to.

        Empty where there is neither: such a patient has no leakage score.
        """
        own = self.by_category.get(category)
        if own:
            return own
        referred = (diagnosis for diagnosis in self.panel if any(refers_to(note, diagnosis) for note in notes))
        return frozenset(term for diagnosis in referred for term in _terms_of(diagnosis))

    @cached_property
    def lexicon(self) -> frozenset[Words]:
        """All seed terms there are: a parser without a medical model takes them for entities."""
        listed = (term for terms in self.by_category.values() for term in terms)
        return frozenset(listed) | {term for diagnosis in self.panel for term in _terms_of(diagnosis)}


def load_seeds() -> Seeds:
    """Return AMNESIA's lists, and what stands in for them."""
    table = tomllib.loads(_PATH.read_text(encoding="utf-8"))
    return Seeds(
        by_category={category: _as_words(entry["terms"]) for category, entry in table["categories"].items()},
        panel=load_panel(),
        generic=_as_words(table["generic"]),
    )


def _terms_of(diagnosis: Diagnosis) -> frozenset[Words]:
    return _as_words((*diagnosis.names, *diagnosis.medications, *diagnosis.symptoms))


def _as_words(terms: Iterable[str]) -> frozenset[Words]:
    return frozenset(words for term in terms if (words := words_of(term)))
