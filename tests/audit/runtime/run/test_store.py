"""The run store: what it keeps through a kill, its lock and settings; and where a command keeps its files."""

import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from clinaudit.audit.commands.main import run as main
from clinaudit.audit.measures.judge.stage import Ledger
from clinaudit.audit.measures.judge.verdict import Judgement, to_row
from clinaudit.audit.runtime.run.directory import RunDirectory, scratch_directory
from clinaudit.audit.runtime.run.durable_files import write_atomically
from clinaudit.audit.runtime.run.store import STATE_VERSION, GenerationOutput, open_store
from clinaudit.errors import StorageError, UsageError

UNJUDGED = Judgement(None, "lexicon", 2, "no answer")


def test_units_survive_and_are_not_added_twice(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "run")
    with open_store(run) as store:
        store.add_generation(GenerationOutput("g1", (1, 2), "stop"))
        Ledger(store).add("g1", "hiv", UNJUDGED)
    with open_store(run) as store:
        assert store.generations() == {"g1": GenerationOutput("g1", (1, 2), "stop")}
        row = {"generation_id": "g1", "diagnosis": "hiv", **to_row(UNJUDGED)}
        assert Ledger(store).judgements().to_dicts() == [row]
    with pytest.raises(StorageError), open_store(run) as store:
        store.add_generation(GenerationOutput("g1", (), "stop"))


def test_ids_texts_and_first_ends_are_kept(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "run")
    by_ids = GenerationOutput("g1", (1,), "repetition", first_end=1)
    by_text = GenerationOutput("g2", (), "repetition", "a")
    with open_store(run) as store:
        for made in (by_ids, by_text, GenerationOutput("g3", (), "stop")):
            store.add_generation(made)
    with open_store(run) as store:
        assert store.generations() == {"g1": by_ids, "g2": by_text, "g3": GenerationOutput("g3", (), "stop")}


def test_a_killed_process_loses_nothing_it_committed(tmp_path: Path) -> None:
    program = (
        "import os, sys\nfrom pathlib import Path\n"
        "from clinaudit.audit.runtime.run.directory import RunDirectory\n"
        "from clinaudit.audit.runtime.run.store import GenerationOutput, open_store\n"
        "with open_store(RunDirectory(Path(sys.argv[1]))) as store:\n"
        "    store.add_generation(GenerationOutput('g1', (7,), 'stop'))\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    assert subprocess.run([sys.executable, "-c", program, tmp_path / "run"], check=False).returncode == -9
    with open_store(RunDirectory(tmp_path / "run")) as store:
        assert list(store.generations()) == ["g1"]


def test_changed_settings_are_refused_by_name(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "run")
    with open_store(run) as store:
        store.bind_settings({"--seed": 0, "--tier": ["public"]})
        store.bind_settings({"--seed": 0, "engine identity": {"a": "b"}})
        with pytest.raises(UsageError, match=r"other settings: --seed, engine identity;"):
            store.bind_settings({"--seed": 1, "--tier": ["public"], "engine identity": {}})
        assert store.settings()["--seed"] == 0


def test_one_audit_at_a_time(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "run")
    with open_store(run), pytest.raises(StorageError, match="another command"), open_store(run):
        pass


def test_run_is_for_its_owner_only(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "run")
    with open_store(run):
        assert stat.S_IMODE(run.root.stat().st_mode) == 0o700
        assert stat.S_IMODE((run.work / "state.sqlite").stat().st_mode) == 0o600
    write_atomically(run.root / "a.json", "x")
    assert stat.S_IMODE((run.root / "a.json").stat().st_mode) == 0o600


def test_other_peoples_directories_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(UsageError, match="holds other things"), open_store(RunDirectory(tmp_path)):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_damaged_state_is_a_storage_error(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "run")
    run.create()
    (run.work / "state.sqlite").write_bytes(b"not a database" * 100)
    with pytest.raises(StorageError, match="SQLITE_NOTADB"), open_store(run):
        pass
    assert issubclass(sqlite3.OperationalError, sqlite3.DatabaseError)


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO generations VALUES ('g', 'garbage')",
        "INSERT INTO generations VALUES ('g', '{}')",
        *(
            f"""INSERT INTO generations VALUES ('g', '{{"key": "g", "token_ids": {ids}, "finish_reason": {others}}}')"""
            for ids, others in (
                ("[-1]", '"stop"'),
                ("[99999999999]", '"stop"'),
                ("[1]", '"ended"'),
                ("[1]", '"stop", "first_end": -1'),
                ("[1]", '"stop", "first_end": "x"'),
            )
        ),
        "INSERT INTO judgements VALUES ('g', 'hiv', '[]')",
        "INSERT INTO judgements VALUES ('g', 'hiv', '{}')",
        "INSERT INTO settings VALUES ('--seed', 'garbage')",
    ],
)
def test_rows_the_audit_did_not_write_are_a_storage_error(tmp_path: Path, statement: str) -> None:
    run = RunDirectory(tmp_path / "run")
    with open_store(run):
        pass
    with sqlite3.connect(run.work / "state.sqlite") as connection:
        connection.execute(statement)
    connection.close()
    with pytest.raises(StorageError, match="did not write"), open_store(run) as store:
        assert [store.settings(), store.generations(), Ledger(store).judgements().rows()] == [{}, {}, []]


