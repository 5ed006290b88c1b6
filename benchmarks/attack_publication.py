"""Attack what a run publishes: derive every count of 1 to 10 patients that its public files give away.

    python benchmarks/attack_publication.py RUN...     # its table, its verdict, and the words of its pages
    python benchmarks/attack_publication.py            # ten invented runs of 15 to 150 patients

Three attacks. *Tables*: an integer program holds every printed count, total, complement, and set within a set; a
count of 1 to 10 is given away where its least and greatest value are one. *Statistics*: of the values that are left,
those are struck out with which a printed difference or AUROC would read otherwise, by the program's own formulas.
*Words*: any number of 1 to 10 before "patients" or "of N"; and values with which a rule would have another status or
reason. Exits 1 where a table or a printed number gives a count away.
"""

import html
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise, product
from pathlib import Path
from typing import Final

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from clinaudit.audit.results.gate.policy import Policy, load_policy
from clinaudit.audit.results.gate.shares import Sides
from clinaudit.audit.results.gate.verdict import POOLS
from clinaudit.audit.statistics.auroc import auroc_of_counts, measure_error
from clinaudit.audit.statistics.estimates import difference_row, share_row
from clinaudit.priors.prompts import NO_FACT
from clinaudit.reports.estimates.frame import PLACE, Estimates, Row, as_estimates
from clinaudit.reports.estimates.publication import publish
from clinaudit.reports.estimates.registry import METRICS
from clinaudit.reports.exports.estimates_csv import read_csv
from clinaudit.reports.schema.run_results import from_json
from clinaudit.reports.schema.verdict import Verdict

#: Beyond any count.
MANY: Final = 10**6
SIDES: Final = ("present", "absent")
MENTIONS: Final = ("positive", "negative", "ambiguous")
JUDGED: Final = (*MENTIONS, "not_mentioned")
SUMS: Final = {
    "sensitivity": (("positive",), JUDGED, ("present",)),
    "false_positive_rate": (("positive",), JUDGED, ("absent",)),
    "mention_rate": (MENTIONS, JUDGED, SIDES),
    "judged": (JUDGED, (*JUDGED, "unjudged"), SIDES),
}
#: Not a bound; a number of 11 or more, of fewer nothing is printed. Not "a count of 1 to 10 patients".
PATIENTS_IN_WORDS: Final = re.compile(
    r"(?<![\d.,<>–])(?<!more than )(?<!fewer than )(?<!1 to )(?<!epoch )\b(\d[\d,]*) "
    r"(?:patients?\b|of (?:the )?(\d[\d,]+)\b(?! rules))"
)
#: Of a guard: its metric, its name, and what of its sentence stands in the reason of a rule that it stops.
GUARDED: Final = (
    ("refused", "refused", "refuses to answer"),
    ("long_answers", "long_answers", "an answer as long as a match"),
)
#: Figures of identifiers of which every patient is in a category's.
COVERED: Final = ("own_identifiers", "other_identifiers")
#: Combinations of cells that are tried against an AUROC.
MOST_TRIED: Final = 200_000


@dataclass
class Model:
    """Counts that hang together, as an integer program."""

    bounds: dict[str, tuple[int, int]] = field(default_factory=dict)
    #: Each a sum of counts by coefficient, from low to high.
    sums: list[tuple[dict[str, int], float, float]] = field(default_factory=list)
    #: What would give a count of patients away: sums of counts by name.
    targets: dict[str, dict[str, int]] = field(default_factory=dict)

    def count(self, name: str, low: int | None, high: int | None) -> str:
        """Add a count, or narrow one that is there; name it as a target."""
        before = self.bounds.get(name, (0, MANY))
        self.bounds[name] = (max(before[0], low or 0), min(before[1], MANY if high is None else high))
        self.targets[name] = {name: 1}
        return name

    def within(self, part: str, whole: str) -> None:
        """Say that a set is within another; what it leaves is a target, too."""
        self.sums.append(({whole: 1, part: -1}, 0, np.inf))
        self.targets[f"{whole} without {part}"] = {whole: 1, part: -1}

    def add_up(self, parts: Mapping[str, int], whole: str) -> None:
        """Say that a sum of counts is another."""
        self.sums.append(({**parts, whole: -1}, 0, 0))

    def solve(self) -> Iterator[tuple[str, int, int]]:
        """Yield least and greatest value of every target."""
        names = list(self.bounds)
        if not names:
            return
        at = {name: i for i, name in enumerate(names)}
        low, high = (np.array([self.bounds[name][side] for name in names], dtype=float) for side in (0, 1))

        def row(parts: Mapping[str, int]) -> np.ndarray:
            found = np.zeros(len(names))
            for name, factor in parts.items():
                found[at[name]] += factor
            return found

        limits = [LinearConstraint(row(parts), least, most) for parts, least, most in self.sums]
        for target, parts in self.targets.items():
            if all(self.bounds[part][0] == self.bounds[part][1] for part in parts):
                known = sum(factor * self.bounds[part][0] for part, factor in parts.items())
                yield target, known, known
                continue
            ends = []
            for sign in (1, -1):
                solved = milp(
                    sign * row(parts), integrality=np.ones(len(names)), bounds=Bounds(low, high), constraints=limits
                )
                if solved.fun is None:
                    raise ValueError(f"what is printed contradicts itself: {target}")
                ends.append(round(sign * solved.fun))
            yield target, ends[0], ends[1]


