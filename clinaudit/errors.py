"""Every error clinaudit raises on purpose, each with its exit status (`clinaudit --help` lists them).

    ClinauditError
    ├── UsageError       2   wrong command line, or settings changed on resume
    ├── BadInputError    3   corpus, policy, profile, generations; no such MODEL, CORPUS or RUN
    ├── IncompleteError  4   stopped part-way; the same command resumes
    ├── UnsafeError      5   refused: model files, endpoint
    ├── StorageError     6   disk or lock
    └── IntegrityError   7   a digest does not match

A message says what, where, and what to do next. It never holds note text, a patient's name or token ids.
"""

import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

#: Problems listed under a bad-input error; of the rest only the count is given.
MAX_LISTED_PROBLEMS = 20


class ClinauditError(Exception):
    """Base of all deliberate errors; `str()` is the one line for the user."""

    code: ClassVar[str] = "ERROR"
    status: ClassVar[int] = 1

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def render(self) -> str:
        """Return the text for stderr: `error[CODE]: message`, one line."""
        return f"error[{self.code}]: {self.message}"


class UsageError(ClinauditError):
    """A wrong command line, or settings that changed between runs with one `--out`."""

    code = "USAGE"
    status = 2


class BadInputError(ClinauditError):
    """Input that cannot be used as it is; `problems` holds one line for each thing found wrong."""

    code = "BAD_INPUT"
    status = 3

    def __init__(self, message: str, problems: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)

    def render(self) -> str:
        """Return the one line, with the count where not all fit, then up to 20 indented lines, one a problem."""
        listed = [f"  {problem}" for problem in self.problems[:MAX_LISTED_PROBLEMS]]
        count = f" (the first {len(listed)} of {len(self.problems)})" if len(self.problems) > len(listed) else ""
        return "\n".join([super().render() + count, *listed])


class IncompleteError(ClinauditError):
    """Planned work is missing; running the same command again goes on from here."""

    code = "INCOMPLETE"
    status = 4


class UnsafeError(ClinauditError):
    """Refused because going on could run foreign code or send PHI away."""

    code = "UNSAFE"
    status = 5


class StorageError(ClinauditError):
    """A file could not be read or written, or another audit holds the lock."""

    code = "STORAGE"
    status = 6


class IntegrityError(ClinauditError):
    """A file is not what the manifest says it is."""

    code = "INTEGRITY"
    status = 7


def place_of(error: BaseException) -> str:
    """Return what an error is and where it was raised, `KeyError at rules.py:12`: its message may hold note text."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}"
