"""Whether the weights in the files are those of the network in config.json, on small models saved and then changed."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file
from support.models.tiny_models import save_gpt2, save_llama

from clinaudit.audit.runtime.model.files import inspect_model
from clinaudit.audit.runtime.model.pretrained import load_pretrained, require_own_weights, whole_directory
from clinaudit.errors import BadInputError


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    room = tmp_path_factory.mktemp("weights")
    save_llama(room / "llama")
    save_llama(room / "tied", tied=True)
    save_gpt2(room / "gpt2")
    return room


def changed(model, directory, change=lambda _: None, **settings):
    """Copy a model, its weights and its config.json changed."""
    shutil.copytree(model, directory)
    weights = load_file(directory / "model.safetensors")
    change(weights)
    save_file(weights, directory / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((directory / "config.json").read_text())
    (directory / "config.json").write_text(json.dumps(config | settings))
    return directory


def holding(*names, rows=4):
    return lambda weights: weights.update({name: torch.ones(rows, 32) for name in names})


def lacking(name):
    return lambda weights: weights.pop(name)


def train_the_head_apart(weights):
    weights["lm_head.weight"] = weights["model.embed_tokens.weight"] + 0.01


def round_a_weight(weights):
    weights["model.norm.weight"] = weights["model.norm.weight"].to(torch.int8)


def save_the_head_too(weights):
    weights["lm_head.weight"] = weights["model.embed_tokens.weight"].clone()


@pytest.mark.parametrize(
    ("model", "change", "settings", "words"),
    [
        ("llama", holding(), {"num_hidden_layers": 1}, r"hold 9 weights .* \(model\.layers\.1\."),
        ("llama", holding("model.layers.0.self_attn.q_proj.lora_A.default.weight"), {}, "lora_A.*--base-model"),
        ("llama", holding("score.weight"), {}, r"no place for.*score\.weight"),
        ("llama", holding("model.layers.0.self_attn.q_proj.bias"), {}, r"q_proj\.bias"),
        ("llama", lacking("model.norm.weight"), {}, r"lack 1 of its weights \(model\.norm\.weight\)"),
        ("llama", lacking("lm_head.weight"), {}, r"lack 1 of its weights \(lm_head\.weight\)"),
        ("llama", holding(), {"num_hidden_layers": 3}, "lack 9 of its weights"),
        ("llama", holding(), {"intermediate_size": 16}, "other shapes"),
        ("llama", holding(), {"tie_word_embeddings": True}, r"ties to others.*lm_head.*tie_word_embeddings to false"),
        ("llama", round_a_weight, {}, r"hold 1 weights of whole numbers.*\(model\.norm\.weight\).*quantized"),
        ("tied", train_the_head_apart, {}, r"ties to others.*lm_head"),
    ],
)
def test_weights_of_another_network_are_refused_for_every_engine(room, tmp_path, model, change, settings, words):
    files = inspect_model(changed(room / model, tmp_path / "model", change, **settings))
    with pytest.raises(BadInputError, match=words) as caught:
        load_pretrained(files, dtype=torch.float32)
    assert "--engine" not in str(caught.value)
    with pytest.raises(BadInputError, match=words), whole_directory(files, dtype=torch.float32):
        pass


@pytest.mark.parametrize(
    ("model", "change"),
    [
        ("llama", lambda weights: weights.update({"model.layers.0.self_attn.rotary_emb.inv_freq": torch.ones(16)})),
        ("gpt2", lambda weights: weights.update({"transformer.h.0.attn.masked_bias": torch.tensor(-1e4)})),
        ("gpt2", lambda weights: weights.update({"transformer.h.1.attn.bias": torch.ones(1, 1, 8, 8)})),
        ("tied", save_the_head_too),
    ],
)
def test_what_old_checkpoints_hold_and_nobody_learned_is_loaded_without(room, tmp_path, model, change):
    files = inspect_model(changed(room / model, tmp_path / "model", change))
    loaded = load_pretrained(files, dtype=torch.float32).state_dict()
    plain = load_pretrained(inspect_model(room / model), dtype=torch.float32).state_dict()
    assert loaded.keys() == plain.keys()
    assert all(torch.equal(loaded[name], tensor) for name, tensor in plain.items())


@pytest.mark.parametrize(
    "settings",
    [
        {"return_dict": False},
        {"attn_implementation": "flash_attention_2"},
        {"_attn_implementation": "flash_attention_2"},
        {"use_cache": False, "output_hidden_states": True, "torchscript": True},
    ],
)
def test_how_a_model_was_run_elsewhere_is_no_matter(room, tmp_path, settings):
    files = inspect_model(changed(room / "llama", tmp_path / "model", **settings))
    ids = torch.tensor([[5, 6, 7]])
    asked, plain = (load_pretrained(of, dtype=torch.float32) for of in (files, inspect_model(room / "llama")))
    assert torch.equal(asked(input_ids=ids).logits, plain(input_ids=ids).logits)


def test_a_network_saved_without_its_tied_head_is_whole(room, tmp_path):
    def take_off_the_head(weights):
        for name in list(weights):
            weights[name.removeprefix("model.")] = weights.pop(name)

    bare = changed(room / "tied", tmp_path / "model", take_off_the_head, architectures=["LlamaModel"])
    loaded = load_pretrained(inspect_model(bare), dtype=torch.float32).state_dict()
    plain = load_pretrained(inspect_model(room / "tied"), dtype=torch.float32).state_dict()
    assert all(torch.equal(loaded[name], tensor) for name, tensor in plain.items())


def test_layers_that_guess_further_tokens_are_no_part_of_the_network(tmp_path):
    from support.models.tiny_models import save_kind

    save_kind(tmp_path / "model", "qwen3_next")
    changed(tmp_path / "model", tmp_path / "with", holding("mtp.layers.0.weight"))
    require_own_weights(inspect_model(tmp_path / "with"))
    # By that name alone: any other layer is one that was trained and has no place.
    changed(tmp_path / "model", tmp_path / "other", holding("guess.layers.0.weight"))
    with pytest.raises(BadInputError, match=r"no place for.*guess\.layers"):
        require_own_weights(inspect_model(tmp_path / "other"))


def test_a_kind_that_transformers_does_not_know(room, tmp_path):
    unknown = changed(room / "llama", tmp_path / "model", model_type="no-such-kind")
    with pytest.raises(BadInputError, match="transformers cannot load the model") as caught:
        require_own_weights(inspect_model(unknown))
    assert "--engine" not in str(caught.value)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_model_whose_weights_are_no_numbers_is_not_audited(room, tmp_path, value):
    # What it writes is the same for everybody, and would pass as a model that gives nothing away.
    def break_one(weights):
        weights["model.norm.weight"][0] = value

    broken = changed(room / "llama", tmp_path / "model", break_one)
    with pytest.raises(BadInputError, match=r"no finite numbers \(model\.norm\.weight\)"):
        load_pretrained(inspect_model(broken), dtype=torch.float32)
