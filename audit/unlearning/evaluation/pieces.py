"""What is finished of an evaluation, kept piece by piece, so that a stopped one goes on with the same bytes.

Owns the files under `evidence/work/pieces`, one a model and stage. PHI: a piece may hold answers. Knows nothing of
models or scores.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clinaudit.audit.run.durable_files import make_private_directory, write_atomically
from clinaudit.errors import IntegrityError


class Pieces:
    """The finished pieces of an evaluation, in a directory that is locked by the caller."""

    def __init__(self, directory: Path) -> None:
        make_private_directory(directory)
        self._directory = directory

    def has(self, owner: str, stage: str) -> bool:
        """Whether a piece is finished. `owner` and `stage` stand in the file's name: digests and fixed words."""
        return self._path(owner, stage).is_file()

    def get(self, owner: str, stage: str, make: Callable[[], Any]) -> Any:
        """Return a piece as JSON holds it: the kept one, else what `make` returns, which is then kept.

        Raises `IntegrityError` where the kept one is damaged.
        """
        path = self._path(owner, stage)
        if not path.is_file():
            make_private_directory(path.parent)
            write_atomically(path, json.dumps(make(), allow_nan=False))
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            raise self.damaged(owner, stage) from None

    def damaged(self, owner: str, stage: str) -> IntegrityError:
        """Return the error of a piece that is not what was kept."""
        path = self._path(owner, stage)
        return IntegrityError(
            f"a kept piece of the evaluation is damaged ({path.parent.name}/{path.name} under evidence/work/pieces); "
            "remove it, and run the same command again"
        )

    def _path(self, owner: str, stage: str) -> Path:
        return self._directory / owner / f"{stage}.json"
