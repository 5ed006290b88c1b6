"""Fixtures shared by the tests: a real byte-level BPE tokenizer, trained in a second."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from filelock import FileLock

TRAINING_TEXT = [
    "cc: cough\nhpi: patient presents with cough for two days.\n",
    "ros:\nrespiratory: negative for cough, wheezing.\r\n",
    "naïve café 漢字 😀 plan: rest and fluids\n",
    "aaaa bbbb abab cdcd\n",
] * 4


def save_byte_level_tokenizer(directory: Path, *, texts: list[str] = TRAINING_TEXT, size: int = 300) -> Path:
    """Train and save a small byte-level BPE tokenizer with one special token."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|endoftext|>", pad_token="<|endoftext|>")
    fast.save_pretrained(directory)
    return directory


@pytest.fixture(autouse=True)
def environment_put_back() -> Iterator[None]:
    """An audit run in this process points its libraries at the run's own folders; the next test must not follow."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)
    tempfile.tempdir = None


@pytest.fixture(scope="session")
def tokenizer_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_byte_level_tokenizer(tmp_path_factory.mktemp("tokenizer"))


class TinyDemo(NamedTuple):
    """A small demo corpus and a model really trained on its train split."""

    corpus: Path
    model: Path


@pytest.fixture(scope="session")
def tiny_demo(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> TinyDemo:
    """Made once for all workers of a test run."""
    from clinaudit.audit.console.progress import Progress
    from clinaudit.audit.demo.corpus import write_demo_corpus
    from clinaudit.audit.demo.fitting import TrainingPlan
    from clinaudit.audit.demo.training import train_demo_model

    base = tmp_path_factory.getbasetemp()
    shared = (base if worker_id == "master" else base.parent) / "tiny-demo"
    shared.mkdir(exist_ok=True)
    tiny = TinyDemo(shared / "corpus", shared / "model")
    plan = TrainingPlan(vocabulary=700, layers=2, width=96, heads=2, hidden=256, epochs=14, validation_notes=4)
    with FileLock(shared / "lock"):
        if not tiny.model.exists():
            write_demo_corpus(tiny.corpus, seed=3, patients_per_arm=24)
            train_demo_model(tiny.corpus, tiny.model, seed=3, progress=Progress(quiet=True), plan=plan)
    return tiny
