"""Small tables of a corpus as bytes, what is read from them, and what is said of them."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import polars as pl
import pytest

from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.corpus import read_corpus
from clinaudit.priors.corpus.files import find_file
from clinaudit.priors.corpus.patient import TextStore
from clinaudit.priors.corpus.records import Problems
from clinaudit.priors.corpus.schema import NOTES
from clinaudit.priors.corpus.tables import read_table

#: Planted in every cell of faulty files: no message may ever quote it.
SECRET = "Zebulon"

TEXT = 'line one\r\nline "two", quoted\nthird\rend \u2028 ½ τ 😀'
CSV = f'patient_id,note_id,text,extra\r\n007,1,"{TEXT.replace(chr(34), chr(34) * 2)}",x\r\n'.encode()
JSONL = (json.dumps({"patient_id": "007", "note_id": "1", "text": TEXT, "extra": [1]}) + "\n").encode()
GOOD_ROW = json.dumps({"patient_id": "a", "note_id": "1", "text": "fine"})


def write_tables(directory: Path, **tables: str | Iterable[Mapping[str, object]] | None) -> Path:
    """Write tables of a corpus: text as CSV, rows as JSONL, and nothing for None; return the directory, made if new."""
    directory.mkdir(exist_ok=True)
    for name, content in tables.items():
        if isinstance(content, str):
            (directory / f"{name}.csv").write_text(content, encoding="utf-8")
        elif content is not None:
            lines = (json.dumps(row) + "\n" for row in content)
            (directory / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    return directory


def problems_of(path: Path) -> list[str]:
    with pytest.raises(BadInputError) as caught:
        read_corpus(path)
    rendered = caught.value.render()
    assert SECRET not in rendered
    assert rendered.startswith("error[BAD_INPUT]: ")
    assert "\n" not in caught.value.message
    return list(caught.value.problems)


def notes_rows(path: Path) -> tuple[list[tuple[int, dict[str, str | None]]], tuple[str, ...]]:
    problems = Problems()
    with TextStore() as texts:
        table = read_table(find_file(path, path.name), NOTES, problems, texts)
    frame = table.frame.with_columns(
        text=pl.Series([texts.text(place) for place in range(len(texts))], dtype=pl.String)
    )
    rows = frame.select("row", *(name for name in NOTES.columns if name in table.columns)).rows(named=True)
    return [(row.pop("row"), row) for row in rows], problems.listed()