def models(table: Estimates) -> Iterator[tuple[str, Model]]:
    """Yield the counts of one place each, by form, tier, arm and diagnosis, with all that ties them together."""
    places: dict[tuple[str, str, str, str], list[Row]] = defaultdict(list)
    for row in table:
        if row.count_low is not None and METRICS[row.metric].unit in ("share", "count", "mean", "design"):
            places[row.form, row.tier, row.arm, row.diagnosis].append(row)
    for place, rows in places.items():
        model = Model()
        for row in rows:
            add_row(model, row)
        for (metric, by), group in by_kind(rows).items():
            add_parts(model, metric, by, group)
        add_sizes(model, table, place)
        add_verdicts(model, rows)
        add_candidates(model, rows, table.find("cohort_sets", diagnosis=place[3]))
        add_budgets(model, rows)
        add_without_prompt(model, table, rows)
        add_in_both(model, table, rows)
        add_tiers(model, table, rows)
        add_groups(model, table, rows)
        yield "/".join(filter(None, place)), model


def name(metric: str, by: str = "", part: str = "") -> str:
    """Return the name of a count at its place."""
    return ":".join(filter(None, (metric, by, part)))


def counted(metric: str) -> str:
    """Return what a metric counts: how many have any of a mean's text is a count of its own."""
    return metric + (" (any)" if METRICS[metric].unit == "mean" else "")


def by_kind(rows: list[Row]) -> dict[tuple[str, str], list[Row]]:
    """Return rows by metric and kind of part."""
    found: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        found[row.metric, row.by].append(row)
    return found


def add_row(model: Model, row: Row) -> None:
    """Add a row's count, its size, and what it leaves of it; a pooled row as the sum of its parts."""
    own = name(counted(row.metric), row.by, row.part)
    model.count(own, row.count_low, row.count_high)
    parts = row.part.split(" + ")
    if len(parts) > 1:
        model.add_up({model.count(name(row.metric, row.by, part), 0, row.count_high): 1 for part in parts}, own)
    if row.of_low is not None:
        size = name("of", f"{row.of_low}-{row.of_high}", "" if row.of_low == row.of_high else own)
        model.bounds[size] = (row.of_low, row.of_high if row.of_high is not None else MANY)
        model.within(own, size)


def add_parts(model: Model, metric: str, by: str, rows: list[Row]) -> None:
    """Tie parts to their total, and sets to the sets around them."""
    found = {row.part: row for row in rows if " + " not in row.part}
    whole = METRICS[metric].part_of
    if by in ("above", "queries"):
        order = sorted(found, key=lambda part: float(re.sub(r"\D", "", part)), reverse=by == "queries")
        chain = [name(metric), *(name(metric, by, part) for part in order)]
        for around, inside in pairwise(chain):
            if around in model.bounds:
                model.within(inside, around)
    elif by == "category" and name(metric) in model.bounds:
        for part in found:
            model.within(name(metric, by, part), name(metric))
    if whole and not by and name(counted(whole)) in model.bounds:
        model.within(name(counted(metric)), name(counted(whole)))
    is_total = by in ("age", "sex", "race", "sharing", *SIDES)
    if is_total and metric != "attributable_patients":
        parts = {part for row in rows for part in row.part.split(" + ")}
        of = rows[0].of_high
        if of is not None and rows[0].of_low == of:
            total = f"total {metric} {by}"
            model.bounds[total] = (of, of)
            for part in parts - found.keys():
                model.count(name(metric, by, part), 0, of)
            model.add_up({name(metric, by, part): 1 for part in parts}, total)
    if is_total and metric == "attributable_patients" and name(metric) in model.bounds:
        model.add_up({name(metric, by, row.part): 1 for row in rows}, name(metric))


