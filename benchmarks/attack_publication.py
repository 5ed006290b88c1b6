"""Attack what a run publishes: derive every count of 1 to 10 patients that its public files give away.

    python benchmarks/attack_publication.py RUN...     # its table, and the words of its pages

An integer program holds every printed count, total, complement, and set within a set; a count of 1 to 10 is given away
where its least and greatest value are one. Of words, any number of 1 to 10 before "patients" or "of N" is. Exits 1
where something gives a count away.
"""

import html
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from clinaudit.reports.estimates.frame import METRICS, Estimates, Row
from clinaudit.reports.exports import read_csv

#: Beyond any count.
MANY = 10**6
SIDES = ("present", "absent")
JUDGED = ("positive", "negative", "ambiguous", "not_mentioned")
#: Parts by these add up to a total.
TOTALS = ("age", "sex", "race", "sharing", *SIDES)
#: Figures of verdicts: which cells they count, of which, on which sides.
SUMS = {
    "sensitivity": (JUDGED[:1], JUDGED, SIDES[:1]),
    "false_positive_rate": (JUDGED[:1], JUDGED, SIDES[1:]),
    "mention_rate": (JUDGED[:3], JUDGED, SIDES),
    "judged": (JUDGED, (*JUDGED, "unjudged"), SIDES),
}
#: Not a bound; a number of 11 or more, of fewer nothing is printed. Not "a count of 1 to 10 patients".
PATIENTS_IN_WORDS = re.compile(
    r"(?<![\d.,<>–])(?<!more than )(?<!fewer than )(?<!1 to )(?<!epoch )\b(\d[\d,]*) "
    r"(?:patients?\b|of (?:the )?(\d[\d,]+)\b(?! rules))"
)


