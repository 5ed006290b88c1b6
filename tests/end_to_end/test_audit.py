"""The whole audit on a model that was really trained: what it leaves, kills and resumption, refusals."""

import hashlib
import json
import re
import shutil
import signal
import stat
from collections.abc import Callable
from functools import partial
from pathlib import Path

import jsonschema
import polars as pl
import pytest
from lxml import etree
from support.runs.command_line import FAST, PROGRAM, command, kill_once, run_command, units, written_outside
from support.runs.tables import exact_of, published_of

from clinaudit.audit.commands.main import run as run_here
from clinaudit.audit.runtime.model.engines import transformers_engine
from clinaudit.audit.runtime.run.evidence_tables import SCHEMAS
from clinaudit.reports.schema.run_results import json_schema

#: What an audit with one judge leaves.
TABLES = sorted(SCHEMAS)
#: What is the same, byte for byte, however an audit came to its end.
PUBLISHED = ("results.json", "results.csv", "run.json", "gate.json", "junit.xml", "report.html", "annex.html")
EXACT = ("results.csv", "report.html", "annex.html", "evidence.html")
WHOLE = (*PUBLISHED, *(f"evidence/{name}" for name in EXACT))
SCHEMAS_OF_OTHERS = Path(__file__).parents[1] / "schemas"

pytestmark = pytest.mark.slow


def call(*arguments):
    return run_command([PROGRAM, *map(str, arguments)])


def test_a_run_leaves_what_the_results_page_names(audited):
    names = {path.name for path in audited.iterdir()}
    verdict = {"gate.json", "junit.xml"}
    pages = {"report.html", "annex.html"}
    assert names == pages | {"results.json", "results.csv", "run.json", "manifest.json", "evidence"} | verdict
    for name in TABLES:
        assert pl.read_parquet(audited / "evidence" / f"{name}.parquet").columns == list(SCHEMAS[name])
    jsonschema.validate(json.loads((audited / "results.json").read_text(encoding="utf-8")), json_schema())
    exact, published = exact_of(audited), published_of(audited)
    some = {"attributable_fraction", "own_identifiers", "auroc_all", "smd", "patients", "judge_sensitivity"}
    assert set(exact.frame["metric"]) >= some
    assert set(published.frame["metric"]) <= set(exact.frame["metric"])
    etree.XMLSchema(etree.parse(SCHEMAS_OF_OTHERS / "junit-10.xsd")).assertValid(etree.parse(audited / "junit.xml"))


def test_the_digest_of_the_prompts_is_keyed(audited):
    rows = pl.read_parquet(audited / "evidence" / "priors.parquet").to_dicts()
    said = hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()
    record = (audited / "run.json").read_text(encoding="utf-8")
    assert len(json.loads(record)["digests"]["prompts"]) == len(said)
    assert said not in record


def test_nothing_of_a_patient_stands_outside_the_evidence(audited, tiny_demo):
    patients = pl.read_csv(tiny_demo.corpus / "patients.csv", infer_schema=False)
    generations = pl.read_parquet(audited / "evidence" / "generations.parquet")
    secrets = [*patients["name"], *patients["patient_id"], *patients["dob"], *generations["generation_id"]]
    secrets += [text[:40] for text in generations["text"] if len(text) > 40]
    for path in audited.iterdir():
        if path.is_file():
            content = path.read_text(encoding="utf-8")
            assert not [secret for secret in secrets if secret in content], path.name
    # Names and dates of birth are no file names either.
    assert not [path for path in audited.rglob("*") for name in patients["name"] if name in path.name]


