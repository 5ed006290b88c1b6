"""The files of an evaluation: a document of scores a split, the tables of answers and scores, the page, the record.

Owns their names and columns. All that tells of a patient lies under `evidence/`; the page, its tables and the record
`evaluate.json` name models and splits, and no id. Computes nothing.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Final

from clinaudit.audit.run.directory import RunDirectory
from clinaudit.audit.run.durable_files import make_private_directory, write_atomically
from clinaudit.audit.unlearning.benchmark.files import write_table
from clinaudit.audit.unlearning.benchmark.records import Answer, Scores, Split
from clinaudit.audit.unlearning.metrics.score_document import Json
from clinaudit.reports.exports.unlearning import FOLDER as TABLES

RECORD_FILE: Final = "evaluate.json"
PAGE_FILE: Final = "report.html"
#: Of `evaluate.json`; another number is another shape.
FORMAT: Final = 2
_ANSWERS: Final = {"model": "text", "qa_id": "text", "sample": "int", "text": "text", "token_ids": "ints"}
_METRICS: Final = ("rouge_l", "em", "cs", "es", "es_reverse", "te", "te_words", "ls", "ls_echo_free", "cs_before")
#: `flags`: `metric: reason` of each metric that is null.
_SCORES: Final = {
    "model": "text",
    "qa_id": "text",
    "sample": "int",
    **dict.fromkeys(_METRICS, "float"),
    "flags": "texts",
}


def scores_file(split: Split) -> str:
    """Return the name of a split's document of scores, such as `scores-random-10.json`."""
    return f"scores-{split.name.replace(':', '-')}.json"


def robustness_file(split: Split) -> str:
    """Return the name of a split's document of what its models withstand."""
    return f"robustness-{split.name.replace(':', '-')}.json"


def write_result(
    run: RunDirectory,
    documents: Mapping[str, Json],
    *,
    answers: Sequence[Answer],
    scores: Sequence[Scores],
    record: Json,
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
        write_atomically(run.evidence / name, _text(document))
    write_table(run.evidence / "answers.parquet", _ANSWERS, [asdict(answer) for answer in answers])
    rows = [{**asdict(one), "flags": [f"{key}: {why}" for key, why in one.reasons.items()]} for one in scores]
    write_table(run.evidence / "scores.parquet", _SCORES, rows)
    for name, text in (shown or {}).items():
        make_private_directory((run.root / name).parent)
        write_atomically(run.root / name, text)
    write_atomically(run.root / RECORD_FILE, _text(record))


def _text(document: Json) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
