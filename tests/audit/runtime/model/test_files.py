"""What a model directory must hold, and what is refused, on directories made of real safetensors."""

import hashlib
import json
import os

import numpy as np
import pytest
from safetensors.numpy import save_file

from clinaudit.audit.runtime.model.files import digest_of_listed, inspect_adapted, inspect_model
from clinaudit.audit.runtime.model.model_directory import TensorHeader
from clinaudit.errors import BadInputError, UnsafeError

CONFIG = {
    "model_type": "llama",
    "max_position_embeddings": 512,
    "vocab_size": 300,
    "eos_token_id": 2,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "hidden_size": 64,
}


def write_json(file, content):
    file.write_text(json.dumps(content), encoding="utf-8")


def write_rules(directory, end, number):
    """Write a tokenizer of one token, its end of sequence."""
    model = {"type": "WordLevel", "vocab": {end: number}, "unk_token": end}
    write_json(directory / "tokenizer.json", {"version": "1.0", "added_tokens": [], "model": model})


@pytest.fixture
def model(tmp_path):
    directory = tmp_path / "model"
    directory.mkdir()
    write_json(directory / "config.json", CONFIG)
    write_json(directory / "generation_config.json", {"eos_token_id": [2, 5]})
    write_rules(directory, "<|end|>", 7)
    write_json(directory / "tokenizer_config.json", {"eos_token": "<|end|>"})
    save_file({"weight": np.ones((4, 4), dtype=np.float32)}, directory / "model.safetensors")
    return directory


def shard(model):
    """Lay the weights out in two shards with an index."""
    (model / "model.safetensors").unlink()
    for name in ("a", "b"):
        save_file({name: np.ones(3, dtype=np.float32)}, model / f"model-{name}.safetensors")
    weight_map = {name: f"model-{name}.safetensors" for name in ("a", "b")}
    write_json(model / "model.safetensors.index.json", {"weight_map": weight_map})


def test_a_whole_model(model):
    files = inspect_model(model)
    assert files.directory == model.resolve()
    assert [file.name for file in files.safetensors] == ["model.safetensors"]
    assert [file.name for file in files.tokenizer] == ["tokenizer.json", "tokenizer_config.json"]
    assert (files.context_length, files.vocab_size) == (512, 300)
    assert files.stop_token_ids == {2, 5, 7}
    assert files.kv_bytes_per_token == 2 * 2 * 2 * 16 * 4
    assert files.tensors == (TensorHeader("F32", 4 * 4 * 4, "weight"),)


def test_shards_and_nested_language_settings(model):
    shard(model)
    write_json(model / "config.json", {"model_type": "some_vl", "text_config": CONFIG})
    write_json(model / "tokenizer_config.json", {"chat_template": "{{ messages }}"})
    files = inspect_model(model)
    assert [file.name for file in files.safetensors] == ["model-a.safetensors", "model-b.safetensors"]
    assert files.context_length == 512
    assert files.stop_token_ids == {2, 5}


def test_nested_settings_may_leave_out_what_their_kind_says(model):
    text = {name: value for name, value in CONFIG.items() if name not in ("vocab_size", "max_position_embeddings")}
    nested = {**text, "model_type": "gemma3_text"}
    write_json(model / "config.json", {"model_type": "gemma3", "text_config": nested})
    files = inspect_model(model)
    # Gemma 3's own.
    assert (files.vocab_size, files.context_length) == (262_208, 131_072)


def test_digest_follows_content_and_ignores_place_and_bystanders(model, tmp_path):
    first = inspect_model(model)
    (model / "README.md").write_text("a model", encoding="utf-8")
    moved = model.rename(tmp_path / "elsewhere")
    assert inspect_model(moved).digest == first.digest
    digests = {first.digest}
    for name in ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json"):
        with (moved / name).open("a", encoding="utf-8") as stream:
            stream.write("\n")
        digests.add(inspect_model(moved).digest)
    save_file({"weight": np.zeros((4, 4), dtype=np.float32)}, moved / "model.safetensors")
    digests.add(inspect_model(moved).digest)
    assert len(digests) == 6


INDEX = "model.safetensors.index.json"


