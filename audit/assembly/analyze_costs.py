"""What an audit or an analysis takes: time of its stages, memory, and disk.

By laws that were measured (docs/performance.md); of the time `Progress` takes what one stage has beside the others.
`benchmarks/time_left.py` shows how good they are. Knows nothing of how the work is done.
"""

import shutil
from typing import Final

from clinaudit.audit.runtime.console.progress import Expected, Progress
from clinaudit.audit.runtime.model.engines.memory import free_main_memory
from clinaudit.audit.runtime.run.processes import usable_cores
from clinaudit.audit.runtime.settings import ReadingOptions
from clinaudit.errors import StorageError
from clinaudit.priors.corpus.corpus import Corpus

#: Generations whose windows are sought in one scan, and those whose texts one automaton holds, in thousands.
_A_SCAN: Final = 4
_AN_AUTOMATON: Final = 10
#: Memory in bytes: of the libraries and what is compared at a time, of each process, of a generation (up to so
#: many, and then) and of a note.
_LIBRARIES: Final = 500e6
_A_PROCESS: Final = 200e6
_A_GENERATION, _FILL_CACHES, _A_LATER_GENERATION = 5e3, 85_000, 1.7e3
_A_NOTE: Final = 1.3e3
#: Disk in bytes: of a generation, in the evidence; and of a byte of notes, masked.
_DISK_A_GENERATION: Final = 40e3
_DISK_A_BYTE: Final = 1.0


def expected_stages(
    generations: int, note_bytes: int, cores: int, *, texts: int = 0, is_audit: bool = False
) -> list[Expected]:
    """Return the stages of an analysis, in order, or of an audit with so many scored texts."""
    k, mb, scored = generations / 1e3, note_bytes / 1e6, texts / 1e3
    judged = k if is_audit else 0.0
    counting = 0.1 + 0.06 * mb * (1 + k / _AN_AUTOMATON)
    model, shared, alone = 0, cores, 1
    stages = [
        ("generating", 86 * judged, model),
        ("scoring notes", 30 * scored, model),
        ("matching notes", 0.5 + 3.4 * k, shared),
        ("comparing with all patients", 0.3 + 0.2 * k + 0.07 * mb * (1 + k / _A_SCAN), shared),
        ("attributing other patients' text", 0.1 + 0.7 * k, shared),
        ("counting patients", counting, shared),
        ("masking notes", 0.15 * mb, shared),
        ("counting patients in masked notes", counting, shared),
        # Openings, about one for each text, whose first windows and then all are looked up.
        ("reading what follows openings", 6 * scored, alone),
        ("counting patients", 0.3 * scored, shared),
        ("counting patients in masked notes", 0.3 * scored, shared),
        ("counting patients", 6 * scored, shared),
        ("counting patients in masked notes", 6 * scored, shared),
        ("telling patients apart without the model", 1.0 if texts else 0.0, alone),
        ("reading the site's names", 0.3 * mb, shared),
        ("looking for identifiers", 0.3 + 2.1 * k, shared),
        ("looking for identifiers' owners", 0.13 * mb, shared),
        ("telling whose they are", 0.2 * k, alone),
        ("measuring the detector", 0.4, alone),
        ("scoring the judge", 0.5 * bool(judged), alone),
        ("judging", 4 * judged, shared),
        ("counting tokens", 0.5 * mb * bool(judged), alone),
        ("reading facts", 0.0 if is_audit else 0.3 * mb, shared),
        ("writing tables", 0.4 * k, alone),
        ("report", 0.9 + 0.2 * k + 2.5 * judged, alone),
    ]
    return [
        Expected(title, seconds / (workers or 1), by_model=not workers) for title, seconds, workers in stages if seconds
    ]


def foretell(
    generations: int,
    corpus: Corpus,
    settings: ReadingOptions,
    progress: Progress,
    *,
    texts: int = 0,
    is_audit: bool = False,
) -> None:
    """Say what is needed, and let `progress` know the stages; raises `StorageError` where memory or disk has less.

    `texts` to score are yet to be had from the model, as an audit's generations are.
    """
    # With a cluster this machine has one process.
    cores = 1 if settings.ray_address else settings.processes or usable_cores()
    notes = sum(corpus.packed(split).size for split in ("train", "nontrain"))
    progress.expect(expected_stages(generations, notes, cores, texts=texts, is_audit=is_audit))
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
