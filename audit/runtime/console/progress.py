"""Progress and time left of long work, on stderr. Knows nothing of what the work is.

On a terminal a bar with the time left; elsewhere a plain line at most every ten seconds, so that logs stay short.
Titles and units are fixed words: no text of a note is ever printed here.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from clinaudit.audit.runtime.console.streams import warn

#: Seconds between two lines where stderr is not a terminal.
_LINE_INTERVAL_S = 10.0
#: Share of the work that must be done before the time left is estimated.
_ENOUGH_TO_RECKON = 0.02
Advance = Callable[[int], None]


class Progress:
    """Reports stages of long work; `quiet` reports nothing."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet

    def say(self, line: str) -> None:
        """Print one line, in fixed words."""
        if not self._quiet:
            warn(line)

    @contextmanager
    def stage(self, title: str, *, total: int, unit: str, done: int = 0) -> Iterator[Advance]:
        """Report one stage of `total` units, `done` of them before this run; yields `advance(units)`."""
        if self._quiet or total == 0:
            yield lambda _units: None
        elif sys.stderr is not None and sys.stderr.isatty():
            with _bar(title, total, unit, done) as advance:
                yield advance
        else:
            with _lines(title, total, unit, done) as advance:
                yield advance


@contextmanager
def _bar(title: str, total: int, unit: str, done: int) -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with RichProgress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=total, completed=done)
        yield lambda units: bar.advance(task, units)


@contextmanager
def _lines(title: str, total: int, unit: str, done: int) -> Iterator[Advance]:
    begin = time.monotonic()
    state = {"done": done, "said": begin}

    def say(now: float) -> None:
        state["said"] = now
        seen = state["done"] - done
        # The first unit includes the time to load a model: too few units for an estimate.
        known = seen >= max(3, (total - done) * _ENOUGH_TO_RECKON)
        left = f", about {_duration((total - state['done']) * (now - begin) / seen)} left" if known else ""
        warn(f"{title}: {state['done']:.0f}/{total} {unit}{left}")

    def advance(units: int) -> None:
        state["done"] += units
        now = time.monotonic()
        if now - state["said"] >= _LINE_INTERVAL_S and state["done"] < total:
            say(now)

    yield advance
    warn(f"{title}: {state['done']:.0f}/{total} {unit} in {_duration(time.monotonic() - begin)}")


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
