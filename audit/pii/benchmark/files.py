"""The files of a benchmark: samples, each system's answers, and what they were made with; a run that goes on.

Owns their shape and what makes a finished part count: equal settings. Knows no system. The state and the caches lie
under `evidence/` (docs/pii.md).
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from clinaudit.audit.pii.benchmark.sample import Sample
from clinaudit.audit.pii.benchmark.systems.answers import SampleAnswers
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.durable_files import make_private_directory, replacing_by_library, write_atomically
from clinaudit.errors import IntegrityError, UsageError
from clinaudit.reports.schema.pii_bench import BENCH_TASKS, BenchSystem, BenchTask
from clinaudit.reports.schema.record import Record

SAMPLES_FILE: Final = "samples.jsonl"
PREDICTIONS_FILE: Final = "predictions.parquet"
BENCH_FILE: Final = "bench.json"
PAGE_FILE: Final = "bench.html"
#: Of `predictions.parquet`: one row a system, sample and task. `parsed` is JSON, null with the flag `unparsed`.
COLUMNS: Final = ("sample", "task", "system", "strategy", "raw", "parsed", "flag", "reason")
#: In the work folder: what the samples depend on.
SETTINGS_FILE: Final = "settings.json"
#: Of a prediction, the answer to each task.
_FIELDS: Final[Mapping[BenchTask, str]] = {
    "detection": "subjects",
    "query_related": "query_related",
    "masking": "masked",
}


class FinishedSystem(Record):
    """A system with what it was run with and how long it took, and its answers, in the order of the samples."""

    shown: BenchSystem
    answers: list[SampleAnswers]


class BenchFiles:
    """The files of one benchmark, in a directory that is locked by the caller."""

    def __init__(self, run: RunDirectory) -> None:
        self._root = run.root
        self._answers = run.work / "answers"

    def write_samples(self, samples: Iterable[Sample]) -> None:
        """Write `samples.jsonl`, a sample a line."""
        lines = (sample.model_dump_json() + "\n" for sample in samples)
        write_atomically(self._root / SAMPLES_FILE, "".join(lines))

    def find(self, system: BenchSystem, samples: Sequence[Sample]) -> FinishedSystem | None:
        """Return a finished system; None where it was not finished.

        Raises `UsageError` where it was run with other settings, and `IntegrityError` where what was kept is not what
        `keep` writes of these samples.
        """
        path = self._place_of(system)
        if not path.is_file():
            return None
        try:
            kept = FinishedSystem.model_validate_json(path.read_bytes())
        except ValidationError:
            kept = None
        if kept is None or [one.prediction.sample for one in kept.answers] != [sample.id for sample in samples]:
            raise IntegrityError(
                f"the kept answers of {system.id} are damaged; remove {path.parent.name}/{path.name} under "
                "evidence/work, and run the same command again"
            )
        if kept.shown.settings != system.settings:
            raise UsageError(f"{system.id} was run here with other settings; give the same ones, or another --out")
        return kept

    def keep(self, finished: FinishedSystem) -> None:
        """Keep a finished system."""
        make_private_directory(self._answers)
        write_atomically(self._place_of(finished.shown), finished.model_dump_json())

    def write_predictions(self, finished: Iterable[FinishedSystem]) -> None:
        """Write `predictions.parquet`: the answers of the systems, one after the other."""
        import polars as pl

        rows = [row for one in finished for answers in one.answers for row in _rows(one.shown, answers)]
        table = pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String), orient="row")
        with replacing_by_library(self._root / PREDICTIONS_FILE) as temporary:
            table.write_parquet(temporary, statistics=False)

    def _place_of(self, system: BenchSystem) -> Path:
        return self._answers / f"{system.id}.json"


def _rows(system: BenchSystem, answers: SampleAnswers) -> Iterator[dict[str, Any]]:
    found = answers.prediction.model_dump(mode="json")
    for task in BENCH_TASKS:
        parsed = found[_FIELDS[task]]
        yield {
            "sample": found["sample"],
            "task": task,
            "system": system.id,
            "strategy": system.strategy,
            "raw": answers.raw.get(task),
            "parsed": None if parsed is None else json.dumps(parsed),
            "flag": "unparsed" if parsed is None else "answered",
            "reason": answers.reasons.get(task),
        }
