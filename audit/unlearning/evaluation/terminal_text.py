"""What `clinaudit unlearn evaluate` prints: a short table a split. Computes nothing."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from clinaudit.audit.unlearning.benchmark.records import QUESTION_KINDS
from clinaudit.reports.terminal.layout import align_columns

#: Heading -> metric, role and use; MU of the two sides of the retained stands apart in the document.
_COLUMNS: Final = {
    "AFE": ("afe", "forget", "train"),
    "withheld": ("afe", "forget", "holdout"),
    "LS": ("ls", "forget", "train"),
    "DS": ("ds", "forget", "train"),
    "MU": ("mu", "retain", "train"),
    "MU same": ("mu", "same", "train"),
    "MU others": ("mu", "others", "train"),
}
_NONE: Final = "-"
_WITHOUT_EM: Final = "*"


def evaluation_text(documents: Mapping[str, Any]) -> str:
    """Return the tables of the documents by their splits' names, in at most 100 columns."""
    lines: list[str] = []
    for split, document in documents.items():
        rows = [("model", "questions", *_COLUMNS), *_rows(document)]
        lines += [f"{split}, {document['question_count']:,} questions", align_columns(rows), ""]
    lines.append("AFE, LS and DS are of forgotten patients, MU of retained ones: same, who share a disease with them")
    if any(_WITHOUT_EM in line for line in lines):
        lines.append(f"{_WITHOUT_EM} without exact memorization, which needs the model's probabilities")
    return "\n".join(lines)


def _rows(document: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for name, scores in document["models"].items():
        for place, kind in enumerate(QUESTION_KINDS):
            cells = [_cell(scores, metric, group, kind, use) for metric, group, use in _COLUMNS.values()]
            if set(cells) != {_NONE}:
                yield "" if place else name, kind, *cells


def _cell(scores: Mapping[str, Any], metric: str, group: str, kind: str, use: str) -> str:
    held = scores if group in ("forget", "retain") else scores["same_category"]
    for name, sign in ((metric, ""), (f"{metric}_without_em", _WITHOUT_EM)):
        described = held.get(name, {}).get(group, {}).get(kind, {}).get(use)
        if described is not None and described["value"] is not None:
            return f"{described['value']:.3f}{sign}"
    return _NONE
