"""benchmarks/digest_attack.py finds what is planted, and nothing in a run that this program leaves."""

import hashlib
import hmac
import importlib.util
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest
from support.runs.finished_run import make_finished_run

TABLE = "tier,patients\npublic,4\nencounter,17\n"
FORGOTTEN = ("p0007", "p0031", "p0102")


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    path = Path(__file__).parents[4] / "benchmarks" / "digest_attack.py"
    spec = importlib.util.spec_from_file_location("digest_attack", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["digest_attack"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "evidence" / "paper").mkdir(parents=True)
    (tmp_path / "evidence" / "paper" / "table.csv").write_text(TABLE)
    rows = [{"patient_id": one, "role": "forget"} for one in FORGOTTEN]
    rows += [{"patient_id": f"p{number:04d}", "role": "retain"} for number in (1, 2, 8)]
    pl.DataFrame(rows).write_parquet(tmp_path / "evidence" / "splits.parquet")
    return tmp_path


def sha(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


def confirmed(benchmark: ModuleType, folder: Path, said: Sequence[str], **options: object) -> set[str]:
    (folder / "public.json").write_text(json.dumps(list(said)))
    (target,) = benchmark.attack([folder], **options)
    return {what for what, (digest, files) in target.confirmed.items() if digest in said and files == {"public.json"}}


@pytest.mark.parametrize(
    ("digest", "what"),
    [
        (sha(TABLE), "evidence/paper/table.csv"),
        (sha(TABLE)[:12], "evidence/paper/table.csv"),
        (hashlib.sha1(TABLE.encode()).hexdigest(), "evidence/paper/table.csv"),
        # A number of the same class as the true one.
        (sha(TABLE.replace("17", "13")), "evidence/paper/table.csv"),
        (sha("\n".join(FORGOTTEN)), "splits.parquet patient_id role=forget"),
        (sha(json.dumps(FORGOTTEN)), "splits.parquet patient_id role=forget"),
        # Of the form of the others, and in no file.
        (sha("p4321\n"), "one id"),
        (sha(json.dumps({"patient_id": "p0007", "role": "forget"})), "evidence/splits.parquet, rows"),
        (hmac.new(b"", TABLE.encode(), "sha256").hexdigest(), "evidence/paper/table.csv"),
    ],
)
def test_a_planted_digest_of_something_hidden_is_confirmed(
    benchmark: ModuleType, folder: Path, digest: str, what: str
) -> None:
    assert what in confirmed(benchmark, folder, [digest], ids=5000)


def test_a_key_that_is_published_is_none(benchmark: ModuleType, folder: Path) -> None:
    public, secret = sha("corpus"), b"s" * 32
    for key, found in ((public.encode(), True), (bytes.fromhex(public), True), (secret, False)):
        keyed = hmac.new(key, TABLE.encode(), "sha256").hexdigest()
        assert bool(confirmed(benchmark, folder, [public, keyed])) is found


def test_what_is_published_is_no_secret(benchmark: ModuleType, folder: Path) -> None:
    (folder / "table.csv").write_text(TABLE)
    assert not confirmed(benchmark, folder, [sha(TABLE)])


def test_a_hidden_file_that_was_given_is_tried(benchmark: ModuleType, folder: Path, tmp_path: Path) -> None:
    ids = tmp_path / "evidence" / "ids.txt"
    ids.write_text("elsewhere-1\nelsewhere-2\n")
    assert confirmed(benchmark, folder, [f"file {sha(ids.read_text())}".removeprefix("file ")], hidden=[ids])


def test_a_run_confirms_nothing_and_one_that_lists_its_evidence_does(benchmark: ModuleType, tmp_path: Path) -> None:
    run = make_finished_run(tmp_path / "run")
    for name in ("generations.parquet", "priors.parquet"):
        # Stand-ins that are no tables.
        (run.evidence / name).unlink()
    (target,) = benchmark.attack([run.root])
    assert target.guesses > 1000
    assert not target.confirmed
    manifest = json.loads((run.root / "manifest.json").read_text())
    manifest["sha256"] |= json.loads((run.evidence / "manifest.json").read_text())["sha256"]
    (run.root / "manifest.json").write_text(json.dumps(manifest))
    target = benchmark.read_target(run.root)
    for path in benchmark.evidence_files(run.root):
        target.attack(str(path.relative_to(run.root)), path.read_bytes(), keyed=False)
    assert {"evidence/results.json", "evidence/report.html"} <= target.confirmed.keys()
