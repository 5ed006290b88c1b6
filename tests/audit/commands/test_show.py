"""What `show` prints, and that colour and quiet are as people expect, in real processes."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from support.runs.finished_run import make_finished_run

from clinaudit.audit.commands.main import run
from clinaudit.audit.commands.summary import say_summary
from clinaudit.audit.publication.published_files import read_results
from clinaudit.audit.run.directory import RunDirectory

PROGRAM = str(Path(sys.executable).with_name("clinaudit"))


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> RunDirectory:
    return make_finished_run(tmp_path_factory.mktemp("show") / "run")


def test_it_prints_what_an_audit_ends_with(capsys, finished) -> None:
    say_summary(read_results(finished), finished.root / "report.html")
    at_the_end = capsys.readouterr().out
    assert at_the_end.rstrip().endswith(f"report: {finished.root / 'report.html'}")
    assert run(["show", str(finished.root)]) == 0
    assert capsys.readouterr().out == at_the_end


def test_json_is_the_published_results(capsys, finished) -> None:
    assert run(["show", str(finished.root), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads((finished.root / "results.json").read_text())


def test_quiet_leaves_the_verdict_and_the_path(capsys, finished) -> None:
    say_summary(read_results(finished), finished.root / "report.html", quiet=True)
    assert capsys.readouterr().out.splitlines() == [
        "Verdict: FAIL (policy default: 1 rule failed)",
        f"report: {finished.root / 'report.html'}",
    ]


def environment(**variables: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    return {**kept, "TERM": "xterm", **variables}


@pytest.mark.parametrize("command", ["show", "gate"])
@pytest.mark.parametrize(("variables", "coloured"), [({}, False), ({"FORCE_COLOR": "1"}, True)])
def test_a_pipe_gets_colour_only_by_force(finished, command, variables, coloured) -> None:
    arguments = [PROGRAM, command, str(finished.root)]
    done = subprocess.run(arguments, env=environment(**variables), capture_output=True, check=False)
    assert (b"\x1b[" in done.stdout) is coloured
    assert b"\x1b" not in done.stderr


@pytest.mark.parametrize(("variables", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_a_terminal_gets_colour_unless_it_is_refused(finished, variables, coloured) -> None:
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [PROGRAM, "gate", str(finished.root)], env=environment(**variables), stdin=follower, stdout=follower
    )
    os.close(follower)
    out = b""
    while process.poll() is None or len(out) == 0:
        try:
            out += os.read(leader, 65536)
        except OSError:
            break
    process.wait()
    os.close(leader)
    assert (b"\x1b[1;31m" in out) is coloured
    assert b"verdict: " in out


@pytest.mark.parametrize("command", [["show", "--json"], ["gate", "--json"]])
def test_json_is_never_coloured(finished, command) -> None:
    arguments = [PROGRAM, command[0], str(finished.root), command[1]]
    done = subprocess.run(arguments, env=environment(FORCE_COLOR="1"), capture_output=True, check=False)
    document = json.loads(done.stdout)
    assert {"decision", "rules"} & document.keys()
    assert b"\x1b" not in done.stdout
