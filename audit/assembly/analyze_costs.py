"""What an analysis of generations takes: its stages beside each other, memory, and disk.

By the laws of docs/performance.md, which were measured. Knows nothing of how the work is done.
"""

import shutil
from collections.abc import Mapping
from typing import Final

from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.model.engines.memory import free_main_memory
from clinaudit.audit.runtime.run.processes import usable_cores
from clinaudit.audit.runtime.settings import ReadingOptions
from clinaudit.errors import StorageError
from clinaudit.priors.corpus.corpus import Corpus

#: Processor time of each stage: milliseconds a generation, and a thousand bytes of notes; whether all cores share it.
_STAGES: Final[Mapping[str, tuple[float, float, bool]]] = {
    "matching notes": (5.5, 0.0, True),
    "comparing with all patients": (1.9, 0.1, True),
    "attributing other patients' text": (1.0, 0.0, True),
    "counting patients": (0.1, 0.1, True),
    "masking notes": (0.0, 0.3, True),
    "counting patients in masked notes": (0.1, 0.1, True),
    "memorization figures": (0.6, 0.0, False),
    "reading the site's names": (0.0, 0.4, True),
    "looking for identifiers": (2.1, 0.0, True),
    "looking for identifiers' owners": (0.0, 0.3, True),
    "telling whose they are": (0.7, 0.0, False),
    "measuring the detector": (0.0, 0.0, False),
    "identifier figures": (0.1, 0.0, False),
}
#: Memory in bytes: of the libraries and what is compared at a time, of each process, of a generation (until caches are
#: full, and then) and of a note.
_LIBRARIES: Final = 500e6
_A_PROCESS: Final = 200e6
_A_GENERATION, _FILL_CACHES, _A_LATER_GENERATION = 5e3, 85_000, 1.7e3
_A_NOTE: Final = 1.3e3
#: Disk in bytes: of a generation, in nameless files and in the evidence; and of a byte of notes, masked.
_DISK_A_GENERATION: Final = 40e3
_DISK_A_BYTE: Final = 1.0


def foretell(generations: int, corpus: Corpus, settings: ReadingOptions, progress: Progress) -> None:
    """Say what is needed, and let `progress` know the stages; raises `StorageError` where memory or disk has less."""
    # With a cluster this machine has one process.
    cores = 1 if settings.ray_address else settings.processes or usable_cores()
    notes = sum(corpus.packed(split).size for split in ("train", "nontrain"))
    progress.expect(
        {
            title: (each * generations + a_kilobyte * notes / 1e3) / (cores if is_shared else 1)
            for title, (each, a_kilobyte, is_shared) in _STAGES.items()
        }
    )
    later = max(0, generations - _FILL_CACHES)
    found = _A_GENERATION * (generations - later) + _A_LATER_GENERATION * later
    memory = _LIBRARIES + _A_PROCESS * cores + found + _A_NOTE * corpus.note_count
    disk = _DISK_A_GENERATION * generations + _DISK_A_BYTE * notes
    free = free_main_memory()
    rooms = [("memory", memory, None if free is None else free.size)]
    if corpus.scratch is not None:
        rooms.append(("disk", disk, shutil.disk_usage(corpus.scratch).free))
    progress.say("; ".join(f"{what}: about {_size(needed)} needed{_beside(left)}" for what, needed, left in rooms))
    for what, needed, left in rooms:
        if left is not None and needed > left:
            raise StorageError(
                f"this analysis needs about {_size(needed)} of {what}, and {_size(left)} are free; free some, use "
                "another machine or --out, fewer --processes, or analyse the generations in parts"
            )


def _beside(left: int | None) -> str:
    return "" if left is None else f", {_size(left)} free"


def _size(count: float) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e8 else f"{count / 1e6:.1f} MB"
