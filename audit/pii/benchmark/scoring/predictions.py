"""Predictions made elsewhere, read for `clinaudit pii score` (docs/pii.md).

Owns which of them go together: one of each system on each known sample. They are read a row at a time; one is scored
and let go.
"""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from clinaudit.audit.pii.benchmark.samples.sample import Prediction
from clinaudit.audit.pii.benchmark.samples.typed_rows import iter_typed_rows
from clinaudit.priors.corpus.files import printable
from clinaudit.priors.corpus.header import Header
from clinaudit.priors.corpus.records import Problems

_ROLE: Final = "the predictions"
PREDICTION_FIELDS: Final = tuple(Prediction.model_fields)


def iter_predictions(path: Path, *, samples: Collection[str], header: Header) -> Iterator[Prediction]:
    """Yield the predictions of a file, in file order, one a system and sample.

    `header`, of `PREDICTION_FIELDS`, says at the end how many other fields were not read. At its end raises
    `BadInputError` listing all problems: rows that are no prediction, unknown samples (`samples` are those known), and
    second rows of one system and sample, since which of them is meant cannot be known.
    """
    problems = Problems()
    name = printable(path.name)
    first_rows: dict[tuple[str, str], int] = {}
    for row, prediction in iter_typed_rows(path, Prediction, role=_ROLE, problems=problems, header=header):
        key = prediction.system, prediction.sample
        if prediction.sample not in samples:
            problems.add(name, "is not the id of any sample", row=row, column="sample")
        elif first_rows.setdefault(key, row) != row:
            what = f"is of the same system and sample as row {first_rows[key]}; keep one of them"
            problems.add(name, what, row=row)
        # Of a file with a problem nothing is scored: the rest is read for its other problems.
        if not len(problems):
            yield prediction
    problems.raise_any(_ROLE)
