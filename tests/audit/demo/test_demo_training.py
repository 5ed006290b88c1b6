"""The demo's model: trained bit for bit the same, spared when it stands, never taken half-made."""

import shutil
from pathlib import Path

import pytest

from clinaudit.audit.demo.corpus import write_demo_corpus
from clinaudit.audit.demo.fitting import TrainingPlan
from clinaudit.audit.demo.training import train_demo_model
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.errors import UsageError

PLAN = TrainingPlan(vocabulary=400, layers=1, width=32, heads=1, hidden=64, epochs=1, validation_notes=2)


def train(corpus: Path, model: Path, *, plan: TrainingPlan = PLAN, seed: int = 0) -> bool:
    return train_demo_model(corpus, model, seed=seed, progress=Progress(quiet=True), plan=plan)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("demo") / "corpus"
    write_demo_corpus(path, seed=0, patients_per_arm=12)
    return path


def weights(model: Path) -> bytes:
    return (model / "model.safetensors").read_bytes()


def test_reproducible_and_cached(corpus, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    assert train(corpus, first) is False
    assert train(corpus, second) is False
    assert weights(first) == weights(second)
    assert (first / "tokenizer.json").read_bytes() == (second / "tokenizer.json").read_bytes()
    stamp = (first / "model.safetensors").stat().st_mtime_ns
    assert train(corpus, first) is True
    assert (first / "model.safetensors").stat().st_mtime_ns == stamp
    # Another seed or a damaged file are trained anew.
    assert train(corpus, first, seed=1) is False
    assert weights(first) != weights(second)
    (second / "model.safetensors").write_bytes(b"damaged")
    assert train(corpus, second) is False


def test_what_a_killed_training_left_is_no_model(corpus, tmp_path):
    leftover = tmp_path / ".model.partial"
    leftover.mkdir()
    (leftover / "model.safetensors").write_bytes(b"half")
    assert train(corpus, tmp_path / "model") is False
    assert not leftover.exists()


def test_foreign_folders_are_left_alone(corpus, tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "thesis.txt").write_text("mine")
    with pytest.raises(UsageError):
        train(corpus, tmp_path / "model")
    assert (tmp_path / "model" / "thesis.txt").exists()
    shutil.rmtree(tmp_path / "model")
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "thesis.txt").write_text("mine")
    with pytest.raises(UsageError):
        write_demo_corpus(tmp_path / "c", seed=0)
