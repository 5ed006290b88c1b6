"""The files of a model directory, checked before anything loads them (README.md, "PHI and safety").

Owns the refusal of models that would run foreign code (pickle weights, `auto_map`), of damaged or missing weights, and
the model's digest. Reads JSON and safetensors headers only; knows nothing of engines.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clinaudit.audit.run.durable_files import sha256_of
from clinaudit.errors import BadInputError, StorageError, UnsafeError

#: Files that decide what the model does and how text becomes tokens; no other file is loaded.
_CONFIG_FILES = ("config.json", "generation_config.json")
TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "tokenizer.model",
    "chat_template.jinja",
)
#: Any one of these sets is a whole tokenizer.
_WHOLE_TOKENIZERS = (("tokenizer.json",), ("vocab.json", "merges.txt"), ("tokenizer.model",))
_INDEX = "model.safetensors.index.json"
_PICKLE_SUFFIXES = frozenset({".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle"})
#: The format's own limit on a header (safetensors/src/tensor.rs, MAX_HEADER_SIZE).
_MAX_HEADER_BYTES = 100_000_000
#: JSON files of real models stay below this (tokenizer.json of large vocabularies: about 35 MB).
_MAX_JSON_BYTES = 256 << 20
_CONTEXT_FIELDS = ("max_position_embeddings", "n_positions", "max_sequence_length", "seq_length", "n_ctx")


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A model directory that was found safe and complete."""

    directory: Path
    config: Path
    safetensors: tuple[Path, ...]
    tokenizer: tuple[Path, ...]
    #: SHA-256 over name and content digest of config, weights and tokenizer files, in name order.
    digest: str
    #: Tokens that prompt and generation together may hold.
    context_length: int
    #: Rows of the output layer; the tokenizer may use fewer.
    vocab_size: int
    #: Total size of the weights.
    weight_bytes: int
    #: Ids that end a generation: of `generation_config.json`, of `config.json`, and the tokenizer's end of sequence.
    stop_token_ids: frozenset[int]
    has_chat_template: bool
    #: Bytes of key-value cache one token takes in float32; None where the config does not say.
    kv_bytes_per_token: int | None


def inspect_model(path: Path) -> ModelFiles:
    """Check the model directory at `path` and describe it; loads no weights.

    Raises `BadInputError` where it is missing, incomplete or damaged, `UnsafeError` where loading it could run code.
    """
    if not path.exists():
        raise BadInputError(f"no such model directory: {path}; give a directory with config.json and safetensors")
    if not path.is_dir():
        raise BadInputError(f"not a directory: {path}; give a Hugging Face model directory")
    directory = path.resolve()
    _refuse_links_leading_out(directory)
    if (directory / "adapter_config.json").is_file():
        raise BadInputError(f"an adapter, not a whole model: {directory}; merge it into its base model and save that")
    config = _read_json(_required(directory, "config.json"))
    weights = _weights(directory)
    tokenizer = tuple(directory / name for name in TOKENIZER_FILES if (directory / name).is_file())
    present = {file.name for file in tokenizer}
    if not any(present.issuperset(whole) for whole in _WHOLE_TOKENIZERS):
        raise BadInputError(
            f"no tokenizer in {directory}: none of tokenizer.json, vocab.json with merges.txt, tokenizer.model; "
            "save the model's tokenizer beside its weights"
        )
    settings = _optional_json(directory, "tokenizer_config.json")
    for name, content in (("config.json", config), ("tokenizer_config.json", settings)):
        _refuse_custom_code(directory / name, content)
    nested = config.get("text_config")  # models that also see images keep the language model's settings there
    text: dict[str, Any] = nested if isinstance(nested, dict) else config
    configs = [directory / name for name in _CONFIG_FILES if (directory / name).is_file()]
    indexes = [directory / _INDEX] if len(weights) > 1 or (directory / _INDEX).is_file() else []
    return ModelFiles(
        directory=directory,
        config=directory / "config.json",
        safetensors=weights,
        tokenizer=tokenizer,
        digest=_digest([*configs, *indexes, *weights, *tokenizer]),
        context_length=_positive_int(text, _CONTEXT_FIELDS, directory),
        vocab_size=_positive_int(text, ("vocab_size",), directory),
        weight_bytes=sum(file.stat().st_size for file in weights),
        stop_token_ids=_stop_token_ids(directory, config, text, settings),
        has_chat_template=bool(settings.get("chat_template")) or "chat_template.jinja" in present,
        kv_bytes_per_token=_kv_bytes_per_token(text),
    )


