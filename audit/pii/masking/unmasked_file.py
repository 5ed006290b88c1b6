"""A file of answers with the identifiers put back: the stage behind `clinaudit unmask`. What it writes is PHI."""

import json
from dataclasses import dataclass
from pathlib import Path

from clinaudit.audit.console.progress import Progress
from clinaudit.audit.pii.masking.rows import check_rows, iter_rows, require_same_kind
from clinaudit.audit.pii.masking.tag_map import read_map
from clinaudit.audit.pii.masking.written_tags import unmask_text
from clinaudit.audit.run.durable_files import replacing, require_writable
from clinaudit.errors import BadInputError, UsageError


@dataclass(frozen=True, slots=True)
class UnmaskedFile:
    """What became of a file of answers."""

    rows: int
    #: Tags that the map does not know: the answering model made them up. They stay as they are.
    unknown_tags: int
    #: Rows without a text.
    empty: int
    other_keys: tuple[str, ...]


def unmask_file(answers: Path, map_file: Path, out: Path, *, progress: Progress) -> UnmaskedFile:
    """Put the identifiers back into answers, `{"id", "text"}` a row or one text; the file appears whole or not at all.

    Raises `BadInputError` for rows of which the map holds no record, and `UsageError` where `out` is taken.
    """
    if out.is_symlink() or out.exists():
        raise UsageError(f"{out.name} exists; name a new file with --out")
    require_writable(out, role="what unmask writes")
    rows = check_rows(answers, role="the answers", query_field=None, null_text=True)
    require_same_kind(rows, out)
    unknown = empty = 0
    missing: list[str] = []
    with (
        read_map(map_file) as tag_map,
        replacing(out) as file,
        progress.stage("unmasking", total=rows.count, unit="answers") as advance,
    ):
        if rows.is_one_text and tag_map.count().records != 1:
            raise BadInputError(
                f"{rows.file.name} is one answer, and {map_file.name} is the map of several prompts; give .jsonl, "
                "whose rows say by their ids which of them they answer"
            )
        for row in iter_rows(rows, query_field=None):
            forms = tag_map.forms_of(row.key)
            text = row.text
            if forms is None:
                missing.append(f"{rows.file.name}, row {row.row}, column id: is not in the map")
            elif text is None:
                empty += 1
            else:
                text, not_known = unmask_text(text, forms)
                unknown += not_known
            line = json.dumps({"id": row.id, "text": text}, ensure_ascii=False) + "\n"
            file.write(((text or "") if rows.is_one_text else line).encode())
            advance(1)
        if missing:
            raise BadInputError("some answers have no record in the map; give the map of their prompts", missing)
    return UnmaskedFile(rows.count, unknown, empty, rows.other_keys)
