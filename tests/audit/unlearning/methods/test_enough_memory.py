"""A model that cannot be trained in memory is refused before it is loaded, by hand-computed bytes."""

from dataclasses import replace
from pathlib import Path

import pytest
from support.models.tiny_models import save_llama
from support.unlearning.tiny_job import make_job

from clinaudit.audit.model.engines import memory
from clinaudit.audit.model.engines.memory import FreeMemory
from clinaudit.audit.model.files import ModelFiles, inspect_model
from clinaudit.audit.model.safetensors_header import TensorHeader
from clinaudit.audit.unlearning.methods import model_in_training
from clinaudit.audit.unlearning.methods.batches import TrainingPlan
from clinaudit.audit.unlearning.methods.model_in_training import require_training_memory
from clinaudit.audit.unlearning.methods.unlearn import finetune
from clinaudit.errors import BadInputError

#: A billion weights of half precision: 4 GB a copy in float32, a tenth more with the margin.
COPY = 4_400_000_000


@pytest.fixture
def billion(tmp_path: Path) -> ModelFiles:
    (tmp_path / "model").mkdir()
    save_llama(tmp_path / "model")
    return replace(inspect_model(tmp_path / "model"), tensors=(TensorHeader("BF16", 2_000_000_000),))


def have(monkeypatch: pytest.MonkeyPatch, size: int, *, gpus: int = 0) -> None:
    """Let a machine have so much free memory, in bytes, and so many GPUs with as much."""
    for module in (memory, model_in_training):
        monkeypatch.setattr(module, "count_gpus", lambda: gpus)
    monkeypatch.setattr(memory, "free_main_memory", lambda: FreeMemory(size, "memory"))
    monkeypatch.setattr(memory, "free_memory", lambda _: FreeMemory(size, "memory on 1 GPU"))


@pytest.mark.parametrize(("gpus", "layer", "whole"), [(0, 2, 7), (1, 1, 5)])
def test_each_worker_has_a_copy_and_gradients_and_means_come_on_top(
    billion: ModelFiles, monkeypatch: pytest.MonkeyPatch, gpus: int, layer: int, whole: int
) -> None:
    have(monkeypatch, whole * COPY + 1, gpus=gpus)
    require_training_memory(billion, "all")
    have(monkeypatch, whole * COPY - 1, gpus=gpus)
    with pytest.raises(BadInputError, match=rf"at least \({whole} times its weights\).*--train layer"):
        require_training_memory(billion, "all")
    require_training_memory(billion, "layer")
    have(monkeypatch, layer * COPY - 1, gpus=gpus)
    for scope in ("all", "layer"):
        with pytest.raises(BadInputError, match=r"GiB are free; use a machine with more memory$"):
            require_training_memory(billion, scope)


def test_nothing_is_loaded_and_the_place_is_free_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = make_job(tmp_path)
    have(monkeypatch, 1000)
    monkeypatch.setattr(model_in_training, "load_for_training", lambda _: pytest.fail("it was loaded"))
    with pytest.raises(BadInputError, match="does not fit into memory"):
        finetune(job, TrainingPlan(epochs=1))
    assert not job.out.exists()
