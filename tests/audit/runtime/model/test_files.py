"""What a model directory must hold, and what is refused, on directories made of real safetensors."""

import hashlib
import json
import os
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from clinaudit.audit.runtime.model.files import digest_of_listed, digest_tokenizer, inspect_adapted, inspect_model
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


def write_json(file: Path, content: object) -> None:
    file.write_text(json.dumps(content), encoding="utf-8")


def write_rules(directory: Path, end: str, number: int) -> None:
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


def shard(model: Path) -> None:
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
    assert files.weight_bytes == (model / "model.safetensors").stat().st_size


def test_shards_and_nested_language_settings(model):
    shard(model)
    write_json(model / "config.json", {"model_type": "some_vl", "text_config": CONFIG})
    write_json(model / "tokenizer_config.json", {"chat_template": "{{ messages }}"})
    files = inspect_model(model)
    assert [file.name for file in files.safetensors] == ["model-a.safetensors", "model-b.safetensors"]
    assert files.context_length == 512
    assert files.stop_token_ids == {2, 5}


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


def replace(name, content):
    def plant(model):
        write_json(model / name, content)

    return plant


def write(name, content):
    def plant(model):
        (model / name).write_bytes(content)

    return plant


def remove(*names):
    def plant(model):
        for name in names:
            (model / name).unlink()

    return plant


def truncate(model):
    file = model / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1])


def lose_a_shard(model):
    shard(model)
    (model / "model-b.safetensors").unlink()


def lose_the_index(model):
    shard(model)
    (model / "model.safetensors.index.json").unlink()


def add_weights_outside_the_index(model):
    save_file({"more": np.ones(3, dtype=np.float32)}, model / "extra.safetensors")


def leave_a_single_file_beside_shards(model):
    shard(model)
    save_file({"a": np.zeros(3, dtype=np.float32)}, model / "model.safetensors")


def leave_an_index_beside_a_single_file(model):
    write_json(model / "model.safetensors.index.json", {"weight_map": {"weight": "model-00001-of-00002.safetensors"}})


def save_one_tensor_in_two_shards(model):
    shard(model)
    save_file({name: np.zeros(3, dtype=np.float32) for name in "ab"}, model / "model-b.safetensors")


