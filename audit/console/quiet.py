"""Silences libraries on stderr while a model loads. While prompts are decoded, only logs are silenced."""

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

#: Characters of a library's error that fit into our one line.
_MAX_MESSAGE_CHARS = 200


@contextmanager
def quiet_stderr() -> Iterator[None]:
    """Redirect file descriptor 2 to the null device, and drop warnings: C++ libraries bypass Python's `sys.stderr`."""
    sys.stderr.flush()
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def first_line(error: Exception) -> str:
    """Return the first line of a library's message, shortened to fit our one line; only for errors of loading."""
    lines = str(error).strip().splitlines()
    return lines[0][:_MAX_MESSAGE_CHARS] if lines else "no message"
