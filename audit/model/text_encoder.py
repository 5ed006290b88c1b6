"""An encoder read from a directory: its files checked, its weights by digest, its texts cut to what it can take.

Owns what sentence embeddings and entailment models have in common: safetensors alone, no code of the model's author, no
network. Knows nothing of what is made of an encoder's output.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from clinaudit.audit.console.streams import quiet_stderr
from clinaudit.audit.model.model_directory import (
    existing_directory,
    read_json,
    refuse_custom_code,
    refuse_without_safetensors,
    required_file,
)
from clinaudit.audit.model.pretrained import LOAD_ERRORS
from clinaudit.audit.run.durable_files import sha256_of
from clinaudit.errors import BadInputError, IntegrityError

#: The one file of weights; encoders are too small to be saved in several.
WEIGHTS_FILE: Final = "model.safetensors"
_FILES: Final = ("config.json", "tokenizer.json", WEIGHTS_FILE)
#: Longest text in tokens of an encoder that names no limit of its own: BERT's.
_USUAL_TOKENS: Final = 512


@dataclass(frozen=True, slots=True)
class EncoderFiles:
    """The files of an encoder, looked at and not loaded."""

    directory: Path
    config: Mapping[str, Any]
    #: File name -> SHA-256 (hexadecimal).
    digests: Mapping[str, str]


def inspect_encoder(path: Path, *, expected: Mapping[str, str] | None = None) -> EncoderFiles:
    """Return the files of an encoder's directory; of those in `expected` the digests must be these.

    Raises `BadInputError` where one is missing, `UnsafeError` for pickles, links and code, and `IntegrityError` for
    another digest.
    """
    directory = existing_directory(path)
    if not (directory / WEIGHTS_FILE).is_file():
        refuse_without_safetensors(directory)
    files = {name: required_file(directory, name) for name in _FILES}
    config = read_json(files["config.json"])
    refuse_custom_code(files["config.json"], config)
    digests = {name: sha256_of(file) for name, file in files.items()}
    other = sorted(name for name, digest in (expected or {}).items() if digests[name] != digest)
    if other:
        raise IntegrityError(
            f"{other[0]} in {directory.name} is not the file that clinaudit knows (its SHA-256 is another): nothing of "
            "it was loaded; install the package again, or give a directory of your own"
        )
    return EncoderFiles(directory, config, digests)


class TextEncoder:
    """A loaded encoder and its tokenizer, on the CPU, in float32."""

    def __init__(
        self, files: EncoderFiles, *, loader: str, longest_tokens: int | None = None, unused: str | None = None
    ) -> None:
        """Load it. `loader` names the class of transformers, such as `AutoModel`; longer texts are cut.

        `unused` is a part of the model whose output nothing reads: its weights may be missing.
        """
        import tokenizers
        import torch
        import transformers

        quieten: Any = transformers.utils.logging.set_verbosity_error
        quieten()
        limit = files.config.get("max_position_embeddings")
        try:
            with quiet_stderr():
                model, said = getattr(transformers, loader).from_pretrained(
                    str(files.directory),
                    dtype=torch.float32,
                    use_safetensors=True,
                    trust_remote_code=False,
                    local_files_only=True,
                    output_loading_info=True,
                )
            tokenizer = tokenizers.Tokenizer.from_file(str(files.directory / "tokenizer.json"))
        except Exception as error:
            # The tokenizers library raises plain `Exception`.
            if type(error) is Exception or isinstance(error, LOAD_ERRORS):
                raise BadInputError(
                    f"the model in {files.directory.name} cannot be loaded ({type(error).__name__}); give an encoder "
                    "that transformers knows, saved with save_pretrained"
                ) from None
            raise
        missing = [name for name in sorted(said["missing_keys"]) if unused is None or not name.startswith(unused)]
        if missing:
            # transformers would go on with random numbers in their place.
            raise BadInputError(f"the files of the model in {files.directory.name} lack weights ({missing[0]})")
        self.model: Any = model.eval()
        self._tokenizer: Any = tokenizer
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(longest_tokens or (limit if type(limit) is int else _USUAL_TOKENS))

    def run(self, text: str, second: str | None = None) -> Any:
        """Return the model's output for a text, or a pair of texts; one at a time.

        In a batch, numbers depend on the other texts of it in their last digits, so that a run that was stopped and
        goes on would not end in the same bytes. They depend on the number of threads, too: one is used, which for a
        single short text is as fast.
        """
        import torch

        encoding = self._tokenizer.encode(text, second)
        inputs = {"input_ids": encoding.ids, "attention_mask": encoding.attention_mask}
        if self.model.config.to_dict().get("type_vocab_size", 0) > 1:
            inputs["token_type_ids"] = encoding.type_ids
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            with torch.inference_mode():
                return self.model(**{name: torch.tensor([ids]) for name, ids in inputs.items()})
        finally:
            torch.set_num_threads(threads)