def add_sizes(model: Model, table: Estimates, place: tuple[str, str, str, str]) -> None:
    """Tie how many were asked to how many were to be: an arm's targets, or a cohort's sets."""
    form, tier, arm, diagnosis = place
    if not tier:
        return
    if not form:
        add_openings(model, table, tier, arm)
        return
    here = {"form": form, "tier": tier, "diagnosis": diagnosis}
    if diagnosis:
        size, whole = table.find("cohort_sets", **here), table.find("cohort_sets", diagnosis=diagnosis)
        wholes = [whole] if whole is not None else []
        left_out = table.rows("dropped_sets", **here)
    else:
        size, left_out = table.find("patients", **here, arm=arm), table.rows("excluded", **here, arm=arm)
        sizes = [*table.rows("patients", arm=arm, diagnosis=""), *table.rows("planned", arm=arm)]
        wholes = [row for row in sizes if row.tier]
    known = [int(row.value) for row in wholes if row.value is not None] + [row.of_low for row in left_out if row.of_low]
    if size is None or not known:
        return
    most = max(known)
    low, high = (size.count_low, size.count_high) if size.value is None else (int(size.value), int(size.value))
    model.bounds["whole"] = (most, most)
    model.within(model.count("asked", low, high), "whole")
    if low == high:
        # A size that is printed may itself be small where it was chosen so.
        del model.targets["asked"]


def add_openings(model: Model, table: Estimates, tier: str, arm: str) -> None:
    """Tie those whose openings were scored to the targets of their split, or to the split where they are more."""
    of = [row for row in table.rows("queries_needed", tier=tier, arm=arm) if row.of_low is not None]
    targets = [row for row in table.rows("patients", arm="train" if arm == "control" else arm) if not row.diagnosis]
    known = sorted(int(row.value) for row in targets if row.value is not None)
    around = [size for size in known if of and size >= (of[0].of_high or MANY)]
    if around:
        model.bounds["openings"], model.bounds["whole"] = (of[0].of_low or 0, of[0].of_high or MANY), (around[0],) * 2
        model.within("openings", "whole")


def add_budgets(model: Model, rows: list[Row]) -> None:
    """Tie those with a prompt that is too short to those in the figures of text, who have another one."""
    short, text = (next((row for row in rows if row.metric == of), None) for of in ("short_budget", "long_answers"))
    if short is None or text is None or short.of_low is None or text.of_low is None:
        return
    asked = name("of", f"{short.of_low}-{short.of_high}", "" if short.of_low == short.of_high else "short_budget")
    model.bounds["in text"] = text.of_low, text.of_high if text.of_high is not None else MANY
    model.bounds["no short budget"] = (0, MANY)
    model.add_up({"short_budget": 1, "no short budget": 1}, asked)
    model.within("in text", asked)
    model.within("no short budget", "in text")


def add_without_prompt(model: Model, table: Estimates, rows: list[Row]) -> None:
    """Tie the patients of a split who have no prompt to the targets who have none, some of those left out."""
    shared = [row for row in rows if row.metric == "uniqueness"]
    if not shared:
        return
    tier, arm, split = shared[0].tier, shared[0].arm, shared[0].of_low or 0
    none = name("uniqueness", "sharing", "no prior")
    for form in table.values_of("form", "excluded"):
        left_out = table.rows("excluded", form=form, tier=tier, arm=arm, by="reason")
        known = [row for row in left_out if row.count_low is not None]
        if not known or len(known) < len(left_out) or none not in model.bounds:
            continue
        targets, others = name("targets", form), name("others", form)
        model.bounds[targets] = (known[0].of_low or 0,) * 2
        model.bounds[others] = (split - (known[0].of_low or 0),) * 2
        for row in known:
            model.count(whole := name("left out", form, row.part), row.count_low, row.count_high)
            if len(parts := row.part.split(" + ")) > 1:
                each = {model.count(name("left out", form, part), 0, row.count_high): 1 for part in parts}
                model.add_up(each, whole)
        no_fact = name("left out", form, NO_FACT)
        model.bounds.setdefault(no_fact, (0, 0))
        elsewhere = model.count(name("no prompt elsewhere", form), 0, MANY)
        model.add_up({no_fact: 1, elsewhere: 1}, none)
        model.within(elsewhere, others)


