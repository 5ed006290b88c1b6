"""Memorized text in bins: pieces by the patients and notes that hold them, tokens by section; and who is behind each.

The sections are those of the paper's Figure 4, the copies those of its Figure 12.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from clinaudit.audit.measures.memorization.verbatim import TokenFlags
from clinaudit.reports.schema.memorization import SECTION_KINDS, CopyForwardBin, KBin, SectionKind, SectionTokens

#: Coarse, so that a bin does not reveal the size of a small group of patients.
#: The paper names those in more than 8,000 patients' notes (5.2).
_K_BINS = ((1, "1"), (10, "2-10"), (100, "11-100"), (1000, "101-1000"), (8000, "1001-8000"))
_K_REST = ">8000"
_COPY_BINS = ("1", "2", "3", "4", "5", "6-10", ">10")


@dataclass(slots=True)
class _Bin:
    """The units (pieces, tokens) of one bin, and the target patients that contribute them."""

    units: int = 0
    patients: set[str] = field(default_factory=set)

    def add(self, patient_id: str) -> None:
        self.units += 1
        self.patients.add(patient_id)


def count_by_patients(counts: Iterable[tuple[str, int]]) -> list[KBin]:
    """Return the pieces by patient specificity K; `counts` are (patient, K), one for each piece."""
    bins = {name: _Bin() for name in (*(name for _, name in _K_BINS), _K_REST)}
    for patient_id, k in counts:
        bins[next((name for top, name in _K_BINS if k <= top), _K_REST)].add(patient_id)
    return [KBin(k=name, pieces=bin_.units, patients=len(bin_.patients)) for name, bin_ in bins.items()]


def count_by_copies(counts: Iterable[tuple[str, int]]) -> list[CopyForwardBin]:
    """Return the pieces by copy-forward count; `counts` are (patient, notes that hold it), one for each piece."""
    bins = {name: _Bin() for name in _COPY_BINS}
    for patient_id, notes in counts:
        bins[str(notes) if notes <= 5 else "6-10" if notes <= 10 else ">10"].add(patient_id)
    return [CopyForwardBin(notes=name, pieces=bin_.units, patients=len(bin_.patients)) for name, bin_ in bins.items()]


def count_by_section(flags: Iterable[tuple[str, TokenFlags]]) -> list[SectionTokens]:
    """Return the composition by section, the largest first (the paper's Figure 4); `flags` are (patient, token)."""
    sections: defaultdict[str, dict[SectionKind, _Bin]] = defaultdict(lambda: {kind: _Bin() for kind in SECTION_KINDS})
    for patient_id, flag in flags:
        sections[flag.section][_kind(flag)].add(patient_id)
    largest_first = sorted(sections.items(), key=lambda item: (-sum(bin_.units for bin_ in item[1].values()), item[0]))
    return [
        SectionTokens(
            section=section,
            **{kind: bin_.units for kind, bin_ in bins.items()},
            patients={kind: len(bin_.patients) for kind, bin_ in bins.items()},
        )
        for section, bins in largest_first
    ]


def _kind(flag: TokenFlags) -> SectionKind:
    if flag.revealing:
        return "revealing_single" if flag.single_patient else "revealing_shared"
    return "templated_single" if flag.single_patient else "templated_shared"