def replace(name, content):
    return lambda model: write_json(model / name, content)


def write(name, content):
    return lambda model: (model / name).write_bytes(content)


def remove(name):
    return lambda model: (model / name).unlink()


def save(name, tensors):
    return lambda model: save_file({one: np.zeros(3, dtype=np.float32) for one in tensors}, model / name)


def in_shards(plant):
    return lambda model: (shard(model), plant(model))


@pytest.mark.parametrize(
    ("plant", "match"),
    [
        (remove("config.json"), "no config.json"),
        (remove("tokenizer.json"), "no tokenizer"),
        (remove("model.safetensors"), "no weights"),
        (write("config.json", b"{"), "not valid JSON"),
        (write("config.json", b"[" * 100_000), "not valid JSON"),
        (write("config.json", b"[]"), "not a JSON object"),
        (write("tokenizer_config.json", b"nonsense"), "not valid JSON"),
        (replace("config.json", {**CONFIG, "vocab_size": "300"}), "vocab_size"),
        (replace("adapter_config.json", {"base_model_name_or_path": "base"}), "adapter"),
        (write("model.safetensors", b""), "damaged weights"),
        (write("model.safetensors", b"\x02\0\0\0\0\0\0\0{}"), "damaged weights"),
        (lambda model: os.truncate(model / "model.safetensors", 100), "damaged weights"),
        (in_shards(remove("model-b.safetensors")), "missing"),
        (in_shards(remove(INDEX)), "model.safetensors"),
        (save("extra.safetensors", ["more"]), r"one file.*remove extra\.safetensors"),
        (in_shards(save("model.safetensors", "a")), r"remove model\.safetensors\.index\.json if .* else model\.safete"),
        (replace(INDEX, {"weight_map": {"weight": "model-00001-of-00002.safetensors"}}), rf"remove {INDEX} if"),
        (in_shards(save("model-b.safetensors", "ab")), "several files"),
        (replace("config.json", {**CONFIG, "transformers_weights": "old.safetensors"}), "transformers_weights"),
        (replace(INDEX, {"weight_map": {}}), "weight_map"),
    ],
)
def test_unusable(model, plant, match):
    plant(model)
    with pytest.raises(BadInputError, match=match):
        inspect_model(model)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "model.pth", "model.ckpt"])
def test_only_a_pickle_is_unsafe_and_never_opened(model, name):
    (model / "model.safetensors").unlink()
    (model / name).write_bytes(b"\x80\x04.")
    with pytest.raises(UnsafeError, match="pickle"):
        inspect_model(model)


def test_a_pickle_beside_safetensors_is_ignored_and_listed(model):
    before = inspect_model(model)
    assert before.ignored == ()
    for name in ("training_args.bin", "pytorch_model.bin", "optimizer.pt", "epoch=3.ckpt", "scaler.pth"):
        (model / name).write_bytes(b"\x80\x04.")
    after = inspect_model(model)
    assert after.digest == before.digest
    assert after.ignored == ("epoch=3.ckpt", "optimizer.pt", "pytorch_model.bin", "scaler.pth", "training_args.bin")


@pytest.fixture
def adapter(tmp_path):
    directory = tmp_path / "adapter"
    directory.mkdir()
    settings = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "lora_alpha": 8, "r": 4}
    write_json(directory / "adapter_config.json", {**settings, "base_model_name_or_path": "somebody/some-model"})
    save_file(
        {"base_model.model.x.lora_A.weight": np.ones((4, 4), np.float32)}, directory / "adapter_model.safetensors"
    )
    return directory


def test_an_adapter_alone_says_what_to_do_and_what_base_it_names(adapter):
    with pytest.raises(BadInputError, match=r"--base-model DIR.*names somebody/some-model, which is not looked up"):
        inspect_model(adapter)