def add_in_both(model: Model, table: Estimates, rows: list[Row]) -> None:
    """Tie those who are in both splits to those with several ids, of whom they are some."""
    several = table.rows("several_ids")
    if several and "in_both_arms" in {row.metric for row in rows} and all(row.count_low is not None for row in several):
        for row in several:
            most = MANY if row.count_high is None else row.count_high
            model.bounds[name("several", row.arm)] = row.count_low or 0, most
        model.bounds["several"] = (0, MANY)
        model.add_up({name("several", row.arm): 1 for row in several}, "several")
        model.within("in_both_arms", "several")


def add_tiers(model: Model, table: Estimates, rows: list[Row]) -> None:
    """Tie parts over all tiers to the tiers: a patient of a tier is one of a part, and the other way round.

    A patient not asked at a tier, but at another, counts as well.
    """
    for row in rows:
        if row.by != "category" or row.tier:
            continue
        anybody = name(row.metric, "any")
        tiers = [of for of in table.rows(row.metric, form=row.form, arm=row.arm, diagnosis="", by="") if of.tier]
        if anybody not in model.bounds:
            asked = name("asked at any", row.metric)
            model.bounds[anybody], model.bounds[asked] = (0, MANY), (row.of_low or 0, row.of_high or MANY)
            model.within(anybody, asked)
            sizes = [of for of in table.rows("patients", form=row.form, arm=row.arm, diagnosis="") if of.tier]
            for of in sizes:
                low, high = (of.count_low, of.count_high) if of.value is None else (int(of.value), int(of.value))
                at_tier = name("asked", of.tier)
                model.bounds[at_tier] = (low or 0, MANY if high is None else high)
                model.within(at_tier, asked)
            known = [of.of_low for of in table.rows("excluded", arm=row.arm, diagnosis="") if of.tier and of.of_low]
            if most := max([*known, *(int(of.value) for of in sizes if of.value is not None)], default=0):
                model.bounds["targets"] = (most, most)
                model.within(asked, "targets")
            for of in tiers:
                at_tier = name(row.metric, of.tier)
                model.count(at_tier, of.count_low, of.count_high)
                model.within(at_tier, anybody)
                if name("asked", of.tier) in model.bounds:
                    model.within(at_tier, name("asked", of.tier))
            if tiers and all(of.count_low is not None for of in tiers):
                parts = {name(row.metric, of.tier): 1 for of in tiers}
                model.sums.append(({**parts, anybody: -1}, 0, np.inf))
            others = table.rows(row.metric, form=row.form, tier="", arm=row.arm, by=row.by)
            if row.metric in COVERED and all(of.count_low is not None for of in others):
                parts = {name(row.metric, row.by, of.part): 1 for of in others}
                model.sums.append(({**parts, anybody: -1}, 0, np.inf))
        model.within(name(row.metric, row.by, row.part), anybody)


def add_groups(model: Model, table: Estimates, rows: list[Row]) -> None:
    """Tie those of a group who were asked to the group."""
    for row in rows:
        people = table.find("population", arm=row.arm, by=row.by, part=row.part)
        if row.metric == "attributable_patients" and people is not None and people.count_low is not None:
            own = name(row.metric, row.by, row.part)
            asked, whole = model.count(f"asked of {own}", row.of_low, row.of_high), f"population of {own}"
            model.bounds[whole] = (people.count_low, people.count_high)
            model.within(asked, whole)


def add_verdicts(model: Model, rows: list[Row]) -> None:
    """Tie the figures of verdicts to the cells that they are sums of."""
    for row in rows:
        if row.metric in SUMS and name("verdicts", "present", "positive") in model.bounds:
            counted, of, sides = SUMS[row.metric]
            cells = {name("verdicts", side, part) for side in sides for part in counted}
            sizes = {name("verdicts", side, part) for side in sides for part in of}
            known = [cell for cell in sizes | cells if cell not in model.bounds]
            for cell in known:
                model.count(cell, 0, row.of_high)
            model.add_up(dict.fromkeys(cells, 1), name(row.metric))
            size = f"size of {row.metric}"
            model.bounds[size] = (row.of_low or 0, row.of_high or MANY)
            model.add_up(dict.fromkeys(sizes, 1), size)