def _required(directory: Path, name: str) -> Path:
    file = directory / name
    if not file.is_file():
        raise BadInputError(f"no {name} in {directory}; give a Hugging Face model directory")
    return file


def _refuse_links_leading_out(directory: Path) -> None:
    """Refuse entries other than regular files within the directory, and folders (which nothing reads)."""
    for entry in sorted(directory.iterdir()):
        if entry.is_dir() and not entry.is_symlink():
            continue
        if not entry.is_file():
            raise UnsafeError(f"not a regular file: {entry}; copy the model's files into one directory")
        # A Hugging Face cache snapshot links to blobs beside it; loading through links would read unchecked files.
        if entry.is_symlink() and not entry.resolve().is_relative_to(directory):
            raise UnsafeError(f"a link leading out of the model directory: {entry}; copy the file itself there")


def _weights(directory: Path) -> tuple[Path, ...]:
    index = directory / _INDEX
    if index.is_file():
        weight_map = _read_json(index).get("weight_map")
        if not isinstance(weight_map, dict) or not weight_map:
            raise BadInputError(f"no weight_map in {index}; download or save the model again")
        names = sorted({str(name) for name in weight_map.values()})
        if any(Path(name).name != name or not name.endswith(".safetensors") for name in names):
            raise UnsafeError(f"{index} names files other than safetensors beside it; save the model again")
        missing = [f"missing: {name}" for name in names if not (directory / name).is_file()]
        if missing:
            raise BadInputError(f"weights named by {index} are missing; download the model again", missing)
        files = tuple(directory / name for name in names)
    else:
        files = tuple(sorted(directory.glob("*.safetensors")))
        if not files:
            _refuse_without_safetensors(directory)
        # vLLM loads every *.safetensors where there is no index, transformers only this one: they must be the same.
        if [file.name for file in files] != ["model.safetensors"]:
            raise BadInputError(
                f"without {_INDEX} the weights must be one file, model.safetensors, in {directory}; "
                "save the model again"
            )
    for file in files:
        _check_safetensors(file)
    return files


def _refuse_without_safetensors(directory: Path) -> None:
    pickles = [entry.name for entry in sorted(directory.iterdir()) if entry.suffix in _PICKLE_SUFFIXES]
    if pickles:
        raise UnsafeError(
            f"only pickle weights ({pickles[0]}) in {directory}: loading them can run any code; "
            "convert the model to safetensors on a machine that holds no PHI"
        )
    raise BadInputError(f"no weights (*.safetensors) in {directory}; save the model with save_pretrained")


def _check_safetensors(file: Path) -> None:
    """Compare the header of a safetensors file with the file's size: eight length bytes, JSON, then the tensors."""
    size = file.stat().st_size
    damaged = f"damaged weights: {file} is truncated or no safetensors file; copy or download it again"
    try:
        with file.open("rb") as stream:
            header_bytes = int.from_bytes(stream.read(8), "little")
            if size < 8 or header_bytes > min(size - 8, _MAX_HEADER_BYTES):
                raise BadInputError(damaged)
            header = json.loads(stream.read(header_bytes))
    except OSError as error:
        raise StorageError(f"cannot read {file}: {error.strerror}; check its permissions") from error
    except (ValueError, RecursionError) as error:
        raise BadInputError(damaged) from error
    if not isinstance(header, dict):
        raise BadInputError(damaged)
    ends = [_tensor_end(tensor) for name, tensor in header.items() if name != "__metadata__"]
    if not ends or None in ends or 8 + header_bytes + max(end for end in ends if end is not None) != size:
        raise BadInputError(damaged)


