"""A directory of a model or an adapter: what may stand in it (no links, pickles, code), JSON, headers of weights."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from math import prod
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

from safetensors import SafetensorError, safe_open

from clinaudit.audit.runtime.run.directory import sha256_of
from clinaudit.errors import BadInputError, StorageError, UnsafeError

#: Files that decide how text becomes tokens; no other file of a tokenizer is loaded.
TOKENIZER_FILES = (
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.json",
    "merges.txt", "tokenizer.model", "chat_template.jinja", "chat_template.json",
)  # fmt: skip
#: Any one of these sets is a whole tokenizer.
_WHOLE_TOKENIZERS = ({"tokenizer.json"}, {"vocab.json", "merges.txt"}, {"tokenizer.model"})
_PICKLE_SUFFIXES = frozenset({".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle"})
#: JSON files of real models stay below this (tokenizer.json of large vocabularies: about 35 MB).
_MAX_JSON_BYTES = 256 << 20


def existing_directory(path: Path) -> Path:
    """Return a model's directory, resolved; raises `BadInputError` or `UnsafeError` where it cannot be one."""
    if not path.exists():
        raise BadInputError(f"no such model directory: {path}; give a directory with config.json and safetensors")
    if not path.is_dir():
        raise BadInputError(f"not a directory: {path}; give a Hugging Face model directory")
    directory = path.resolve()
    for entry in sorted(directory.iterdir()):
        # Nothing reads a folder.
        if entry.is_dir() and not entry.is_symlink():
            continue
        if not entry.is_file():
            raise UnsafeError(f"not a regular file: {entry}; copy the model's files into one directory")
        # A Hugging Face cache snapshot links to blobs beside it; loading through links would read unchecked files.
        if entry.is_symlink() and not entry.resolve().is_relative_to(directory):
            raise UnsafeError(
                f"a link leading out of the model directory: {entry}; copy the folder with its links followed "
                "(cp -rL), and give the copy"
            )
    return directory


def required_file(directory: Path, name: str) -> Path:
    """Return a file of a model directory; raises `BadInputError` where there is none."""
    file = directory / name
    if not file.is_file():
        raise BadInputError(f"no {name} in {directory}; give a Hugging Face model directory")
    return file


def present(directory: Path, names: Iterable[str]) -> tuple[Path, ...]:
    """Return those of some files that stand in a directory."""
    return tuple(directory / name for name in names if (directory / name).is_file())


def has_tokenizer(directory: Path) -> bool:
    """Whether a whole tokenizer stands in the directory."""
    names = {file.name for file in present(directory, TOKENIZER_FILES)}
    return any(names.issuperset(whole) for whole in _WHOLE_TOKENIZERS)


def refuse_without_safetensors(directory: Path) -> NoReturn:
    """Raise the error for a directory that holds pickles alone, or no weights at all."""
    pickles = [entry.name for entry in sorted(directory.iterdir()) if entry.suffix in _PICKLE_SUFFIXES]
    if pickles:
        raise UnsafeError(
            f"only pickle weights ({pickles[0]}) in {directory}: loading them can run any code; "
            "convert the model to safetensors on a machine that holds no PHI"
        )
    raise BadInputError(f"no weights (*.safetensors) in {directory}; save the model with save_pretrained")


def ignored_weights(directory: Path, read: Iterable[Path]) -> tuple[str, ...]:
    """Return the files of weights that nothing opens: pickles, and safetensors that are not among those to be read."""
    known = {file.name for file in read}
    suffixes = _PICKLE_SUFFIXES | {".safetensors"}
    entries = (entry.name for entry in directory.iterdir() if entry.is_file() and entry.suffix in suffixes)
    return tuple(sorted(name for name in entries if name not in known))


def read_json(file: Path) -> dict[str, Any]:
    """Read a JSON object of a model directory; `BadInputError` where it is none, `UnsafeError` if it names code."""
    required_file(file.parent, file.name)
    try:
        if file.stat().st_size > _MAX_JSON_BYTES:
            raise BadInputError(f"{file} is too large for a configuration; download the model again")
        content = json.loads(file.read_text(encoding="utf-8"))
        names_code = _names_code(content)
    except OSError as error:
        raise _unreadable(file, error) from error
    except (ValueError, RecursionError) as error:
        raise BadInputError(f"not valid JSON: {file}; download or save the model again") from error
    if not isinstance(content, dict):
        raise BadInputError(f"not a JSON object: {file}; download or save the model again")
    if names_code:
        raise UnsafeError(
            f"{file} asks to run Python code of the model's author (auto_map); "
            "clinaudit runs no model code: use an architecture that transformers holds itself"
        )
    return content


def _names_code(part: object) -> bool:
    """Whether `auto_map` stands anywhere, a nested `text_config` included."""
    if isinstance(part, dict):
        return bool(part.get("auto_map")) or any(map(_names_code, part.values()))
    return isinstance(part, list) and any(map(_names_code, part))


def optional_json(directory: Path, name: str) -> dict[str, Any]:
    """Return what `read_json` gives, and nothing where there is no such file."""
    file = directory / name
    return read_json(file) if file.is_file() else {}


#: Size in bytes and time of change in nanoseconds of each of some files. Device and inode are left out: a network file
#: system that is mounted again within a run may give the same file others.
FileStates = dict[Path, tuple[int, int]]


def states_of(files: Iterable[Path]) -> FileStates:
    """Return by what a file is known to be the one that was looked at; far quicker than a digest of its gigabytes."""
    return {file: (of.st_size, of.st_mtime_ns) for file in files for of in [file.stat()]}


def digest_files(files: Iterable[Path]) -> str:
    """Return the SHA-256 over the name and the content digest of each file, in name order."""
    contents: dict[str, str] = {}
    for file in files:
        try:
            contents[file.name] = sha256_of(file)
        except OSError as error:
            raise _unreadable(file, error) from error
    return digest_contents(contents)


def digest_contents(contents: Mapping[str, str]) -> str:
    """Return the same of files' SHA-256 by name."""
    lines = (f"{name}\0{digest}\n" for name, digest in sorted(contents.items()))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _unreadable(file: Path, error: OSError) -> StorageError:
    return StorageError(f"cannot read {file}: {error.strerror or type(error).__name__}; check its permissions")


#: Bytes of a number, by its type in the header; of floats alone, since a quantized checkpoint's integers stay integers.
FLOAT_BYTES: Final = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2}


class TensorHeader(NamedTuple):
    """One tensor of a safetensors file: its type as the format spells it (`BF16`), its bytes in the file, its name."""

    dtype: str
    size: int
    name: str = ""


def read_header(file: Path) -> dict[str, TensorHeader]:
    """Read the header by the library that loads the weights; raises `BadInputError` where it does not fit the file."""
    headers = {}
    try:
        with safe_open(file, "np") as stream:
            for name in stream.keys():  # noqa: SIM118 (no mapping)
                tensor = stream.get_slice(name)
                # Types are named by their bits (F8_E4M3), but for that of truth values, which take a byte.
                bits = re.search(r"\d+", tensor.get_dtype())
                size = prod(tensor.get_shape()) * (8 if bits is None else int(bits[0])) // 8
                headers[name] = TensorHeader(tensor.get_dtype(), size, name)
    except OSError as error:
        raise _unreadable(file, error) from error
    except SafetensorError:
        headers = {}
    if not headers:
        raise BadInputError(f"damaged weights: {file} is truncated or no safetensors file; copy or download it again")
    return headers
