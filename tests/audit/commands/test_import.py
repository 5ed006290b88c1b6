"""`clinaudit import`: what it prints, and its exit status."""

from support.corpus_tables import SECRET
from support.exports import tables

from clinaudit.audit.commands.main import run


def test_a_refused_import_exits_with_3_and_writes_nothing(tmp_path, capsys):
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


def test_an_import_says_what_it_read_and_what_comes_next(tmp_path, capsys):
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
