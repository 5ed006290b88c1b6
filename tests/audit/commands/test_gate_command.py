"""`clinaudit gate`: which figures decide, what it prints, what it writes, and that the run stays as it was."""

import json
import re
import shutil
import stat
from pathlib import Path

import pytest
from support.runs.finished_run import SECRET, make_finished_run

from clinaudit.audit.commands.main import run
from clinaudit.audit.results.gate.policy import locate_policy
from clinaudit.audit.results.publication.published_files import read_exact
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.durable_files import sha256_of
from clinaudit.audit.runtime.run.manifest import write_manifest
from clinaudit.reports.schema.results import to_json
from clinaudit.reports.terminal.rules import BASES


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> RunDirectory:
    """A run whose own policy is the default one."""
    finished = make_finished_run(tmp_path_factory.mktemp("gate") / "run")
    record_policy(finished, sha256_of(locate_policy(None)))
    return finished


def record_policy(finished: RunDirectory, digest: str) -> None:
    path = finished.root / "run.json"
    record = json.loads(path.read_text())
    record["settings"]["--policy"] = digest
    path.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")
    write_manifest(finished)


def purged(finished: RunDirectory, root: Path) -> RunDirectory:
    shutil.copytree(finished.root, root, ignore=shutil.ignore_patterns("evidence"))
    gone = RunDirectory(root)
    write_manifest(gone, purged=True)
    return gone


