"""`check --prompts`: the prompts of all patients in a file of their own (PHI).

Owns the file's place and columns. Prompts are as they are before scrubbing for a diagnosis.
"""

import errno
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TextIO

from clinaudit.audit.console.progress import Progress
from clinaudit.audit.run.durable_files import FILE_MODE, make_private_directory
from clinaudit.errors import StorageError, UsageError
from clinaudit.priors.corpus.files import printable
from clinaudit.priors.facts import PatientFacts
from clinaudit.priors.prompt_fit import write_unscrubbed
from clinaudit.priors.prompts import PromptWriter
from clinaudit.priors.renderings import ProbedTiers

PROMPTS_FILE = "prompts.jsonl"


def require_empty(directory: Path) -> None:
    """Raise `UsageError` where the directory holds anything, or is none; call it before the work."""
    if directory.is_symlink() or (directory.exists() and not directory.is_dir()):
        raise UsageError("--prompts takes a new or empty directory; this is something else")
    if directory.is_dir() and any(directory.iterdir()):
        raise UsageError("--prompts takes a new or empty directory; this one holds files")


def write_prompts(
    directory: Path,
    facts: Mapping[str, PatientFacts],
    probed: ProbedTiers,
    writer: PromptWriter,
    progress: Progress,
) -> Path:
    """Write a line for each patient, tier and form, mode 0600 in a directory of mode 0700; return the file.

    The file is there whole or not at all; raises `StorageError` where the disk does not take it.
    """
    require_empty(directory)
    make_private_directory(directory)
    path = directory / PROMPTS_FILE
    with open(path, "x", encoding="utf-8", newline="\n", opener=_private) as file:
        try:
            with progress.stage("writing the prompts", total=len(facts), unit="patients") as advance:
                for known in facts.values():
                    _write_lines(file, _rows(known, probed, writer))
                    advance(1)
            file.flush()
        except BaseException as error:
            path.unlink()
            if isinstance(error, OSError):
                reason = os.strerror(error.errno or errno.EIO)
                raise StorageError(
                    f"cannot write {printable(str(path))}: {reason}; give it room and run again"
                ) from None
            raise
    return path


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, FILE_MODE)


def _rows(known: PatientFacts, probed: ProbedTiers, writer: PromptWriter) -> Iterable[Mapping[str, object]]:
    for prior in write_unscrubbed(known, probed, writer):
        yield {
            "patient_id": prior.patient_id,
            "tier": prior.tier,
            "rendering": prior.rendering,
            "prompt": prior.prompt,
            "excluded": prior.excluded,
            "reason": prior.reason,
            # What `check` counts; a further form of a tier is not judged by it.
            "fits": None if prior.rendering in probed.beside else prior.unbroken,
        }


def _write_lines(file: TextIO, rows: Iterable[Mapping[str, object]]) -> None:
    for row in rows:
        # Characters beyond ASCII are escaped: a lone surrogate or a line separator of a note breaks no reader.
        file.write(json.dumps(row) + "\n")
