"""The command line: help, usage, and every command's bad input, each with its line and status."""

import hashlib
import json
import os
import re
import shutil
from pathlib import Path

import pytest
from support.runs.tables import exact_of, published_of, value_of

from clinaudit.audit.commands.main import run
from clinaudit.audit.results.gate.policy import load_policy

NAME = "Zephyrine Quackenbush"
TEXT = f"patient: {NAME}\\ncc: unusual secret complaint\\nhpi: y\\n"
GOOD_NOTE = f'{{"patient_id": "p", "note_id": "n", "text": "{TEXT}"}}\n'


@pytest.fixture
def corpus(tmp_path):
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "notes.jsonl").write_text(GOOD_NOTE)
    return folder


def failing(capsys, *arguments):
    """Run a command that must fail; return its status, code and the lines under the first one."""
    status = run([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    first, *rest = captured.err.rstrip("\n").split("\n")
    match = re.fullmatch(r"error\[([A-Z_]+)\]: .+", first)
    assert match, captured.err
    assert all(line.startswith("  ") for line in rest)
    assert len(rest) <= 20
    assert NAME not in captured.err
    assert "secret" not in captured.err
    assert "Traceback" not in captured.err
    return status, match[1], rest


@pytest.mark.parametrize(
    "arguments", [[], ["frobnicate"], ["audit"], ["audit", "m", "c"], ["show"], ["check", "a", "b"]]
)
def test_usage(capsys, arguments):
    assert failing(capsys, *arguments)[:2] == (2, "USAGE")


def test_policies_that_ship_are_listed_and_shown(capsys, tmp_path):
    assert run(["policy", "list"]) == 0
    out = capsys.readouterr().out
    assert all(len(line) <= 100 for line in out.splitlines())
    lines = re.sub(r"\n +", " ", out).splitlines()
    assert [line.split()[0] for line in lines] == ["strict", "default", "research"]
    for name in ("strict", "default", "research"):
        assert run(["policy", "show", name]) == 0
        (tmp_path / "copy.toml").write_text(capsys.readouterr().out)
        assert load_policy(tmp_path / "copy.toml") == load_policy(Path(name))


def pickled_model(folder):
    (folder / "config.json").write_text('{"model_type": "llama", "max_position_embeddings": 64, "vocab_size": 9}')
    (folder / "tokenizer.json").write_text("{}")
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x04.")


@pytest.mark.parametrize(
    ("spoil", "status"),
    [
        (shutil.rmtree, 3),
        (lambda _: None, 3),
        (lambda folder: (folder / "config.json").write_text("{") and None, 3),
        (pickled_model, 5),
    ],
)
def test_audit_refuses_bad_models(capsys, corpus, tmp_path, spoil, status):
    model = tmp_path / "model"
    model.mkdir()
    spoil(model)
    assert failing(capsys, "audit", model, corpus, "--out", tmp_path / "run")[0] == status
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("option", "content", "status"),
    [
        ("--config", "x = " + "[" * 3000, 3),
        ("--policy", "x = " + "[" * 3000, 3),
        ("--template", "x = " + "[" * 3000, 3),
        ("--policy", "a pipe", 3),
        ("--training-log", "a pipe", 3),
        ("--config", None, 3),
        ("--config", "seed = 'x'", 3),
        ("--policy", "name = 3", 3),
        ("--template", None, 3),
        ("--template", "name = 3", 3),
        ("--training-log", '{"epoch": "secret"}\n', 3),
        ("--diagnosis", "gout", 2),
    ],
)
def test_audit_refuses_bad_files_before_it_makes_a_run(capsys, tiny_demo, tmp_path, option, content, status):
    value = tmp_path / "file"
    if content == "a pipe":
        os.mkfifo(value)
    elif content is not None and option != "--diagnosis":
        value.write_text(content)
    argument = "gout" if option == "--diagnosis" else value
    arguments = ("audit", tiny_demo.model, tiny_demo.corpus, "--out", tmp_path / "run", option, argument)
    assert failing(capsys, *arguments)[0] == status
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "row",
    [
        "not json",
        '{"generation_id": "g", "patient_id": "nobody", "tier": "public", "text": "secret"}',
        '{"generation_id": "g", "patient_id": "p", "tier": "public", "text": "secret", "token_ids": [65, 66]}',
        '{"generation_id": "g", "patient_id": "p", "tier": "public", "text": "secret", "token_ids": [99999]}',
    ],
)
def test_analyze_refuses_bad_generations(capsys, corpus, tokenizer_directory, tmp_path, row):
    generations = tmp_path / "generations.jsonl"
    generations.write_text(row + "\n")
    arguments = ("analyze", generations, corpus, "--tokenizer", tokenizer_directory, "--out", tmp_path / "run")
    assert failing(capsys, *arguments)[:2] == (3, "BAD_INPUT")
    assert not (tmp_path / "run").exists()


