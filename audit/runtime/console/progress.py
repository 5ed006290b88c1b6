"""Progress and time left of long work, on stderr. Knows nothing of what the work is.

On a terminal a bar with the time left; elsewhere a plain line at most every ten seconds, so that logs stay short, or
for programs a JSON object a line. Where it is known how long the stages take beside each other, the time left of all
of them is said, too. Titles and units are fixed words: no text of a note is ever printed here.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from clinaudit.audit.runtime.console.streams import warn

#: Seconds between two lines where stderr is not a terminal.
_LINE_INTERVAL_S = 10.0
#: Share of the work that must be done before the time left is estimated.
_ENOUGH_TO_RECKON = 0.02
Advance = Callable[[float], None]
#: For people, or a JSON object a line for programs.
ProgressForm = Literal["text", "json"]


@dataclass(slots=True)
class _Stage:
    """Where a stage stands."""

    title: str
    total: int
    unit: str
    #: Units done before this run, and by now.
    before: int
    done: float
    begin: float
    ended: bool = False

    @property
    def seconds(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self.begin

    @property
    def share(self) -> float:
        """What of this run's work is done."""
        return (self.done - self.before) / max(1, self.total - self.before)

    @property
    def left(self) -> float | None:
        """Seconds left; None where too little is done to tell."""
        # The first unit includes the time to load a model: too few units for an estimate.
        known = self.done - self.before >= 3 and self.share >= _ENOUGH_TO_RECKON
        return self.seconds * (1 / self.share - 1) if known else None


class Progress:
    """Reports stages of long work; `quiet` reports nothing."""

    def __init__(self, *, quiet: bool = False, form: ProgressForm = "text") -> None:
        self._quiet = quiet
        self._form = form
        #: By title, how long each stage that is yet to come takes beside the others; then all together, and those done.
        self._expected: dict[str, float] = {}
        self._all = 0.0
        self._done = 0.0
        self._spent = 0.0

    def say(self, line: str) -> None:
        """Print one line, in fixed words."""
        if not self._quiet:
            warn(line if self._form == "text" else json.dumps({"message": line}))

    def expect(self, seconds: Mapping[str, float]) -> None:
        """Say which stages will come, by title, and how long each takes beside the others."""
        self._expected, self._all, self._done, self._spent = dict(seconds), sum(seconds.values()), 0.0, 0.0

    @contextmanager
    def stage(self, title: str, *, total: int, unit: str, done: int = 0) -> Iterator[Advance]:
        """Report one stage of `total` units, `done` of them before this run; yields `advance(units)`."""
        if self._quiet or total == 0:
            yield lambda _units: None
            self._all -= self._expected.pop(title, 0.0)
            return
        stage = _Stage(title, total, unit, done, done, time.monotonic())
        if self._form == "text" and sys.stderr is not None and sys.stderr.isatty():
            with self._bar(stage) as advance:
                yield advance
        else:
            with self._lines(stage) as advance:
                yield advance
        if title in self._expected:
            # Where it comes again, of the included patients for instance, it was not expected.
            self._done += self._expected.pop(title)
            self._spent += stage.seconds

    def _left_of_all(self, stage: _Stage) -> float | None:
        """Return the seconds left of all stages that are expected, at the pace so far; None where it is not known."""
        of_stage = self._expected.get(stage.title)
        if of_stage is None or (stage.left is None and not stage.ended and not self._done):
            return None
        done = self._done + of_stage * stage.share
        spent = self._spent + stage.seconds
        return max(0.0, self._all - done) * spent / done if done else None

    @contextmanager
    def _bar(self, stage: _Stage) -> Iterator[Advance]:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn(stage.unit),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[all]}"),
        )
        with RichProgress(*columns, console=Console(stderr=True)) as bar:
            task = bar.add_task(stage.title, total=stage.total, completed=stage.before, all="")

            def advance(units: float) -> None:
                stage.done += units
                left = self._left_of_all(stage)
                bar.update(task, advance=units, all="" if left is None else f"(all stages: {_duration(left)})")

            yield advance

    @contextmanager
    def _lines(self, stage: _Stage) -> Iterator[Advance]:
        said = stage.begin

        def advance(units: float) -> None:
            nonlocal said
            stage.done += units
            now = time.monotonic()
            if now - said >= _LINE_INTERVAL_S and stage.done < stage.total:
                said = now
                self._say(stage)

        yield advance
        stage.ended = True
        self._say(stage)

    def _say(self, stage: _Stage) -> None:
        left = None if stage.ended else stage.left
        of_all = self._left_of_all(stage)
        if self._form == "json":
            row = {"stage": stage.title, "done": round(stage.done), "total": stage.total, "unit": stage.unit}
            times = {"seconds": stage.seconds, "left": left, "left_of_all": of_all}
            warn(json.dumps({**row, **times, "ended": stage.ended}))
            return
        ends = [f" in {_duration(stage.seconds)}"] if stage.ended else []
        ends += [] if left is None else [f", about {_duration(left)} left"]
        ends += [] if of_all is None else [f"; of all stages about {_duration(of_all)} left"]
        warn(f"{stage.title}: {stage.done:.0f}/{stage.total} {stage.unit}{''.join(ends)}")


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
