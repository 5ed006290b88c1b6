"""The files of an evaluation, and the table that is printed.

Owns their names. All that is about a patient lies under `evidence/`; the page, the tables of figures and checks, and
the record `evaluate.json` name models and splits, and no id.
"""

from collections.abc import Mapping
from itertools import product
from typing import Final

import polars as pl

from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.durable_files import write_atomically
from clinaudit.audit.unlearning.benchmark.files import write_frame
from clinaudit.reports.schema.unlearning import KINDS
from clinaudit.reports.terminal.layout import align_columns
from clinaudit.reports.wording.unlearning import NONE, Evaluation

RECORD_FILE: Final = "evaluate.json"
PAGE_FILE: Final = "report.html"
FIGURES_FILE: Final = "figures.csv"
CHECKS_FILE: Final = "collapse.csv"


def write_result(
    run: RunDirectory, evaluation: Evaluation, evidence: Mapping[str, pl.DataFrame], *, page: str | None
) -> None:
    """Write all files of an evaluation, `evaluate.json` last: without it there is no result.

    `evidence` are tables by name. The caller holds the lock.
    """
    for name in (RECORD_FILE, PAGE_FILE, FIGURES_FILE, CHECKS_FILE):
        (run.root / name).unlink(missing_ok=True)
    for name, frame in evidence.items():
        write_frame(run.evidence / f"{name}.parquet", frame)
    write_atomically(run.root / FIGURES_FILE, evaluation.figures.write_csv())
    write_atomically(run.root / CHECKS_FILE, evaluation.checks.write_csv())
    if page is not None:
        write_atomically(run.root / PAGE_FILE, page)
    write_atomically(run.root / RECORD_FILE, evaluation.record.text())


_WITHOUT_EM: Final = {"mu": "mu_without_em", "afe": "afe_without_em"}
#: Heading -> metric, group and use.
_COLUMNS: Final[Mapping[str, tuple[str, str, str]]] = {
    "AFE": ("afe", "forget", "train"),
    "withheld": ("afe", "forget", "holdout"),
    "LS": ("ls", "forget", "train"),
    "ref": ("ls_reference", "forget", "train"),
    "DS": ("ds", "forget", "train"),
    "MU": ("mu", "retain", "train"),
    "same": ("mu", "same", "train"),
    "others": ("mu", "others", "train"),
}


def evaluation_text(evaluation: Evaluation) -> str:
    """Return a table a split, in at most 100 columns; of answers made elsewhere MU and AFE are without EM."""
    has_em = not evaluation.figures.filter(pl.col("value").is_not_null(), metric="em").is_empty()
    lines: list[str] = []
    for split in evaluation.record.splits:
        rows: list[tuple[str, ...]] = [("model", "questions", *_COLUMNS)]
        for model, kind in product(evaluation.record.models, KINDS):
            found = [
                evaluation.find(
                    split.split, model.name, metric if has_em else _WITHOUT_EM.get(metric, metric), group, kind, use
                )
                for metric, group, use in _COLUMNS.values()
            ]
            cells = [NONE if one is None or one.value is None else f"{one.value:.3f}" for one in found]
            if any(cell != NONE for cell in cells):
                rows.append((model.name, kind, *cells))
        lines += [split.split, align_columns(rows), ""]
    lines.append("AFE, LS and DS are of forgotten patients, MU of retained ones: same, who share a disease with them")
    return "\n".join([*lines, *([] if has_em else ["MU and AFE without exact memorization"])])