def add_candidates(model: Model, rows: list[Row], sets: Row | None) -> None:
    """Tie candidates to those not matched: all others are in the matched sets, whose number stands."""
    if sets is None or sets.value is None:
        return
    model.bounds["sets"] = (int(sets.value), int(sets.value))
    everybody = {}
    for row in rows:
        if row.metric == "candidates":
            model.add_up({name("unmatched", row.by, row.part): 1, "sets": 1}, name("candidates", row.by, row.part))
            everybody[name("candidates", row.by, row.part)] = 1
    for row in rows:
        if row.metric in ("candidates", "excluded") and row.of_low is not None and row.of_high is not None:
            whole = f"everybody of {row.metric}"
            model.bounds[whole] = (row.of_low, row.of_high)
            left = {name("excluded", other.by, other.part): 1 for other in rows if other.metric == "excluded"}
            model.add_up(everybody | (left if row.metric == "excluded" else {}), whole)


def attack_tables(table: Estimates) -> tuple[list[str], int]:
    """Return the counts of 1 to 10 that follow, and the fewest values that are left to one that does not."""
    given, fewest = [], MANY
    for row in table:
        is_small = 1 <= (row.behind or 0) <= 10 or 1 <= (row.count_low or 0) == row.count_high <= 10
        # The size of an arm is a design number; that of a cohort is not, where it is so small.
        is_small |= bool(row.diagnosis) and 1 <= (row.of_low or 0) == row.of_high <= 10
        if is_small and METRICS[row.metric].unit != "quality":
            given.append(f"{'/'.join(filter(None, row.place))} is printed")
    for place, model in models(table):
        for target, low, high in model.solve():
            if low == high and 1 <= low <= 10:
                given.append(f"{place} {target} = {low}")
            elif low < high and low <= 10:
                fewest = min(fewest, high - low + 1)
    return given, fewest


def attack_differences(table: Estimates) -> Iterator[tuple[str, int]]:
    """Yield how many values a printed difference of two shares leaves to a hidden count of either.

    By trial: a pair of counts is struck out where `publish` would print another difference of it.
    """
    for row in table:
        first, _, second = row.arm.partition("-")
        if not second or row.low is None or METRICS[row.metric].unit != "share":
            continue
        sides = [at_place(table, row, arm=arm) for arm in (first, second)]
        if None in sides or any(side.of_low != side.of_high for side in sides):
            continue
        hidden = [side for side in sides if side.count_low != side.count_high]
        # Of sets within sets more is known, and `publish` would have to be given these.
        if not hidden or any((side.count_low, side.count_high) not in ends_of_few(side.of_low) for side in hidden):
            continue
        left: list[set[int]] = [set(), set()]
        for counts in product(*(range(side.count_low, side.count_high + 1) for side in sides)):
            tried = [
                share_row(row.metric, count, side.of_low)._replace(arm=side.arm)
                for count, side in zip(counts, sides, strict=True)
            ]
            tried.append(difference_row(*tried, row.arm))
            found = Estimates(publish(as_estimates(tried))).find(row.metric, arm=row.arm)
            if None not in (found.low, found.high) and np.allclose((found.low, found.high), (row.low, row.high)):
                for values, count in zip(left, counts, strict=True):
                    values.add(count)
        for values, side in zip(left, sides, strict=True):
            if side in hidden and values:
                yield "/".join(filter(None, row.place)) + f" of {side.arm}", len(values)


def ends_of_few(of: int) -> tuple[tuple[int, int], ...]:
    """Return the bounds of a hidden count of so many patients."""
    return (1, 10), (of - 10, of - 1)


def at_place(table: Estimates, row: Row, **place: str) -> Row | None:
    """Return the row at another place, where its counts are printed."""
    found = table.find(**dict(zip(PLACE, row.place, strict=True)) | place)
    return None if found is None or found.count_low is None or found.of_low is None else found


