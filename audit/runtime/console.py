"""The console of a process: what it prints on stdout and stderr, progress of long work, and signals that end it.

Output and signals never change the exit status by accident: `head` closes the pipe when it has its lines, and that must
not turn a verdict of "fail" into a pass. Titles and units of progress are fixed words: no text of a note is printed.
"""

import json
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, TextIO

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
    # `print` would use stdout in the place of None.
    if sys.stderr is not None:
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
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
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
    """Return the first line of a library's message (of pydantic's: the first problem), for errors of loading."""
    validated: Any = getattr(error, "errors", None)
    problems = validated() if callable(validated) else None
    first = problems[0] if isinstance(problems, list) and problems else None
    lines = str(first["msg"] if isinstance(first, dict) and "msg" in first else error).strip().splitlines()
    return lines[0][:200] if lines else "no message"


_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)


@contextmanager
def ends_in_order() -> Iterator[None]:
    """Raise `KeyboardInterrupt` on signals that end a process, unless taken or ignored, so that partial files go."""
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
    except Exception as error:
        # A library that calls us may raise an error of its own in place of the interrupt: pydantic does. It may quote
        # a text, or be a fault of what is done on the way out: it is kept, and the command line prints no cause.
        if came:
            raise KeyboardInterrupt from error
        raise
    finally:
        sys.unraisablehook = usual_hook
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in taken.items():
            signal.signal(number, handler)


#: Seconds between two lines.
_LINE_INTERVAL_S = 10.0
#: Share and units of the work that must be done before the time left is estimated.
_ENOUGH_TO_RECKON = 0.02
_FEWEST_UNITS = 3
#: The first units of a stage, which take what is loaded or compiled for it, too, where they are less than this share.
_FEW = 0.3
Advance = Callable[[float], None]
#: For people, or a JSON object a line for programs.
ProgressForm = Literal["text", "json"]


class Progress:
    """Reports stages of long work, by a line every ten seconds or a JSON object; `quiet` reports nothing."""

    def __init__(self, *, quiet: bool = False, form: ProgressForm = "text") -> None:
        self._quiet, self._form = quiet, form

    def say(self, line: str) -> None:
        """Print one line, in fixed words."""
        if not self._quiet:
            warn(line if self._form == "text" else json.dumps({"message": line}))

    @contextmanager
    def stage(self, title: str, *, total: int, unit: str, done: int = 0) -> Iterator[Advance]:
        """Report one stage of `total` units, `done` of them before this run; yields `advance(units)`."""
        if self._quiet or total == 0:
            yield lambda _units: None
            return
        begin = said = time.monotonic()
        now_done: float = done
        #: Time and units from which the pace is measured: of the first advance.
        paced_from: tuple[float, float] | None = None

        def report(now: float, left: float | None, *, ended: bool) -> None:
            row = {"stage": title, "done": round(now_done), "total": total, "unit": unit}
            if self._form == "json":
                warn(json.dumps({**row, "seconds": now - begin, "left": left, "ended": ended}))
                return
            line = "{stage}: {done}/{total} {unit}".format_map(row)
            line += f" in {_duration(now - begin)}" if ended else ""
            warn(line + ("" if left is None else f", about {_duration(left)} left"))

        def advance(units: float) -> None:
            nonlocal now_done, said, paced_from
            now_done += units
            now, made = time.monotonic(), now_done - done
            paced_from = paced_from or ((now, made) if made < _FEW * (total - done) else (begin, 0.0))
            if now - said >= _LINE_INTERVAL_S and now_done < total:
                said, (since, before) = now, paced_from
                known = made > before and made >= max(_FEWEST_UNITS, _ENOUGH_TO_RECKON * (total - done))
                report(now, (now - since) * (total - now_done) / (made - before) if known else None, ended=False)

        yield advance
        report(time.monotonic(), None, ended=True)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
