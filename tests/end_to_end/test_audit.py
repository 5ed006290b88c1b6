"""The whole audit on a model that was really trained: what it leaves, kills and resumption, nothing outside."""

import hashlib
import json
import re
import shutil
import signal
import stat
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import jsonschema
import polars as pl
import pytest
from lxml import etree
from support.runs.command_line import FAST, PROGRAM, command, kill_once, run_command, units, written_outside
from support.runs.tables import exact_of, published_of

from clinaudit.audit.runtime.run.evidence_tables import SCHEMAS
from clinaudit.priors.corpus.corpus import read_corpus
from clinaudit.reports.schema.run_results import json_schema

#: What an audit with one judge leaves.
TABLES = sorted(SCHEMAS)
#: What is the same, byte for byte, however an audit came to its end.
PUBLISHED = ("results.json", "results.csv", "run.json", "gate.json", "junit.xml", "report.html", "annex.html")
EXACT = ("results.csv", "report.html", "annex.html", "evidence.html")
WHOLE = (*PUBLISHED, *(f"evidence/{name}" for name in EXACT))
SCHEMAS_OF_OTHERS = Path(__file__).parents[1] / "schemas"

pytestmark = pytest.mark.slow


def call(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return run_command([PROGRAM, *map(str, arguments)])


def test_a_run_leaves_what_the_results_page_names(audited) -> None:
    names = {path.name for path in audited.iterdir()}
    verdict = {"gate.json", "junit.xml"}
    pages = {"report.html", "annex.html"}
    assert names == pages | {"results.json", "results.csv", "run.json", "manifest.json", "evidence"} | verdict
    for name in TABLES:
        assert pl.read_parquet(audited / "evidence" / f"{name}.parquet").columns == list(SCHEMAS[name])
    jsonschema.validate(json.loads((audited / "results.json").read_text(encoding="utf-8")), json_schema())
    exact, published = exact_of(audited), published_of(audited)
    assert set(exact.frame["metric"]) >= {
        "attributable_fraction",
        "own_identifiers",
        "auroc_all",
        "smd",
        "patients",
        "judge_sensitivity",
    }
    assert set(published.frame["metric"]) <= set(exact.frame["metric"])
    etree.XMLSchema(etree.parse(SCHEMAS_OF_OTHERS / "junit-10.xsd")).assertValid(etree.parse(audited / "junit.xml"))


def test_the_digest_of_the_prompts_is_keyed(audited) -> None:
    rows = pl.read_parquet(audited / "evidence" / "priors.parquet").to_dicts()
    said = hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()
    record = (audited / "run.json").read_text(encoding="utf-8")
    assert len(json.loads(record)["digests"]["prompts"]) == len(said)
    assert said not in record


def test_near_verbatim_text_stands_beside_the_verbatim_and_holds_it(audited, tiny_demo) -> None:
    evidence = audited / "evidence"
    metrics = pl.read_parquet(evidence / "generation_metrics.parquet")
    near = pl.read_parquet(evidence / "near_verbatim.parquet")
    verbatim = pl.read_parquet(evidence / "regions.parquet")
    assert set(verbatim["generation_id"]) <= set(near["generation_id"])
    corpus = read_corpus(tiny_demo.corpus)
    for row in near.join(metrics, on="generation_id").iter_rows(named=True):
        assert row["source_note_id"] in {note.note_id for note in corpus.notes_of(row["patient_id"])}
        # Of a window of 20 tokens four may be missed, at its ends, too.
        assert 16 <= row["token_end"] - row["token_start"] <= row["tokens"]
    lengths = near.select("generation_id", (pl.col("token_end") - pl.col("token_start")).alias("near"))
    longest = verbatim.group_by("generation_id").agg((pl.col("token_end") - pl.col("token_start")).max().alias("piece"))
    joined = lengths.join(longest, on="generation_id")
    assert (joined["near"] >= joined["piece"]).all()
    # Any two regions of one generation in the table are of one length: the longest.
    assert lengths.unique().height == lengths["generation_id"].n_unique()
    assert (metrics["near_verbatim_attributable_tokens"] >= metrics["attributable_tokens"]).all()


def test_subgroups_make_up_their_arm(audited) -> None:
    exact = exact_of(audited)
    whole = [
        row for row in exact.rows("attributable_patients", by="") if row.of_low and row.arm in ("train", "nontrain")
    ]
    assert len(whole) == 4
    for row in whole:
        for group in ("age", "sex"):
            parts = exact.rows("attributable_patients", form=row.form, tier=row.tier, arm=row.arm, by=group)
            assert sum(part.of_low or 0 for part in parts) == row.of_low
            assert sum(part.count_low or 0 for part in parts) == row.count_low


def test_cohorts_are_quadruples_and_prompts_serve_them(audited) -> None:
    cohorts = pl.read_parquet(audited / "evidence" / "cohorts.parquet")
    for (_, _), rows in cohorts.group_by(["diagnosis", "match_id"]):
        cells = set(zip(rows["arm"], rows["present"], strict=True))
        assert cells == {("train", True), ("train", False), ("nontrain", True), ("nontrain", False)}
    priors = pl.read_parquet(audited / "evidence" / "priors.parquet")
    # All patients of so small a corpus are probed; those in no cohort for no diagnosis.
    others = priors.filter(~pl.col("patient_id").is_in(cohorts["patient_id"].to_list()))
    assert priors["patient_id"].n_unique() == 48
    assert set(cohorts["patient_id"]) <= set(priors["patient_id"])
    assert others.height == 0 or others["diagnoses"].list.len().max() == 0
    background = priors.filter((pl.col("tier") == "public_name_meds") & ~pl.col("excluded"))
    assert all(prompt.endswith("patient note:") for prompt in background["prompt"])


def test_nothing_of_a_patient_stands_outside_the_evidence(audited, tiny_demo) -> None:
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


def test_the_evidence_viewer_shows_each_span_as_it_stands_in_its_source_note(audited, tiny_demo, tmp_path) -> None:
    run = tmp_path / "run"
    shutil.copytree(audited, run)
    done = call("evidence", run, tiny_demo.corpus)
    assert done.returncode == 0, done.stderr
    page = run / "evidence" / "evidence.html"
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    data = json.loads(re.search(r'id="data">(.*?)</script>', page.read_text(), re.S)[1])  # type: ignore[index]
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
def resumed(tiny_demo, tmp_path_factory) -> Path:
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


def test_killed_at_every_stage_interrupted_and_resumed_gives_the_same_bytes(audited, resumed) -> None:
    for name in WHOLE:
        assert (resumed / name).read_bytes() == (audited / name).read_bytes(), name
    for name in TABLES:
        ours, theirs = (pl.read_parquet(root / "evidence" / f"{name}.parquet") for root in (resumed, audited))
        assert ours.equals(theirs), name


def test_another_name_changes_no_result_and_is_kept_where_none_is_given(audited, resumed, tiny_demo, tmp_path) -> None:
    run = tmp_path / "run"
    shutil.copytree(resumed, run)

    def identity_of(*options: str) -> object:
        if options:
            # A finished run that is gone on with.
            done = run_command(command(tiny_demo, run, *FAST, *options))
            assert done.returncode in (1, 8), done.stderr
        for name in ("results.json", "results.csv", "gate.json", "junit.xml"):
            assert (run / name).read_bytes() == (audited / name).read_bytes(), name
        return json.loads((run / "run.json").read_text(encoding="utf-8"))["identity"]

    nobody = dict.fromkeys(("model_name", "institution", "date", "intended_use"))
    assert identity_of() == nobody
    named = {**nobody, "model_name": "Scribe 3", "date": "2026-11-22"}
    assert identity_of("--model-name", "Scribe 3", "--date", "2026-11-22") == named
    assert identity_of("--institution", "St. Anne") == {**named, "institution": "St. Anne"}


def test_changed_settings_are_refused_and_nothing_is_lost(audited, tiny_demo, tmp_path) -> None:
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


def test_a_sites_own_rules_find_what_the_model_emits_without_decoding_again(audited, tiny_demo, tmp_path) -> None:
    run, rules = tmp_path / "run", tmp_path / "ours.toml"
    shutil.copytree(audited, run)
    generations = (run / "evidence" / "generations.parquet").read_bytes()
    texts = pl.read_parquet(run / "evidence" / "generations.parquet")["text"].to_list()
    words = re.findall(r"\b[a-z]{6,}\b", " ".join(texts))
    # A word of the notes that stands for a number of a shape that only this site gives.
    rules.write_text(f"[[rule]]\nkind = 'other_code'\npattern = '\\b{max(words, key=words.count)}\\b'\n")
    done = run_command(command(tiny_demo, run, *FAST, "--identifier-rules", str(rules), "--processes", "2"))
    assert done.returncode in (1, 8), done.stderr
    assert (run / "evidence" / "generations.parquet").read_bytes() == generations
    found = {
        folder: pl.read_parquet(folder / "evidence" / "identifiers.parquet")["found_by"].to_list()
        for folder in (audited, run)
    }
    assert found[audited].count("the site's own rules") == 0 < found[run].count("the site's own rules")
    results = json.loads((run / "results.json").read_text(encoding="utf-8"))
    jsonschema.validate(results, json_schema())
    assert results["identifiers"]["site_rules"] == 1
    # Without them again, it is the run that it was.
    assert run_command(command(tiny_demo, run, *FAST)).returncode in (1, 8)
    assert [(run / name).read_bytes() for name in WHOLE] == [(audited / name).read_bytes() for name in WHOLE]


def test_libraries_write_inside_the_run_only(audited) -> None:
    assert written_outside(audited) == []


def test_a_served_model_elsewhere_is_refused_before_anything_is_sent(tiny_demo, tmp_path) -> None:
    arguments = command(tiny_demo, tmp_path / "run", "--tokenizer", str(tiny_demo.model), "--context-length", "2048")
    arguments[2] = "openai:https://models.example.org/v1#m"
    done = run_command(arguments)
    assert done.returncode == 5
    assert done.stderr.startswith("error[UNSAFE]: ")
    assert not (tmp_path / "run").exists()
