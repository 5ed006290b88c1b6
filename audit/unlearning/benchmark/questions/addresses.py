"""The encounter facts that open a question in its addressed form: what an adversary types (docs/methods.md, section 1).

Owns the sentence, and whom it names. The facts are those of the fourth tier, read from tables and the latest note as
for an audit's prompts. Knows nothing of the question that follows.
"""

import re
from collections.abc import Callable
from typing import Final

from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.facts import FactReader
from clinaudit.priors.tiers import Fact
from clinaudit.templates.profile import NoteProfile

_LABELS: Final = {
    Fact.NAME: "Patient",
    Fact.DOB: "Date of birth",
    Fact.VISIT_DATE: "Visit date",
    Fact.PROVIDER: "Provider",
    Fact.PRACTICE: "Location",
}
#: A name may hold a period ("Ada B. Lund"): it ends at the next label.
_NAMED: Final = re.compile(
    rf"{_LABELS[Fact.NAME]}: (?P<name>.+?)\.(?= (?:{'|'.join(map(re.escape, list(_LABELS.values())[1:]))}): |\Z)",
    re.DOTALL,
)


def name_in(address: str) -> str | None:
    """Return the patient's name as an address opens with it; None where it names nobody."""
    found = _NAMED.match(address)
    return None if found is None else found["name"]


def address_reader(corpus: Corpus, profile: NoteProfile) -> Callable[[str], str]:
    """Return what gives a patient's address by id; empty where neither tables nor notes hold any of the facts."""
    reader = FactReader(profile)

    def address_of(patient_id: str) -> str:
        values = reader.read(corpus, patient_id).values
        return " ".join(f"{label}: {values[fact]}." for fact, label in _LABELS.items() if values.get(fact))

    return address_of
