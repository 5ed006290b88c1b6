"""Where a count or a rate is shown, and what a reader of the published copy learns of it as far as it is linear."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from support.results.random_worlds import (
    Law,
    Sum,
    World,
)

from clinaudit.reports.schema.estimate import Estimate
from clinaudit.reports.schema.results import Results

#: More decimals than are published: an exact figure.
_EXACT = 6


@dataclass(frozen=True)
class Place:
    """One count: what it sums up, and where it is shown; `read` is None where no output has a place for it."""

    name: str
    sum: Sum
    read: Callable[[Results], int | None] | None = None
    #: False for counts of pieces or tokens: they need not be hidden, but tell of patients.
    of_patients: bool = True
    #: Whether somebody must be in it, even where the count is hidden: it has a row or a key.
    is_named: Callable[[Results], bool] | None = None


@dataclass(frozen=True)
class Share:
    """One rate: `part` of `whole`, times `scale`, and where it is shown."""

    part: Sum
    whole: Sum
    read: Callable[[Results], Estimate | float | None]
    scale: int = 1
    #: Whether a band is the range of 1 to 10 patients, or of all but them.
    is_of_patients: bool = True


def clues(places: list[Place], shares: list[Share], published: Results) -> list[Law]:
    """Return what the published copy tells of the counts, as far as it is linear."""
    found = []
    for place in places:
        shown = None if place.read is None else place.read(published)
        if shown is not None:
            found.append(Law(place.sum, shown, shown))
        elif place.is_named is not None and place.is_named(published):
            found.append(Law(place.sum, 1))
    for share in shares:
        shown = share.read(published)
        if isinstance(shown, float | int):
            shown = Estimate(value=shown)
        if shown is None:
            continue
        if shown.value is not None:
            error = 0.5 * 10.0 ** -_decimals(shown.value) * 1.0001
            ends = (shown.value - error, shown.value + error)
            if shown.n is not None:
                found.append(Law(share.whole, shown.n, shown.n))
        elif shown.low is not None and shown.high is not None:
            ends = (shown.low - 1e-6, shown.high + 1e-6)
            found += _size_of_band(share, shown.low, shown.high)
        else:
            continue
        for end, sign in zip(ends, (1, -1), strict=True):
            scaled: dict[str, float] = {name: sign * factor for name, factor in share.part.items()}
            for name, factor in share.whole.items():
                scaled[name] = scaled.get(name, 0.0) - sign * end * share.scale * factor
            found.append(Law(scaled, -1e-6))
    return found


def _size_of_band(share: Share, low: float, high: float) -> list[Law]:
    """Return what the ends of a band over 1 to 10 patients tell of how many there are in all."""
    if not share.is_of_patients or share.scale != 1 or high <= low or (_decimals(low) <= 2 and _decimals(high) <= 2):
        return []
    size = round(9 / (high - low))
    ends = (low, high) if abs(low * size - 1) < 1e-3 else (1 - high, 1 - low)
    is_count = abs(ends[0] * size - 1) < 1e-3 and abs(ends[1] * size - 10) < 1e-3
    return [Law(share.whole, size, size)] if is_count else []


def _decimals(value: float) -> int:
    return next((places for places in (1, 2) if abs(value - round(value, places)) < 1e-9), _EXACT)


def secrets(places: list[Place], world: World, original: Results, published: Results) -> Iterator[Place]:
    """Yield the counts that no reader may learn: 1 to 10 patients, and whatever was hidden beside them."""
    for place in places:
        if not place.of_patients:
            continue
        is_hidden = place.read is not None and place.read(original) is not None and place.read(published) is None
        if 1 <= world.value(place.sum) <= 10 or (is_hidden and world.value(place.sum) > 0):
            yield place
