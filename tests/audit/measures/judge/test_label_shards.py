"""Does who reads facts, labels and verdicts off texts, and in what shards, change nothing of what is found?"""

import json

import polars as pl
import pytest
from support.elsewhere import Elsewhere

from clinaudit.audit.demo.corpus import write_demo_corpus
from clinaudit.audit.measures.judge import labels, stage
from clinaudit.audit.measures.judge.labels import Annotator, annotate_patient, label_patients
from clinaudit.audit.measures.judge.lexicon.judge import LexiconJudge
from clinaudit.audit.measures.judge.stage import Ledger, ask_judge
from clinaudit.audit.preview import fit
from clinaudit.audit.preview.fit import mark_doubtful_facts, read_all_facts
from clinaudit.audit.runtime.cluster import LocalRunner
from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.run.evidence_tables import as_table
from clinaudit.priors.corpus.corpus import read_corpus
from clinaudit.priors.diagnoses import load_panel
from clinaudit.priors.facts import read_facts
from clinaudit.templates.profile import load_profile

QUIET = Progress(quiet=True)
PROFILE, PANEL = load_profile(), load_panel()
RUNNERS = (LocalRunner(1), LocalRunner(2), Elsewhere())


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Invented charts; some notes have carriage returns, and no table says who has what."""
    folder = tmp_path_factory.mktemp("charts")
    write_demo_corpus(folder, seed=3, patients_per_arm=6)
    (folder / "diagnoses.csv").unlink()
    rows = [json.loads(line) for line in (folder / "notes.jsonl").read_text(encoding="utf-8").splitlines()]
    for row in rows[::3]:
        row["text"] = row["text"].replace("\n", "\r\n")
    (folder / "notes.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return read_corpus(folder, scratch=folder)


@pytest.mark.parametrize("one_a_shard", [False, True])
def test_facts_and_labels_are_the_same(corpus, monkeypatch, one_a_shard):
    expected = mark_doubtful_facts(read_facts(corpus, PROFILE, corpus.patients), PROFILE)
    if one_a_shard:
        monkeypatch.setattr(fit, "_SHARD_NOTES", 1)
        monkeypatch.setattr(labels, "_SHARD_CHARS", 1)
    judge = LexiconJudge(PANEL)
    histories = [Annotator(judge, PANEL, corpus)._history_of(known) for known in expected.values()]
    annotated = [
        {"patient_id": patient_id, **row}
        for patient_id, history in zip(expected, histories, strict=True)
        for row in annotate_patient(history, panel=PANEL, judge=judge)
    ]
    for runner in RUNNERS:
        facts = read_all_facts(corpus, PROFILE, QUIET, runner)
        assert list(facts) == sorted(corpus.patients)
        assert facts == expected
        # The notes are the corpus's own: no text came along.
        latest = [source.latest for known in facts.values() for source in known.sources]
        assert all(any(note is own for own in corpus.notes_of(note.patient_id)) for note in latest)
        _, found = label_patients(facts, Annotator(judge, PANEL, corpus, runner), QUIET)
        assert found.equals(as_table("annotations", annotated))
    assert {row["present"] for row in annotated} >= {True, False}


def test_verdicts_are_the_same(corpus, monkeypatch):
    notes = [corpus.latest_note(patient_id) for patient_id in corpus.patients]
    inquiries = pl.DataFrame(
        [(note.note_id, diagnosis.id, note.text) for note in notes for diagnosis in PANEL],
        schema=["generation_id", "diagnosis", "text"],
        orient="row",
    )
    judge = LexiconJudge(PANEL)
    expected = ask_judge(judge, inquiries, PANEL, Ledger(), QUIET)
    assert expected["judge"].count() == inquiries.height
    monkeypatch.setattr(stage, "_SHARD_CHARS", 1_000)
    for runner in RUNNERS:
        assert ask_judge(judge, inquiries, PANEL, Ledger(runner=runner), QUIET).equals(expected)
