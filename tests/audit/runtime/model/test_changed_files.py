"""A model whose files are replaced, cut, removed or written over: refused before it is loaded, and whole afterwards."""

import os
import shutil

import pytest
from support.models.tiny_models import decode, make_model

from clinaudit.audit.runtime.model.audited_model import make_engine
from clinaudit.audit.runtime.model.engines.memory import EngineOptions
from clinaudit.audit.runtime.model.engines.protocol import GenerationRequest
from clinaudit.errors import StorageError

REQUESTS = [GenerationRequest(str(key), (key, key + 1, 5), "", 20) for key in range(3, 40)]
WEIGHTS = "model.safetensors"


def write_over(path):
    """Give the file other numbers, as `rsync --inplace` does: the same file, of the same size."""
    content = bytearray(path.read_bytes())
    half = len(content) // 2
    content[half:] = bytes(len(content) - half)
    with path.open("r+b") as file:
        file.write(content)


def cut(path):
    os.truncate(path, path.stat().st_size // 2)


def replace(path):
    shutil.copy(path, path.with_name("new"))
    path.with_name("new").replace(path)


@pytest.mark.parametrize("name", [WEIGHTS, "config.json", "tokenizer.json"])
@pytest.mark.parametrize("change", [write_over, cut, replace, os.remove])
def test_files_that_changed_since_they_were_checked_are_not_loaded(tmp_path, change, name):
    model = make_model(tmp_path / "model")
    change(model.directory / name)
    with pytest.raises(StorageError, match=f"^{name} of the model in .* after it was checked; bring back"):
        make_engine("transformers", model)


@pytest.mark.parametrize("change", [write_over, cut, os.remove])
def test_a_loaded_model_stays_as_it_was(tmp_path, change):
    model = make_model(tmp_path / "model")
    before = decode(model, REQUESTS)
    engine = make_engine("transformers", model, options=EngineOptions(threads=1))
    change(model.directory / WEIGHTS)
    after = {output.key: output for output in engine.generate(REQUESTS)}
    engine.close()
    assert after == before
