"""The trained system, kept in a folder: trained once for the same texts, settings and library, then read from there.

Owns the folder and its key. A folder appears whole or not at all.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final

from clinaudit.audit.pii.benchmark.sample import Sample
from clinaudit.audit.pii.entity_span import Detector, EntitySpan
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.run.durable_files import make_private_directory, making_folder
from clinaudit.errors import BadInputError

if TYPE_CHECKING:
    from clinaudit.audit.pii.benchmark.systems.bilstm_crf import LabelledText

#: The one system that is trained here.
TRAINED: Final = "bilstm_crf"
#: Raised where a change of the code changes what is learned.
_VERSION: Final = "1"
_LIBRARY: Final = "torch"
_SECONDS = "train_seconds.json"


def require_installed() -> None:
    """Raise `BadInputError` where the library of the conditional random field is missing."""
    if find_spec("torchcrf") is None:
        raise BadInputError(
            f"{TRAINED} needs pytorch-crf, which is not installed: install clinaudit[pii], or leave it out of --systems"
        )


class TrainingFolder:
    """Where trained systems are kept: one for each choice of texts and settings."""

    def __init__(self, root: Path, *, seed: int, progress: Progress) -> None:
        self._root = root
        self._seed = seed
        self._progress = progress

    def ready(self, samples: Sequence[Sample], *, epochs: int) -> tuple[Detector, float]:
        """Return a system trained on samples, from the folder where it was trained before, and the seconds it took."""
        # Late: it loads torch.
        from clinaudit.audit.pii.benchmark.systems.bilstm_crf import LabelledText, load_bilstm_crf, train_bilstm_crf

        texts = [LabelledText(sample.description, list(_apart(sample))) for sample in samples]
        place = self._root / f"{TRAINED}-{self._key(texts, epochs)}"
        if not (place / _SECONDS).is_file():
            make_private_directory(self._root)
            # One without its seconds was never finished.
            shutil.rmtree(place, ignore_errors=True)
            with making_folder(place) as folder:
                begin = monotonic()
                with self._progress.stage(f"training {TRAINED}", total=len(texts) * epochs, unit="texts") as advance:
                    train_bilstm_crf(texts, epochs=epochs, seed=self._seed, advance=advance).save(folder)
                (folder / _SECONDS).write_text(json.dumps(round(monotonic() - begin, 1)), encoding="utf-8")
        return load_bilstm_crf(place), json.loads((place / _SECONDS).read_text(encoding="utf-8"))

    def _key(self, texts: "Sequence[LabelledText]", epochs: int) -> str:
        said = [_VERSION, _LIBRARY, version(_LIBRARY), epochs, self._seed]
        digest = hashlib.sha256(json.dumps(said).encode())
        for labelled in texts:
            spans = [(span.start, span.end, span.category) for span in labelled.spans]
            digest.update(json.dumps([labelled.text, spans]).encode())
        return digest.hexdigest()[:16]


def _apart(sample: Sample) -> Iterator[EntitySpan]:
    end = 0
    for span in sample.gold_spans():
        if span.start >= end:
            end = span.end
            yield span
