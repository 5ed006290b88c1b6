"""Do several processes give what one gives, in order, and end with whoever made them?"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from clinaudit.audit.runtime.run.processes import open_processes
from clinaudit.errors import IncompleteError


def _times(factor, number):
    # The first take longest.
    time.sleep(0.02 if number < 3 else 0)
    return factor * number, os.getpid()


def _die(_, number):
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


@pytest.mark.parametrize("count", [1, 2, 4])
def test_results_come_in_the_order_of_the_items(count):
    with open_processes(7, count) as processes:
        found = list(processes.map(_times, range(30)))
    assert [product for product, _ in found] == [7 * number for number in range(30)]
    assert ({process for _, process in found} == {os.getpid()}) is (count == 1)


def test_a_killed_process_is_an_error_that_says_what_to_do():
    with open_processes(None, 2) as processes, pytest.raises(IncompleteError, match="fewer --processes"):
        list(processes.map(_die, range(9)))


def test_processes_end_with_the_one_that_made_them(tmp_path):
    # A killed command is run again at once: what it had made must hold neither its files nor its memory.
    code = (
        "import os, time, pathlib\n"
        "from clinaudit.audit.runtime.run.processes import open_processes\n"
        "def work(folder, number):\n"
        "    (pathlib.Path(folder) / str(os.getpid())).touch()\n"
        "    time.sleep(60)\n"
        f"with open_processes({str(tmp_path)!r}, 3) as processes:\n"
        "    list(processes.map(work, range(3)))\n"
    )
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        assert _comes_true(lambda: len(list(tmp_path.iterdir())) == 3)
        process.kill()
    assert _comes_true(lambda: not any(Path("/proc", path.name).exists() for path in tmp_path.iterdir()))


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_an_interrupt_while_processes_are_made_is_not_lost(name):
    code = (
        "import os, signal\n"
        "from clinaudit.audit.runtime.console import ends_in_order\n"
        "from clinaudit.audit.runtime.run.processes import open_processes\n"
        f"os.register_at_fork(after_in_parent=lambda: os.kill(os.getpid(), signal.{name}))\n"
        "try:\n"
        "    with ends_in_order(), open_processes(1, 2) as processes:\n"
        "        print(*processes.map(pow, range(9)))\n"
        "except KeyboardInterrupt:\n"
        "    print('stopped')\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (ended.stdout, ended.stderr) == ("stopped\n", "")


def _comes_true(holds):
    for _ in range(1000):
        if holds():
            return True
        time.sleep(0.02)
    return False


#: What a shard might do with the frame that it shares.
_USES: dict[str, Callable[[pl.DataFrame], object]] = {
    "filter": lambda shared: shared.filter(pl.col("number") == 1),
    "sort": lambda shared: shared.sort("number"),
    "group_by": lambda shared: shared.group_by("number").len(),
    "join": lambda shared: shared.join(shared, on="number"),
    "lazy": lambda shared: shared.lazy().collect(),
    "sort of a series": lambda shared: shared["number"].sort(),
    "text of a series": lambda shared: shared["name"].str.len_chars(),
    "new frame": lambda _: pl.DataFrame({"number": [1]}),
    "new series": lambda _: pl.Series([1]),
    "concat": lambda shared: pl.concat([shared, shared]),
}


def _use(shared, name):
    try:
        return _USES[name](shared)
    except RuntimeError as error:
        return str(error)


def test_polars_in_a_process_is_an_error_rather_than_a_hang():
    shared = pl.DataFrame({"number": [1, 2, 1], "name": ["a", "b", "c"]})
    # Polars' threads are here, and do not survive the fork.
    assert shared.group_by("number").len().height == 2
    with open_processes(shared, 2) as processes:
        for name, said in zip(_USES, processes.map(_use, _USES), strict=True):
            assert "a shard uses no polars" in str(said), name
    # What the processes refuse, this one still does.
    assert shared.filter(pl.col("number") == 1).height == 2