def test_the_evidence_viewer_shows_each_span_as_it_stands_in_its_source_note(audited, tiny_demo, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(audited, run)
    done = call("evidence", run, tiny_demo.corpus)
    assert done.returncode == 0, done.stderr
    page = run / "evidence" / "evidence.html"
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    data = json.loads(re.search(r'id="data">(.*?)</script>', page.read_text(), re.S)[1])
    generations = pl.read_parquet(run / "evidence/generations.parquet")
    spans = [(item, span) for item in data["texts"] for span in item["spans"]]
    assert {item["text"] for item in data["texts"]} <= set(generations["text"])
    for item, span in spans:
        note = data["notes"][span["source_note_id"]]["text"]
        said = item["text"][span["char_start"] : span["char_end"]]
        assert said == note[span["note_char_start"] : span["note_char_end"]]
    # Verbatim text is only cut: the characters are those of the segments.
    segments = pl.read_parquet(run / "evidence/segments.parquet").to_dicts()
    shown = {item["generation_id"] for item in data["texts"]}
    assert sum(span["char_end"] - span["char_start"] for _, span in spans if span["kind"] != "near") == sum(
        row["char_end"] - row["char_start"] for row in segments if row["generation_id"] in shown
    )
    assert {span["kind"] for _, span in spans} >= {"revealing", "templated"}
    # Each text stands with every reading of it, beside what the cohort says of the patient.
    judged = pl.read_parquet(run / "evidence/judgements.parquet").filter(pl.col("generation_id").is_in(shown))
    assert sum(len(item["readings"]) for item in data["texts"]) == judged.height
    cohorts = pl.read_parquet(run / "evidence/cohorts.parquet")
    present = {(row["patient_id"], row["diagnosis"]): row["present"] for row in cohorts.to_dicts()}
    words = {True: "has it", False: "does not have it"}
    for item in data["texts"]:
        for reading in item["readings"]:
            assert reading["truth"] == words[present[item["patient_id"], reading["diagnosis"]]]
    assert call("verify", run).returncode == 0

    other = tmp_path / "corpus"
    shutil.copytree(tiny_demo.corpus, other)
    notes = next(other.glob("notes.*"))
    notes.write_bytes(notes.read_bytes().replace(b"provider", b"Provider", 1))
    refused = call("evidence", run, other)
    assert refused.returncode == 3
    assert "not the one that this run audited" in refused.stderr


@pytest.fixture(scope="module")
def resumed(tiny_demo, tmp_path_factory):
    """One run that is killed at four points and interrupted at one, each time gone on with, and then finished."""
    run = tmp_path_factory.mktemp("resumed") / "run"
    arguments = command(tiny_demo, run, *FAST)
    stops: list[Callable[[int], bool]] = [
        lambda _: (run / "evidence" / "cohorts.parquet").exists(),
        lambda _: units(run, "generations") >= 5,
        lambda before: units(run, "generations") > before,
        lambda _: units(run, "judgements") >= 20,
        lambda _: (run / "evidence" / "results.csv").exists(),
    ]
    for number, reached in enumerate(stops):
        before = units(run, "generations")
        is_kill = number != 2
        errors = run.with_name(f"errors-{number}")
        by, status = (signal.SIGKILL, -signal.SIGKILL) if is_kill else (signal.SIGINT, 130)
        assert kill_once(partial(reached, before), arguments, by=by, errors=errors) == status
        assert not (run / "manifest.json").exists()
        assert units(run, "generations") >= before
        assert is_kill or re.fullmatch(r"error\[INTERRUPTED\]: .*\n", errors.read_text(encoding="utf-8"))
    done = run_command(arguments)
    assert done.returncode in (1, 8), done.stderr
    return run


def test_killed_at_every_stage_interrupted_and_resumed_gives_the_same_bytes(audited, resumed):
    for name in WHOLE:
        assert (resumed / name).read_bytes() == (audited / name).read_bytes(), name
    for name in TABLES:
        ours, theirs = (pl.read_parquet(root / "evidence" / f"{name}.parquet") for root in (resumed, audited))
        assert ours.equals(theirs), name


def test_changed_settings_are_refused_and_nothing_is_lost(audited, tiny_demo, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(audited, run)
    changed = run_command(command(tiny_demo, run, *FAST, "--seed", "1"))
    assert changed.returncode == 2
    assert "--seed" in changed.stderr
    assert changed.stderr.count("\n") == 1
    for name, statuses in (("verify", {0}), ("show", {0}), ("report", {0}), ("gate", {1, 8})):
        done = call(name, run)
        assert done.returncode in statuses, done.stderr
    with (run / "evidence" / "generations.parquet").open("ab") as file:
        file.write(b"x")
    for name in ("report", "gate", "verify"):
        assert call(name, run).returncode == 7, name


def test_libraries_write_inside_the_run_only(audited):
    assert written_outside(audited) == []


def test_a_served_model_elsewhere_is_refused_before_anything_is_sent(tiny_demo, tmp_path):
    arguments = command(tiny_demo, tmp_path / "run", "--tokenizer", str(tiny_demo.model), "--context-length", "2048")
    arguments[2] = "openai:https://models.example.org/v1#m"
    done = run_command(arguments)
    assert done.returncode == 5
    assert done.stderr.startswith("error[UNSAFE]: ")
    assert not (tmp_path / "run").exists()


def test_text_and_identifiers_are_audited_without_a_panel_diagnosis(tiny_demo, tmp_path):
    corpus, run = tmp_path / "corpus", tmp_path / "run"
    shutil.copytree(tiny_demo.corpus, corpus)
    first = pl.read_csv(corpus / "patients.csv", infer_schema=False)["patient_id"][0]
    (corpus / "diagnoses.csv").write_text(f"patient_id,diagnosis,present\n{first},diabetes,true\n", encoding="utf-8")
    options = ["--tier", "encounter", "--max-new-tokens", "40", "--quiet", "--engine", "transformers"]
    options += ["--no-everyday", "--no-score"]
    arguments = command(tiny_demo, run, *options)
    arguments[arguments.index(str(tiny_demo.corpus))] = str(corpus)
    done = run_command(arguments)
    assert done.returncode in (1, 8), done.stderr
    estimates = exact_of(run).frame.filter(pl.col("value").is_not_null())
    metrics = set(estimates["metric"])
    assert metrics >= {"memorized_fraction", "attributable_fraction", "own_identifiers"}
    assert not metrics & {"auroc_all", "auroc", "ppv"}
    assert pl.read_parquet(run / "evidence" / "cohorts.parquet").is_empty()


def test_a_wrong_engine_ends_the_audit_unless_the_test_is_skipped(tiny_demo, tmp_path, monkeypatch, capsys):
    pick = transformers_engine._pick

    def second_best_in_batches(logits, rows):
        """What padding does to a model whose positions are not its own."""
        return pick(logits, rows) if len(rows) == 1 else logits.topk(2).indices[:, 1]

    monkeypatch.setattr(transformers_engine, "_pick", second_best_in_batches)
    arguments = command(tiny_demo, tmp_path / "run", *FAST, "--no-score")[1:]
    assert run_here(arguments) == 3
    said = capsys.readouterr().err
    assert "the self-test failed: the transformers engine continues a text otherwise than transformers' g" in said
    assert "--skip-self-test goes on, and the report says so" in said
    assert not (tmp_path / "run" / "report.html").exists()
    short = ["--no-score", "--skip-self-test", "--max-new-tokens", "24"]
    skipped = command(tiny_demo, tmp_path / "skipped", *FAST, *short)[1:]
    assert run_here(skipped) in (0, 1, 8)
    assert "The self-test of the model was left out" in (tmp_path / "skipped/report.html").read_text()
