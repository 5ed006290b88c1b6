"""What an audit or an analysis takes: time, memory, disk; by laws that were measured (docs/performance.md)."""

import shutil
from collections.abc import Collection, Sequence
from typing import Final

import polars as pl

from clinaudit.audit.runtime.console import Expected, Progress
from clinaudit.audit.runtime.model.engines.memory import free_main_memory
from clinaudit.audit.runtime.run.processes import usable_cores
from clinaudit.audit.runtime.settings import ReadingOptions
from clinaudit.errors import StorageError
from clinaudit.priors.corpus.corpus import Corpus

#: Seconds of a model: of an answer, the likeliest or drawn, and of a text that is scored.
_AN_ANSWER: Final = 0.086
_A_TEXT: Final = 0.030
#: The stage in which a model scores notes, by model.
_SCORING: Final = {"audited": "scoring notes", "control": "scoring notes by the control model"}
#: Generations whose windows are sought in one scan, and those whose texts one search counts, in thousands.
_A_SCAN: Final = 4
_A_SEARCH: Final = 8
#: Memory in bytes: of the libraries and what is compared at a time, of each process, of a generation and
#: of a note.
_LIBRARIES: Final = 500e6
_A_PROCESS: Final = 200e6
_A_GENERATION: Final = 22e3
_A_NOTE: Final = 1.3e3
#: Disk in bytes: of a generation, in the evidence; and of a byte of notes, masked.
_DISK_A_GENERATION: Final = 40e3
_DISK_A_BYTE: Final = 1.0
#: Stages of models, each with how many answers or scored texts it is to end with.
Asked = Sequence[tuple[str, int]]


def count_asked(
    prompts: pl.DataFrame, texts: pl.DataFrame, finished: Collection[str], *, has_control: bool
) -> list[tuple[str, int]]:
    """Return the stages of the models in their order: of `prompts` (`priors`) and `texts` (`plan_texts`).

    A model that has all its answers already (`finished`: their ids) has no stage: that of the same title, which the
    other model has, must not be taken for it.
    """
    kinds = (
        prompts.filter(~pl.col("excluded"))
        .unique("generation_id")
        .group_by("model", is_drawn=pl.col("draw") > 0)
        .agg(pl.len(), is_done=pl.col("generation_id").is_in(list(finished)).all())
    )
    answers = {(model, is_drawn): count for model, is_drawn, count, is_done in kinds.iter_rows() if not is_done}
    # A note without a token to score has no window.
    to_score = texts["window"].count()
    stages = []
    for model, scoring in list(_SCORING.items())[: 2 if has_control else 1]:
        stages += [("generating", answers.get((model, False), 0)), ("drawing answers", answers.get((model, True), 0))]
        stages += [(scoring, to_score)]
    return stages


def expected_stages(generations: int, note_bytes: int, cores: int, *, asked: Asked = ()) -> list[Expected]:
    """Return the stages of an analysis, in order; with what its models are `asked`, those of an audit."""
    k, mb = generations / 1e3, note_bytes / 1e6
    scored = dict(asked).get(_SCORING["audited"], 0) / 1e3
    judged = k if asked else 0.0
    counting = 0.1 + 0.03 * k + 0.012 * mb * (1 + k / _A_SEARCH)
    masking = ("masking notes", 0.15 * mb, cores)
    stages = [
        # Openings, about one for each text, whose first windows and then all are looked up.
        ("reading what follows openings", 6 * scored, 1),
        ("counting patients", 0.3 * scored, cores),
        # Once, by whoever counts first.
        *([masking] if scored else []),
        ("counting patients in masked notes", 0.3 * scored, cores),
        ("counting patients", 6 * scored, cores),
        ("counting patients in masked notes", 6 * scored, cores),
        ("telling patients apart without the model", 1.0 if scored else 0.0, 1),
        ("scoring the judge", 0.5 if judged else 0.0, 1),
        ("judging", 4 * judged, cores),
        ("counting tokens", 0.5 * mb if judged else 0.0, 1),
        ("reading facts", 0.0 if asked else 0.3 * mb, cores),
        ("matching notes", 0.5 + 3.4 * k, cores),
        ("comparing with all patients", 0.3 + 0.2 * k + 0.07 * mb * (1 + k / _A_SCAN), cores),
        ("attributing other patients' text", 0.1 + 0.7 * k, cores),
        ("counting patients", counting, cores),
        *([] if scored else [masking]),
        ("counting patients in masked notes", counting, cores),
        ("reading the site's names", 0.3 * mb, cores),
        ("looking for identifiers", 0.3 + 2.1 * k, cores),
        ("looking for identifiers' owners", 0.13 * mb, cores),
        ("telling whose they are", 0.2 * k, 1),
        ("measuring the detector", 0.4, 1),
        ("report", 0.9 + 0.6 * k + 2.5 * judged, 1),
    ]
    by_model = [
        Expected(title, count * (_A_TEXT if title in _SCORING.values() else _AN_ANSWER), by_model=True)
        for title, count in asked
    ]
    others = [Expected(title, seconds / workers) for title, seconds, workers in stages]
    return [stage for stage in (*by_model, *others) if stage.seconds]


def foretell(
    generations: int, corpus: Corpus, settings: ReadingOptions, progress: Progress, *, asked: Asked = ()
) -> None:
    """Say what is needed, and let `progress` know the stages; raises `StorageError` where memory or disk has less."""
    # With a cluster this machine has one process.
    cores = 1 if settings.ray_address else settings.processes or usable_cores()
    notes = sum(corpus.packed(split).size for split in ("train", "nontrain"))
    progress.expect(expected_stages(generations, notes, cores, asked=asked))
    memory = _LIBRARIES + _A_PROCESS * cores + _A_GENERATION * generations + _A_NOTE * corpus.note_count
    disk = _DISK_A_GENERATION * generations + _DISK_A_BYTE * notes
    rooms = [("memory", memory, free_main_memory().size)]
    if corpus.scratch is not None:
        rooms.append(("disk", disk, shutil.disk_usage(corpus.scratch).free))
    progress.say("; ".join(f"{what}: about {_size(need)} needed, {_size(left)} free" for what, need, left in rooms))
    narrower = "--processes, --tier or --patients-per-cell" if asked else "--processes or generations at a time"
    for what, needed, left in rooms:
        if needed > left:
            raise StorageError(
                f"this needs about {_size(needed)} of {what}, and {_size(left)} are free; free some, use another "
                f"machine or --out, or fewer {narrower}"
            )


def _size(count: float) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e8 else f"{count / 1e6:.1f} MB"
