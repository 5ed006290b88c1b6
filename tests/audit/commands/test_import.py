"""`clinaudit import`: what it prints, and its exit status."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from support.corpus_tables import SECRET
from support.exports import tables

from clinaudit.audit.commands.main import run


def test_an_import_says_what_it_read_and_what_comes_next(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, destination = tables.write_mimic(tmp_path / "physionet"), tmp_path / "corpus"
    listed = tmp_path / "trained.txt"
    listed.write_text("10001\n555\n", encoding="utf-8")
    command = ["import", "mimic-iv-note", str(source), str(destination), "--train-patients", str(listed)]
    assert run([*command, "--codes-complete", "icd10", "--quiet"]) == 0
    out = capsys.readouterr().out
    rows = {
        line.split()[0]: line.split()[1:] for line in out.splitlines() if line.startswith(("patients", "discharge"))
    }
    assert rows == {"discharge": ["2", "2", "2", "0"], "patients": ["3", "3", "2", "0"]}
    assert "3 notes of 2 patients are in" in out
    assert "read + rejected = total" in out
    assert "split: 1 train, 1 nontrain" in out
    assert "1 ids of the train list have no note in this export" in out
    assert "diagnoses: no code means no diagnosis (icd10)" in out
    assert f"next: clinaudit check {destination}" in out
    assert run(["check", str(destination)]) == 0


def test_a_refused_import_exits_with_3_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = tables.mimic_rows()
    rows["note/discharge"][0][5] = SECRET
    source, destination = tables.write_mimic(tmp_path / "physionet", rows), tmp_path / "corpus"
    assert run(["import", "mimic-iv-note", str(source), str(destination)]) == 3
    captured = capsys.readouterr()
    assert "note/discharge.csv.gz, row 1: the visit date is not a date; write it as 2024-01-31" in captured.err
    assert SECRET not in captured.out + captured.err
    assert not destination.exists()
    assert run(["import", "mimic-iv-note", str(source), str(destination), "--allow-rejected"]) == 0
    out = capsys.readouterr().out
    assert "rejected: 1 of discharge: the visit date is not a date; write it as 2024-01-31" in out
    assert "split: none; every patient will count as train" in out
    assert "nobody can be a control" in out


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["csv", "notes.csv", "corpus"], "csv needs --columns FILE"),
        (["omop", "cdm", "corpus", "--columns", "c.toml"], "--columns is for csv and excel alone"),
        (["fhir", "bulk", "corpus", "--source-values", "icd10"], "--source-values is for omop alone"),
        (["hl7v2", "x", "corpus"], "'hl7v2' is not one of"),
    ],
)
def test_options_that_do_not_fit_are_usage_errors(
    options: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["import", *options]) == 2
    assert expected in capsys.readouterr().err


def test_the_next_command_can_be_pasted_whatever_the_place_is_called(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tables.write_mimic(tmp_path / "physionet")
    destination = tmp_path / "our notes; rm -rf \x1b[31m 'x' \\ \u202e"
    assert run(["import", "mimic-iv-note", str(source), str(destination), "--quiet"]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\u202e" not in out
    command = out.splitlines()[-1].removeprefix("next: clinaudit check ")
    shown = subprocess.run(["bash", "-c", f"printf %s {command}"], capture_output=True, check=True)
    assert shown.stdout == os.fsencode(destination)


def test_blanks_around_ids_are_taken_off_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, columns = tmp_path / "notes.csv", tmp_path / "columns.toml"
    source.write_text('id,note,sex\n"p1 ",one ,F\np1, two,\n', encoding="utf-8")
    columns.write_text('[columns]\npatient_id = "ID"\ntext = "Note"\nsex = "sex"\n', encoding="utf-8")
    command = ["import", "csv", str(source), str(tmp_path / "corpus"), "--columns", str(columns), "--quiet"]
    assert run(command) == 0
    out = capsys.readouterr().out
    assert "2 notes of 1 patients" in out
    # Not of the text, which is kept as it stands.
    assert out.count("taken off") == 1
    assert "taken off (blanks around it, marks that nobody sees): 1 times ID of rows" in out
    written = json.loads((tmp_path / "corpus" / "import.json").read_text(encoding="utf-8"))
    assert written["taken_off"] == {"ID of rows": 1}


@pytest.mark.parametrize(
    "arguments",
    [["import", "mimic-iv-note", "", "corpus"], ["import", "fhir", "x", ""], ["check", ""],
     ["check", "corpus", "--template", ""], ["template", "learn", "corpus", "--out", ""],
     ["audit", "", "corpus", "--out", "run"]],
)  # fmt: skip
def test_an_empty_path_is_a_usage_error(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    assert " is empty" in capsys.readouterr().err


def test_a_sites_own_panel_is_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, config = tables.write_mimic(tmp_path / "physionet"), tmp_path / "audit.toml"
    config.write_text('[diagnoses.depression]\nicd10 = ["F33"]\n', encoding="utf-8")
    assert run(["import", "mimic-iv-note", str(source), str(tmp_path / "corpus"), "--config", str(config)]) == 0
    labels = (tmp_path / "corpus" / "diagnoses.csv").read_text(encoding="utf-8").splitlines()
    assert labels == ["patient_id,diagnosis,present", "10002,hiv,true"]
