"""The run store, its lock and its settings, atomic files, the manifest."""

import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from clinaudit.audit.judge.ledger import RunLedger
from clinaudit.audit.judge.verdict import Judgement
from clinaudit.audit.run.directory import RunDirectory
from clinaudit.audit.run.durable_files import require_writable, write_atomically
from clinaudit.audit.run.manifest import require_finished_run, verify, write_manifest
from clinaudit.audit.run.store import StoredGeneration, open_store
from clinaudit.audit.served.cost import Price
from clinaudit.audit.settings import read_settings
from clinaudit.errors import BadInputError, IncompleteError, IntegrityError, StorageError, UsageError

UNJUDGED = Judgement(None, "lexicon", 2, "no answer")


def test_units_survive_and_are_not_added_twice(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "run")
    with open_store(run) as store:
        store.add_generation("g1", StoredGeneration((1, 2), "stop", None))
        RunLedger(store).add_judgement("g1", "hiv", UNJUDGED)
    with open_store(run) as store:
        assert store.generations() == {"g1": StoredGeneration((1, 2), "stop", None)}
        assert RunLedger(store).judgements() == {("g1", "hiv"): UNJUDGED}
    with pytest.raises(StorageError), open_store(run) as store:
        store.add_generation("g1", StoredGeneration((), "stop", None))


def test_a_killed_process_loses_nothing_it_committed(tmp_path: Path) -> None:
    program = (
        "import os, sys\nfrom pathlib import Path\n"
        "from clinaudit.audit.run.directory import RunDirectory\n"
        "from clinaudit.audit.run.store import StoredGeneration, open_store\n"
        "with open_store(RunDirectory(Path(sys.argv[1]))) as store:\n"
        "    store.add_generation('g1', StoredGeneration((7,), 'stop', None))\n"
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
        "INSERT INTO generations VALUES ('g', 'garbage', 'stop', NULL)",
        "INSERT INTO generations VALUES ('g', '[-1]', 'stop', NULL)",
        "INSERT INTO generations VALUES ('g', '[99999999999]', 'stop', NULL)",
        "INSERT INTO generations VALUES ('g', '{}', 'stop', NULL)",
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
        assert [store.settings(), store.generations(), RunLedger(store).judgements()] == [{}, {}, {}]


def test_a_state_that_is_no_file_is_a_storage_error(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "run")
    run.create()
    (run.work / "state.sqlite").mkdir()
    with pytest.raises(StorageError, match="not a regular file"), open_store(run):
        pass


def finished_run(root: Path) -> RunDirectory:
    run = RunDirectory(root)
    run.create()
    (run.work / "state.sqlite").write_bytes(b"changes all the time")
    for name in ("results.json", "evidence/results.json"):
        (run.root / name).write_text("{}")
    write_manifest(run)
    return run


def test_manifest_sees_every_change(tmp_path: Path) -> None:
    run = finished_run(tmp_path / "run")
    assert verify(run) == 2
    (run.work / "state.sqlite").write_bytes(b"changed")
    assert verify(run) == 2
    (run.root / "extra").write_text("")
    with pytest.raises(IntegrityError, match="extra is not in the manifest"):
        verify(run)
    (run.root / "extra").unlink()
    (run.root / "results.json").write_text("{ }")
    with pytest.raises(IntegrityError, match=r"results\.json is not what the audit wrote"):
        verify(run)
    assert verify(run, but=("results.json",)) == 1
    (run.root / "results.json").unlink()
    with pytest.raises(IntegrityError, match="missing"):
        verify(run)
    (run.root / "manifest.json").write_text("[]")
    with pytest.raises(IntegrityError, match="not a manifest"):
        verify(run)


def test_what_is_no_finished_run(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="no such RUN"):
        require_finished_run(tmp_path / "none")
    with pytest.raises(BadInputError, match="not a run"):
        require_finished_run(tmp_path)
    run = finished_run(tmp_path / "run")
    (run.root / "manifest.json").unlink()
    with pytest.raises(IncompleteError, match="has not finished"):
        require_finished_run(run.root)


GIVEN = {"model": "m", "corpus": Path("c"), "out": Path("o")}


def test_command_line_wins_over_file_over_default(tmp_path: Path) -> None:
    config = tmp_path / "audit.toml"
    config.write_text(
        'seed = 5\nngram = 20\npolicy = "p.toml"\ntier = ["encounter", "public"]\njudge-price = [0.15, 1]\n'
    )
    settings = read_settings({**GIVEN, "seed": 7, "ngram": None, "tier": ()}, config=config)
    assert (settings.seed, settings.ngram, settings.max_new_tokens) == (7, 20, 1000)
    assert settings.policy == tmp_path / "p.toml"
    assert settings.judge_price == Price(0.15, 1)
    assert settings.tier == ("public", "encounter")


def test_wrong_configuration_lists_everything(tmp_path: Path) -> None:
    config = tmp_path / "audit.toml"
    config.write_text('sed = 1\nseed = "x"\nmatcher = "nearest"\ntier = "public"\n')
    with pytest.raises(BadInputError) as caught:
        read_settings(GIVEN, config=config)
    assert len(caught.value.problems) == 4
    for price in ('"1,2"', "[1]", "[1, true]", "[1, -2]", "[1, nan]", '[1, "2"]'):
        config.write_text(f"judge-price = {price}\n")
        with pytest.raises(BadInputError) as caught:
            read_settings(GIVEN, config=config)
        assert caught.value.problems[0].startswith("judge-price: must be two numbers")
    config.write_text("seed = \n")
    with pytest.raises(BadInputError, match="not valid TOML"):
        read_settings(GIVEN, config=config)
    with pytest.raises(BadInputError, match="does not exist"):
        read_settings(GIVEN, config=tmp_path / "none.toml")


def test_what_is_no_file_is_never_replaced_by_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for write in (lambda: write_atomically(pipe, "x"), lambda: require_writable(pipe, role="it")):
        with pytest.raises(StorageError, match="device or a pipe"):
            write()
    assert pipe.is_fifo()
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]
