"""The numbers of a run's exact results beside its published ones, which have one schema: pairs by where they stand.

Owns what is published of nobody and why, and when a published number holds an exact one. Works on the JSON alone: it
knows nothing of how either was computed.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

#: By which of its fields a row of a list is found; a row without any is found by its place.
_NAMES: Final = (
    ("contrast", "covariate"),
    ("partition", "group"),
    *((name,) for name in ("id", "section", "notes", "k", "truth", "identifier", "epoch", "threshold")),
)
_EVIDENCE: Final = r"(.*/)?(refusals_)?evidence"
#: What has no counterpart in what is published, not even a null, and why.
UNPUBLISHED: Final = {
    r"completeness/\w+/excluded/.*": "of both arms together it would bound the matched sets",
    r"subgroups/disclosure/.*": "of one diagnosis both margins are cells of its verdict table",
    r"judge_quality/accuracy_by_diagnosis/\w+": "of the texts that ship alone",
}
#: What is no number of its own in both files.
OTHER_NUMBERS: Final = {
    r"decision/rules/.*/decided_on/.*": "ends of the interval of what was observed",
    r".*/(sections|k_distribution|copy_forward)/.*|.*/largest_sections_share": "shares of what is shown",
}
#: Exact intervals that are of another kind than the published one, and so are not compared.
OTHER_INTERVALS: Final = {
    r".*/auroc": "joined with a bootstrap's; what is published is DeLong's",
    r"((renderings/\w+/)?identifiers|decision/rules)/.*_per_1000.*": "a bootstrap's; the published one is of bins",
    r".*/detectable_delta": "has none",
}


class Pair(NamedTuple):
    """A published number beside the exact one."""

    path: str
    exact: Any
    published: Any


def pair_leaves(exact: Any, published: Any, path: str = "") -> Iterator[Pair | str]:
    """Yield each exact number with its published one, or the path of one that has none and should.

    Evidence yields its path where anything of it is published.
    """
    if re.fullmatch(_EVIDENCE, path):
        if published is not None:
            yield path
    elif isinstance(exact, Mapping) and not _is_number(exact):
        for key, item in exact.items():
            # A slash in a key would part it.
            yield from _pair_item(item, published, key, f"{path}/{key.replace('/', ' ')}".removeprefix("/"))
    elif path.endswith("/by_patient"):
        yield from _pair_bins(exact, published, path)
    elif isinstance(exact, list):
        shown = None if published is None else {_name_of(item, place): item for place, item in enumerate(published)}
        for place, item in enumerate(exact):
            name = _name_of(item, place)
            yield from _pair_item(item, shown, name, f"{path}/{name.replace('/', ' ')}")
    elif not isinstance(exact, str | bool):
        yield Pair(path, exact, published)


def _pair_item(item: Any, published: Mapping[str, Any] | None, key: str, path: str) -> Iterator[Pair | str]:
    # What is withheld is null; a cell may be pooled with others.
    if published is None or key in published:
        yield from pair_leaves(item, None if published is None else published[key], path)
    elif not _is_pooled(key, published) and not any(re.fullmatch(pattern, path) for pattern in UNPUBLISHED):
        yield path


def _pair_bins(exact: Sequence[Mapping[str, Any]], published: Sequence[Mapping[str, Any]], path: str) -> Iterator[Pair]:
    """The uppermost bins are published as one."""
    for row in published or []:
        inside = [own for own in exact if own["low"] >= row["low"] and _end(own["high"]) <= _end(row["high"])]
        yield Pair(f"{path}/{row['low']:g}", sum(_low(own["patients"]) for own in inside), row["patients"])


def is_count(number: Any) -> bool:
    """Whether a number is a class of patients: 0, or its ends."""
    return isinstance(number, int) or (isinstance(number, Mapping) and number.keys() == {"low", "high"})


def holds(pair: Pair, *, intervals: bool = True) -> bool:
    """Whether a published number holds the exact one: a class, a range, a percent or two digits of it."""
    exact, published = pair.exact, pair.published
    if published is None or exact is None or any(re.fullmatch(pattern, pair.path) for pattern in OTHER_NUMBERS):
        return True
    if not isinstance(published, Mapping):
        # A count of nobody; a share, or a difference, to a percent or a tenth; a figure of text to two digits.
        unit = 0.01 if pair.path.endswith("share") else 0.1
        if abs(published) >= 1:
            unit = 10.0 ** (len(f"{abs(published):.0f}") - 2)
        value = _low(exact)
        return bool(abs(published - value) <= (0.0 if isinstance(published, int) else unit / 2 + 1e-6))
    low, high, value = published["low"], _end(published["high"]), exact["low"] if isinstance(exact, Mapping) else exact
    if low is None or value is None:
        return True
    upper = _end(exact["high"]) if isinstance(exact, Mapping) else exact
    if not low - 1e-6 <= value <= upper <= high + 1e-6:
        return False
    if not intervals or any(re.fullmatch(pattern, pair.path) for pattern in OTHER_INTERVALS):
        return True
    return interval_holds(pair)


def interval_holds(pair: Pair) -> bool:
    """Whether the exact interval, where both have one, lies in the published one."""
    ends = [(number or {}).get("confidence_low") for number in (pair.exact, pair.published) if isinstance(number, dict)]
    if len(ends) < 2 or None in ends:
        return True
    (low, shown_low), (high, shown_high) = (
        [number[f"confidence_{end}"] for number in (pair.exact, pair.published)] for end in ("low", "high")
    )
    return bool(shown_low - 1e-6 <= low and _end(high) <= _end(shown_high) + 1e-6)


def _low(count: Any) -> Any:
    return count["low"] if isinstance(count, Mapping) else count


def _end(high: float | None) -> float:
    return math.inf if high is None else high


def _is_pooled(key: str, published: Mapping[str, Any]) -> bool:
    """Whether its partition has too many cells, so that some are one."""
    return "others" in published or f"{key.partition(' ')[0]} others" in published


def _is_number(value: Mapping[str, Any]) -> bool:
    return value.keys() >= {"value", "reason"} or value.keys() == {"low", "high"}


def _name_of(item: Any, place: int) -> str:
    for names in _NAMES:
        if isinstance(item, Mapping) and all(name in item for name in names):
            return " ".join(str(item[name]) for name in names)
    return str(place)