def _tensor_end(tensor: Any) -> int | None:
    offsets = tensor.get("data_offsets") if isinstance(tensor, dict) else None
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(type(offset) is int for offset in offsets):
        return None
    begin, end = offsets
    return end if 0 <= begin <= end else None


def _refuse_custom_code(file: Path, content: dict[str, Any]) -> None:
    """Refuse `auto_map` wherever it stands, a nested `text_config` included."""
    pending: list[Any] = [content]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            if value.get("auto_map"):
                raise UnsafeError(
                    f"{file} asks to run Python code of the model's author (auto_map); "
                    "clinaudit runs no model code: use an architecture that transformers holds itself"
                )
            pending.extend(value.values())
        elif isinstance(value, list):
            pending.extend(value)


def _read_json(file: Path) -> dict[str, Any]:
    try:
        if file.stat().st_size > _MAX_JSON_BYTES:
            raise BadInputError(f"{file} is too large for a configuration; download the model again")
        content = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise StorageError(f"cannot read {file}: {error.strerror}; check its permissions") from error
    except (ValueError, RecursionError) as error:
        raise BadInputError(f"not valid JSON: {file}; download or save the model again") from error
    if not isinstance(content, dict):
        raise BadInputError(f"not a JSON object: {file}; download or save the model again")
    return content


def _optional_json(directory: Path, name: str) -> dict[str, Any]:
    file = directory / name
    return _read_json(file) if file.is_file() else {}


def _positive_int(config: dict[str, Any], fields: Iterable[str], directory: Path) -> int:
    names = tuple(fields)
    for field in names:
        value = config.get(field)
        if type(value) is int and value > 0:
            return value
    raise BadInputError(f"config.json in {directory} gives no {names[0]}; add it, or save the model again")


def _stop_token_ids(
    directory: Path, config: dict[str, Any], text: dict[str, Any], settings: dict[str, Any]
) -> frozenset[int]:
    ids: set[int] = set()
    for source in (_optional_json(directory, "generation_config.json"), config, text):
        value = source.get("eos_token_id")
        ids.update(item for item in (value if isinstance(value, list) else [value]) if type(item) is int)
    ids.update(_tokenizer_eos(directory, settings))
    return frozenset(ids)


def _tokenizer_eos(directory: Path, settings: dict[str, Any]) -> set[int]:
    """Return the id of the tokenizer's own end of sequence, where `tokenizer.json` lists it as an added token."""
    eos = settings.get("eos_token")
    content = eos.get("content") if isinstance(eos, dict) else eos
    added = _optional_json(directory, "tokenizer.json").get("added_tokens") if content else None
    entries = added if isinstance(added, list) else []
    return {
        entry["id"]
        for entry in entries
        if isinstance(entry, dict) and entry.get("content") == content and type(entry.get("id")) is int
    }


def _kv_bytes_per_token(text: dict[str, Any]) -> int | None:
    """Return the bytes of all layers' keys and values of one token in float32; an upper bound for mixed attention."""
    layers, heads, hidden = (text.get(name) for name in ("num_hidden_layers", "num_attention_heads", "hidden_size"))
    if not (type(layers) is int and type(heads) is int and type(hidden) is int and heads > 0):
        return None
    kv_heads = text.get("num_key_value_heads")
    width = text.get("head_dim")
    heads_kept = kv_heads if type(kv_heads) is int else heads
    return 2 * layers * heads_kept * (width if type(width) is int else hidden // heads) * 4


def _digest(files: Iterable[Path]) -> str:
    total = hashlib.sha256()
    for file in sorted(files, key=lambda file: file.name):
        try:
            with file.open("rb") as stream:
                content = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as error:
            raise StorageError(f"cannot read {file}: {error.strerror}; check its permissions") from error
        total.update(f"{file.name}\0{content}\n".encode())
    return total.hexdigest()


def digest_tokenizer(directory: Path) -> str:
    """Return the SHA-256 over the tokenizer's files in a directory, by name."""
    files = [directory / name for name in sorted(TOKENIZER_FILES) if (directory / name).is_file()]
    lines = [f"{file.name} {sha256_of(file)}\n" for file in files]
    return hashlib.sha256("".join(lines).encode()).hexdigest()
