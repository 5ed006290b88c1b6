"""`clinaudit gate`: whose verdict it gives, what it prints and writes, and where; the run stays as it was."""

import json
from pathlib import Path

import pytest
from support.runs.finished_run import make_finished_run

from clinaudit.audit.commands.main import run
from clinaudit.audit.results.gate.policy import locate_policy
from clinaudit.audit.results.publication.published_files import find_verdict
from clinaudit.audit.runtime.run.manifest import write_manifest


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run whose own policy is the default one; no test changes it."""
    return make_finished_run(tmp_path_factory.mktemp("gate") / "run")


@pytest.fixture
def fresh(tmp_path):
    return make_finished_run(tmp_path / "run")


@pytest.fixture
def purged(fresh):
    assert run(["purge", str(fresh.root), "--yes"]) == 0
    return fresh


def contents(root):
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def printed(capsys, *arguments):
    capsys.readouterr()
    status = run(["gate", *map(str, arguments)])
    return status, capsys.readouterr().out


def test_the_runs_own_policy_gives_the_recorded_verdict_before_and_after_a_purge(capsys, finished, purged):
    recorded = (finished.root / "gate.json").read_text()
    before = contents(finished.root)
    for options in ([], ["--json"]):
        answers = [
            printed(capsys, place.root, *policy, *options)
            for place in (finished, purged)
            for policy in ([], ["--policy", "default"], ["--policy", locate_policy(None)])
        ]
        assert len(set(answers)) == 1
        status, text = answers[0]
        assert status == 1
        if options:
            assert text == recorded
        else:
            assert text.startswith(f"FAIL (policy default): {json.loads(recorded)['reason']}")
        assert printed(capsys, finished.root, "--quiet", *options) == (1, "")
    assert contents(finished.root) == before


@pytest.mark.parametrize("policy", ["strict", "research"])
def test_another_policy_is_decided_on_the_evidence_and_not_after_a_purge(capsys, finished, purged, policy):
    before = contents(finished.root)
    status, text = printed(capsys, finished.root, "--policy", policy)
    assert (status, text.split(":")[0]) == (1, f"FAIL (policy {policy})")
    document = json.loads(printed(capsys, finished.root, "--policy", policy, "--json")[1])
    verdict, is_own = find_verdict(finished, given=Path(policy))
    assert document == verdict.model_dump(mode="json")
    assert not is_own
    assert contents(finished.root) == before
    capsys.readouterr()
    assert run(["gate", str(purged.root), "--policy", policy]) == 3
    error = capsys.readouterr().err
    assert "purged" in error
    assert error.count("\n") == 1


def test_a_status_edited_together_with_the_manifest_is_found(capsys, fresh):
    for path in (fresh.root / "results.json", fresh.root / "gate.json"):
        document = json.loads(path.read_text())
        verdict = document.get("verdict", document)
        for rule in verdict["rules"]:
            rule["status"] = "pass"
        verdict["status"] = "pass"
        path.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")
    write_manifest(fresh)
    for command in ("gate", "verify", "show"):
        assert run([command, str(fresh.root)]) == 7, command
        assert "the recorded verdict contradicts" in capsys.readouterr().err
