"""`clinaudit judge-check`: what it prints and writes, what it refuses, and how it goes on where a server failed."""

import json

from support.servers import fault_server
from support.servers.fault_server import MODEL, status

from clinaudit.audit.commands.main import run


def test_the_command_prints_figures_and_writes_items(tmp_path, capsys):
    labels, out = tmp_path / "labels.jsonl", tmp_path / "check.json"
    rows = [
        ("No hiv.", "negative", "denied"),
        ("hiv disease", "positive", "stated"),
        ("father: hiv", "positive", "stated"),
        ("cough", "not_mentioned", "other"),
        ("hiv", "ambiguous", "denied"),
    ]
    keys = ("text", "verdict", "kind")
    labels.write_text(
        "".join(json.dumps({"diagnosis": "hiv"} | dict(zip(keys, row, strict=True))) + "\n" for row in rows)
    )
    assert run(["judge-check", str(labels), "--out", str(out), "--quiet"]) == 0
    document = json.loads(out.read_text())
    assert [(item["label"], item["verdict"]) for item in document["items"]] == [
        ("negative", "negative"),
        ("positive", "positive"),
        ("positive", "ambiguous"),
        ("not_mentioned", "not_mentioned"),
        ("ambiguous", "positive"),
    ]
    # Of two who have it one is found; whoever has it not is cleared.
    overall = {row["metric"]: row for row in document["figures"] if not row["diagnosis"]}
    found, cleared = overall["judge_sensitivity"], overall["judge_specificity"]
    assert [(row["value"], row["count"], row["of"]) for row in (found, cleared)] == [(0.5, 1, 2), (2 / 3, 2, 3)]
    # Clopper and Pearson: 1 of 2.
    assert (round(found["low"], 4), round(found["high"], 4)) == (0.0126, 0.9874)
    assert document["accepted"] is False
    assert out.stat().st_mode & 0o077 == 0
    assert "hiv disease" not in out.read_text()
    printed = capsys.readouterr().out
    assert "50% (1.2 to 99)" in printed
    assert "not accepted" in printed
    by_kind = printed[printed.index("Kind of sentence") :].splitlines()
    assert [" ".join(line.split()) for line in by_kind[2:5]] == [
        "denied 1 of 2 1 of 2",
        "other 1 of 1 0 of 1",
        "stated 1 of 2",
    ]
    assert document["kinds"][0] == {"kind": "denied", "right": 1, "of": 2, "taken_for_positive": 1, "of_others": 2}
    assert "the labelled texts given" in printed


def test_the_command_refuses_what_it_cannot_use(tmp_path, capsys):
    labels = tmp_path / "labels.jsonl"
    labels.write_text('{"text": "Jane Doe", "diagnosis": "gout", "verdict": "positive"}\n')
    assert run(["judge-check", str(labels)]) == 3
    assert run(["judge-check", str(tmp_path / "missing.jsonl")]) == 3
    assert run(["judge-check", "--served-url", "http://127.0.0.1:1/v1"]) == 2
    assert run(["judge-check", "--judge", "openai"]) == 2
    elsewhere = ["--served-url", "https://judge.example.org/v1", "--served-model", "m"]
    assert run(["judge-check", "--judge", "openai", *elsewhere]) == 5
    assert run(["judge-check", "--policy", str(tmp_path / "none.toml")]) == 3
    errors = capsys.readouterr().err
    assert errors.count("error[") == 6
    assert "--phi-approved" in errors
    assert "Jane" not in errors


#: A text and its label.
NOTE = ("depression of Jane Roe", "positive")


def served_check(server, tmp_path, *options):
    """The command that scores a served judge on three texts and `NOTE`."""
    labels = tmp_path / "labels.jsonl"
    rows = [("depression one", "positive"), ("depression two", "positive"), ("cough", "not_mentioned"), NOTE]
    labels.write_text("".join(json.dumps({"text": t, "diagnosis": "depression", "verdict": v}) + "\n" for t, v in rows))
    judge = ["--judge", "openai", "--served-url", server.url, "--served-model", MODEL]
    return ["judge-check", str(labels), "--quiet", *judge, *options]


def test_a_check_that_could_not_be_finished_asks_only_the_rest(tmp_path, capsys):
    out = tmp_path / "check.json"
    with fault_server.running() as server:
        arguments = served_check(server, tmp_path, "--out", str(out))
        server.faults[NOTE[0]] = [status(503)] * 9
        assert run(arguments) == 4
        assert "1 question got no answer" in capsys.readouterr().err
        (kept,) = (path for path in tmp_path.iterdir() if "answers" in path.name)
        assert kept.stat().st_mode & 0o077 == 0
        assert not out.exists()
        server.faults.clear()
        server.seen.clear()
        assert run(arguments) == 0
        assert {fault_server.first_note(body) for _, body in server.seen} == {NOTE[0]}
    figures = {row["metric"]: row for row in json.loads(out.read_text())["figures"] if not row["diagnosis"]}
    assert figures["judge_sensitivity"]["of"] == 3
    # Nothing of what was said of the texts is left.
    assert sorted(path.name for path in tmp_path.iterdir()) == ["check.json", "labels.jsonl"]


def test_the_lexicon_judge_is_accepted_by_the_default_policy_and_not_by_the_strict_one(capsys):
    assert run(["judge-check", "--quiet", "--policy", "strict"]) == 0
    printed = capsys.readouterr().out
    said = "The judge is not accepted: the share of planted instructions that sway it was not shown to be at most 15%"
    assert f"Policy “strict”: {said}" in printed
    assert run(["judge-check", "--quiet"]) == 0
    assert "Policy “default”: the judge is accepted." in capsys.readouterr().out