class Place:
    """The counts of one place, by form, tier, arm and diagnosis, as an integer program: with all that ties them."""

    def __init__(self, table: Estimates, rows: list[Row]) -> None:
        self.table, self.rows = table, rows
        self.bounds: dict[str, tuple[int, int]] = {}
        #: Sums of counts by coefficient, which are from a number to another.
        self.sums: list[tuple[dict[str, int], float, float]] = []
        #: What would give a count of patients away: sums of counts by name.
        self.targets: dict[str, dict[str, int]] = {}
        for row in rows:
            self.add_row(row)
        self.add_parts()
        self.add_sizes()
        self.add_verdicts()
        self.add_tiers()

    def size(self, name: str, low: int | None, high: int | None) -> str:
        """Add a number that is no secret, such as how many were asked."""
        self.bounds[name] = low or 0, MANY if high is None else high
        return name

    def count(self, name: str, low: int | None, high: int | None) -> str:
        """Add a count, or narrow one that is there; name it as a target."""
        before = self.bounds.get(name, (0, MANY))
        self.bounds[name] = max(before[0], low or 0), min(before[1], MANY if high is None else high)
        self.targets[name] = {name: 1}
        return name

    def within(self, part: str, whole: str) -> None:
        """Say that a set is within another; what it leaves is a target, too."""
        self.sums.append(({whole: 1, part: -1}, 0, np.inf))
        self.targets[f"{whole} without {part}"] = {whole: 1, part: -1}

    def add_up(self, parts: Iterable[str], whole: str, *, at_least: bool = False) -> None:
        """Say that a sum of counts is another, or no less than it."""
        self.sums.append(({**dict.fromkeys(parts, 1), whole: -1}, 0, np.inf if at_least else 0))

    def solve(self) -> Iterator[tuple[str, int, int]]:
        """Yield least and greatest value of every target."""
        names = list(self.bounds)
        low, high = np.array(list(self.bounds.values()), dtype=float).reshape(-1, 2).T

        def row(parts: dict[str, int]) -> np.ndarray:
            return np.array([parts.get(name, 0) for name in names], dtype=float)

        limits = [LinearConstraint(row(parts), least, most) for parts, least, most in self.sums]
        for target, parts in self.targets.items():
            if all(self.bounds[part][0] == self.bounds[part][1] for part in parts):
                yield target, *2 * (sum(factor * self.bounds[part][0] for part, factor in parts.items()),)
                continue
            ends = []
            for sign in (1, -1):
                bounds, whole = Bounds(low, high), np.ones(len(names))
                solved = milp(sign * row(parts), integrality=whole, bounds=bounds, constraints=limits)
                if solved.fun is None:
                    raise ValueError(f"what is printed contradicts itself: {target}")
                ends.append(round(sign * solved.fun))
            yield target, *ends

    def add_row(self, row: Row) -> None:
        """Add a row's count, its size, and what it leaves of it; a pooled row as the sum of its parts."""
        own = self.count(name(row.metric, row.by, row.part), row.count_low, row.count_high)
        if len(parts := row.part.split(" + ")) > 1:
            self.add_up([self.count(name(row.metric, row.by, part), 0, row.count_high) for part in parts], own)
        if row.of_low is not None:
            # Known sizes are one, each other is one of its own.
            size = f"of {row.of_low}-{row.of_high}" + ("" if row.of_low == row.of_high else f" {own}")
            self.within(own, self.size(size, row.of_low, row.of_high))
        people = self.table.find("population", arm=row.arm, by=row.by, part=row.part)
        if row.metric == "attributable_patients" and people is not None and people.count_low is not None:
            asked = self.count(f"asked of {row.part}", row.of_low, row.of_high)
            self.within(asked, self.size(f"population of {row.part}", people.count_low, people.count_high))

    def add_parts(self) -> None:
        """Tie parts to their total, and sets to the sets around them."""
        kinds: dict[tuple[str, str], dict[str, Row]] = defaultdict(dict)
        for row in self.rows:
            kinds[row.metric, row.by][row.part] = row
        for (metric, by), found in kinds.items():
            own = {part: name(metric, by, part) for part in found if " + " not in part}
            whole, around, of = name(metric), METRICS[metric].part_of, next(iter(found.values()))
            if by in ("above", "queries"):
                order = sorted(own, key=lambda part: float(re.sub(r"\D", "", part)), reverse=by == "queries")
                for outer, inner in pairwise(one for one in (whole, *map(own.get, order)) if one in self.bounds):
                    self.within(inner, outer)
            elif by == "category" and whole in self.bounds:
                for part in own.values():
                    self.within(part, whole)
            elif around and not by and name(around) in self.bounds:
                self.within(whole, name(around))
            elif by in ("age", "sex", "race") and metric == "attributable_patients" and whole in self.bounds:
                self.add_up((name(metric, by, part) for part in found), whole)
            elif by in TOTALS and metric != "attributable_patients" and of.of_low == of.of_high is not None:
                parts = {part for pool in found for part in pool.split(" + ")}
                for part in parts - found.keys():
                    self.count(name(metric, by, part), 0, of.of_high)
                total = self.size(f"total {metric} {by}", of.of_low, of.of_high)
                self.add_up((name(metric, by, part) for part in parts), total)

    def add_sizes(self) -> None:
        """Tie how many were asked to how many were to be: an arm's targets, a cohort's sets."""
        _, form, tier, arm, diagnosis, *_ = self.rows[0].place
        here, table = {"form": form, "tier": tier, "diagnosis": diagnosis}, self.table
        if diagnosis:
            size, left_out = table.find("cohort_sets", **here), table.rows("dropped_sets", **here)
            known = list(filter(None, [table.find("cohort_sets", diagnosis=diagnosis)]))
        else:
            size, left_out = table.find("patients", **here, arm=arm), table.rows("excluded", **here, arm=arm)
            sizes = [*table.rows("patients", arm=arm, diagnosis=""), *table.rows("planned", arm=arm)]
            known = [row for row in sizes if row.tier]
        wholes = [int(row.value) for row in known if row.value is not None] + [row.of_low or 0 for row in left_out]
        if form and tier and size is not None and (most := max(wholes, default=0)):
            self.within(self.count("asked", *ends(size)), self.size("whole", most, most))
            if len({*ends(size)}) == 1:
                # A size that is printed may itself be small where it was chosen so.
                del self.targets["asked"]

    def add_verdicts(self) -> None:
        """Tie the figures of verdicts to the cells that they are sums of."""
        for row in self.rows if name("verdicts", "present", "positive") in self.bounds else ():
            if row.metric in SUMS:
                counted, of, sides = SUMS[row.metric]
                cells, sizes = ({name("verdicts", side, one) for side in sides for one in own} for own in (counted, of))
                for cell in sizes - self.bounds.keys():
                    self.count(cell, 0, row.of_high)
                self.add_up(cells, name(row.metric))
                self.add_up(sizes, self.size(f"size of {row.metric}", row.of_low, row.of_high))

    def add_tiers(self) -> None:
        """Tie parts over all tiers to the tiers: a patient of a tier is one of a part, and the other way round.

        A patient not asked at a tier, but at another, counts as well.
        """
        own = [row for row in self.rows if row.by == "category" and not row.tier]
        if not own:
            return
        metric, table, place = own[0].metric, self.table, {"form": own[0].form, "arm": own[0].arm, "diagnosis": ""}
        anybody, asked = self.size("any", 0, MANY), self.size("asked at any", own[0].of_low, own[0].of_high)
        self.within(anybody, asked)
        sizes = [of for of in table.rows("patients", **place) if of.tier]
        for of in sizes:
            self.within(self.size(f"asked {of.tier}", *ends(of)), asked)
        known = [of.of_low for of in table.rows("excluded", arm=own[0].arm, diagnosis="") if of.tier and of.of_low]
        if most := max([*known, *(int(of.value) for of in sizes if of.value is not None)], default=0):
            self.within(asked, self.size("targets", most, most))
        tiers = {f"{metric} {of.tier}": of for of in table.rows(metric, **place, by="") if of.tier}
        parts = {name(metric, of.by, of.part): of for of in own}
        for part, of in tiers.items():
            self.within(self.count(part, of.count_low, of.count_high), anybody)
            if f"asked {of.tier}" in self.bounds:
                self.within(part, f"asked {of.tier}")
        for part in parts:
            self.within(part, anybody)
        # Whoever is given an identifier is in a tier, and in a category.
        for sides in (tiers, parts):
            if sides and all(of.count_low is not None for of in sides.values()):
                self.add_up(sides, anybody, at_least=True)


