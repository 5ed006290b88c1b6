"""What commands write to stdout and stderr, so that no exit status depends on who reads it.

`head` closes the pipe when it has its lines; a verdict of "fail" must not become a pass by that. Knows nothing of what
is said.
"""

import os
import sys
from typing import TextIO

import click


def say(text: str, *, nl: bool = True, color: bool | None = None) -> None:
    """Print a text on stdout; where nobody reads any more, nothing is printed from here on."""
    try:
        click.echo(text, nl=nl, color=color)
    except BrokenPipeError:
        _discard(sys.stdout)


def warn(text: str) -> None:
    """Print a line on stderr, as far as it can be written; nothing where it is closed."""
    if sys.stderr is None:
        # `print` would take stdout for it.
        return
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        _discard(sys.stderr)


def _discard(stream: TextIO) -> None:
    # What is still in the buffer would fail once more at the end, and change the exit status.
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
