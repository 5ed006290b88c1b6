"""The demo: its corpus is reproducible, readable and large enough; its model is trained bit for bit the same."""

import hashlib
import json
import re
import shutil
from collections import defaultdict

import pytest

from clinaudit.audit.demo.corpus import write_demo_corpus, write_notes
from clinaudit.audit.demo.population import DIAGNOSES, draw_population
from clinaudit.audit.demo.training import TrainingPlan, train_demo_model
from clinaudit.audit.runtime.console import Progress
from clinaudit.errors import UsageError
from clinaudit.priors.corpus.corpus import read_corpus
from clinaudit.priors.diagnoses import TermKind, find_terms, load_panel
from clinaudit.priors.facts import FactReader
from clinaudit.priors.tiers import TIERS
from clinaudit.templates.profile import load_profile

PANEL = {diagnosis.id: diagnosis for diagnosis in load_panel()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("demo") / "corpus"
    write_demo_corpus(path, seed=0)
    return path


@pytest.fixture(scope="module")
def corpus(folder):
    return read_corpus(folder)


def digests(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def test_equal_seeds_give_equal_bytes_and_others_do_not(folder, tmp_path):
    write_demo_corpus(tmp_path / "again", seed=0)
    write_demo_corpus(tmp_path / "other", seed=1)
    assert digests(tmp_path / "again") == digests(folder)
    assert digests(tmp_path / "other")["notes.jsonl"] != digests(folder)["notes.jsonl"]
    # Writing over a half-written corpus mends it.
    (tmp_path / "again" / "patients.csv").write_text("half")
    write_demo_corpus(tmp_path / "again", seed=0)
    assert digests(tmp_path / "again") == digests(folder)


def test_every_tier_can_be_asked_of_every_patient(corpus):
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


def test_truth_agrees_with_labels_and_notes(folder, corpus):
    labels = corpus.diagnosis_labels
    for line in (folder / "truth.jsonl").read_text(encoding="utf-8").splitlines():
        truth = json.loads(line)
        texts = [note.text for note in corpus.notes_of(truth["patient_id"])]
        for diagnosis, present in truth["diagnoses"].items():
            assert labels[truth["patient_id"], diagnosis] == present
            if present:
                named = any(find_terms(text, PANEL[diagnosis], (TermKind.NAME, TermKind.ICD10)) for text in texts)
                assert named, diagnosis


def test_few_positives_say_so_in_the_opening_of_their_latest_note(corpus):
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


def charts(seed):
    return [(p, write_notes(p, seed=seed)) for p in draw_population(seed=seed, patients_per_arm=40)]


@pytest.mark.parametrize("seed", range(3))
def test_whoever_lacks_a_diagnosis_is_named_with_it_only_in_words_that_deny_or_are_of_others(seed):
    said = set()
    for patient, notes in charts(seed):
        for diagnosis in DIAGNOSES:
            if patient.has(diagnosis.id):
                continue
            drugs = [choice.split()[0] for choice in diagnosis.medications]
            words = {kind: getattr(diagnosis, kind) for kind in ("denials", "family", "education")}
            words["denials"] = [*words["denials"], "negative for anxiety and depression."]
            for note in notes:
                rest = note
                for kind, texts in words.items():
                    said |= {kind for text in texts if text in rest}
                    for text in texts:
                        rest = rest.replace(text, "")
                # Whole words: an allergy with hives is no hiv.
                assert not re.search(rf"\b({'|'.join([*diagnosis.names, *drugs])})\b", rest)
    assert said == {"denials", "family", "education"}


@pytest.mark.parametrize("seed", range(3))
def test_whoever_has_a_diagnosis_is_named_with_it_in_the_latest_note(seed):
    for patient, notes in charts(seed):
        for planted in patient.sensitive:
            assert any(name in planted.history for name in planted.diagnosis.names)
            assert planted.history in notes[-1]
            assert planted.problem is None or planted.problem in notes[-1]


PLAN = TrainingPlan(vocabulary=400, layers=1, width=32, heads=1, hidden=64, epochs=1, validation_notes=2)


def train(small_corpus, model, *, plan=PLAN, seed=0):
    return train_demo_model(small_corpus, model, seed=seed, progress=Progress(quiet=True), plan=plan)


@pytest.fixture(scope="module")
def small_corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("demo") / "corpus"
    write_demo_corpus(path, seed=0, patients_per_arm=12)
    return path


def weights(model):
    return (model / "model.safetensors").read_bytes()


def test_reproducible_and_cached(small_corpus, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    assert train(small_corpus, first) is False
    assert train(small_corpus, second) is False
    assert weights(first) == weights(second)
    assert (first / "tokenizer.json").read_bytes() == (second / "tokenizer.json").read_bytes()
    stamp = (first / "model.safetensors").stat().st_mtime_ns
    assert train(small_corpus, first) is True
    assert (first / "model.safetensors").stat().st_mtime_ns == stamp
    # Another seed or a damaged file are trained anew.
    assert train(small_corpus, first, seed=1) is False
    assert weights(first) != weights(second)
    (second / "model.safetensors").write_bytes(b"damaged")
    assert train(small_corpus, second) is False


def test_what_a_killed_training_left_is_no_model(small_corpus, tmp_path):
    leftover = tmp_path / ".model.partial"
    leftover.mkdir()
    (leftover / "model.safetensors").write_bytes(b"half")
    assert train(small_corpus, tmp_path / "model") is False
    assert not leftover.exists()


def test_foreign_folders_are_left_alone(small_corpus, tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "thesis.txt").write_text("mine")
    with pytest.raises(UsageError):
        train(small_corpus, tmp_path / "model")
    assert (tmp_path / "model" / "thesis.txt").exists()
    shutil.rmtree(tmp_path / "model")
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "thesis.txt").write_text("mine")
    with pytest.raises(UsageError):
        write_demo_corpus(tmp_path / "c", seed=0)