def test_a_state_that_is_no_file_is_a_storage_error(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "run")
    run.create()
    (run.work / "state.sqlite").mkdir()
    with pytest.raises(StorageError, match="not a regular file"), open_store(run):
        pass


def test_the_scratch_directory_is_the_nearest_that_exists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = RunDirectory(tmp_path / "runs" / "one")
    assert scratch_directory(run) == tmp_path
    (tmp_path / "runs").write_text("a file, not a directory")
    assert scratch_directory(run) == tmp_path
    (tmp_path / "runs").unlink()
    run.create()
    assert scratch_directory(run) == run.work
    monkeypatch.chdir(tmp_path)
    assert scratch_directory(RunDirectory(Path("new"))) == tmp_path


@pytest.mark.parametrize("name", ["results.json", "evidence/results.json", RunDirectory(Path()).work / "state.sqlite"])
def test_a_directory_with_files_of_another_command_is_refused(tmp_path: Path, name: str) -> None:
    run = RunDirectory(tmp_path / "run")
    run.create()
    (run.root / name).write_text("another's")
    with pytest.raises(UsageError, match="holds other things; name a new or an earlier benchmark's"):
        run.require_begun_by(run.work / "settings.json", what="benchmark")
    (run.work / "settings.json").write_text("{}")
    run.require_begun_by(run.work / "settings.json", what="benchmark")


def test_what_a_kill_left_before_the_first_file_is_no_other_command(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "run")
    run.require_begun_by(run.work / "settings.json", what="benchmark")
    run.create()
    run.lock.touch()
    left = run.work / ".settings.json.partial"
    left.write_text("{")
    run.require_begun_by(run.work / "settings.json", what="benchmark")
    assert left.read_text() == "{"
    # One file more, and it is somebody's.
    (run.work / "state.sqlite").touch()
    with pytest.raises(UsageError, match="holds other things"):
        run.require_begun_by(run.work / "settings.json", what="benchmark")


@pytest.mark.parametrize(
    "arguments", [["pii", "bench", "--samples", "1", "--systems", "rules"], ["unlearn", "build", "CORPUS"]]
)
def test_no_benchmark_is_made_in_the_run_of_an_audit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    corpus, audited = tmp_path / "corpus", RunDirectory(tmp_path / "run")
    corpus.mkdir()
    (corpus / "notes.jsonl").write_text('{"patient_id": "p", "note_id": "n", "text": "cc: cough"}\n')
    audited.create()
    state = audited.work / "state.sqlite"
    state.write_text("of the audit")
    given = [str(corpus) if one == "CORPUS" else one for one in arguments]
    assert main([*given, "--out", str(audited.root), "--quiet"]) == 2
    assert "holds other things" in capsys.readouterr().err
    assert [path for path in audited.root.rglob("*") if path.is_file()] == [state]


@pytest.mark.parametrize("version", [0, STATE_VERSION + 1])
def test_a_run_of_another_version_is_not_gone_on_with(tmp_path: Path, version: int) -> None:
    run = RunDirectory(tmp_path / "run")
    with open_store(run) as store:
        store.bind_settings({"--seed": 0})
        store.bind_settings({"--seed": 0})
    with sqlite3.connect(run.work / "state.sqlite") as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    with open_store(run) as store, pytest.raises(UsageError, match="another version"):
        store.bind_settings({"--seed": 0})
