"""Output to stdout and stderr, and signals that end a process: neither changes the exit status by accident.

`head` closes the pipe when it has its lines; that must not turn a verdict of "fail" into a pass. Signals that end a
process are taken as an interrupt is, so that half-written files are removed on the way out.
"""

import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

import click

from clinaudit.errors import StorageError


def say(text: str, *, nl: bool = True, color: bool | None = None) -> None:
    """Print on stdout, while anybody reads; raises `StorageError` where it takes nothing, as a file on a full disk."""
    try:
        try:
            click.echo(text, nl=nl, color=color)
        except UnicodeEncodeError:
            # A terminal of another encoding: signs that it lacks must not change the exit status.
            encoding = sys.stdout.encoding or "ascii"
            click.echo(text.encode(encoding, "replace").decode(encoding), nl=nl, color=color)
    except OSError as error:
        _discard(sys.stdout)
        if not isinstance(error, BrokenPipeError):
            raise StorageError(
                f"standard output cannot be written ({error.strerror}); give it room and run the same command again"
            ) from None


def say_of_finished_work(text: str) -> None:
    """Print what is said of work that is done; where stdout cannot take it, stderr says that the work is complete."""
    try:
        say(text)
    except StorageError as error:
        reason = error.message.partition(";")[0]
        warn(f"warning: {reason}; what was asked for is complete, only what is said of it is lost")


def warn(text: str) -> None:
    """Print a line on stderr, as far as it can be written; nothing where it is closed."""
    if sys.stderr is None:
        # `print` would use stdout instead.
        return
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        _discard(sys.stderr)


def _discard(stream: TextIO) -> None:
    # The rest of the buffer would fail once more at exit, and change the exit status.
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


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
    """Return the first line of a library's message, shortened to fit our one line; only for errors of loading.

    A validation error of pydantic's begins with a count: its first line is the first thing that is wrong.
    """
    validated: Any = getattr(error, "errors", None)
    problems = validated() if callable(validated) else None
    first = problems[0] if isinstance(problems, list) and problems else None
    lines = str(first["msg"] if isinstance(first, dict) and "msg" in first else error).strip().splitlines()
    return lines[0][:200] if lines else "no message"


_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)


@contextmanager
def ends_in_order() -> Iterator[None]:
    """Raise `KeyboardInterrupt` on signals that end a process, unless they are ignored or taken already."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def end(number: int, _frame: object) -> None:
        came.append(number)
        raise KeyboardInterrupt

    def look_at(unraisable: "sys.UnraisableHookArgs") -> None:
        # What is raised in a destructor is dropped: an interrupt comes again, by the timer.
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, 0.01)
        else:
            usual_hook(unraisable)

    usual_hook, sys.unraisablehook = sys.unraisablehook, look_at
    usual = (signal.SIG_DFL, signal.default_int_handler)
    taken = {number: of for number in _ENDING if (of := signal.getsignal(number)) in usual}
    for number in taken:
        signal.signal(number, end)
    try:
        yield
    except Exception:
        # A library that calls us may raise an error of its own in place of the interrupt: pydantic does.
        if came:
            raise KeyboardInterrupt from None
        raise
    finally:
        sys.unraisablehook = usual_hook
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in taken.items():
            signal.signal(number, handler)
