"""The CI examples: their shell is run as it stands, with every exit status of an audit."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from support.runs.finished_run import SECRET, make_finished_run

EXAMPLES = Path(__file__).parents[2] / "docs" / "ci"
PUBLISHED = {"report.html", "annex.html", "results.csv", "results.json", "run.json", "gate.json", "junit.xml"}
#: Stands in for `clinaudit audit` alone: leaves the prepared run and gives the next status; the rest is the real one.
FAKE = """#!/bin/sh
if [ "$1" != audit ]; then exec "$REAL" "$@"; fi
echo "$*" >> "$CALLS"
status=$(sed -n "$(wc -l < "$CALLS")p" "$STATUSES")
case "$status" in
    0 | 1 | 8) rm -rf "$RUN"; cp -r "$PREPARED" "$RUN" ;;
    4) rm -f "$RUN/manifest.json" ;;
esac
exit "$status"
"""


class Job(NamedTuple):
    status: int
    out: str
    published: set[str]
    calls: list[str]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    return make_finished_run(tmp_path_factory.mktemp("prepared") / "run").root


@pytest.fixture
def stage(prepared, tmp_path):
    """The environment of a job whose audits give the statuses of a file."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "clinaudit").write_text(FAKE)
    (tmp_path / "bin" / "clinaudit").chmod(0o700)
    (tmp_path / "work").mkdir()
    real = Path(sys.executable).with_name("clinaudit")
    return {
        **os.environ,
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
        "REAL": str(real),
        "PREPARED": str(prepared),
        "CALLS": str(tmp_path / "calls"),
        "STATUSES": str(tmp_path / "statuses"),
        "MODEL": "a model",
        "CORPUS": "the corpus",
        "RUN": str(tmp_path / "run of model-1"),
        "POLICY": "strict",
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
    }


def execute(shell, script, environment):
    folder = Path(environment["CALLS"]).parent / "work"
    return subprocess.run(
        [shell, "-e", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def run_github(environment):
    """Run the steps as `if: always()` has them run; the job's status is that of the last step that failed."""
    (job,) = read("github-actions.yml")["jobs"].values()
    status, out = 0, ""
    Path(environment["GITHUB_OUTPUT"]).touch()
    for step in job["steps"]:
        if "run" not in step:
            continue
        outputs = dict(line.split("=", 1) for line in Path(environment["GITHUB_OUTPUT"]).read_text().splitlines())
        given = {name: outputs.get("status", "") for name in step.get("env", {})}
        done = execute("bash", step["run"], {**environment, **given})
        status, out = done.returncode or status, out + done.stdout
    return finish(status, out, environment)


def run_gitlab(environment):
    done = execute("sh", "\n".join(read("gitlab-ci.yml")["clinaudit"]["script"]), environment)
    return finish(done.returncode, done.stdout, environment)


def finish(status, out, environment):
    folder = Path(environment["CALLS"]).parent / "work" / "clinaudit-report"
    published = {str(path.relative_to(folder)) for path in folder.rglob("*")}
    assert not [name for name in published if SECRET in (folder / name).read_text()]
    return Job(status, out, published, Path(environment["CALLS"]).read_text().splitlines())


def read(name):
    return dict(yaml.safe_load((EXAMPLES / name).read_text(encoding="utf-8")))


#: The shell of GitHub is bash, which takes whatever sh does.
every_runner = pytest.mark.parametrize("runner", [run_github, run_gitlab])


@every_runner
@pytest.mark.parametrize(
    ("statuses", "status", "word", "is_published"),
    [
        ("0", 0, "PASS", True),
        ("8", 8, "INCONCLUSIVE", True),
        ("4 4", 4, "INCOMPLETE", False),
        ("4 1", 1, "FAIL", True),
        ("5", 5, "ERROR 5", False),
        ("130", 130, "ERROR 130", False),
    ],
)
def test_the_job_ends_with_the_status_of_the_audit(stage, runner, statuses, status, word, is_published):
    # A finished run of an earlier job stands in the same place.
    shutil.copytree(stage["PREPARED"], stage["RUN"])
    Path(stage["STATUSES"]).write_text(statuses.replace(" ", "\n") + "\n")
    job = runner(stage)
    assert job.status == status
    assert word in job.out
    assert ("PASS:" in job.out) is (status == 0)
    assert job.published == (PUBLISHED if is_published else set())
    assert job.calls == [f"audit a model the corpus --out {stage['RUN']} --policy strict"] * len(statuses.split())


@every_runner
def test_files_that_are_not_what_the_audit_wrote_are_not_published(stage, runner, prepared, tmp_path):
    shutil.copytree(prepared, tmp_path / "changed")
    (tmp_path / "changed" / "results.json").write_text("{}")
    Path(stage["STATUSES"]).write_text("0\n")
    job = runner({**stage, "PREPARED": str(tmp_path / "changed")})
    assert job.status == 7
    assert job.published == set()


def test_what_is_uploaded_is_the_collected_folder_alone():
    (job,) = read("github-actions.yml")["jobs"].values()
    uploads = [step["with"] for step in job["steps"] if "uses" in step]
    assert [upload["path"] for upload in uploads] == ["clinaudit-report/"]
    artifacts = read("gitlab-ci.yml")["clinaudit"]["artifacts"]
    assert artifacts["paths"] == ["clinaudit-report/"]
    assert artifacts["reports"] == {"junit": "clinaudit-report/junit.xml"}
    assert "allow_failure" not in read("gitlab-ci.yml")["clinaudit"]