def test_an_adapter_with_its_base(model, adapter):
    base = inspect_model(model)
    (adapter / "optimizer.pt").write_bytes(b"\x80\x04.")
    files = inspect_adapted(adapter, base=model)
    assert files.base_digest == base.digest != files.digest
    assert files.tokenizer_directory == model.resolve()
    assert files.ignored == ("optimizer.pt",)
    digests = {files.digest}
    for change in ({"lora_alpha": 9}, {"peft_version": "1"}):
        settings = json.loads((adapter / "adapter_config.json").read_text(encoding="utf-8"))
        write_json(adapter / "adapter_config.json", settings | change)
        digests.add(inspect_adapted(adapter, base=model).digest)
    # A tokenizer of its own is what it was tuned with.
    write_rules(adapter, "<|turn|>", 9)
    write_json(adapter / "tokenizer_config.json", {"eos_token": "<|turn|>", "chat_template": "{{ messages }}"})
    own = inspect_adapted(adapter, base=model)
    assert own.tokenizer_directory == adapter.resolve()
    assert own.stop_token_ids == base.stop_token_ids | {9}
    digests.add(own.digest)
    assert len(digests) == 4


WEIGHTS = "adapter_model.safetensors"
QUANTIZED = replace("../model/config.json", {**CONFIG, "quantization_config": {"quant_method": "awq"}})
QUANTIZED_SOMEHOW = replace("../model/config.json", {**CONFIG, "quantization_config": {}})


@pytest.mark.parametrize(
    ("plant", "error", "match"),
    [
        (remove(WEIGHTS), BadInputError, "no weights"),
        (write(WEIGHTS, b""), BadInputError, "damaged weights"),
        (write("adapter_config.json", b"[]"), BadInputError, "not a JSON object"),
        (remove("adapter_config.json"), BadInputError, "no adapter in .*; give a whole model without --base-model"),
        (lambda adapter: (adapter / WEIGHTS).rename(adapter / "adapter_model.bin"), UnsafeError, "pickle weights"),
        (QUANTIZED, BadInputError, r"quantized \(awq\).*before it was quantized"),
        (QUANTIZED_SOMEHOW, BadInputError, r"quantized \(unknown method\)"),
    ],
)
def test_an_unusable_adapter(model, adapter, plant, error, match):
    plant(adapter)
    with pytest.raises(error, match=match):
        inspect_adapted(adapter, base=model)


AUTO_MAP = {"AutoModelForCausalLM": "modeling_mine.Mine"}


@pytest.mark.parametrize(
    "plant",
    [
        replace("config.json", {**CONFIG, "auto_map": AUTO_MAP}),
        replace("config.json", {**CONFIG, "text_config": {**CONFIG, "auto_map": AUTO_MAP}}),
        replace("config.json", {**CONFIG, "parts": [{"auto_map": AUTO_MAP}]}),
        replace("tokenizer_config.json", {"auto_map": {"AutoTokenizer": ["mine.Tokenizer", None]}}),
        replace(INDEX, {"weight_map": {"weight": "../other/model.safetensors"}}),
        replace(INDEX, {"weight_map": {"weight": "pytorch_model.bin"}}),
    ],
)
def test_foreign_code_and_files_are_refused(model, plant):
    plant(model)
    with pytest.raises(UnsafeError):
        inspect_model(model)


def test_links(model, tmp_path):
    outside = (model / "model.safetensors").rename(tmp_path / "weights.safetensors")
    (model / "model.safetensors").symlink_to(outside)
    with pytest.raises(UnsafeError, match="leading out"):
        inspect_model(model)
    (model / "model.safetensors").unlink()
    outside.rename(model / "kept")
    (model / "model.safetensors").symlink_to("kept")
    assert inspect_model(model).context_length == 512
    alias = tmp_path / "alias"
    alias.symlink_to(model)
    assert inspect_model(alias).directory == model.resolve()


@pytest.mark.parametrize("name", ["tokenizer.json", "config.json", "anything"])
def test_a_pipe_is_refused_without_being_opened(model, name):
    (model / name).unlink(missing_ok=True)
    os.mkfifo(model / name)
    with pytest.raises(UnsafeError, match="not a regular file"):
        inspect_model(model)


def test_the_digest_of_a_list_of_files_is_that_of_the_model(model):
    shard(model)
    (model / "README.md").write_text("a model", encoding="utf-8")
    listed = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in model.iterdir()}
    assert digest_of_listed(listed) == inspect_model(model).digest