@pytest.mark.parametrize(
    ("plant", "match"),
    [
        (remove("config.json"), "no config.json"),
        (remove("tokenizer.json"), "no tokenizer"),
        (remove("model.safetensors"), "no weights"),
        (write("config.json", b"{"), "not valid JSON"),
        (write("config.json", b"\xff\xfe{}"), "not valid JSON"),
        (write("config.json", b"[" * 100_000), "not valid JSON"),
        (write("config.json", b"[]"), "not a JSON object"),
        (write("tokenizer_config.json", b"nonsense"), "not valid JSON"),
        (replace("config.json", {**CONFIG, "vocab_size": "300"}), "vocab_size"),
        (replace("adapter_config.json", {"base_model_name_or_path": "base"}), "adapter"),
        (write("model.safetensors", b""), "damaged weights"),
        (write("model.safetensors", b"\x02\0\0\0\0\0\0\0{}"), "damaged weights"),
        (truncate, "damaged weights"),
        (lose_a_shard, "missing"),
        (lose_the_index, "model.safetensors"),
        (add_weights_outside_the_index, r"one file.*remove extra\.safetensors"),
        (leave_a_single_file_beside_shards, r"remove model\.safetensors\.index\.json if .* else model\.safetensors"),
        (leave_an_index_beside_a_single_file, r"remove model\.safetensors\.index\.json if"),
        (save_one_tensor_in_two_shards, "several files"),
        (replace("config.json", {**CONFIG, "transformers_weights": "old.safetensors"}), "transformers_weights"),
        (replace("model.safetensors.index.json", {"weight_map": {}}), "weight_map"),
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


@pytest.mark.parametrize("name", ["consolidated.safetensors", "model-00003-of-00003.safetensors"])
def test_weights_that_the_index_leaves_out_are_listed_and_not_read(model, name):
    """Another saving of the same, or a shard of an earlier one."""
    shard(model)
    before = inspect_model(model).digest
    save_file({"a": np.zeros(3, dtype=np.float32)}, model / name)
    after = inspect_model(model)
    assert (after.digest, after.ignored) == (before, (name,))


def test_an_index_of_other_files_names_the_shard(model):
    shard(model)
    weight_map = {"a": "model-a.safetensors", "b": "model-a.safetensors"}
    write_json(model / "model.safetensors.index.json", {"weight_map": weight_map})
    with pytest.raises(BadInputError, match="belongs to other files") as caught:
        inspect_model(model)
    assert caught.value.problems == ("lacks weights that the index expects in it: model-a.safetensors",)


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
    assert (files.adapter.ignored, files.ignored) == (("optimizer.pt",), ())
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


@pytest.mark.parametrize(
    ("plant", "error", "match"),
    [
        (remove("adapter_model.safetensors"), BadInputError, "no weights"),
        (write("adapter_model.safetensors", b""), BadInputError, "damaged weights"),
        (write("adapter_config.json", b"[]"), BadInputError, "not a JSON object"),
        (remove("adapter_config.json"), BadInputError, "no adapter in .*; give a whole model without --base-model"),
    ],
)
def test_an_unusable_adapter(model, adapter, plant, error, match):
    plant(adapter)
    with pytest.raises(error, match=match):
        inspect_adapted(adapter, base=model)


def test_a_pickled_adapter_is_unsafe(model, adapter):
    (adapter / "adapter_model.safetensors").rename(adapter / "adapter_model.bin")
    with pytest.raises(UnsafeError, match=r"pickle weights \(adapter_model\.bin\)"):
        inspect_adapted(adapter, base=model)


def test_an_adapter_on_a_quantized_base(model, adapter):
    write_json(model / "config.json", {**CONFIG, "quantization_config": {"quant_method": "awq"}})
    assert inspect_model(model).quantization == "awq"
    with pytest.raises(BadInputError, match=r"quantized \(awq\).*before it was quantized"):
        inspect_adapted(adapter, base=model)


AUTO_MAP = {"AutoModelForCausalLM": "modeling_mine.Mine"}


@pytest.mark.parametrize(
    "plant",
    [
        replace("config.json", {**CONFIG, "auto_map": AUTO_MAP}),
        replace("config.json", {**CONFIG, "text_config": {**CONFIG, "auto_map": AUTO_MAP}}),
        replace("config.json", {**CONFIG, "parts": [{"auto_map": AUTO_MAP}]}),
        replace("tokenizer_config.json", {"auto_map": {"AutoTokenizer": ["mine.Tokenizer", None]}}),
        replace("model.safetensors.index.json", {"weight_map": {"weight": "../other/model.safetensors"}}),
        replace("model.safetensors.index.json", {"weight_map": {"weight": "pytorch_model.bin"}}),
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


def test_a_broken_link_is_refused(model):
    (model / "vocab.json").symlink_to("nowhere")
    with pytest.raises(UnsafeError, match="not a regular file"):
        inspect_model(model)


def test_no_directory(model, tmp_path):
    with pytest.raises(BadInputError, match="no such model"):
        inspect_model(tmp_path / "none")
    with pytest.raises(BadInputError, match="not a directory"):
        inspect_model(model / "config.json")


def test_a_tokenizer_saved_again_is_the_same_and_one_that_reads_otherwise_is_not(model):
    config = model / "tokenizer_config.json"
    first = digest_tokenizer(model)
    write_json(config, {"name_or_path": "somewhere", "is_local": True, "eos_token": "<|end|>"})
    assert digest_tokenizer(model) == first
    for changed in ({"eos_token": "<|other|>"}, {"eos_token": "<|end|>", "chat_template": "{{ messages }}"}, {}, []):
        write_json(config, changed)
        assert digest_tokenizer(model) != first
    config.write_bytes(b"{")
    damaged = digest_tokenizer(model)
    write_json(model / "tokenizer.json", {"added_tokens": []})
    assert len({first, damaged, digest_tokenizer(model)}) == 3


def test_the_digest_of_a_list_of_files_is_that_of_the_model(model):
    shard(model)
    (model / "README.md").write_text("a model", encoding="utf-8")
    listed = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in model.iterdir()}
    assert digest_of_listed(listed) == inspect_model(model).digest
