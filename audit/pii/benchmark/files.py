"""The files of a benchmark: samples, each system's answers, and what they were made with; a run that goes on.

Owns their shape and what makes a finished part count: equal settings. Knows no system. The state and the caches lie
under `evidence/` (docs/pii.md).
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from clinaudit.audit.pii.benchmark.sample import Prediction, Sample
from clinaudit.audit.pii.benchmark.systems.answers import SampleAnswers
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.durable_files import replacing_by_library, write_atomically
from clinaudit.errors import IntegrityError, UsageError
from clinaudit.reports.schema.pii_bench import BENCH_TASKS, BenchTask

SAMPLES_FILE: Final = "samples.jsonl"
PREDICTIONS_FILE: Final = "predictions.parquet"
BENCH_FILE: Final = "bench.json"
PAGE_FILE: Final = "bench.html"
#: Of `predictions.parquet`: one row a system, sample and task. `parsed` is JSON, null with the flag `unparsed`.
COLUMNS: Final = ("sample", "task", "system", "strategy", "raw", "parsed", "flag", "reason")
#: In the work folder: what the samples depend on.
SETTINGS_FILE: Final = "settings.json"
#: What is noted of a finished system.
_NOTED: Final = frozenset({"settings", "seconds", "train_seconds"})
#: Of a prediction, the answer to each task.
_FIELDS: Final[Mapping[BenchTask, str]] = {
    "detection": "subjects",
    "query_related": "query_related",
    "masking": "masked",
}
Settings = Mapping[str, Any]


class BenchFiles:
    """The files of one benchmark, in a directory that is locked by the caller."""

    def __init__(self, run: RunDirectory) -> None:
        self._run = run
        self._answers = run.work / "answers"

    def write_samples(self, samples: Iterable[Sample]) -> None:
        """Write `samples.jsonl`, a sample a line."""
        lines = (sample.model_dump_json() + "\n" for sample in samples)
        write_atomically(self._run.root / SAMPLES_FILE, "".join(lines))

    def find(
        self, system: str, settings: Settings, samples: Sequence[Sample]
    ) -> tuple[list[Prediction], dict[str, Any]] | None:
        """Return a finished system's answers and what was noted of it; None where it was not finished.

        Raises `UsageError` where it was run with other settings, and `IntegrityError` where what was kept is not what
        `keep` writes of these samples.
        """
        path = self._answers / f"{system}.json"
        if not path.is_file():
            return None
        try:
            noted = json.loads(path.read_text(encoding="utf-8"))
            is_changed = noted["settings"] != dict(settings)
            predictions = list(_predictions(_read_rows(self._answers / f"{system}.parquet")))
            if [one.sample for one in predictions] != [sample.id for sample in samples] or not noted.keys() >= _NOTED:
                raise ValueError("of other samples")
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            raise IntegrityError(
                f"the kept answers of {system} are damaged; remove {path.parent.name}/{system}.* under evidence/work, "
                "and run the same command again"
            ) from None
        if is_changed:
            raise UsageError(f"{system} was run here with other settings; give the same ones, or another --out")
        return predictions, noted

    def keep(self, system: str, answers: Sequence[SampleAnswers], *, strategy: str | None, noted: Settings) -> None:
        """Keep a finished system's answers; `noted` holds its `settings`."""
        self._answers.mkdir(mode=0o700, exist_ok=True)
        rows = [row for answer in answers for row in _rows(system, strategy, answer)]
        _write_rows(self._answers / f"{system}.parquet", rows)
        # Last: it says that the answers are there.
        write_atomically(self._answers / f"{system}.json", json.dumps(noted, indent=1, sort_keys=True) + "\n")

    def write_predictions(self, systems: Iterable[str]) -> None:
        """Write `predictions.parquet`: the kept answers of the systems, one after the other."""
        rows = [row for system in systems for row in _read_rows(self._answers / f"{system}.parquet")]
        _write_rows(self._run.root / PREDICTIONS_FILE, rows)


def _rows(system: str, strategy: str | None, answers: SampleAnswers) -> Iterable[dict[str, str | None]]:
    found = answers.prediction.model_dump(mode="json")
    for task in BENCH_TASKS:
        parsed = found[_FIELDS[task]]
        yield {
            "sample": found["sample"],
            "task": task,
            "system": system,
            "strategy": strategy,
            "raw": answers.raw.get(task),
            "parsed": None if parsed is None else json.dumps(parsed),
            "flag": "unparsed" if parsed is None else "answered",
            "reason": answers.reasons.get(task),
        }


def _predictions(rows: Sequence[Mapping[str, Any]]) -> Iterable[Prediction]:
    by_sample: dict[str, dict[str, Any]] = {}
    for row in rows:
        found = by_sample.setdefault(row["sample"], {"sample": row["sample"], "system": row["system"]})
        found[_FIELDS[row["task"]]] = None if row["parsed"] is None else json.loads(row["parsed"])
    for found in by_sample.values():
        if not found.keys() >= set(_FIELDS.values()):
            raise ValueError("a task without a row")
        yield Prediction.model_validate(found)


def _read_rows(path: Path) -> list[dict[str, Any]]:
    import polars as pl

    try:
        return pl.read_parquet(path).to_dicts()
    except pl.exceptions.PolarsError as error:
        # polars quotes what it could not read.
        raise ValueError("not a table") from error


def _write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    import polars as pl

    table = pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String), orient="row")
    with replacing_by_library(path) as temporary:
        table.write_parquet(temporary, statistics=False)
