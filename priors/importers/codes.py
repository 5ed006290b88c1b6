"""From diagnosis codes to labels: ICD-10 by prefix, SNOMED CT by concept (docs/importing.md, "Diagnoses").

Owns which codes mean a diagnosis of the panel, and when no code means that a patient does not have it. Knows nothing of
where codes come from.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from clinaudit.priors.diagnoses import Diagnosis
from clinaudit.priors.importers.kinds import System
from clinaudit.priors.importers.ledger import RecordError

_ICD10 = re.compile(r"[A-Z][0-9][0-9A-Z][0-9A-Z]{0,4}")
_SNOMED = re.compile(r"[1-9][0-9]{5,17}")
#: Categories of the WHO's ICD-10 that ICD-10-CM does not have, so that no note is searched for them (there, "B24" is
#: rather a room): B20 to B24 are HIV disease.
_WHO_ONLY = {"hiv": ("B21", "B22", "B23", "B24")}


class CodeBook:
    """Which codes mean which diagnoses of a panel."""

    def __init__(self, panel: Sequence[Diagnosis]) -> None:
        self.diagnoses = tuple(diagnosis.id for diagnosis in panel)
        self._prefixes = {one.id: tuple(map(_bare, (*one.icd10, *_WHO_ONLY.get(one.id, ())))) for one in panel}
        # A code below one of the diagnosis that means something else: F32.81 under F32.
        self._excluded = {
            one.id: tuple(_bare(term) for term in one.not_meant if _ICD10.fullmatch(_bare(term))) for one in panel
        }
        self._concepts = {one.id: frozenset(one.snomed) for one in panel}

    def meaning(self, system: System, code: str) -> frozenset[str]:
        """Return the diagnoses that a code means, with or without its dot; raises `RecordError` where it is no code."""
        if system == "snomed":
            concept = code.strip()
            if not _SNOMED.fullmatch(concept):
                raise RecordError("a code is no SNOMED CT id")
            return frozenset(name for name, concepts in self._concepts.items() if concept in concepts)
        bare = _bare(code)
        if not _ICD10.fullmatch(bare):
            raise RecordError("a code is no ICD-10 code")
        return frozenset(
            name
            for name, prefixes in self._prefixes.items()
            if bare.startswith(prefixes) and not bare.startswith(self._excluded[name] or ("-",))
        )


class Labels:
    """The labels of patients, from their coded conditions.

    A patient has a diagnosis where any condition means it. One without is unknown, unless every condition of the
    patient is coded in a system that the site calls complete: then the patient does not have it.
    """

    def __init__(self, book: CodeBook, complete: Collection[System]) -> None:
        self.book = book
        self.complete = frozenset(complete)
        self._present: dict[str, frozenset[str]] = {}
        self._unreadable: set[str] = set()

    def add(self, patient_id: str, diagnoses: frozenset[str], systems: Collection[str]) -> None:
        """Add one condition: what its codes mean, and the systems that it is coded in."""
        if diagnoses:
            self._present[patient_id] = self._present.get(patient_id, frozenset()) | diagnoses
        if self.complete.isdisjoint(systems):
            self._unreadable.add(patient_id)

    def rows(self, patients: Iterable[str]) -> Iterator[tuple[str, str, bool]]:
        """Yield (patient, diagnosis, present) for each label that is known."""
        for patient_id in sorted(patients):
            present = self._present.get(patient_id, frozenset())
            for diagnosis in self.book.diagnoses:
                if diagnosis in present:
                    yield patient_id, diagnosis, True
                elif self.complete and patient_id not in self._unreadable:
                    yield patient_id, diagnosis, False

    def unreadable(self, patients: Collection[str]) -> int:
        """Return how many of the patients have a condition in a system that is not complete."""
        return len(self._unreadable.intersection(patients))


def _bare(code: str) -> str:
    return code.strip().upper().replace(".", "")
