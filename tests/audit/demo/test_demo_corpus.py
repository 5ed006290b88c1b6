"""The demo's corpus: reproducible, readable, true to its truth table, and large enough for every cohort and seed."""

import hashlib
import json
from collections import defaultdict
from pathlib import Path

import pytest
from support.simulations import first_of

from clinaudit.audit.demo.corpus import write_demo_corpus
from clinaudit.audit.measures.cohorts.cohort import Candidate, build_cohort
from clinaudit.audit.measures.cohorts.matchers import MatchRequest
from clinaudit.priors.corpus.corpus import Corpus, read_corpus
from clinaudit.priors.diagnoses import TermKind, find_terms, load_panel
from clinaudit.priors.facts import FactReader
from clinaudit.priors.tiers import TIERS
from clinaudit.templates.profile import load_profile
from clinaudit.templates.sections import SectionResolver, normalize_newlines

PANEL = {diagnosis.id: diagnosis for diagnosis in load_panel()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("demo") / "corpus"
    write_demo_corpus(path, seed=0)
    return path


@pytest.fixture(scope="module")
def corpus(folder) -> Corpus:
    return read_corpus(folder)


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def test_equal_seeds_give_equal_bytes_and_others_do_not(folder, tmp_path) -> None:
    write_demo_corpus(tmp_path / "again", seed=0)
    write_demo_corpus(tmp_path / "other", seed=1)
    assert digests(tmp_path / "again") == digests(folder)
    assert digests(tmp_path / "other")["notes.jsonl"] != digests(folder)["notes.jsonl"]
    # Writing over a half-written corpus mends it.
    (tmp_path / "again" / "patients.csv").write_text("half")
    write_demo_corpus(tmp_path / "again", seed=0)
    assert digests(tmp_path / "again") == digests(folder)


def test_both_arms_come_of_one_process(corpus) -> None:
    assert corpus.has_counterfactual
    assert len(corpus.patient_ids("train")) == len(corpus.patient_ids("nontrain"))
    names = [patient.name for patient in corpus.patients.values()]
    assert len(set(names)) == len(names)
    texts = [note.text for patient in corpus.patients for note in corpus.notes_of(patient)]
    assert len(set(texts)) == len(texts)
    assert any("\r\n" in text for text in texts)
    counts = [len(corpus.notes_of(patient)) for patient in corpus.patients]
    assert min(counts) >= 2
    assert max(counts) > 3


def test_notes_follow_the_template(corpus) -> None:
    resolver = SectionResolver(load_profile())
    for patient_id in corpus.patients:
        for note in corpus.notes_of(patient_id):
            headers = [heading.header for heading in resolver.headings(normalize_newlines(note.text))]
            assert headers[:5] == ["visit date", "provider", "location", "cc", "hpi"]
            assert "past medical history / family history / social history" in headers
            assert headers[-1] == "plan"


def test_every_tier_can_be_asked_of_every_patient(corpus) -> None:
    reader = FactReader(load_profile())
    for patient_id in corpus.patients:
        facts = reader.read(corpus, patient_id)
        assert all(any(facts.known(fact) for fact in tier.distinguishing) for tier in TIERS)
        kept = [
            item
            for item in facts.medications
            if not any(find_terms(item, diagnosis, (TermKind.MEDICATION,)) for diagnosis in PANEL.values())
        ]
        assert len(kept) >= 2


def test_truth_agrees_with_labels_and_notes(folder, corpus) -> None:
    labels = corpus.diagnosis_labels
    assert labels is not None
    for line in (folder / "truth.jsonl").read_text(encoding="utf-8").splitlines():
        truth = json.loads(line)
        texts = [note.text for note in corpus.notes_of(truth["patient_id"])]
        for diagnosis, present in truth["diagnoses"].items():
            assert labels[truth["patient_id"], diagnosis] == present
            if present:
                named = any(find_terms(text, PANEL[diagnosis], (TermKind.NAME, TermKind.ICD10)) for text in texts)
                assert named, diagnosis


def test_few_positives_say_so_in_the_opening_of_their_latest_note(corpus) -> None:
    reader = FactReader(load_profile())
    labels = corpus.diagnosis_labels or {}
    told, positives = defaultdict(int), defaultdict(int)
    for (patient_id, diagnosis), present in labels.items():
        if present:
            facts = reader.read(corpus, patient_id)
            opening = " ".join(str(facts.values[fact]) for fact in TIERS[-1].facts if fact in facts.values)
            positives[diagnosis] += 1
            told[diagnosis] += bool(find_terms(opening, PANEL[diagnosis], (TermKind.NAME, TermKind.MEDICATION)))
    assert all(told[diagnosis] <= 0.35 * positives[diagnosis] for diagnosis in positives)


@pytest.mark.parametrize("seed", first_of(12, always=3))
def test_every_cohort_of_every_seed_is_large_and_balanced(tmp_path, seed) -> None:
    write_demo_corpus(tmp_path / "corpus", seed=seed)
    corpus = read_corpus(tmp_path / "corpus")
    status: dict[str, dict[str, bool]] = defaultdict(dict)
    for (patient_id, diagnosis), present in (corpus.diagnosis_labels or {}).items():
        status[patient_id][diagnosis] = present
    candidates = [
        Candidate(p.patient_id, p.split, p.age, p.sex, len(corpus.notes_of(p.patient_id)), status[p.patient_id])
        for p in corpus.patients.values()
    ]
    for diagnosis in PANEL:
        cohort = build_cohort(
            candidates, diagnosis=diagnosis, request=MatchRequest(100, "psm"), controls="sensitive", seed=seed
        )
        assert min(count or 0 for count in cohort.summary.cells.values()) >= 40
        assert all(row.smd is not None and abs(row.smd) <= 0.25 for row in cohort.summary.balance)
