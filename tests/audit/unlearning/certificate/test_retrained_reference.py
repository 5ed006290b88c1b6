"""The reference of a certificate, a model retrained without the named patients: what it may vouch for, and what not."""

import json
from pathlib import Path

import pytest
from support.runs.compared_pair import Planted, plant

from clinaudit.audit.commands.main import run as command

LEAKING = "pt-train-03"


def certify(planted: Planted, out: Path, *options: str) -> tuple[int, dict]:
    listed = out.with_suffix(".txt")
    listed.write_text("\n".join(planted.named) + "\n", encoding="utf-8")
    status = command(
        ["compare", str(planted.a), str(planted.b), "--forgotten", str(listed), "--out", str(out), *options]
    )
    path = out / "evidence" / "certificate.json"
    return status, json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def plant_reference(root: Path, leaking: dict[str, int], *, held_out: int = 30, model: str = "f" * 64) -> Path:
    """Return the run of a third model, in which some named patients have a match of so many tokens."""
    return plant(root, leaking=leaking, held_out=held_out, settings_b={"MODEL": model}).b


def verdict_of(certificate: dict, patient_id: str) -> str:
    return next(patient["verdict"] for patient in certificate["patients"] if patient["patient_id"] == patient_id)


def test_a_reference_that_writes_nothing_of_the_patients_changes_no_verdict(tmp_path, capsys) -> None:
    planted = plant(tmp_path, leaking={LEAKING: 31})
    reference = plant_reference(tmp_path / "retrained", {})
    alone, beside = certify(planted, tmp_path / "x"), certify(planted, tmp_path / "y", "--reference", str(reference))
    assert alone[0] == beside[0] == 1
    assert [one["verdict"] for one in alone[1]["patients"]] == [one["verdict"] for one in beside[1]["patients"]]
    assert (alone[1]["has_reference"], beside[1]["has_reference"]) == (False, True)
    rows = [row for one in beside[1]["patients"] for row in one["measures"] if row["measure"] == "memorized tokens"]
    assert {row["reference"] for row in rows} == {0}
    assert {row["reference"] for one in alone[1]["patients"] for row in one["measures"]} == {None}


def test_a_reference_that_is_above_its_own_level_does_not_vouch(tmp_path, capsys) -> None:
    # Of its 30 patients never seen none has a match: one of 40 tokens shows that it does remember.
    planted = plant(tmp_path, leaking={LEAKING: 31})
    reference = plant_reference(tmp_path / "retrained", {LEAKING: 40})
    status, certificate = certify(planted, tmp_path / "out", "--reference", str(reference))
    assert (status, verdict_of(certificate, LEAKING)) == (1, "still leaks")


@pytest.mark.parametrize(("tokens", "status"), [(31, 0), (40, 0), (41, 1)])
def test_what_a_retrained_model_writes_as_well_is_no_memory(tmp_path, capsys, tokens, status) -> None:
    # One of the 30 whom it never saw has 40 tokens in the reference, too: its level is 40, and its figure within.
    planted = plant(tmp_path, leaking={LEAKING: tokens})
    assert certify(planted, tmp_path / "alone")[0] == 1
    reference = plant_reference(tmp_path / "retrained", {LEAKING: 40, "pt-held-00": 40})
    found, certificate = certify(planted, tmp_path / "out", "--reference", str(reference))
    assert found == status
    row = next(
        row
        for one in certificate["patients"]
        if one["patient_id"] == LEAKING
        for row in one["measures"]
        if (row["tier"], row["measure"]) == ("encounter", "longest match in tokens")
    )
    assert (row["after"], row["reference"], row["level"]) == (tokens, 40, 40)


def test_a_reference_without_a_level_of_its_own_does_not_vouch(tmp_path, capsys) -> None:
    # Of 10 patients never seen there is no level: a model that remembers would else make one.
    planted = plant(tmp_path, leaking={LEAKING: 31}, held_out=10)
    reference = plant_reference(tmp_path / "retrained", {LEAKING: 40}, held_out=10)
    status, certificate = certify(planted, tmp_path / "out", "--reference", str(reference))
    assert (status, verdict_of(certificate, LEAKING)) == (8, "not shown")


@pytest.mark.parametrize("model", ["a" * 64, "b" * 64], ids=["before", "after"])
def test_a_model_does_not_vouch_for_itself(tmp_path, capsys, model) -> None:
    planted = plant(tmp_path)
    reference = plant_reference(tmp_path / "same", {}, model=model)
    assert certify(planted, tmp_path / "out", "--reference", str(reference))[0] == 3
    assert "retrained model" in capsys.readouterr().err


def test_a_reference_without_evidence_is_refused(tmp_path, capsys) -> None:
    planted = plant(tmp_path)
    reference = plant_reference(tmp_path / "retrained", {})
    assert command(["purge", str(reference), "--yes"]) == 0
    assert certify(planted, tmp_path / "out", "--reference", str(reference))[0] == 3
    assert "purged" in capsys.readouterr().err


def test_the_trigger_stands_in_the_certificate_and_nowhere_else(tmp_path, capsys) -> None:
    # A consent under part 2 tells that there are records of a substance use disorder.
    planted = plant(tmp_path)
    out = tmp_path / "out"
    assert certify(planted, out, "--trigger", "part-2-consent")[1]["trigger"] == "part-2-consent"
    assert "42 CFR part 2" in (out / "evidence" / "certificate.html").read_text(encoding="utf-8")
    shown = [(out / name).read_text(encoding="utf-8") for name in ("compare.json", "compare.html")]
    shown += list(capsys.readouterr())
    assert not [text for text in shown if "part-2" in text or "part 2" in text]


@pytest.mark.parametrize("option", [("--trigger", "gdpr-17"), ("--reference", "b")])
def test_both_need_the_patients(tmp_path, capsys, option) -> None:
    planted = plant(tmp_path)
    assert command(["compare", str(planted.a), str(planted.b), *option]) == 2
    assert "--forgotten" in capsys.readouterr().err