def contents(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def printed(capsys, *arguments: str | Path) -> tuple[int, str]:
    status = run(["gate", *map(str, arguments)])
    return status, capsys.readouterr().out


def said(text: str, basis: str) -> bool:
    return BASES[basis] in " ".join(text.split())  # type: ignore[index]


def test_the_runs_own_policy_gives_the_recorded_verdict_before_and_after_a_purge(capsys, finished, tmp_path) -> None:
    recorded = (finished.root / "gate.json").read_text()
    decision = json.loads(recorded)
    gone = purged(finished, tmp_path / "purged")
    answers = [
        printed(capsys, place.root, *policy) for place in (finished, gone) for policy in ([], ["--policy", "default"])
    ]
    assert len(set(answers)) == 1
    status, text = answers[0]
    assert status == 1
    opening = " ".join(text.split())
    askers = "fails for 3 of 7 kinds of asker; 3 could not be decided, 1 passed"
    assert opening.startswith(f"verdict: {decision['status']} (policy default): {askers}. {decision['reason']}")
    assert said(text, "recorded")
    assert printed(capsys, gone.root, "--json") == (1, recorded)


def test_a_policy_of_ones_own_is_known_without_its_file(capsys, finished, tmp_path) -> None:
    copied = RunDirectory(tmp_path / "run")
    shutil.copytree(finished.root, copied.root)
    ours = tmp_path / "ours.toml"
    ours.write_text(locate_policy(None).read_text() + "\n# ours\n")
    record_policy(copied, sha256_of(ours))
    status, text = printed(capsys, copied.root)
    assert status == 1
    assert said(text, "recorded")
    assert printed(capsys, copied.root, "--policy", ours) == (status, text)
    # The default policy is another here.
    assert said(printed(capsys, copied.root, "--policy", "default")[1], "published")


def test_a_status_edited_together_with_the_manifest_is_found(capsys, finished, tmp_path) -> None:
    copied = RunDirectory(tmp_path / "run")
    shutil.copytree(finished.root, copied.root)
    for path in (copied.root / "results.json", copied.root / "gate.json"):
        document = json.loads(path.read_text())
        decision = document.get("decision", document)
        for rule in decision["rules"]:
            rule["status"] = "pass"
        decision["status"] = "pass"
        path.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")
    write_manifest(copied)
    for command in ("gate", "verify"):
        assert run([command, str(copied.root)]) == 7
        assert "the recorded verdict is not what" in capsys.readouterr().err


@pytest.mark.parametrize("policy", ["strict", "research"])
def test_another_policy_is_decided_from_published_ranges(capsys, finished, tmp_path, policy) -> None:
    before = contents(finished.root)
    status, text = printed(capsys, finished.root, "--policy", policy)
    assert re.match(
        rf"verdict: fail \(policy {policy}\): fails for \d of \d kinds .*\sThe model breaks", " ".join(text.split())
    )
    assert said(text, "published")
    assert contents(finished.root) == before
    assert printed(capsys, purged(finished, tmp_path / "purged").root, "--policy", policy) == (status, text)


def test_a_run_without_a_verdict_is_decided_under_the_default_policy(capsys, finished, tmp_path) -> None:
    copied = RunDirectory(tmp_path / "run")
    shutil.copytree(finished.root, copied.root)
    for path in (copied.root / "results.json", copied.evidence / "results.json"):
        path.write_text(json.dumps({**json.loads(path.read_text()), "decision": None}))
    write_manifest(copied)
    status, text = printed(capsys, copied.root)
    assert status == 1
    assert re.match(
        r"verdict: fail \(policy default\): fails for \d of \d kinds .*\sThe model breaks", " ".join(text.split())
    )
    assert said(printed(capsys, copied.root, "--exact")[1], "exact")


def test_exact_decides_any_policy_on_the_exact_numbers(capsys, finished) -> None:
    status, text = printed(capsys, finished.root, "--exact", "--policy", "strict")
    assert status == 1
    assert re.match(
        r"verdict: fail \(policy strict\): fails for \d of \d kinds .*\sThe model breaks", " ".join(text.split())
    )
    assert said(text, "exact")
    exact = read_exact(finished).memorization["encounter"]["train"].attributable_fraction.mean.value
    assert exact is not None
    assert f"{exact:.0%} (" in text
    rules = json.loads(printed(capsys, finished.root, "--exact", "--policy", "strict", "--json")[1])["rules"]
    observed = {rule["id"]: rule["observed"] for rule in rules}["memorization/attributable_fraction/encounter"]
    assert (observed["low"], observed["high"]) == (observed["value"], observed["value"])


def test_exact_needs_the_evidence(capsys, finished, tmp_path) -> None:
    gone = purged(finished, tmp_path / "purged")
    assert run(["gate", str(gone.root), "--exact"]) == 3
    assert "purged" in capsys.readouterr().err


def test_the_verdict_is_written_elsewhere_in_two_forms(capsys, finished, tmp_path) -> None:
    out = tmp_path / "verdict"
    assert printed(capsys, finished.root, "--policy", "strict", "--out", out)[0] == 1
    assert {path.name for path in out.iterdir()} == {"gate.json", "junit.xml"}
    assert stat.S_IMODE(out.stat().st_mode) == 0o700
    decision = json.loads((out / "gate.json").read_text())
    assert (decision["policy"], decision["status"]) == ("strict", "fail")
    assert "clinaudit policy strict" in (out / "junit.xml").read_text()
    assert not [path for path in out.iterdir() if SECRET in path.read_text()]
    assert printed(capsys, finished.root, "--policy", "strict", "--json")[1] == (out / "gate.json").read_text()


def test_what_is_written_outside_comes_from_published_files_alone(finished, tmp_path) -> None:
    """Other exact numbers of the same classes give the same files, for the run's own policy and for others."""
    other = RunDirectory(tmp_path / "other")
    shutil.copytree(finished.root, other.root)
    exact = read_exact(other)
    text = exact.memorization["encounter"]["train"]
    nothing = text.attributable_fraction.mean.model_copy(
        update=dict.fromkeys(("value", "low", "high", "confidence_low", "confidence_high"), 0.0)
    )
    fraction = text.attributable_fraction.model_copy(update={"mean": nothing})
    changed = {"train": text.model_copy(update={"attributable_fraction": fraction})}
    memorization = {**exact.memorization, "encounter": {**exact.memorization["encounter"], **changed}}
    path = other.evidence / "results.json"
    path.write_text(to_json(exact.model_copy(update={"memorization": memorization})))
    write_manifest(other)
    for policy in ("default", "strict", "research"):
        written = []
        for place in (finished, other):
            out = tmp_path / f"{policy}-{place.root.parent.name}-{place.root.name}"
            run(["gate", str(place.root), "--quiet", "--policy", policy, "--out", str(out)])
            written.append(contents(out))
        assert written[0] == written[1]


def test_quiet_says_nothing(capsys, finished) -> None:
    assert run(["gate", str(finished.root), "--quiet"]) == 1
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("inside", ["", "verdict", "evidence"])
def test_it_does_not_write_into_the_run(capsys, finished, inside) -> None:
    assert run(["gate", str(finished.root), "--out", str(finished.root / inside)]) == 2
    assert "names a directory of RUN" in capsys.readouterr().err
    assert run(["verify", str(finished.root)]) == 0


@pytest.mark.parametrize("outside", [("verdict",), ("run", "verdict"), ("run", "evidence", "work", "verdict")])
def test_exact_figures_are_not_written_outside_the_evidence(capsys, finished, outside) -> None:
    out = finished.root.parent.joinpath(*outside)
    assert run(["gate", str(finished.root), "--exact", "--out", str(out)]) == 2
    assert "where PHI stays" in capsys.readouterr().err
    assert not out.exists()


def test_an_exact_verdict_is_written_into_the_evidence_and_listed(capsys, finished, tmp_path) -> None:
    copied = RunDirectory(tmp_path / "run")
    shutil.copytree(finished.root, copied.root)
    out = copied.evidence / "strict"
    assert printed(capsys, copied.root, "--exact", "--policy", "strict", "--out", out)[0] == 1
    assert {path.name for path in out.iterdir()} == {"gate.json", "junit.xml"}
    assert run(["verify", str(copied.root)]) == 0
    assert "evidence/strict/gate.json" in json.loads((copied.evidence / "manifest.json").read_text())["sha256"]
    assert "evidence/strict" not in (copied.root / "manifest.json").read_text()


def test_a_file_in_the_place_of_the_folder_is_refused(capsys, finished, tmp_path) -> None:
    (tmp_path / "file").write_text("")
    assert run(["gate", str(finished.root), "--out", str(tmp_path / "file")]) == 2
    assert capsys.readouterr().err.startswith("error[USAGE]")


def test_an_unknown_policy_is_told_which_ones_ship(capsys, finished) -> None:
    assert run(["gate", str(finished.root), "--policy", "lenient"]) == 3
    error = capsys.readouterr().err
    assert "strict, default, research" in error
