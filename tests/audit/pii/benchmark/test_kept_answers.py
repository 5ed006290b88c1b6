"""What a benchmark keeps of a finished system: read back, or refused as damaged; never guessed at, never quoted."""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from support.pii.plain_samples import prediction_of, sample_of

from clinaudit.audit.pii.benchmark.files import BenchFiles
from clinaudit.audit.pii.benchmark.systems.answers import SampleAnswers
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.errors import IntegrityError, UsageError

SAMPLES = [sample_of("Ann Lee, 41.", {"Ann Lee": "full_name", "41": "age"}, sample=f"q{at}") for at in range(2)]
PREDICTIONS = [prediction_of([("Ann Lee", "PER")], sample=sample.id, masked=["Ann Lee"]) for sample in SAMPLES]
NOTED = {"settings": {"epochs": 4}, "seconds": 1.0, "train_seconds": None}


@pytest.fixture
def files(tmp_path: Path) -> BenchFiles:
    directory = RunDirectory(tmp_path / "bench")
    directory.create()
    files = BenchFiles(directory)
    files.settle({"seed": 0})
    files.keep("rules", [SampleAnswers(prediction) for prediction in PREDICTIONS], strategy=None, noted=NOTED)
    return files


def changed(change: Callable[[pl.DataFrame], pl.DataFrame]) -> Callable[[Path], object]:
    return lambda path: change(pl.read_parquet(path)).write_parquet(path)


def test_a_finished_system_is_read_back(files: BenchFiles) -> None:
    assert files.find("rules", {"epochs": 4}, SAMPLES) == (PREDICTIONS, NOTED)
    assert files.find("gold", {}, SAMPLES) is None
    with pytest.raises(UsageError, match="other settings"):
        files.find("rules", {"epochs": 5}, SAMPLES)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("rules.json", lambda path: path.write_text("")),
        ("rules.json", lambda path: path.write_text("Ann")),
        ("rules.json", lambda path: path.write_text("[]")),
        ("rules.json", lambda path: path.write_text("{}")),
        ("rules.json", lambda path: path.write_text(json.dumps({"settings": {"epochs": 4}}))),
        ("rules.json", lambda path: path.write_bytes(b"\xff\xfe")),
        ("rules.parquet", lambda path: path.write_bytes(b"PAR1 Ann")),
        ("rules.parquet", lambda path: path.unlink()),
        ("rules.parquet", changed(lambda rows: rows.rename({"task": "Ann"}))),
        ("rules.parquet", changed(lambda rows: rows.with_columns(parsed=pl.lit("Ann")))),
        ("rules.parquet", changed(lambda rows: rows.with_columns(parsed=pl.lit("[3]")))),
        ("rules.parquet", changed(lambda rows: rows.with_columns(sample=pl.lit("other")))),
        ("rules.parquet", changed(lambda rows: rows.with_columns(sample=pl.lit(None, dtype=pl.String)))),
        ("rules.parquet", changed(lambda rows: rows.head(3))),
        ("rules.parquet", changed(lambda rows: rows.head(1))),
    ],
)
def test_what_was_kept_and_is_damaged_is_said(
    files: BenchFiles, tmp_path: Path, name: str, damage: Callable[[Path], object]
) -> None:
    damage(tmp_path / "bench" / "evidence" / "work" / "answers" / name)
    with pytest.raises(IntegrityError, match="the kept answers of rules are damaged") as error:
        files.find("rules", {"epochs": 4}, SAMPLES)
    assert "Ann" not in error.value.render()


@pytest.mark.parametrize("content", ["", "Ann", "[3]", "7", "null", '"Ann"'])
def test_damaged_settings_are_said(files: BenchFiles, tmp_path: Path, content: str) -> None:
    (tmp_path / "bench" / "evidence" / "work" / "settings.json").write_text(content)
    with pytest.raises(IntegrityError, match="the kept settings") as error:
        files.settle({"seed": 0})
    assert "Ann" not in error.value.render()
