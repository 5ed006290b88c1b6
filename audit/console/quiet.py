"""Keeps libraries' chatter off stderr while a model loads. Nothing is silenced while prompts are decoded but logs."""

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

#: Characters of a library's error that fit into our one line.
_MAX_MESSAGE_CHARS = 200


@contextmanager
def quiet_stderr() -> Iterator[None]:
    """Send file descriptor 2 to nowhere, and drop warnings: C++ libraries write past Python's `sys.stderr`."""
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
    """Return the first line of a library's message, cut to fit into one line of ours; for errors of loading only."""
    lines = str(error).strip().splitlines()
    return lines[0][:_MAX_MESSAGE_CHARS] if lines else "no message"