def attack_verdict(table: Estimates, verdict: Verdict, policy: Policy) -> Iterator[tuple[str, int]]:
    """Yield how many values the words of the rules leave to a hidden count, by its place.

    A rule of shares is decided once more for all counts that its figure and chance may be; guards by their limits.
    """
    left: dict[tuple[str, ...], set[int]] = {}

    def strike(row: Row, values: set[int]) -> None:
        if row.count_low != row.count_high:
            left[row.place] = left.get(row.place, set(values)) & values

    for rule in verdict.rules:
        place = {key: getattr(rule, key) for key in PLACE[1:]}
        figure = table.find(rule.metric, **place)
        if rule.kind not in ("own", "others", "identifiers", "queries") or figure is None:
            continue
        for metric, guard, sentence in GUARDED:
            guarded = table.find(metric, form=rule.form, tier=rule.tier, arm=rule.arm)
            at_once = rule.kind in ("own", "others") or metric != "long_answers"
            limit = getattr(policy.guards, guard)
            if guarded is not None and guarded.count_low is not None and guarded.of_low == guarded.of_high and at_once:
                span = range(guarded.count_low, guarded.count_high + 1)
                keeps = {
                    n
                    for n in span
                    if (n / guarded.of_low <= limit if metric == "refused" else n / guarded.of_low >= limit)
                }
                if rule.status == "pass":
                    strike(guarded, keeps)
                elif sentence in rule.reason:
                    strike(guarded, set(span) - keeps)
        chance = table.find(rule.chance_metric, **place | {"arm": rule.chance_arm}) if rule.chance_metric else None
        sides = [side for side in (figure, chance) if side is not None]
        is_share = METRICS[rule.metric].unit == "share" and rule.metric not in POOLS
        if not is_share or any(
            side.count_low is None or side.of_low is None or side.of_low != side.of_high for side in sides
        ):
            continue
        fits: list[set[int]] = [set() for _ in sides]
        for counts in product(*(range(side.count_low, side.count_high + 1) for side in sides)):
            rows = [share_row("", count, side.of_low) for count, side in zip(counts, sides, strict=True)]
            decided = Sides(rows[0], rows[1] if chance is not None else None).decide(rule.limit)
            if (decided.status, decided.reason) == (rule.status, rule.reason):
                for values, count in zip(fits, counts, strict=True):
                    values.add(count)
        if fits[0]:
            for values, side in zip(fits, sides, strict=True):
                strike(side, values)
    for place, values in left.items():
        yield "/".join(filter(None, place)), len(values)


def attack_aurocs(table: Estimates) -> Iterator[tuple[str, int]]:
    """Yield how many values a printed AUROC over all leaves to a hidden count of stated diagnoses."""
    for row in table.rows("auroc_all"):
        if row.low is None or row.high is None or "-" in row.arm or row.diagnosis == "mean":
            continue
        sides = [list(levels(table, row, side)) for side in SIDES]
        if not all(sides) or len(sides[0]) * len(sides[1]) > MOST_TRIED:
            continue
        pairs = np.array([[one, other] for one, other in product(*sides)], dtype=float)
        positive, negative = pairs[:, 0], pairs[:, 1]
        value = auroc_of_counts(positive, negative)
        low, high = measure_error(positive, negative).interval(value, floor=0.0)
        fits = np.zeros(len(pairs), dtype=bool)
        for step in (0.01, *(0.05 * times for times in range(1, 21))):
            fits |= (
                (row.value is None or np.isclose(np.round(value / step) * step, row.value, atol=1e-6))
                & np.isclose(np.floor(low / step + 1e-9) * step, row.low, atol=1e-6)
                & np.isclose(np.minimum(1, np.ceil(high / step - 1e-9) * step), row.high, atol=1e-6)
            )
        for i, side in enumerate(SIDES):
            stated, left = {cells[2] for cells in sides[i]}, set(pairs[fits][:, i, 2].tolist())
            if len(stated) > 1 and min(stated) <= 10 and left:
                yield "/".join((*filter(None, row.place), side)), len(left)


