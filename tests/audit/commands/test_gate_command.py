"""`clinaudit gate`: whose verdict it gives, what it prints and writes, and where; the run stays as it was."""

import json
import shutil
import stat
from pathlib import Path
from xml.etree import ElementTree

import pytest
from support.runs.finished_run import SECRET, make_finished_run

from clinaudit.audit.commands.main import run
from clinaudit.audit.results.gate.policy import locate_policy
from clinaudit.audit.results.publication.published_files import read_exact, read_published
from clinaudit.audit.results.publication.run_verdict import find_verdict
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.durable_files import sha256_of
from clinaudit.audit.runtime.run.manifest import write_manifest
from clinaudit.reports.wording.figures import figure_words
from clinaudit.reports.wording.rule_rows import rule_rows

VERDICT = {"gate.json", "junit.xml"}


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> RunDirectory:
    """A run whose own policy is the default one; no test changes it."""
    return make_finished_run(tmp_path_factory.mktemp("gate") / "run")


@pytest.fixture
def fresh(tmp_path: Path) -> RunDirectory:
    return make_finished_run(tmp_path / "run")


@pytest.fixture
def purged(fresh: RunDirectory) -> RunDirectory:
    assert run(["purge", str(fresh.root), "--yes"]) == 0
    return fresh


def contents(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def printed(capsys, *arguments: str | Path) -> tuple[int, str]:
    capsys.readouterr()
    status = run(["gate", *map(str, arguments)])
    return status, capsys.readouterr().out


def test_the_runs_own_policy_gives_the_recorded_verdict_before_and_after_a_purge(capsys, finished, purged) -> None:
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


def test_a_policy_of_ones_own_is_known_without_its_file(capsys, fresh, tmp_path) -> None:
    ours = tmp_path / "ours.toml"
    ours.write_text(locate_policy(None).read_text() + "\n# ours\n")
    path = fresh.root / "run.json"
    path.write_text(json.dumps({"settings": {"--policy": sha256_of(ours)}}))
    write_manifest(fresh)
    own = printed(capsys, fresh.root)
    assert own == printed(capsys, fresh.root, "--policy", ours)
    assert run(["purge", str(fresh.root), "--yes"]) == 0
    assert printed(capsys, fresh.root, "--policy", ours) == own
    # The default policy is another here.
    assert run(["gate", str(fresh.root), "--policy", "default"]) == 3


@pytest.mark.parametrize("policy", ["strict", "research"])
def test_another_policy_is_decided_on_the_evidence_and_not_after_a_purge(capsys, finished, purged, policy) -> None:
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


def test_exact_prints_exact_figures_beside_the_same_rules(capsys, finished) -> None:
    exact, published = read_exact(finished).estimates, read_published(finished).estimates
    verdict, _ = find_verdict(finished)
    rule = next(rule for rule in verdict.rules if (rule.status, rule.metric) == ("fail", "attributable_patients"))
    hidden, known = (figure_words(rule_rows(rule, table).figure, interval=True) for table in (published, exact))
    assert hidden != known
    shown = [" ".join(printed(capsys, finished.root, *options)[1].split()) for options in ([], ["--exact"])]
    assert hidden in shown[0]
    assert known in shown[1]
    assert known not in shown[0]


def test_exact_needs_the_evidence(capsys, purged) -> None:
    assert run(["gate", str(purged.root), "--exact"]) == 3
    assert "purged" in capsys.readouterr().err


def test_the_runs_own_verdict_is_written_elsewhere_in_two_forms(capsys, finished, tmp_path) -> None:
    out = tmp_path / "verdict"
    before = contents(finished.root)
    assert printed(capsys, finished.root, "--exact", "--out", out)[0] == 1
    written = contents(out)
    assert written == {name: before[name] for name in VERDICT}
    assert stat.S_IMODE(out.stat().st_mode) == 0o700
    assert not [name for name, text in written.items() if SECRET.encode() in text]
    suite = ElementTree.fromstring(written["junit.xml"])
    assert int(suite.get("failures") or 0) == sum(
        rule["status"] == "fail" for rule in json.loads(written["gate.json"])["rules"]
    )
    assert contents(finished.root) == before


@pytest.mark.parametrize("inside", ["", "verdict", "evidence"])
def test_the_runs_own_verdict_is_not_written_into_the_run(capsys, finished, inside) -> None:
    assert run(["gate", str(finished.root), "--out", str(finished.root / inside)]) == 2
    assert "names a directory of RUN" in capsys.readouterr().err
    assert run(["verify", str(finished.root)]) == 0


@pytest.mark.parametrize("outside", [("verdict",), ("run", "verdict"), ("run", "evidence", "work", "verdict")])
def test_another_policys_verdict_is_not_written_outside_the_evidence(capsys, finished, outside) -> None:
    out = finished.root.parent.joinpath(*outside)
    for options in ([], ["--exact"], ["--quiet"]):
        assert run(["gate", str(finished.root), "--policy", "strict", "--out", str(out), *options]) == 2
        assert "where PHI stays" in capsys.readouterr().err
        assert not out.exists()


def test_a_link_out_of_the_evidence_is_outside_it(capsys, fresh, tmp_path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (fresh.evidence / "verdict").symlink_to(tmp_path / "elsewhere")
    out = str(fresh.evidence / "verdict" / "strict")
    assert run(["gate", str(fresh.root), "--policy", "strict", "--out", out]) in {2, 7}
    assert not [*(tmp_path / "elsewhere").iterdir()]


def test_another_policys_verdict_is_written_into_the_evidence_and_goes_with_it(capsys, fresh) -> None:
    out = fresh.evidence / "strict"
    assert printed(capsys, fresh.root, "--policy", "strict", "--out", out)[0] == 1
    assert {path.name for path in out.iterdir()} == VERDICT
    assert json.loads((out / "gate.json").read_text())["policy"] == "strict"
    assert run(["verify", str(fresh.root)]) == 0
    assert "evidence/strict/gate.json" in json.loads((fresh.evidence / "manifest.json").read_text())["sha256"]
    assert "evidence/strict" not in (fresh.root / "manifest.json").read_text()
    assert run(["purge", str(fresh.root), "--yes"]) == 0
    assert run(["gate", str(fresh.root), "--policy", "strict", "--out", str(out)]) == 3
    assert not out.exists()


def test_a_status_edited_together_with_the_manifest_is_found(capsys, fresh) -> None:
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


def test_a_gate_file_of_another_verdict_is_found(capsys, fresh) -> None:
    path = fresh.root / "gate.json"
    path.write_text(path.read_text().replace('"fail"', '"pass"'))
    write_manifest(fresh)
    assert run(["verify", str(fresh.root)]) == 7
    assert "gate.json is not the verdict" in capsys.readouterr().err


def test_a_run_without_a_verdict_is_decided_on_its_evidence(capsys, fresh) -> None:
    path = fresh.root / "results.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "verdict": None}))
    for name in VERDICT:
        (fresh.root / name).unlink()
    write_manifest(fresh)
    status, text = printed(capsys, fresh.root)
    assert (status, text.split(":")[0]) == (1, "FAIL (policy default)")
    out = fresh.root.parent / "verdict"
    assert run(["gate", str(fresh.root), "--out", str(out)]) == 2
    shutil.rmtree(fresh.evidence)
    write_manifest(fresh, purged=True)
    assert run(["gate", str(fresh.root)]) == 3


def test_a_file_in_the_place_of_the_folder_is_refused(capsys, finished, tmp_path) -> None:
    (tmp_path / "file").write_text("")
    assert run(["gate", str(finished.root), "--out", str(tmp_path / "file")]) == 2
    assert capsys.readouterr().err.startswith("error[USAGE]")