def name(metric: str, by: str = "", part: str = "") -> str:
    """Return the name of a count at its place; how many have any of a mean's text is a count of its own."""
    return ":".join(filter(None, (metric + " (any)" * (METRICS[metric].unit == "mean"), by, part)))


def ends(row: Row) -> tuple[int | None, int | None]:
    """Return the least and the most that a number may be of which the value or the count is printed."""
    return (row.count_low, row.count_high) if row.value is None else (int(row.value), int(row.value))


def attack_tables(table: Estimates) -> tuple[list[str], int]:
    """Return the counts of 1 to 10 that follow, and the fewest values that are left to one that does not."""
    given, fewest = [], MANY
    for row in table:
        is_small = 1 <= (row.behind or 0) <= 10 or 1 <= (row.count_low or 0) == row.count_high <= 10
        # The size of an arm is a design number; that of a cohort is not, where it is so small.
        is_small |= bool(row.diagnosis) and 1 <= (row.of_low or 0) == row.of_high <= 10
        if is_small and METRICS[row.metric].unit != "quality":
            given.append(f"{'/'.join(filter(None, row.place))} is printed")
    places: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in table:
        if row.count_low is not None and METRICS[row.metric].unit in ("share", "count", "mean", "design"):
            places[row.place[1:5]].append(row)
    for place, rows in places.items():
        for target, low, high in Place(table, rows).solve():
            if low == high and 1 <= low <= 10:
                given.append(f"{'/'.join(filter(None, place))} {target} = {low}")
            elif low < high and low <= 10:
                fewest = min(fewest, high - low + 1)
    return given, fewest


def attack_words(text: str, table: Iterable[Row] = ()) -> list[str]:
    """Return every number of 1 to 10 that words give as one of patients, or that leaves 1 to 10 of a number.

    Rules are no patients, nor are labelled texts, whose counts stand in the `table`.
    """
    printed = {(row.count_low, row.of_low) for row in table if METRICS[row.metric].unit == "quality"}
    text = html.unescape(re.sub(r"<[^>]*>", " | ", re.sub(r"<(script|style).*?</\1>", "", text, flags=re.S)))
    found = []
    for match in PATIENTS_IN_WORDS.finditer(text):
        count, of = (int((number or "0").replace(",", "")) for number in match.groups())
        if (count, of) not in printed and (1 <= count <= 10 or 1 <= of - count <= 10):
            found.append(match[0])
    return found


def main(runs: list[str]) -> int:
    """Print what each run gives away; return 1 where one gives anything."""
    given = []
    for run in map(Path, runs):
        table = Estimates(read_csv((run / "results.csv").read_text()))
        words = "".join((run / file).read_text() for file in ("results.json", "report.html", "annex.html", "junit.xml"))
        found, fewest = attack_tables(table)
        found += [f"in words: {count}" for count in attack_words(words, table)]
        print(
            f"{run.name}: {len(found)} counts of 1 to 10 given away; {fewest} values left at least", *found, sep="\n  "
        )
        given += found
    return int(bool(given))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
