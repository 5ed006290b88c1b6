"""The files of an evaluation (a document of scores a split, tables, page, record), and the table that is printed.

Owns their names and columns. All that is about a patient lies under `evidence/`; the page, its tables and the record
`evaluate.json` name models and splits, and no id.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Final

from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.durable_files import make_private_directory, write_atomically
from clinaudit.audit.unlearning.benchmark.files import write_table
from clinaudit.audit.unlearning.benchmark.records import QUESTION_KINDS, Answer, Scores, Split
from clinaudit.audit.unlearning.metrics.given_answers import figure_cell
from clinaudit.audit.unlearning.metrics.means import MEANS
from clinaudit.reports.exports.unlearning import FOLDER as TABLES
from clinaudit.reports.schema.unlearning_evaluation import EvaluationRecord
from clinaudit.reports.schema.unlearning_scores import (
    AnswerGroup,
    Document,
    QuestionUse,
    ScoresDocument,
)
from clinaudit.reports.terminal.layout import align_columns

RECORD_FILE: Final = "evaluate.json"
PAGE_FILE: Final = "report.html"
_ANSWERS: Final = {"model": "text", "qa_id": "text", "sample": "int", "text": "text", "token_ids": "ints"}
#: `flags`: `metric: reason` of each metric that is null.
_SCORES: Final = {
    "model": "text",
    "qa_id": "text",
    "sample": "int",
    **dict.fromkeys(MEANS, "float"),
    "flags": "texts",
}


def scores_file(split: Split) -> str:
    """Return the name of a split's document of scores, such as `scores-random-10.json`."""
    return f"scores-{split.name.replace(':', '-')}.json"


def robustness_file(split: Split) -> str:
    """Return the name of a split's document of how robust its models' forgetting is."""
    return f"robustness-{split.name.replace(':', '-')}.json"


def write_result(
    run: RunDirectory,
    documents: Mapping[str, Document],
    *,
    answers: Sequence[Answer],
    scores: Sequence[Scores],
    record: EvaluationRecord,
    shown: Mapping[str, str] | None = None,
) -> None:
    """Write all files of an evaluation, `evaluate.json` last: without it there is no result.

    `documents` are those of the splits by their files' names under `evidence/`; `shown` are the page and its tables by
    their names under the root. The caller holds the lock.
    """
    for earlier in [run.root / RECORD_FILE, run.root / PAGE_FILE, *run.root.glob(f"{TABLES}/*.csv")]:
        earlier.unlink(missing_ok=True)
    for earlier in [*run.evidence.glob("scores-*.json"), *run.evidence.glob("robustness-*.json")]:
        if earlier.name not in documents:
            earlier.unlink()
    for name, document in documents.items():
        write_atomically(run.evidence / name, document.text())
    write_table(run.evidence / "answers.parquet", _ANSWERS, [asdict(answer) for answer in answers])
    rows = [{**asdict(one), "flags": [f"{key}: {why}" for key, why in one.reasons.items()]} for one in scores]
    write_table(run.evidence / "scores.parquet", _SCORES, rows)
    for name, text in (shown or {}).items():
        make_private_directory((run.root / name).parent)
        write_atomically(run.root / name, text)
    write_atomically(run.root / RECORD_FILE, record.text())


#: Heading -> metric, group and use.
_COLUMNS: Final[Mapping[str, tuple[str, AnswerGroup, QuestionUse]]] = {
    "AFE": ("afe", "forget", "train"),
    "withheld": ("afe", "forget", "holdout"),
    "LS": ("ls", "forget", "train"),
    "ref": ("ls_reference", "forget", "train"),
    "DS": ("ds", "forget", "train"),
    "MU": ("mu", "retain", "train"),
    "MU same": ("mu", "same", "train"),
    "MU others": ("mu", "others", "train"),
}


def evaluation_text(documents: Mapping[str, ScoresDocument]) -> str:
    """Return the tables of the documents by their splits' names, in at most 100 columns."""
    lines: list[str] = []
    for split, document in documents.items():
        rows = [("model", "questions", *_COLUMNS), *_rows(document)]
        lines += [f"{split}, {document.question_count:,} questions", align_columns(rows), ""]
    lines.append("AFE, LS and DS are of forgotten patients, MU of retained ones: same, who share a disease with them")
    return "\n".join(lines)


def _rows(document: ScoresDocument) -> Iterator[tuple[str, ...]]:
    for name, scores in document.models.items():
        for place, kind in enumerate(QUESTION_KINDS):
            found = [scores.side(group).find(metric, group, kind, use) for metric, group, use in _COLUMNS.values()]
            if any(figure is not None and figure.value is not None for figure in found):
                yield "" if place else name, kind, *map(figure_cell, found)
