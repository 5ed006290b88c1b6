"""Trained systems, kept in a folder: trained once for the same texts, settings and libraries, then read from there.

Owns the folder and its key. A folder appears whole or not at all. Knows nothing of where the texts come from.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from time import monotonic
from typing import Final

from clinaudit.audit.console.progress import Progress
from clinaudit.audit.pii.entity_span import Detector
from clinaudit.audit.pii.systems.labelled_text import LabelledText
from clinaudit.audit.pii.systems.table import SystemName
from clinaudit.audit.run.durable_files import make_private_directory, making_folder

#: Passes over 2,000 texts: as many as two CPU cores finish in some minutes.
DEFAULT_EPOCHS: Final[dict[SystemName, int]] = {"tagger": 4, "bilstm_crf": 10}
#: Raised where a change of the code changes what is learned.
_VERSIONS: Final[dict[SystemName, str]] = {"tagger": "1", "bilstm_crf": "1"}
_LIBRARIES: Final[dict[SystemName, str]] = {"tagger": "spacy", "bilstm_crf": "torch"}
_SECONDS = "train_seconds.json"


@dataclass(frozen=True, slots=True)
class TrainedSystem:
    """A trained system, and how long its training took when it was done."""

    detector: Detector
    seconds: float


class TrainingFolder:
    """Where trained systems are kept."""

    def __init__(self, root: Path, *, seed: int, progress: Progress) -> None:
        self._root = root
        self._seed = seed
        self._progress = progress

    def ready(self, system: SystemName, texts: Sequence[LabelledText], *, epochs: int) -> TrainedSystem:
        """Return a system trained on the texts, from the folder where it was trained before."""
        place = self._root / f"{system}-{self._key(system, texts, epochs)}"
        if not (place / _SECONDS).is_file():
            self._train(system, texts, epochs, place)
        return TrainedSystem(_load(system, place), json.loads((place / _SECONDS).read_text(encoding="utf-8")))

    def _train(self, system: SystemName, texts: Sequence[LabelledText], epochs: int, place: Path) -> None:
        make_private_directory(self._root)
        # One without its seconds was never finished.
        shutil.rmtree(place, ignore_errors=True)
        with making_folder(place) as folder:
            begin = monotonic()
            with self._progress.stage(f"training {system}", total=len(texts) * epochs, unit="texts") as advance:
                _train_into(system, texts, epochs=epochs, seed=self._seed, advance=advance)(folder)
            (folder / _SECONDS).write_text(json.dumps(round(monotonic() - begin, 1)), encoding="utf-8")

    def _key(self, system: SystemName, texts: Sequence[LabelledText], epochs: int) -> str:
        library = _LIBRARIES[system]
        said = [_VERSIONS[system], library, version(library), epochs, self._seed]
        digest = hashlib.sha256(json.dumps(said).encode())
        for labelled in texts:
            spans = [(span.start, span.end, span.category) for span in labelled.spans]
            digest.update(json.dumps([labelled.text, spans]).encode())
        return digest.hexdigest()[:16]


def _train_into(
    system: SystemName, texts: Sequence[LabelledText], *, epochs: int, seed: int, advance: Callable[[int], None]
) -> Callable[[Path], None]:
    """Train a system; return what writes it into a folder."""
    if system == "tagger":
        from clinaudit.audit.pii.systems.spacy_tagger import train_tagger

        pipeline = train_tagger(texts, epochs=epochs, seed=seed, advance=advance)

        def write(directory: Path) -> None:
            pipeline.to_disk(directory)

        return write
    from clinaudit.audit.pii.systems.bilstm_crf import train_bilstm_crf

    return train_bilstm_crf(texts, epochs=epochs, seed=seed, advance=advance).save


def _load(system: SystemName, place: Path) -> Detector:
    if system == "tagger":
        from clinaudit.audit.pii.systems.spacy_tagger import load_tagger

        return load_tagger(place)
    from clinaudit.audit.pii.systems.bilstm_crf import load_bilstm_crf

    return load_bilstm_crf(place)
