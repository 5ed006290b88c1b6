"""What an audit or an analysis takes of memory and disk; by laws that were measured (docs/performance.md)."""

import shutil
from typing import Final

from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.model.engines.memory import free_main_memory
from clinaudit.audit.runtime.run.processes import usable_cores
from clinaudit.audit.runtime.settings import ReadingOptions
from clinaudit.errors import StorageError
from clinaudit.priors.corpus.corpus import Corpus

#: Memory in bytes: of the libraries and what is compared at a time, of each process, of a generation and
#: of a note.
_LIBRARIES: Final = 500e6
_A_PROCESS: Final = 200e6
_A_GENERATION: Final = 22e3
_A_NOTE: Final = 1.3e3
#: Disk in bytes: of a generation, in the evidence; and of a byte of notes, masked.
_DISK_A_GENERATION: Final = 40e3
_DISK_A_BYTE: Final = 1.0


def foretell(generations: int, corpus: Corpus, settings: ReadingOptions, progress: Progress, *, narrower: str) -> None:
    """Say what is needed; raises `StorageError` where memory or disk has less: `narrower` says what would take less."""
    # With a cluster this machine has one process.
    cores = 1 if settings.ray_address else settings.processes or usable_cores()
    notes = sum(corpus.packed(split).size for split in ("train", "nontrain"))
    memory = _LIBRARIES + _A_PROCESS * cores + _A_GENERATION * generations + _A_NOTE * corpus.note_count
    disk = _DISK_A_GENERATION * generations + _DISK_A_BYTE * notes
    rooms = [("memory", memory, free_main_memory().size)]
    if corpus.scratch is not None:
        rooms.append(("disk", disk, shutil.disk_usage(corpus.scratch).free))
    progress.say("; ".join(f"{what}: about {_size(need)} needed, {_size(left)} free" for what, need, left in rooms))
    for what, needed, left in rooms:
        if needed > left:
            raise StorageError(
                f"this needs about {_size(needed)} of {what}, and {_size(left)} are free; free some, use another "
                f"machine or --out, or fewer {narrower}"
            )


def _size(count: float) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e8 else f"{count / 1e6:.1f} MB"
