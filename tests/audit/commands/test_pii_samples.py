"""`clinaudit pii samples`: what it writes and prints, and what it refuses."""

import json
import stat
from pathlib import Path

import pytest

from clinaudit.audit.commands.main import run
from clinaudit.audit.pii.benchmark.sample import Sample
from clinaudit.audit.pii.benchmark.sample_file import check_sample, iter_samples


def make(out: Path, *options: str) -> int:
    return run(["pii", "samples", "--out", str(out), *options])


def test_it_writes_samples_that_read_back_and_prints_the_papers_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "samples.jsonl"
    assert make(out, "--samples", "29", "--seed", "4") == 0
    subsets = [sample.subset for sample in iter_samples(out, Sample, check=check_sample)]
    # 29 of the paper's 2,842: 12.39, 12.53, 2.04 and 2.04.
    assert [subsets.count(name) for name in ("single", "multi", "hard", "distract")] == [12, 13, 2, 2]
    printed = capsys.readouterr().out.splitlines()
    assert printed[2].split()[:3] == ["single", "12", "1.0"]
    assert printed[3].split() == ["in", "the", "paper", "1,214", "1.0", "893.48", "7.67", "211.21", "1.95"]
    types = next(row for row, line in enumerate(printed) if line.startswith("share of entities"))
    assert printed[types].split()[3:] == ["PER", "CODE", "LOC", "ORG", "DEM", "DATETIME", "QUANTITY"]
    # Table 10, PII-single.
    assert printed[types + 3].split()[3:] == ["13.0%", "15.7%", "11.3%", "17.1%", "13.1%", "14.7%", "15.0%"]
    assert any(line.startswith("facts repaired so that they agree: ") for line in printed)
    assert printed[-1] == f"samples: {out}"
    assert stat.S_IMODE(out.stat().st_mode) == 0o600


def test_the_same_command_writes_the_same_bytes(tmp_path: Path) -> None:
    asked = ("--subset", "multi=5", "--subset", "distract=1", "--domain", "clinical", "--quiet")
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        assert make(tmp_path / f"{name}.jsonl", *asked, "--seed", seed) == 0
    first, again, other = ((tmp_path / f"{name}.jsonl").read_bytes() for name in "abc")
    assert first == again != other
    rows = [json.loads(line) for line in first.splitlines()]
    assert [row["subset"] for row in rows] == ["multi"] * 5 + ["distract"]
    assert {row["domain"] for row in rows} == {"clinical"}


def test_quiet_prints_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert make(tmp_path / "s.jsonl", "--subset", "single=1", "--quiet") == 0
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        (("--samples", "3", "--subset", "single=1"), 2, "--samples and --subset were both given"),
        (("--subset", "single=0"), 2, "no sample was asked for"),
        (("--subset", "easy=3"), 2, "give single, multi, hard, distract, with =N"),
        (("--subset", "single=-1"), 2, "with =N"),
        (("--subset", "single=1", "--subset", "single=2"), 2, "--subset single was given twice"),
        (("--samples", "0"), 2, "--samples"),
        (("--out", "missing/s.jsonl"), 6, "there is no directory"),
        (("--out", "s.jsonl.gz"), 2, "the samples cannot be written to s.jsonl.gz: it is not compressed"),
    ],
)
def test_bad_usage_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], status: int, message: str
) -> None:
    assert make(tmp_path / "s.jsonl", *options) == status
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_the_present_directory_is_told_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["pii", "samples", "--out", "."]) == 6
    assert f"cannot be written to {tmp_path.name}: that is a directory" in capsys.readouterr().err
