"""What is finished of the benchmark of unlearning: figures that `unlearn evaluate` wrote, and how rates were chosen."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
from unlearning_steps import METHODS, SECONDS_FILE, SPLITS_FILE, Folder, Grid

from clinaudit.audit.unlearning.evaluation.result_files import FIGURES_FILE
from clinaudit.reports.schema.unlearning import FIGURES

Json = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Results:
    """What is finished."""

    figures: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=FIGURES))
    #: Of models with and without one split's patients, of several seeds; None where they were not trained.
    faithfulness: pl.DataFrame | None = None
    #: Method -> both records of the model of the split on which its rate was chosen.
    chosen: Mapping[str, Json] = field(default_factory=dict)
    #: Split -> how many it forgets.
    forgotten: Mapping[str, int] = field(default_factory=dict)
    #: Of each run of a step: its name, and the processor's seconds that it took.
    seconds: Sequence[tuple[str, float]] = ()


def read_results(folder: Folder, grid: Grid) -> Results:
    """Read what there is."""
    chosen: dict[str, Json] = {}
    for method in METHODS:
        model = folder.forgot(method, grid.chosen_on)
        paths = (model / "unlearn.json", model / "evidence" / "unlearn.json")
        if paths[0].is_file():
            chosen[method] = {key: of for path in paths for key, of in json.loads(path.read_text("utf-8")).items()}
    splits = folder.root / SPLITS_FILE
    forgotten = json.loads(splits.read_text(encoding="utf-8")) if splits.is_file() else {}
    log = folder.root / SECONDS_FILE
    rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.is_file() else []
    found = [figures for result in folder.results.values() if (figures := _read(result)) is not None]
    return Results(
        figures=pl.concat([pl.DataFrame(schema=FIGURES), *found]),
        faithfulness=_read(folder.faithfulness),
        chosen=chosen,
        forgotten={name: len(patients) for name, patients in forgotten.items()},
        seconds=[(row["step"], row.get("processor_seconds", 0.0)) for row in rows],
    )


def _read(result: Path) -> pl.DataFrame | None:
    path = result / FIGURES_FILE
    return pl.read_csv(path, schema=FIGURES) if path.is_file() else None