def levels(table: Estimates, row: Row, side: str) -> Iterator[tuple[int, int, int]]:
    """Yield all that the cells of one side may be by level: denied, between, stated."""
    place = {"form": row.form, "tier": row.tier, "arm": row.arm, "diagnosis": row.diagnosis, "by": side}
    cells = table.rows("verdicts", **place)
    if not cells or cells[0].of_low is None or any(cell.count_low is None for cell in cells):
        return
    size = cells[0].of_low
    ranges = {part: range(size + 1) for part in (*JUDGED, "unjudged")}
    pooled = []
    for cell in cells:
        parts = cell.part.split(" + ")
        if len(parts) > 1:
            pooled.append((parts, cell.count_low))
        else:
            ranges[cell.part] = range(cell.count_low or 0, (cell.count_high or 0) + 1)
    for parts, total in pooled:
        for part in parts:
            ranges[part] = range(1, (total or 0) - len(parts) + 2)
    metric = "sensitivity" if side == "present" else "false_positive_rate"
    known = table.find(metric, **{key: place[key] for key in ("form", "tier", "arm", "diagnosis")})
    if known is not None and known.count_low is not None and known.count_high is not None:
        ranges["positive"] = range(known.count_low, known.count_high + 1)
    found = set()
    widest = max(ranges, key=lambda part: len(ranges[part]))
    rest = [part for part in ranges if part != widest]
    if np.prod([len(ranges[part]) for part in rest]) > MOST_TRIED:
        return
    for counts in product(*(ranges[part] for part in rest)):
        own = dict(zip(rest, counts, strict=True))
        own[widest] = size - sum(counts)
        if own[widest] in ranges[widest] and all(sum(own[part] for part in parts) == total for parts, total in pooled):
            found.add((own["negative"], own["not_mentioned"] + own["ambiguous"], own["positive"]))
    yield from found


def attack_words(text: str, table: Estimates | None = None) -> list[str]:
    """Return every number of 1 to 10 that words give as one of patients, or that leaves 1 to 10 of a number.

    Rules are no patients, nor are labelled texts, whose counts stand in the `table`.
    """
    quality = [row for row in table or () if METRICS[row.metric].unit == "quality"]
    printed = {(row.count_low, row.of_low) for row in quality}
    text = html.unescape(re.sub(r"<[^>]*>", " | ", re.sub(r"<(script|style).*?</\1>", "", text, flags=re.S)))
    found = []
    for match in PATIENTS_IN_WORDS.finditer(text):
        count, of = (int((number or "0").replace(",", "")) for number in match.groups())
        if (count, of) not in printed and (1 <= count <= 10 or 1 <= of - count <= 10):
            found.append(match[0])
    return found


def report(title: str, table: Estimates, words: str = "", verdict: Verdict | None = None) -> bool:
    """Print what a run gives away; return whether tables or words give anything."""
    given, fewest = attack_tables(table)
    given += [f"in words: {found}" for found in attack_words(words, table)]
    by_statistics = sorted([*attack_differences(table), *attack_aurocs(table)], key=lambda found: found[1])
    print(f"{title}: {len(given)} counts of 1 to 10 given away by tables or words; {fewest} values left at least")
    for line in given:
        print(f"  {line}")
    pinned = sum(left == 1 for _, left in by_statistics)
    print(f"  by statistics: {len(by_statistics)} hidden counts tried, {pinned} have one value left; the fewest:")
    for place, left in by_statistics[:3]:
        print(f"    {left} left: {place}")
    if verdict is not None:
        by_words = sorted(attack_verdict(table, verdict, load_policy()), key=lambda found: found[1])
        pinned = sum(left == 1 for _, left in by_words)
        print(
            f"  by the verdict's words: {len(by_words)} hidden counts tried, {pinned} have one value left; the fewest:"
        )
        for place, left in by_words[:3]:
            print(f"    {left} left: {place}")
    return bool(given)


def main(runs: list[str]) -> int:
    """Attack the runs named, or ten invented ones."""
    if not runs:
        sys.path.insert(0, str(Path(__file__).parents[1]))
        from tests.support.invented_estimates import invented_estimates

        sizes = [15, 20, 25, 40, 60, 80, 100, 110, 130, 150]
        return int(any(report(f"{size} patients an arm", Estimates(publish(invented_estimates(seed, size, size))))
                        for seed, size in enumerate(sizes)))  # fmt: skip
    found = []
    for run in map(Path, runs):
        table = Estimates(read_csv((run / "results.csv").read_text()))
        words = "".join((run / file).read_text() for file in ("results.json", "report.html", "annex.html", "junit.xml"))
        verdict = from_json((run / "results.json").read_text()).verdict
        found.append(report(run.name, table, words, verdict))
    return int(any(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
