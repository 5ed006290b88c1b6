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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal, TextIO

import click

from clinaudit.errors import StorageError


def say(text: str, *, nl: bool = True) -> None:
    """Print on stdout, while anybody reads; raises `StorageError` where it takes nothing, as a file on a full disk."""
    try:
        try:
            click.echo(text, nl=nl)
        except UnicodeEncodeError:
            # A terminal of another encoding: signs that it lacks must not change the exit status.
            encoding = sys.stdout.encoding or "ascii"
            click.echo(text.encode(encoding, "replace").decode(encoding), nl=nl)
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
#: Share and units of the work that must be done before the time left is estimated: the first load a model.
_ENOUGH_TO_RECKON = 0.02
_FEWEST_UNITS = 3
Advance = Callable[[float], None]
#: For people, or a JSON object a line for programs.
ProgressForm = Literal["text", "json"]


@dataclass(frozen=True, slots=True)
class Expected:
    """A stage to come: its seconds where it was measured, with what comes between it and the one before."""

    title: str
    seconds: float
    #: Whether a model does it, of which nobody knows beforehand how fast it is.
    by_model: bool = False


#: What counts beside what was measured in this run: of all work of a kind, as much as this share.
_DOUBT = 0.01
#: The first units of a stage, where they are less than this share of it.
_FEW = 0.3


class TimeLeft:
    """The time left of stages in their order: what each takes elsewhere, at this run's pace of work of its kind.

    Work of a model and other work have a pace of their own. The first units of a stage are not reckoned with: they take
    what is loaded or compiled for it, too. What was passed over is over; a stage that nobody expected is not counted,
    and nothing is said in it.
    """

    def __init__(self, stages: Sequence[Expected], now: float) -> None:
        self._to_come = list(stages)
        #: The stage under way: None where nobody expected it, or between two stages.
        self._stage: Expected | None = None
        self._is_unexpected = False
        #: When the stage before ended, or one began that nobody expected.
        self._since = now
        self._share = 0.0
        #: Share and time from which the pace of the stage under way is measured.
        self._from: tuple[float, float] | None = None
        #: Seconds of what is done, by kind: here, and where it was measured.
        self._here = {
            kind: _DOUBT * sum(stage.seconds for stage in stages if stage.by_model is kind) for kind in (False, True)
        }
        self._there = dict(self._here)

    def begin(self, title: str, now: float, part: float = 1.0) -> None:
        """Take the next stage of this title as begun, of which this `part` is left."""
        titles = [stage.title for stage in self._to_come]
        self._is_unexpected = title not in titles
        if self._is_unexpected:
            self._since -= now
            return
        stage = self._to_come[titles.index(title)]
        self._stage, self._share, self._from = replace(stage, seconds=stage.seconds * part), 0.0, None
        del self._to_come[: titles.index(title) + 1]

    def reach(self, share: float, now: float) -> None:
        """Take this share of the stage under way as done."""
        # Bytes of notes are counted roughly.
        self._share = min(1.0, share)
        # Where the first units are most of it, there is nothing else to measure.
        self._from = self._from or ((share, now) if share < _FEW else (0.0, self._since))

    def end(self, now: float) -> None:
        """Take the stage under way as done."""
        if self._is_unexpected:
            self._since += now
        elif self._stage is not None:
            self.reach(1.0, now)
            self._here, self._there = self._paces(self._stage, now)
            self._stage, self._since = None, now

    def left(self, now: float) -> float | None:
        """Return the seconds left of all stages; None from a stage that nobody expected on, until the next begins."""
        if self._is_unexpected:
            return None
        here, there, to_come = self._here, self._there, list(self._to_come)
        if self._stage is not None:
            here, there = self._paces(self._stage, now)
            to_come.append(replace(self._stage, seconds=self._stage.seconds * (1 - self._share)))
        return sum(stage.seconds * here[stage.by_model] / there[stage.by_model] for stage in to_come if stage.seconds)

    def _paces(self, stage: Expected, now: float) -> tuple[dict[bool, float], dict[bool, float]]:
        # With what is measured of the stage under way.
        (share, since), kind = self._from or (0.0, now), stage.by_model
        here = self._here | {kind: self._here[kind] + now - since}
        return here, self._there | {kind: self._there[kind] + stage.seconds * (self._share - share)}


class Progress:
    """Reports stages of long work, by a line every ten seconds or a JSON object; `quiet` reports nothing."""

    def __init__(self, *, quiet: bool = False, form: ProgressForm = "text") -> None:
        self._quiet, self._form = quiet, form
        self._all = TimeLeft((), 0.0)

    def say(self, line: str) -> None:
        """Print one line, in fixed words."""
        if not self._quiet:
            warn(line if self._form == "text" else json.dumps({"message": line}))

    def expect(self, stages: Sequence[Expected]) -> None:
        """Say which stages will come, in their order, and how long they would take elsewhere."""
        self._all = TimeLeft(stages, time.monotonic())

    @contextmanager
    def stage(self, title: str, *, total: int, unit: str, done: int = 0) -> Iterator[Advance]:
        """Report one stage of `total` units, `done` of them before this run; yields `advance(units)`."""
        if self._quiet or total == 0:
            yield lambda _units: None
            return
        begin = said = time.monotonic()
        now_done: float = done
        #: When the first units were done, and which share of the stage: before it a model may be loaded.
        first: tuple[float, float] | None = None
        self._all.begin(title, begin, 1 - done / total)

        def report(now: float, left: float | None, *, ended: bool) -> None:
            row = {"stage": title, "done": round(now_done), "total": total, "unit": unit}
            seconds, of_all = now - begin, self._all.left(now)
            if self._form == "json":
                warn(json.dumps({**row, "seconds": seconds, "left": left, "left_of_all": of_all, "ended": ended}))
                return
            line = "{stage}: {done}/{total} {unit}".format_map(row) + (f" in {_duration(seconds)}" if ended else "")
            line += "" if left is None else f", about {_duration(left)} left"
            warn(line + ("" if of_all is None else f"; of all stages about {_duration(of_all)} left"))

        def advance(units: float) -> None:
            nonlocal now_done, said, first
            now_done += units
            now, share = time.monotonic(), (now_done - done) / max(1, total - done)
            self._all.reach(share, now)
            since, before = first = first or (now, share)
            if now - said >= _LINE_INTERVAL_S and now_done < total:
                said = now
                known = now_done - done >= _FEWEST_UNITS and share >= _ENOUGH_TO_RECKON and share > before
                report(now, (now - since) * (1 - share) / (share - before) if known else None, ended=False)

        yield advance
        now = time.monotonic()
        self._all.end(now)
        report(now, None, ended=True)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
