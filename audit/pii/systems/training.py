"""The trained system, kept in a folder: trained once for the same texts, settings and library, then read from there.

Owns the folder and its key. A folder appears whole or not at all. Knows nothing of where the texts come from.
"""

import hashlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from time import monotonic
from typing import Final

from clinaudit.audit.console.progress import Progress
from clinaudit.audit.pii.entity_span import Detector
from clinaudit.audit.pii.systems.labelled_text import LabelledText
from clinaudit.audit.pii.systems.table import TRAINED
from clinaudit.audit.run.durable_files import make_private_directory, making_folder

#: Passes over 2,000 texts: as many as two CPU cores finish in some minutes.
DEFAULT_EPOCHS: Final = 10
#: Raised where a change of the code changes what is learned.
_VERSION: Final = "1"
_LIBRARY: Final = "torch"
_SECONDS = "train_seconds.json"


@dataclass(frozen=True, slots=True)
class TrainedSystem:
    """A trained system, and how long its training took when it was done."""

    detector: Detector
    seconds: float


class TrainingFolder:
    """Where trained systems are kept: one for each choice of texts and settings."""

    def __init__(self, root: Path, *, seed: int, progress: Progress) -> None:
        self._root = root
        self._seed = seed
        self._progress = progress

    def ready(self, texts: Sequence[LabelledText], *, epochs: int) -> TrainedSystem:
        """Return a system trained on the texts, from the folder where it was trained before."""
        # Late: it loads torch.
        from clinaudit.audit.pii.systems.bilstm_crf import load_bilstm_crf

        place = self._root / f"{TRAINED}-{self._key(texts, epochs)}"
        if not (place / _SECONDS).is_file():
            self._train(texts, epochs, place)
        return TrainedSystem(load_bilstm_crf(place), json.loads((place / _SECONDS).read_text(encoding="utf-8")))

    def _train(self, texts: Sequence[LabelledText], epochs: int, place: Path) -> None:
        from clinaudit.audit.pii.systems.bilstm_crf import train_bilstm_crf

        make_private_directory(self._root)
        # One without its seconds was never finished.
        shutil.rmtree(place, ignore_errors=True)
        with making_folder(place) as folder:
            begin = monotonic()
            with self._progress.stage(f"training {TRAINED}", total=len(texts) * epochs, unit="texts") as advance:
                train_bilstm_crf(texts, epochs=epochs, seed=self._seed, advance=advance).save(folder)
            (folder / _SECONDS).write_text(json.dumps(round(monotonic() - begin, 1)), encoding="utf-8")

    def _key(self, texts: Sequence[LabelledText], epochs: int) -> str:
        said = [_VERSION, _LIBRARY, version(_LIBRARY), epochs, self._seed]
        digest = hashlib.sha256(json.dumps(said).encode())
        for labelled in texts:
            spans = [(span.start, span.end, span.category) for span in labelled.spans]
            digest.update(json.dumps([labelled.text, spans]).encode())
        return digest.hexdigest()[:16]
