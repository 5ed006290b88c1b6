"""Options that contradict each other, and control models that cannot be compared, are refused at once."""

import shutil
from pathlib import Path

import pytest
from support.models.tiny_models import save_adapter, save_llama

from clinaudit.audit.assembly.inputs import find_control, require_together
from clinaudit.audit.runtime.model.audited_model import find_model
from clinaudit.audit.runtime.settings import AuditSettings
from clinaudit.errors import BadInputError, UnsafeError, UsageError


def settings_of(folder, **options):
    return AuditSettings(model=str(folder / "model"), corpus=folder / "corpus", out=folder / "run", **options)


@pytest.mark.parametrize(
    ("options", "left_out"),
    [
        ({"tasks": Path("tasks.jsonl"), "everyday": False}, "--no-everyday"),
        ({"control": "none", "control_model": Path("before")}, "--control none"),
    ],
)
def test_what_another_option_leaves_out_is_not_asked_for(options, left_out, tmp_path):
    with pytest.raises(UsageError, match=f"and {left_out} do not go together"):
        require_together(settings_of(tmp_path, **options))
    for kept in options:
        require_together(settings_of(tmp_path, **{kept: options[kept]}))


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A model, the one before its training, others that are no control of it, and an adapter of the one before."""
    folder = tmp_path_factory.mktemp("models")
    for name, seed, context in (("model", 0, 256), ("before", 1, 256), ("longer", 1, 512), ("shorter", 1, 128)):
        save_llama(folder / name, seed=seed, context=context)
    shutil.copytree(folder / "model", folder / "copy")
    save_llama(folder / "other")
    text = (folder / "other" / "tokenizer.json").read_text(encoding="utf-8")
    (folder / "other" / "tokenizer.json").write_text(text.replace('"<|endoftext|>"', '"<|end|>"'), encoding="utf-8")
    shutil.copytree(folder / "before", folder / "pickled")
    (folder / "pickled" / "model.safetensors").rename(folder / "pickled" / "pytorch_model.bin")
    save_adapter(folder / "before", folder / "adapter", target_modules=["q_proj"], r=2)
    return folder


def audited(settings, base=None):
    return find_model(settings.model, engine="transformers", base_model=base)


@pytest.mark.parametrize("name", ["before", "longer"])
def test_a_model_with_the_same_tokenizer_and_no_shorter_context_is_a_control(models, name):
    settings = settings_of(models, engine="transformers", control_model=models / name)
    control = find_control(settings, audited(settings))
    assert control.files.directory.name == name


@pytest.mark.parametrize(
    ("name", "error", "said"),
    [
        ("model", UsageError, "is MODEL itself"),
        ("copy", UsageError, "is MODEL itself"),
        ("shorter", UsageError, "a context of 128 tokens, less than MODEL's 256"),
        ("other", UsageError, "its tokenizer is not that of MODEL"),
        ("pickled", UnsafeError, "only pickle weights"),
        ("adapter", BadInputError, "an adapter, not a whole model"),
        ("nowhere", BadInputError, "no such model directory"),
    ],
)
def test_what_cannot_be_compared_is_refused(models, name, error, said):
    settings = settings_of(models, engine="transformers", control_model=models / name)
    with pytest.raises(error, match=said):
        find_control(settings, audited(settings))


def test_an_adapters_base_is_its_control_unless_none_is_wanted(models):
    settings = settings_of(models, engine="transformers").model_copy(update={"model": str(models / "adapter")})
    control = find_control(settings, audited(settings, models / "before"))
    assert control.files.directory.name == "before"
    without = settings.model_copy(update={"control": "none"})
    assert find_control(without, audited(without, models / "before")) is None
