"""Are a site's own rules searched for in an audit, and is the same found by any number of processes?"""

import hashlib
import json
from pathlib import Path
from random import Random

import pytest
from support.elsewhere import Elsewhere
from support.evidence_frames import generation_frame
from support.pii.owner_oracle import WAYS, Site, draw_people, generation
from support.runs.tiny_demo import TinyDemo

from clinaudit.audit.commands.main import run
from clinaudit.audit.measures.memorization import masked_notes
from clinaudit.audit.pii import owners
from clinaudit.audit.pii.detectors import gazetteer
from clinaudit.audit.pii.detectors.site_rules import read_site_rules
from clinaudit.audit.pii.stage import find_identifiers
from clinaudit.audit.runtime.cluster import LocalRunner, ShardRunner
from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.run.evidence_tables import Row, read_table
from clinaudit.priors.corpus.corpus import read_corpus
from clinaudit.templates.profile import load_profile

_RULES = """
[[rule]]
kind = "mrn"
pattern = '\\bqx~(?P<value>[a-z]+)\\b'

[[rule]]
kind = "occupation"
pattern = "seen"
"""
_NOTE = "cc: cough\nhpi: known here as qx~abcd, seen for a cough that began in the spring.\n"


def _analyze(folder: Path, tokenizer: Path, *options: str | Path) -> dict[str, object]:
    """Return the exact results and the found values of answers about two patients, one of whom has a site's number."""
    if not (folder / "corpus").exists():
        (folder / "corpus").mkdir()
        notes = [
            {"patient_id": "p0", "note_id": "n0", "text": _NOTE},
            {"patient_id": "p1", "note_id": "n1", "text": "cc: cough"},
        ]
        (folder / "corpus" / "notes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in notes))
        answer = {"generation_id": "g", "patient_id": "p0", "tier": "public", "text": _NOTE, "prompt": "cc:"}
        (folder / "generations.jsonl").write_text(json.dumps(answer) + "\n")
    arguments = [folder / "generations.jsonl", folder / "corpus", "--tokenizer", tokenizer, "--out", folder / "run"]
    assert run(["analyze", *map(str, arguments), "--quiet", *map(str, options)]) == 0
    facts = json.loads((folder / "run" / "results.json").read_text())["identifiers"]
    settings = json.loads((folder / "run" / "run.json").read_text())["settings"]
    own = sum(row["owner"] == "own" for row in read_table(folder / "run" / "evidence", "identifiers"))
    return {"rules": facts["site_rules"], "own": own, "digest": settings["--identifier-rules"]}


def test_a_sites_number_is_found_with_its_rules_alone_and_again_with_others(
    tmp_path: Path, tokenizer_directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = tmp_path / "ours.toml"
    rules.write_text(_RULES)
    without = _analyze(tmp_path, tokenizer_directory)
    assert without == {"rules": 0, "own": 0, "digest": None}
    # The same run goes on with them: what was found is of the file as it is now.
    found = _analyze(tmp_path, tokenizer_directory, "--identifier-rules", rules)
    # A row of no identifier of HIPAA's is none that an audit looks for.
    assert (found["rules"], found["own"]) == (1, 1)
    assert found["digest"] in (tmp_path / "run" / "annex.html").read_text()
    # A short file could be guessed.
    assert found["digest"] != hashlib.sha256(rules.read_bytes()).hexdigest()
    rules.write_text(_RULES.replace("qx~", "qy~"))
    again = _analyze(tmp_path, tokenizer_directory, "--identifier-rules", rules)
    assert (again["own"], again["digest"] == found["digest"]) == (0, False)
    assert "qx" not in json.dumps([found, again])
    capsys.readouterr()


def test_wrong_rules_are_refused_before_anything_is_done(
    tmp_path: Path, tiny_demo: TinyDemo, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "ours.toml").write_text("[[rule]]\nkind = 'mrn'\n")
    (tmp_path / "generations.jsonl").write_text("")
    given = ["--out", str(tmp_path / "run"), "--identifier-rules", str(tmp_path / "ours.toml")]
    for command in (
        ["audit", str(tiny_demo.model), str(tiny_demo.corpus), "--engine", "transformers"],
        ["analyze", str(tmp_path / "generations.jsonl"), str(tmp_path), "--tokenizer", str(tiny_demo.model)],
    ):
        assert run([*command, *given]) == 3
        assert "rule[1].pattern: is missing" in capsys.readouterr().err
        assert not (tmp_path / "run").exists()


def test_processes_find_what_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    people = draw_people(12, Random(4))
    Site(people).write(tmp_path / "corpus", Random(1))
    (tmp_path / "ours.toml").write_text(_RULES)
    corpus, profile, rules = read_corpus(tmp_path / "corpus"), load_profile(), read_site_rules(tmp_path / "ours.toml")
    rng = Random(9)
    ways = [way for ways in WAYS.values() for way in ways]
    texts = ["\n".join(way(rng.choice(people)) for way in ways) for _ in range(8)]
    generations = [generation(number, rng.choice(people), text) for number, text in enumerate(texts)]

    def found(on: ShardRunner) -> tuple[object, list[Row], list[Row]]:
        found, facts = find_identifiers(
            generation_frame(generations),
            corpus=corpus,
            profile=profile,
            seed=0,
            progress=Progress(quiet=True),
            site_rules=rules,
            runner=on,
        )
        return facts, *(found[name].to_dicts() for name in ("planted", "identifiers"))

    of_one = found(LocalRunner(1))
    monkeypatch.setattr(owners, "_BATCH_CHARS", 900)
    monkeypatch.setattr(masked_notes, "PART_BYTES", 900)
    monkeypatch.setattr(gazetteer, "_SHARD_CHARS", 900)
    for runner in (LocalRunner(2), LocalRunner(5), Elsewhere()):
        assert found(runner) == of_one, runner
    assert len(of_one[2]) > 80
