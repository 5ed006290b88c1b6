"""The run store: what it keeps through a kill, its lock and settings; and where a command keeps its files."""

import sqlite3
import stat
import subprocess
import sys

import numpy as np
import pytest

from clinaudit.audit.measures.judge.stage import Ledger
from clinaudit.audit.measures.judge.verdict import Verdict, to_row
from clinaudit.audit.runtime.run.directory import RunDirectory, write_atomically
from clinaudit.audit.runtime.run.store import STATE_VERSION, GenerationOutput, TokenScores, open_store
from clinaudit.errors import StorageError, UsageError

UNJUDGED = to_row(Verdict(None, attempts=2, invalid_reason="no answer"), "lexicon")


def test_units_survive_and_are_not_added_twice(tmp_path):
    run = RunDirectory(tmp_path / "run")
    with open_store(run) as store:
        store.add_generation(GenerationOutput("g1", (1, 2), "stop"))
        store.add_judgement("g1", "hiv", UNJUDGED)
    with open_store(run) as store:
        assert store.generations() == {"g1": GenerationOutput("g1", (1, 2), "stop")}
        row = {"generation_id": "g1", "diagnosis": "hiv", **UNJUDGED}
        assert Ledger(store).judgements().to_dicts() == [row]
    with pytest.raises(StorageError), open_store(run) as store:
        store.add_generation(GenerationOutput("g1", (), "stop"))


def test_a_killed_process_loses_nothing_it_committed(tmp_path):
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


def test_changed_settings_are_refused_by_name(tmp_path):
    run = RunDirectory(tmp_path / "run")
    with open_store(run) as store:
        store.bind_settings({"--seed": 0, "--tier": ["public"]})
        store.bind_settings({"--seed": 0, "engine identity": {"a": "b"}})
        with pytest.raises(UsageError, match=r"other settings: --seed, engine identity;"):
            store.bind_settings({"--seed": 1, "--tier": ["public"], "engine identity": {}})
        assert store.settings()["--seed"] == 0


def test_run_is_for_its_owner_only(tmp_path):
    run = RunDirectory(tmp_path / "run")
    with open_store(run):
        assert stat.S_IMODE(run.root.stat().st_mode) == 0o700
        assert stat.S_IMODE((run.work / "state.sqlite").stat().st_mode) == 0o600
    write_atomically(run.root / "a.json", "x")
    assert stat.S_IMODE((run.root / "a.json").stat().st_mode) == 0o600


def test_other_peoples_directories_are_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(UsageError, match="holds other things"), open_store(RunDirectory(tmp_path)):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize(
    ("table", "row"),
    [
        ("generations", ("g", "garbage")),
        ("generations", ("g", "{}")),
        *(
            ("generations", ("g", f'{{"key": "g", "token_ids": {ids}, "finish_reason": {others}}}'))
            for ids, others in (
                ("[-1]", '"stop"'),
                ("[99999999999]", '"stop"'),
                ("[1]", '"ended"'),
                ("[1]", '"stop", "first_end": -1'),
                ("[1]", '"stop", "first_end": "x"'),
            )
        ),
        ("judgements", ("g", "hiv", "[]")),
        ("judgements", ("g", "hiv", "{}")),
        ("settings", ("--seed", "garbage")),
    ],
)
def test_rows_the_audit_did_not_write_are_a_storage_error(tmp_path, table, row):
    with open_store(RunDirectory(tmp_path / "run")) as store:
        store._add(table, *row)
        with pytest.raises(StorageError, match="did not write"):
            assert [store.settings(), store.generations(), Ledger(store).judgements().rows()] == [{}, {}, []]


@pytest.mark.parametrize("table", ["settings", "generations", "scores", "judgements"])
def test_a_row_that_the_disk_damaged_is_a_storage_error(tmp_path, table):
    run = RunDirectory(tmp_path / "run")
    with open_store(run) as store:
        store.bind_settings({"--seed": 1})
        store.add_generation(GenerationOutput("g1", (11, 12), "stop"))
        store.add_scores(TokenScores("g1", np.array([-0.1, -1.1], dtype=np.float32)))
        store.add_judgement("g1", "hiv", UNJUDGED)
    path = run.work / "state.sqlite"
    column, found, damaged = {
        "settings": ("value", "1", "3"),
        "generations": ("made", "[11,", "[13,"),
        "scores": ("numbers", np.float32(-1.1).tobytes(), np.float32(-1.2).tobytes()),
        "judgements": ("judgement", "null", "true"),
    }[table]
    with sqlite3.connect(path) as connection:
        (before,) = connection.execute(f"SELECT {column} FROM {table}").fetchone()
        is_text = isinstance(before, str)
        found, damaged = (one.encode() if isinstance(one, str) and not is_text else one for one in (found, damaged))
        after = before.replace(found, damaged, 1)
        assert after != before
        connection.execute(f"UPDATE {table} SET {column} = ?", (after,))
    connection.close()
    with pytest.raises(StorageError, match="did not write"), open_store(run) as store:
        getattr(store, table)()


@pytest.mark.parametrize("version", [0, STATE_VERSION + 1])
def test_a_run_of_another_version_is_not_gone_on_with(tmp_path, version):
    run = RunDirectory(tmp_path / "run")
    with open_store(run) as store:
        store.bind_settings({"--seed": 0})
        store.bind_settings({"--seed": 0})
    with sqlite3.connect(run.work / "state.sqlite") as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    with open_store(run) as store, pytest.raises(UsageError, match="another version"):
        store.bind_settings({"--seed": 0})
