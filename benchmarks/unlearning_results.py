"""What is finished of the benchmark of unlearning: its documents, as `unlearn evaluate` wrote them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unlearning_steps import METHODS, SECONDS_FILE, SPLITS_FILE, Folder, Grid, slug

Json = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Results:
    """What is finished."""

    #: Split -> its document.
    scores: Mapping[str, Json] = field(default_factory=dict)
    robustness: Mapping[str, Json] = field(default_factory=dict)
    #: Of models with and without one split's patients, of several seeds; None where they were not trained.
    faithfulness: Json | None = None
    #: Method -> both records of the model of the split on which its rate was chosen.
    chosen: Mapping[str, Json] = field(default_factory=dict)
    #: Split -> how many it forgets.
    forgotten: Mapping[str, int] = field(default_factory=dict)
    #: Of each run of a step: its name, and the processor's seconds that it took.
    seconds: Sequence[tuple[str, float]] = ()


def read_results(folder: Folder, grid: Grid) -> Results:
    """Read what there is."""
    scores: dict[str, Json] = {}
    robustness: dict[str, Json] = {}
    chosen: dict[str, Json] = {}
    for split in grid.splits(grid.percents):
        for result in folder.results.values():
            for kind, found in (("scores", scores), ("robustness", robustness)):
                document = _read(result / "evidence" / f"{kind}-{slug(split)}.json")
                if document is not None:
                    found[split] = document
    own = f"evidence/scores-{slug(grid.chosen_on)}.json"
    for method in METHODS:
        model = folder.forgot(method, grid.chosen_on)
        paths = (model / "unlearn.json", model / "evidence" / "unlearn.json")
        if paths[0].is_file():
            chosen[method] = {key: of for path in paths for key, of in json.loads(path.read_text("utf-8")).items()}
    splits = folder.root / SPLITS_FILE
    forgotten = json.loads(splits.read_text(encoding="utf-8")) if splits.is_file() else {}
    log = folder.root / SECONDS_FILE
    rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.is_file() else []
    return Results(
        scores=scores,
        robustness=robustness,
        faithfulness=_read(folder.faithfulness / own),
        chosen=chosen,
        forgotten={name: len(patients) for name, patients in forgotten.items()},
        seconds=[(row["step"], row.get("processor_seconds", 0.0)) for row in rows],
    )


def _read(path: Path) -> Json | None:
    """Return a document; None where it is not there."""
    if not path.is_file():
        return None
    document: Json = json.loads(path.read_text(encoding="utf-8"))
    return document
