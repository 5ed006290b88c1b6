"""Wrong tables and files as sites bring them: each is refused with the cause, and none of them is ever audited.

The messages are written by hand; no cell's content stands in any.
"""

import gzip
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest
from support.cases import read_rows
from support.corpus_tables import SECRET, problems_of

from clinaudit.audit.commands.main import run

NOTES = "patient_id,note_id,text,visit_date\na,1,Zebulon one,2024-01-05\nb,2,Zebulon two,2024-02-05\n"
CASES = read_rows("corpus_rows.txt")
WRONG: dict[str, tuple[Mapping[str, str | bytes], list[str]]] = {
    **{name: (files, problems) for name, files, problems in CASES["wrong_inputs"]},
    "gz data under the name of a text": (
        {"notes.csv": gzip.compress(NOTES.encode(), mtime=0)},
        ["notes.csv: is gz data; let its name end in .gz"],
    ),
    "UTF-16": ({"notes.tsv": NOTES.encode("utf-16")}, ["notes.tsv: is UTF-16; save it as UTF-8"]),
    "a file of text that is no table": (
        {"notes.csv": "Zebulon, " * 30_000},
        ["notes.csv: its first line must name the columns (patient_id, note_id, text, ...), and names none of them"],
    ),
}


def write(directory: Path, files: Mapping[str, str | bytes]) -> None:
    for name, content in files.items():
        (directory / name).write_bytes(content.encode() if isinstance(content, str) else content)


@pytest.mark.parametrize("name", WRONG)
def test_the_cause_is_named_and_nothing_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    files, expected = WRONG[name]
    write(tmp_path, files)
    assert problems_of(tmp_path) == expected
    assert run(["check", str(tmp_path)]) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert SECRET not in captured.err
    assert len(captured.err.splitlines()) == 1 + len(expected)


@pytest.mark.parametrize(
    "name",
    [
        *("a code for the oldest", "British and American births in one column"),
        *("notes and patients that disagree on the split",),
        *("sexes as codes", "an age with a decimal comma that is no whole one"),
    ],
)
@pytest.mark.parametrize("ending", [".csv.gz", ".jsonl", ".parquet"])
def test_every_format_is_refused_alike(tmp_path: Path, name: str, ending: str) -> None:
    files, expected = WRONG[name]
    rows = str(files["patients.csv"]).splitlines()
    mark = ";" if ";" in rows[0] else ","
    write(tmp_path, files)
    (tmp_path / "patients.csv").unlink()
    frame = pl.DataFrame([row.split(mark) for row in rows[1:]], schema=rows[0].split(mark), orient="row")
    path = tmp_path / f"patients{ending}"
    match ending:
        case ".csv.gz":
            path.write_bytes(gzip.compress(frame.write_csv(separator="\t").encode(), mtime=0))
        case ".jsonl":
            frame.write_ndjson(path)
        case _:
            frame.write_parquet(path)
    assert problems_of(tmp_path) == [line.replace("patients.csv", path.name) for line in expected]


def test_a_workbook_given_as_the_corpus_names_its_importer(tmp_path: Path) -> None:
    (tmp_path / "notes.XLSX").write_bytes(b"x")
    (problem,) = problems_of(tmp_path / "notes.XLSX")
    assert problem.endswith(
        "a workbook is read by clinaudit import excel notes.XLSX corpus/ --columns columns.toml (docs/importing.md)"
    )