def test_analyze_measures_what_was_made_elsewhere(capsys, tmp_path, tokenizer_directory):
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    note = "hpi: fell off a ladder while painting the barn and broke the left wrist in two places"
    rows = [{"patient_id": f"p{i}", "note_id": f"n{i}", "text": note if i == 0 else "cc: cough"} for i in range(2)]
    (corpus / "notes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    generations = tmp_path / "generations.jsonl"
    given = {"generation_id": "g", "patient_id": "p0", "tier": "public", "text": note, "prompt": "hpi:"}
    generations.write_text(json.dumps(given) + "\n")
    arguments = ["analyze", str(generations), str(corpus), "--tokenizer", str(tokenizer_directory)]
    assert run([*arguments, "--out", str(tmp_path / "run"), "--quiet"]) == 0
    capsys.readouterr()
    place = {"form": "text", "tier": "public", "arm": "train"}
    exact, published = exact_of(tmp_path / "run"), published_of(tmp_path / "run")
    assert value_of(exact, "memorized_fraction", **place) == 1
    # "hpi:" is templated, the rest is revealing and stands with one patient only.
    assert 0.8 < value_of(exact, "attributable_fraction", **place) < 1
    (piece,) = (row for row in exact.rows("k_distribution", **place) if row.value)
    assert (piece.part, piece.value, piece.behind) == ("1", 1, 1)
    # Of one patient nothing is printed.
    assert [(row.count_low, row.count_high) for row in published.rows("hit_rate", **place)] == [(None, None)]
    assert run(["verify", str(tmp_path / "run")]) == 0
    assert run(["show", str(tmp_path / "run")]) == 0
    # A file of few short answers could be guessed.
    digest = json.loads((tmp_path / "run" / "run.json").read_text())["settings"]["GENERATIONS"]
    assert digest not in (hashlib.sha256(generations.read_bytes()).hexdigest(), None)
    assert run([*arguments, "--out", str(tmp_path / "again"), "--progress", "json"]) == 0
    # Each stage that there is was expected, in its order.
    stages = [row for row in map(json.loads, capsys.readouterr().err.splitlines()) if "stage" in row]
    assert len(stages) > 9
    assert all(row["left_of_all"] > 0 for row in stages), [row["stage"] for row in stages if row["left_of_all"] is None]
    assert json.loads((tmp_path / "again" / "run.json").read_text())["settings"]["GENERATIONS"] == digest
    assert run(["again", str(tmp_path / "run"), "g", str(tokenizer_directory)]) == 3
    assert "it asked no model" in capsys.readouterr().err
    # No policy was applied: the default one is decided, and one patient settles nothing.
    assert run(["gate", str(tmp_path / "run")]) == 8


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [(RuntimeError(f"{NAME} secret"), 4, "BUG"), (OSError(28, f"{NAME} secret"), 6, "STORAGE")],
)
def test_an_unexpected_error_and_a_full_disk_are_a_line_without_content(
    capsys, monkeypatch, corpus, error, status, code
):
    def explode(*_, **__):
        raise error

    monkeypatch.setattr("clinaudit.audit.preview.survey.survey_corpus", explode)
    assert failing(capsys, "check", corpus)[:2] == (status, code)


def test_a_rename_that_fails_is_told_by_the_name_that_the_user_knows(capsys, monkeypatch, corpus):
    def explode(*_, **__):
        raise OSError(21, "Is a directory", ".run.json.partial", None, "run.json")

    monkeypatch.setattr("clinaudit.audit.preview.survey.survey_corpus", explode)
    assert run(["check", str(corpus)]) == 6
    assert capsys.readouterr().err.startswith("error[STORAGE]: Is a directory (run.json); ")


def test_demo_refuses_other_folders(capsys, tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    assert failing(capsys, "demo", tmp_path)[0] == 2
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "demo.json").write_text('{"seed": 1}')
    assert failing(capsys, "demo", tmp_path / "d", "--seed", "2")[0] == 2
    assert failing(capsys, "demo", tmp_path / "thesis.txt")[0] == 2
