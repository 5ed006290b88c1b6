"""`samples.jsonl`, read: the one reader, for those who need whole samples and for those who need their answers alone.

Owns that an id stands once, and that no sample is dropped in silence. Problems name row and field, never content.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TypeVar

from clinaudit.audit.pii.benchmark.samples.sample import SampleRow
from clinaudit.audit.pii.benchmark.samples.typed_rows import iter_typed_rows
from clinaudit.priors.corpus.files import printable
from clinaudit.priors.corpus.header import Header
from clinaudit.priors.corpus.records import Problems

Read = TypeVar("Read", bound=SampleRow)
_ROLE: Final = "the samples"


def iter_samples(
    path: Path, row_type: type[Read], *, check: Callable[[Read], list[str]] | None = None
) -> Iterator[Read]:
    """Yield the samples of a JSON Lines file (`.jsonl`, also `.gz` or `.zst`) one at a time, in its order.

    `check` says what is wrong with one, without content. At the end raises `BadInputError` with all problems: rows that
    are no sample, an id that stood above, what `check` says, and keys that would be dropped.
    """
    problems = Problems()
    name = printable(path.name)
    header = Header(row_type.model_fields)
    first_rows: dict[str, int] = {}
    for row, sample in iter_typed_rows(path, row_type, role=_ROLE, problems=problems, header=header):
        if first_rows.setdefault(sample.id, row) != row:
            problems.add(name, f"stood in row {first_rows[sample.id]} already", row=row, column="id")
        if check is not None and (wrong := check(sample)):
            problems.add(name, "; ".join(wrong), row=row)
        # Of a file with a problem nothing is used: the rest is read for its other problems.
        if not len(problems):
            yield sample
    if header.unread and row_type.model_config.get("extra") == "forbid":
        problems.add(name, "has keys that no sample has; take them out (docs/pii.md lists those there are)")
    problems.raise_any(_ROLE)
