"""The merge of an adapter into its base, which is peft's own, number for number, or refused."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file
from support.models.tiny_models import peft_merged, save_adapter, save_gpt2, save_llama

from clinaudit.audit.runtime.model.files import inspect_adapted
from clinaudit.audit.runtime.model.pretrained import load_pretrained, whole_directory
from clinaudit.errors import BadInputError

# peft warns of settings that do not matter here.
pytestmark = pytest.mark.filterwarnings("ignore")
LINEAR = ["q_proj", "v_proj", "down_proj"]


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    directory = tmp_path_factory.mktemp("merge") / "base"
    save_llama(directory)
    return directory


def merge(base, adapter, dtype=torch.float32):
    return load_pretrained(inspect_adapted(adapter, base=base), dtype=dtype)


@pytest.mark.parametrize(
    "settings",
    [
        {"r": 4, "lora_alpha": 16, "target_modules": LINEAR},
        {"r": 3, "lora_alpha": 5, "target_modules": LINEAR, "use_rslora": True},
        {"r": 4, "target_modules": ["q_proj"], "modules_to_save": ["lm_head", "norm"]},
        {"r": 2, "target_modules": ["embed_tokens", "q_proj"]},
        {
            "r": 2,
            "lora_alpha": 8,
            "target_modules": LINEAR,
            "rank_pattern": {"v_proj": 5},
            "alpha_pattern": {"v_proj": 3, r"layers\.1\.self_attn\.q_proj": 7},
        },
        {"r": 4, "target_modules": "all-linear", "layers_to_transform": None, "lora_dropout": 0.1},
    ],
    ids=["plain", "rank-stabilized", "modules saved whole", "embedding", "patterns", "all linear"],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_every_weight_is_what_peft_makes_of_it(base, tmp_path, settings, dtype):
    save_adapter(base, tmp_path / "adapter", **settings)
    ours = merge(base, tmp_path / "adapter", dtype).state_dict()
    theirs = peft_merged(base, tmp_path / "adapter", dtype=dtype).state_dict()
    plain = load_file(base / "model.safetensors")
    assert ours.keys() == theirs.keys()
    assert [name for name in ours if not torch.equal(ours[name], theirs[name])] == []
    assert any(not torch.equal(ours[name], plain[name].to(dtype)) for name in ours)


@pytest.mark.parametrize("settings", [{"lora_alpha": 16}, {"lora_alpha": 0}], ids=["untrained", "scaled by zero"])
def test_an_adapter_that_changes_nothing_is_refused(base, tmp_path, settings):
    adapter = tmp_path / "adapter"
    save_adapter(base, adapter, r=4, target_modules=LINEAR, **settings)
    if settings["lora_alpha"]:
        factors = load_file(adapter / "adapter_model.safetensors")
        zero = {name: tensor * 0 if "lora_B" in name else tensor for name, tensor in factors.items()}
        save_file(zero, adapter / "adapter_model.safetensors")
    with pytest.raises(BadInputError, match="it changes nothing"):
        merge(base, adapter)


def test_a_merged_model_is_written_whatever_the_base_says_of_decoding(base, tmp_path):
    shutil.copytree(base, tmp_path / "base")
    # As Llama-2's says.
    at_odds = {"do_sample": False, "temperature": 0.6, "top_p": 0.9}
    (tmp_path / "base" / "generation_config.json").write_text(json.dumps(at_odds))
    save_adapter(base, tmp_path / "adapter", r=4, target_modules=LINEAR)
    files = inspect_adapted(tmp_path / "adapter", base=tmp_path / "base")
    with whole_directory(files, dtype=torch.float32) as directory:
        assert (directory / "model.safetensors").is_file()


def test_weights_stored_the_other_way_round(tmp_path):
    save_gpt2(tmp_path / "base")
    save_adapter(tmp_path / "base", tmp_path / "adapter", r=4, target_modules=["c_attn"], fan_in_fan_out=True)
    ours = merge(tmp_path / "base", tmp_path / "adapter").state_dict()
    theirs = peft_merged(tmp_path / "base", tmp_path / "adapter", dtype=torch.float32).state_dict()
    assert [name for name in ours if not torch.equal(ours[name], theirs[name])] == []


FIRST_LAYER = "base_model.model.model.layers.0.self_attn.q_proj."


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (
            lambda t: {name: t[name] for name in t if name != f"{FIRST_LAYER}lora_B.weight"},
            r"lacks base_model.*layers\.0\.self_attn\.q_proj\.lora_B\.weight",
        ),
        (
            lambda t: {name.replace("layers.1", "layers.7"): t[name] for name in t},
            r"holds base_model\.model\.model\.layers\.7",
        ),
        (
            lambda t: {name: torch.zeros(len(t[name]), 40) if "lora_A" in name else t[name] for name in t},
            r"\[4, 40\]\) from checkpoint, the shape in current model is torch\.Size\(\[4, 32\]\)",
        ),
        (
            lambda t: t | {f"{FIRST_LAYER}lora_magnitude_vector": torch.ones(64)},
            r"lora_magnitude_vector\S*, which has no place",
        ),
        (lambda t: t | {"base_model.model.lm_head.weight": torch.ones(401, 32)}, r"\[401, 32\]"),
        # These would silence or break the model.
        (lambda t: {name: t[name] * float("nan") for name in t}, "is not of finite numbers"),
        (lambda t: {name: t[name].int() for name in t}, "is not of finite numbers"),
        (
            lambda t: {name: t[name][:0] if "lora_A" in name else t[name][:, :0] for name in t},
            r"\[64, 0\]\) from checkpoint",
        ),
        (lambda t: t | {"a\x1b[31m.weight": torch.ones(1)}, r"it holds a\?\[31m\.weight"),
    ],
)
def test_an_adapter_that_does_not_fit_is_never_merged_in_part(base, tmp_path, change, match):
    save_adapter(base, tmp_path / "adapter", r=4, target_modules=["q_proj"])
    file = tmp_path / "adapter" / "adapter_model.safetensors"
    save_file(change(load_file(file)), file)
    with pytest.raises(BadInputError, match=match):
        merge(base, tmp_path / "adapter")


@pytest.mark.parametrize(
    ("setting", "match"),
    [
        ({"use_dora": True}, "use_dora"),
        ({"peft_type": "IA3"}, "its kind is IA3"),
        ({"bias": "lora_only"}, "biases"),
        ({"init_lora_weights": "pissa"}, "init_lora_weights"),
        ({"something_new": 3}, "something_new"),
        ({"task_type": "SEQ_CLS"}, "task_type"),
        ({"lora_alpha": "16"}, "TypeError"),
        ({"lora_alpha": 10**400}, "OverflowError"),
        ({"lora_alpha": float("nan")}, "no finite numbers"),
        ({"alpha_pattern": {"(": 3}}, "error: missing"),
        ({"r": 0}, "ValueError"),
    ],
)
def test_settings_that_a_merge_does_not_know_are_refused(base, tmp_path, setting, match):
    save_adapter(base, tmp_path / "adapter", r=4, target_modules=["q_proj"])
    file = tmp_path / "adapter" / "adapter_config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | setting))
    with pytest.raises(BadInputError, match=match):
        merge(base, tmp_path / "adapter")


def test_a_weight_that_two_parts_share_is_not_changed(tmp_path):
    save_llama(tmp_path / "base", tied=True)
    save_adapter(tmp_path / "base", tmp_path / "adapter", r=2, target_modules=["embed_tokens"])
    with pytest.raises(BadInputError, match="two parts of the base share"):
        merge(tmp_path / "base", tmp_path / "adapter")
