"""Progress and time left of long work, on stderr. Knows nothing of what the work is.

A plain line at most every ten seconds, so that logs stay short, or for programs a JSON object a line. Where it is known
what the stages take elsewhere, the time left of all of them is said, too. Titles and units are fixed words: no text of
a note is ever printed here.
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Literal

from clinaudit.audit.runtime.console.streams import warn

#: Seconds between two lines.
_LINE_INTERVAL_S = 10.0
#: Share and units of the work that must be done before the time left is estimated.
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


#: What counts beside what was measured in this run: of the work of a kind, and of a stage, as much as this share.
_DOUBT_OF_KIND = 0.03
_DOUBT_OF_STAGE = 0.1
#: The first units of a stage, where they are less than this share of it.
_FEW = 0.3


class TimeLeft:
    """The time left of stages in their order: what each takes elsewhere, at this run's pace of work of its kind.

    Work of a model and other work have a pace of their own, and a stage under way has its own, as far as it got. Its
    first units are not reckoned with: they take what is loaded or compiled for it, too. What was passed over is over; a
    stage that nobody expected is not counted, and nothing is said in it.
    """

    def __init__(self, stages: Sequence[Expected], now: float) -> None:
        self._stages = list(stages)
        self._place = -1
        self._is_under_way = False
        #: When a stage that nobody expected began; None in the others.
        self._unexpected_since: float | None = None
        #: When the stage before ended.
        self._since = now
        #: Of the stage under way: the share that is done; share and time from which its pace is measured.
        self._share = 0.0
        self._from: tuple[float, float] | None = None
        doubt = {
            kind: _DOUBT_OF_KIND * sum(stage.seconds for stage in stages if stage.by_model is kind)
            for kind in (False, True)
        }
        #: Seconds of what is done, by kind: here, and where it was measured.
        self._here, self._there = dict(doubt), dict(doubt)

    def begin(self, title: str, now: float, part: float = 1.0) -> None:
        """Take the next stage of this title as begun, of which this `part` is left."""
        after = range(self._place + 1, len(self._stages))
        found = next((place for place in after if self._stages[place].title == title), None)
        self._unexpected_since = now if found is None else None
        if found is not None:
            self._place, self._is_under_way, self._share, self._from = found, True, 0.0, None
            self._stages[found] = replace(self._stages[found], seconds=self._stages[found].seconds * part)

    def reach(self, share: float, now: float) -> None:
        """Take this share of the stage under way as done."""
        if self._unexpected_since is not None:
            return
        # Bytes of notes are counted roughly.
        self._share = min(1.0, share)
        if self._from is None:
            # Where the first units are most of it, there is nothing else to measure.
            self._from = (share, now) if share < _FEW else (0.0, self._since)

    def end(self, now: float) -> None:
        """Take the stage under way as done."""
        if self._unexpected_since is not None:
            self._since += now - self._unexpected_since
            return
        self.reach(1.0, now)
        kind, here, there = self._measured(now)
        self._here[kind] += here
        self._there[kind] += there
        self._since, self._is_under_way = now, False

    def left(self, now: float) -> float | None:
        """Return the seconds left of all stages; None from a stage that nobody expected on, until the next begins."""
        if self._unexpected_since is not None:
            return None
        here, there, left = dict(self._here), dict(self._there), 0.0
        if self._is_under_way:
            kind, taken, done = self._measured(now)
            here[kind] += taken
            there[kind] += done
            whole = self._stages[self._place].seconds
            if whole:
                doubt = _DOUBT_OF_STAGE * whole
                left = whole * (1 - self._share) * (doubt * here[kind] / there[kind] + taken) / (doubt + done)
        for stage in self._stages[self._place + 1 :]:
            if stage.seconds:
                left += stage.seconds * here[stage.by_model] / there[stage.by_model]
        return left

    def _measured(self, now: float) -> tuple[bool, float, float]:
        """Return of the stage under way its kind, and the seconds of what was measured of it: here and elsewhere."""
        stage = self._stages[self._place]
        share, since = self._from or (0.0, now)
        return stage.by_model, now - since, stage.seconds * (self._share - share)


class Progress:
    """Reports stages of long work; `quiet` reports nothing."""

    def __init__(self, *, quiet: bool = False, form: ProgressForm = "text") -> None:
        self._quiet = quiet
        self._form = form
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
        self._all.begin(title, begin, 1 - done / total)

        def advance(units: float) -> None:
            nonlocal now_done, said
            now_done += units
            now, share = time.monotonic(), (now_done - done) / max(1, total - done)
            self._all.reach(share, now)
            if now - said >= _LINE_INTERVAL_S and now_done < total:
                said = now
                # The first unit includes the time to load a model: too few units for an estimate.
                known = now_done - done >= _FEWEST_UNITS and share >= _ENOUGH_TO_RECKON
                left = (now - begin) * (1 / share - 1) if known else None
                self._report(title, now_done, total, unit, seconds=now - begin, left=left)

        yield advance
        now = time.monotonic()
        self._all.end(now)
        self._report(title, now_done, total, unit, seconds=now - begin, ended=True)

    def _report(
        self,
        title: str,
        done: float,
        total: int,
        unit: str,
        *,
        seconds: float,
        left: float | None = None,
        ended: bool = False,
    ) -> None:
        of_all = self._all.left(time.monotonic())
        if self._form == "json":
            row = {"stage": title, "done": round(done), "total": total, "unit": unit}
            times = {"seconds": seconds, "left": left, "left_of_all": of_all}
            warn(json.dumps({**row, **times, "ended": ended}))
            return
        ends = [f" in {_duration(seconds)}"] if ended else []
        ends += [] if left is None else [f", about {_duration(left)} left"]
        ends += [] if of_all is None else [f"; of all stages about {_duration(of_all)} left"]
        warn(f"{title}: {done:.0f}/{total} {unit}{''.join(ends)}")


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
