"""What of the table of estimates may be published: exact rows in, published rows out (docs/methods.md, section 10).

Owns which counts of the table hang together: who was asked of how many, sets within sets, parts of a total; and
in which steps a figure is printed that a hidden count is a part of. How counts are hidden is `small_cells`'. Everything
outside the evidence is made of what this returns.
"""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final, NamedTuple

import polars as pl

from clinaudit.priors.prompts import NO_FACT
from clinaudit.reports.estimates.frame import METRICS, PLACE, Estimates, Row, as_estimates
from clinaudit.reports.estimates.intervals import beta_bounds
from clinaudit.reports.estimates.small_cells import (
    FEWEST_OF,
    MOST,
    Bounds,
    Parts,
    is_small,
    nested,
    over_all,
    pool,
    pool_groups,
)

FEW: Final = "a count of 1 to 10 patients is a part of it"
FEW_LEFT_OUT: Final = "it would say how many were left out, 1 to 10 patients"
FEW_SETS: Final = "a cohort of 1 to 10 sets is a part of it"
FEW_MENTION: Final = "fewer than 100 texts mention it"
#: Why a figure that was measured is not printed; any other reason says why there is none.
HIDDEN: Final = frozenset({FEW, FEW_LEFT_OUT, FEW_SETS, FEW_MENTION})
#: From so many patients a group on, figures are printed to 0.01; below, an AUROC in steps of 0.05.
ENOUGH: Final = 100
#: Below so many a group, an AUROC's steps are wider still, and only its ends are printed.
FEW_IN_GROUP: Final = 50
#: Steps of what is printed, and of figures of which a hidden count is a part.
FINE, COARSE = 0.01, 0.05
#: So many values at least a hidden count may still have, whatever is printed of a difference.
FEWEST_LEFT: Final = 4
#: |SMD| above this counts as unbalanced.
UNBALANCED: Final = 0.1
#: Groups of patients, and kinds of parts of one total, by metric.
_GROUPS: Final = ("age", "sex", "race")
_TOTALS: Final = {
    "population": _GROUPS,
    "uniqueness": ("sharing",),
    "excluded": ("reason",),
    "dropped_sets": ("reason",),
}
#: The part of `uniqueness` that holds patients without a prompt: those of them who are targets are `excluded`.
_NO_PROMPT: Final = "no prior"
#: Kinds of parts that are shares of text.
_COMPOSITIONS: Final = ("k", "section", "copies")
#: Kinds of parts each within the next: 1 where the part of the least number is the widest, -1 where the greatest is.
_WITHIN: Final = {"above": 1, "queries": -1}
#: Verdicts that mention the diagnosis, and all that are usable.
_MENTIONS: Final = ("positive", "negative", "ambiguous")
_JUDGED: Final = (*_MENTIONS, "not_mentioned")
#: Figures that follow from the verdicts: what is counted, of what, and on which sides.
_OF_VERDICTS: Final = {
    "sensitivity": (("positive",), _JUDGED, ("present",)),
    "false_positive_rate": (("positive",), _JUDGED, ("absent",)),
    "mention_rate": (_MENTIONS, _JUDGED, ("present", "absent")),
    "judged": (_JUDGED, (*_JUDGED, "unjudged"), ("present", "absent")),
}
_SIDES: Final = ("present", "absent")
#: Between the names of pooled parts; and what the parts named leave of their total.
JOINED: Final = " + "
REST: Final = "rest"
#: Kind of parts that are of all tiers together.
_OVER_TIERS: Final = "category"
#: Figures of patients whose prompt is their note's opening.
_OF_OPENINGS: Final = ("queries_needed", "queries_window")


def publish(exact: pl.DataFrame) -> pl.DataFrame:
    """Return the published table of an exact one: no count of 1 to 10 patients stands in it, or follows from it.

    A hidden count has its ends (1 and 10, or N−10 and N−1), its share a bound with the interval from both; a figure
    that is not printed has a `reason`. Pooled parts are one row, named `A + B`.
    """
    return as_estimates(_Publication(exact).rows())


class _Publication:
    """The exact table, the sizes that its counts are of, and the step of each published figure."""

    def __init__(self, exact: pl.DataFrame) -> None:
        self.exact = Estimates(exact)
        self.targets: dict[str, int] = defaultdict(int)
        sizes = (self.exact.rows(metric, diagnosis="") for metric in ("patients", "planned", "excluded"))
        for row in chain(*sizes):
            if row.tier:
                size = row.of_low if row.metric == "excluded" else int(row.value or 0)
                self.targets[row.arm] = max(self.targets[row.arm], size or 0)
        self.groups: dict[tuple[str, ...], list[Row]] = defaultdict(list)
        for row in self.exact:
            self.groups[_group(row)].append(row)
        #: By form, tier, arm, diagnosis and side; None where how many were asked is not printed.
        self.verdicts: dict[tuple[str, ...], Parts | None] = {}
        for (metric, *place), rows in self.groups.items():
            if metric == "verdicts":
                cells = {row.part: row.count_low or 0 for row in rows}
                is_known = _is_exact(self.size(rows[0])) and sum(cells.values()) > MOST
                self.verdicts[tuple(place)] = pool(cells, "positive") if is_known else None
        #: Of parts over all tiers: what may be known of the count and of the size of each; empty where nothing may.
        self.over_tiers: dict[tuple[str, ...], dict[str, tuple[Bounds, Bounds]]] = {}
        #: Place of a printed figure -> its step, 0 where it is exact.
        self.steps: dict[tuple[str, ...], float] = {}

    def rows(self) -> Iterator[Row]:
        """Yield the published rows in the order of the exact ones."""
        found: dict[tuple[str, ...], list[Row]] = {}
        # Differences and means look at the rows that they are made of.
        for row in sorted(self.exact, key=lambda row: (row.diagnosis == "mean", "-" in row.arm)):
            if row.place not in found and not self._is_of_few_sets(row):
                for one, several in self._publish(row):
                    found[one.place] = several
        for row in self.exact:
            yield from found.get(row.place, ())

    def _publish(self, row: Row) -> Iterator[tuple[Row, list[Row]]]:
        """Yield a row with what is published of it, and the rows that only together can be decided on."""
        unit, group = METRICS[row.metric].unit, self._alike(row)
        if row.by in _TOTALS.get(row.metric, ()) and not (row.metric == "excluded" and row.diagnosis):
            yield from self._partition(group)
        elif row.metric == "verdicts":
            yield from self._as_parts(group, self.verdicts[_group(row)[1:]], self.size(row))
        elif row.metric == "attributable_patients" and row.by in _GROUPS:
            yield from self._subgroups(group) if "-" not in row.arm else ((one, []) for one in group)
        elif row.by in _COMPOSITIONS and unit == "text":
            yield from _composition(group)
        else:
            yield row, [self._one(row)]

    def _one(self, row: Row) -> Row:
        unit = METRICS[row.metric].unit
        if unit == "quality":
            return row._replace(behind=None)
        if row.value is None:
            return _none(row, row.reason)
        if row.diagnosis == "mean":
            return self._mean_over_diagnoses(row)
        if "-" in row.arm:
            return self._difference(row)
        if row.metric in ("candidates", "unmatched", "prevalence", "excluded"):
            return self._candidates(row)
        if row.metric in _OF_VERDICTS:
            return self._of_verdicts(row)
        if unit in ("auroc", "rate"):
            return self._statistic(row)
        if unit in ("share", "mean", "count"):
            return self._counted(row)
        if unit == "smd":
            if is_small(row.behind):
                return _none(row, f"{'above' if abs(row.value) > UNBALANCED else 'at most'} {UNBALANCED}")
            return row._replace(value=round(row.value, 1) + 0.0, behind=None)
        if unit == "text":
            return _none(row, FEW) if is_small(row.behind) else _two_digits(row)
        return self._design(row)

    # Sizes.

    def size(self, row: Row) -> Bounds:
        """Return how many patients a row's figure is of, as far as it may be known."""
        return self.sizes(row)[-1][1]

    def sizes(self, row: Row, of: int | None = None) -> list[tuple[int, Bounds]]:
        """Return the sizes down to a row's `of`, each within the one before, with what may be known of them."""
        of = of if of is not None else row.of_low or 0
        counts = sorted({size for size in self._above(row, of) if size is not None and size > of} | {of}, reverse=True)
        return list(zip(counts, nested(counts), strict=True))

    def _above(self, row: Row, of: int) -> list[int | None]:
        """Return the sizes that a row's `of` may lie within."""
        if row.diagnosis:
            if not row.tier:
                return []
            dropped = self.exact.rows("dropped_sets", form=row.form, tier=row.tier, diagnosis=row.diagnosis)
            return [self._sets(row, ""), *(other.of_low for other in dropped[:1]), self._sets(row, row.tier)]
        # Membership, and what the control model is asked of openings, is of the patients trained on.
        of_train = row.metric == "membership_found" or (row.metric in _OF_OPENINGS and row.arm == "control")
        arm = "train" if of_train else row.arm
        if of > self.targets[arm]:
            # More patients than are targets are of a split.
            split = self.exact.find("patients", arm=arm)
            return [None if split is None else int(split.value or 0)]
        above: list[int | None] = [self.targets[arm]] if arm else []
        if row.tier:
            # What has a tier and no form (queries) is of those asked in plain text.
            place = {"form": row.form or "text", "tier": row.tier, "arm": arm}
            planned = self.exact.find("planned", **place, by="stage", part="generations")
            sizes = (planned, self.exact.find("patients", **place))
            above += [int(size.value or 0) for size in sizes if size is not None]
            if row.metric in _OF_OPENINGS and (unbroken := self.exact.find("prompt_unbroken", **place)) is not None:
                above.append(unbroken.count_low)
        return above

    def _sets(self, row: Row, tier: str) -> int | None:
        found = self.exact.find("cohort_sets", form=row.form if tier else "", tier=tier, diagnosis=row.diagnosis)
        return None if found is None else int(found.value or 0)

    def _is_of_few_sets(self, row: Row) -> bool:
        """Whether a row is of a cohort of 1 to 10 sets, of which nothing is printed but that."""
        sets = (self._sets(row, ""), self._sets(row, row.tier)) if row.diagnosis else ()
        return row.metric != "cohort_sets" and any(count is not None and is_small(count) for count in sets)

    def _design(self, row: Row) -> Row:
        """Return a size that was chosen, unless it says how many were left out, or a cohort is of 1 to 10 sets."""
        size = int(row.value or 0)
        if row.metric not in ("patients", "planned", "cohort_sets") or not (row.tier or row.metric == "cohort_sets"):
            return row
        bounds, of = self.sizes(row, size)[-1][1], self.sizes(row, size)[0][0]
        if row.metric == "cohort_sets" and (is_small(size) or is_small(of)):
            # The whole cohort is what a tier's sets are of.
            return _hidden(row, (1, MOST), None)
        return row if _is_exact(bounds) else _hidden(row, bounds, (of, of))

    # Counts, and shares of them.

    def _counted(self, row: Row) -> Row:
        """Return a count, a share or a mean of a row, within the sets around it."""
        if row.of_low is None:
            return _hidden(row, nested([10**9, row.count_low or 0])[-1], None)
        if row.by == _OVER_TIERS and not row.tier:
            if _group(row) not in self.over_tiers:
                self.over_tiers[_group(row)] = self._over_tiers(self._alike(row))
            known = self.over_tiers[_group(row)]
            return self._of(row, *known[row.part]) if known else _none(row, FEW)
        return self._of(row, *self._known(row))

    def _known(self, row: Row) -> tuple[Bounds, Bounds]:
        """Return what may be known of a row's count, and of its size."""
        sizes = self.sizes(row)
        if row.metric == "short_budget" and row.count_low and (of := row.of_low or 0) >= FEWEST_OF:
            # Whoever has no such prompt is in the figures of text, and of the others those who have another one, too.
            own = [text.of_low for text in [self._at(row, metric="long_answers")] if text is not None]
            within = sorted({of - row.count_low, *(size for size in own if size is not None)}, reverse=True)
            low, high = nested([*(size for size, _ in sizes), *within])[-1]
            return (max(1, of - high), of - low), sizes[-1][1]
        return nested([*(size for size, _ in sizes), *self._around(row), row.count_low or 0])[-1], sizes[-1][1]

    def _over_tiers(self, group: list[Row]) -> dict[str, tuple[Bounds, Bounds]]:
        """Return by part what may be known of counts over all tiers, and of how many were asked at any."""
        first = group[0]
        tiers = [row for row in self.exact.rows(first.metric, form=first.form, arm=first.arm, by="") if row.tier]
        own = [row.count_low or 0 for row in tiers]
        figures = [
            self._known(row)[0] if self._is_printed(row) else (count, count)
            for row, count in zip(tiers, own, strict=True)
        ]
        sizes, of = self._asked_at_any(first)
        largest = max(tiers, key=lambda row: row.count_low or 0, default=first)
        if tiers and max(own) == sum(own) and self._is_printed(largest):
            around = {*sizes, *(size for size, _ in self.sizes(largest)), largest.count_low or 0}
            sizes = sorted(around, reverse=True)
        counts = over_all({row.part: row.count_low or 0 for row in group}, sizes, figures)
        return {part: ((low, min(high, of[1])), of) for part, (low, high) in counts.items()}

    def _is_printed(self, row: Row) -> bool:
        """Whether more is printed of a row's count than a share in wide steps."""
        count, of = self._known(row)
        return _is_exact(of) or count[0] <= 1

    def _asked_at_any(self, row: Row) -> tuple[list[int], Bounds]:
        """Return the sizes that may be known around a row of all tiers, and its own, which says what tiers say."""
        of, targets = row.of_low or 0, self.targets[row.arm]
        asked = {
            int(size.value or 0): size.tier
            for size in self.exact.rows("patients", form=row.form, arm=row.arm, diagnosis="")
            if size.tier
        }
        if not asked or of >= targets:
            return [of], (of, of)
        if of in asked and of == max(asked):
            sizes = self.sizes(row._replace(tier=asked[of]))
            return [size for size, _ in sizes], sizes[-1][1]
        # Between the two, it would say how many were asked at some tier only.
        largest = self.sizes(row._replace(tier=asked[max(asked)]), max(asked))[-1][1]
        return [targets], (largest[0], targets)

    def _around(self, row: Row) -> list[int]:
        """Return the counts of the sets that a row's patients are part of, the widest first."""
        found = [self._at(row, metric=METRICS[row.metric].part_of, by="", part="")]
        if row.by:
            found.append(self._at(row, by="", part=""))
            if row.by in _WITHIN:
                sign, own = _WITHIN[row.by], _number(row.part)
                wider = {sign * _number(other.part): other for other in self._alike(row)}
                found += [wider[at] for at in sorted(wider) if at < sign * own]
        counts = [other.count_low for other in found if other is not None and other.of_low == row.of_low]
        if row.metric == "in_both_arms":
            # Each of them has several ids, in one split or the other.
            several = sum(other.count_low or 0 for other in self.exact.rows("several_ids"))
            counts.append(min(several, row.of_low or 0))
        return [count for count in counts if count is not None and count >= (row.count_low or 0)]

    def _of(self, row: Row, count: Bounds, of: Bounds) -> Row:
        """Return a row of which a count within bounds is known, of a size within bounds."""
        # Of one patient any figure is that patient's.
        if of[1] == 1 or (not _is_exact(of) and of[1] <= MOST):
            return _none(row, FEW)
        unit, is_bound = METRICS[row.metric].unit, count[0] <= 1 < count[1]
        if is_bound or count[1] == 0 or (_is_exact(of) and unit != "mean"):
            return self._bounded(row, count, of)
        # Whoever counts those left out of the size would have the count as well.
        step = FINE if _is_exact(of) and _is_exact(count) else _coarse(of[0])
        if unit == "count":
            return _none(row, FEW_LEFT_OUT)
        return self._outward(_without_counts(row)._replace(of_low=of[0], of_high=of[1]), step)

    def _bounded(self, row: Row, count: Bounds, of: Bounds) -> Row:
        """Return a row with all that follows from the bounds of its count and of its size, and nothing else."""
        unit, is_exact = METRICS[row.metric].unit, _is_exact(count) and (_is_exact(of) or not count[1])
        if count[0] >= 1 and count[1] <= MOST:
            count = (1, MOST)
        if unit == "count":
            return _hidden(row, count, of)
        self.steps[row.place] = 0.0 if is_exact else _coarse(of[0])
        value = (0.0 if not count[1] else count[0] / of[0]) if is_exact else None
        # One patient, or all but one, reads as a bound: `<8%`, `>92%`.
        low = 0.0 if unit == "mean" or (count[0] <= 1 and not is_exact) else beta_bounds(count[0], of[1])[0]
        most = of[0] if not is_exact and count[1] >= of[0] - 1 else min(count[1], of[0])
        return _hidden(row, count, of)._replace(value=value, low=low, high=beta_bounds(most, of[0])[1])

    def _outward(self, row: Row, step: float) -> Row:
        self.steps[row.place] = step
        return _outward(row, step)

    def _candidates(self, row: Row) -> Row:
        """Return candidates, those not matched or not eligible: those matched are a design number, known to readers."""
        arm = row.arm if row.metric != "prevalence" else "train"
        found = {
            metric: {
                other.part: other.count_low or 0 for other in self.exact.rows(metric, diagnosis=row.diagnosis, arm=arm)
            }
            for metric in ("candidates", "unmatched", "excluded")
        }
        left = {part: found["unmatched"].get(part, 0) for part in found["candidates"]}
        parts = pool(left | found["excluded"])
        matched = {part: count - left[part] for part, count in found["candidates"].items()}
        of_part = {part: _plus(parts.bounds((part,)), matched[part]) for part in matched}
        of_arm = _plus(parts.bounds(tuple(left)), sum(matched.values()))
        if row.metric == "unmatched":
            return self._bounded(row, parts.bounds((row.part,)), of_part[row.part])
        if row.metric == "excluded":
            everybody = _plus(parts.bounds((*left, *found["excluded"])), sum(matched.values()))
            return self._bounded(row, parts.bounds((row.part,)), everybody)
        return self._bounded(row, of_part[row.part or "present"], of_arm)

    def _partition(self, group: list[Row]) -> Iterator[tuple[Row, list[Row]]]:
        first, cells = group[0], {row.part: row.count_low or 0 for row in group}
        size, whole = self.size(first), sum(cells.values())
        if first.by == "reason":
            # How many were left out says how many were not: a set within the size, in parts.
            known = nested([self.sizes(first)[0][0], whole])[-1]
            parts = pool(cells) if _is_exact(known) else Parts({}, tuple(part for part in cells if cells[part]), known)
        elif rest := (first.of_low or 0) - whole:
            parts = pool(cells | {REST: rest})
        else:
            parts = pool(cells)
        stands = _is_exact(size) and size[1] > MOST and (first.metric != "uniqueness" or self._is_apart(first, cells))
        yield from self._as_parts(group, parts if stands else None, size)

    def _is_apart(self, row: Row, cells: Mapping[str, int]) -> bool:
        """Whether no count of 1 to 10 follows of how many have no prompt, beside how many targets were not asked.

        The targets without a prompt are some of the split's: what each leaves of the other is a count, too.
        """
        none, others = cells.get(_NO_PROMPT, 0), (row.of_low or 0) - self.targets[row.arm]
        by_form: dict[str, dict[str, int]] = defaultdict(dict)
        for other in self.exact.rows("excluded", tier=row.tier, arm=row.arm, by="reason"):
            by_form[other.form][other.part] = other.count_low or 0
        is_pooled = _NO_PROMPT in pool(cells).pooled
        for reasons in by_form.values() or [{}]:
            left_out, of_targets = sum(reasons.values()), reasons.get(NO_FACT, 0)
            if not none or (is_pooled and left_out <= MOST):
                # Neither number is printed.
                continue
            of_others = none - of_targets
            left = (none, of_targets, left_out - of_targets, of_others, others - of_others)
            if is_pooled or any(map(is_small, left)):
                return False
        return True

    def _as_parts(self, group: list[Row], parts: Parts | None, of: Bounds) -> Iterator[tuple[Row, list[Row]]]:
        for row in group:
            if parts is None:
                yield row, [_none(row, FEW_LEFT_OUT)]
            elif row.part not in parts.pooled or len(parts.known) == len(parts.pooled):
                yield row, [self._bounded(row, parts.bounds((row.part,)), of)]
            elif row.part == next(part for part in parts.pooled if part != REST):
                yield row, [self._bounded(row._replace(part=JOINED.join(parts.pooled)), parts.total, of)]
            else:
                yield row, []

    def _subgroups(self, group: list[Row]) -> Iterator[tuple[Row, list[Row]]]:
        """Yield the share with own text by group: printed where the whole is, pooled as the population is."""
        first = group[0]
        people = self.exact.rows("population", arm=first.arm, by=first.by, diagnosis="")
        sizes = {row.part: row.count_low or 0 for row in people}
        parts = pool(sizes)
        of_part: dict[str, tuple[int, ...]] = {}
        for row in group:
            has, of = row.count_low or 0, row.of_low or 0
            # Beside the population's groups, those asked would say how many were not.
            of_part[row.part] = has, of - has, sizes.get(row.part, of) - of
        kinds = {part: of_part.pop(part) for part in list(of_part) if part in parts.exact or not people}
        if of_part:
            kinds[JOINED.join(of_part)] = tuple(map(sum, zip(*of_part.values(), strict=True)))
        whole = self._at(first, by="", part="")
        is_known = whole is not None and self._one(whole).value is not None and self.steps[whole.place] == 0
        rows = [
            self._bounded(first._replace(part=JOINED.join(names)), (some, some), (some + others, some + others))
            for names, (some, others, _) in (pool_groups(kinds) if is_known and kinds else {}).items()
        ]
        for row in group:
            yield row, [_none(row, FEW)] if not rows else rows if row is first else []

    # Figures made of several counts.

    def _sides(self, row: Row, arm: str, sides: Sequence[str] = _SIDES) -> list[Parts | None]:
        return [self.verdicts.get((row.form, row.tier, arm, row.diagnosis, side)) for side in sides]

    def _cells(self, row: Row, arm: str) -> list[Row]:
        return self.exact.rows("verdicts", form=row.form, tier=row.tier, arm=arm, diagnosis=row.diagnosis)

    def _of_verdicts(self, row: Row) -> Row:
        counted, of_which, sides = _OF_VERDICTS[row.metric]
        known = [side for side in self._sides(row, row.arm, sides) if side is not None]
        if len(known) == len(sides):
            count, of = (_sum([side.bounds(cells) for side in known]) for cells in (counted, of_which))
            return self._bounded(row, count, of)
        sizes = {other.by: self.size(other) for other in self._cells(row, row.arm) if other.by in sides}
        if row.value is None or not sizes or min(size[0] for size in sizes.values()) <= MOST:
            return _none(row, FEW_LEFT_OUT)
        least = sum(size[0] for size in sizes.values())
        if is_small(row.count_low):
            row = row._replace(value=None, low=0.0, high=beta_bounds(min(MOST, least), least)[1])
        return self._outward(_without_counts(row), _coarse(least))

    def _statistic(self, row: Row) -> Row:
        """Return an AUROC, or a rate of verdicts, of one arm or two."""
        row = _without_counts(row)
        if not row.diagnosis:
            sizes = [other.value or 0 for other in self.exact.rows("patients", tier="", diagnosis="")
                     if other.arm in ("train", "nontrain")]  # fmt: skip
            return self._outward(row, FINE if min(sizes, default=0) >= ENOUGH else COARSE)
        arms = row.arm.split("-")
        sides = [side for arm in arms for side in self._sides(row, arm)]
        known = [side for side in sides if side is not None]
        is_exact = len(known) == len(sides) and all(side.are_exact for side in known)
        if METRICS[row.metric].unit == "rate" and row.metric != "detectable_difference":
            needed = known[::2] if row.metric == "corrected_sensitivity" else known
            stand = len(known) == len(sides) and all(
                _is_exact(side.bounds(cells)) for side in needed for cells in (("positive",), _JUDGED)
            )
            return self._outward(row, FINE) if stand else _none(row, FEW)
        cells = {arm: self._cells(row, arm) for arm in arms}
        if row.metric == "auroc":
            mention = (sum(of.count_low or 0 for of in own if of.part in _MENTIONS) for own in cells.values())
            if min(mention) < ENOUGH:
                return _none(row, FEW_MENTION)
        fewest = min((of.of_low or 0 for own in cells.values() for of in own), default=0)
        step = FINE if is_exact and fewest >= ENOUGH else COARSE if fewest >= FEW_IN_GROUP else _coarse(fewest)
        if row.metric == "detectable_difference":
            # Rounded up: what is smaller might not have been seen.
            row = self._outward(row._replace(value=None, high=row.value), step)
            return row._replace(value=row.high, high=None)
        if fewest < FEWEST_OF and not is_exact:
            return _none(row, FEW)
        # Beside its ends, an AUROC of few patients would nearly give the cells away.
        return self._outward(row._replace(value=None) if fewest < FEW_IN_GROUP and row.low is not None else row, step)

    def _difference(self, row: Row) -> Row:
        """Return a difference of two arms, in the wider of their steps."""
        if METRICS[row.metric].unit in ("auroc", "rate"):
            return self._statistic(row)
        sides = [side for arm in row.arm.split("-") if (side := self._at(row, arm=arm)) is not None]
        printed = [self._one(side) for side in sides]
        if len(printed) < 2 or any(side.place not in self.steps for side in printed):
            return _none(row, FEW)
        step = max(FINE, *(self.steps[side.place] for side in printed))
        # Ends of the exact difference would say which count it was: those of all that are printed of either side, of
        # 100 patients or more of the half that the count is in.
        exact = [side.count_low if step == COARSE else None for side in sides]
        ends = [_ends(side, count) for side, count in zip(printed, exact, strict=True)]
        if METRICS[row.metric].unit == "mean" or step == FINE or (step == COARSE and None in ends):
            return self._outward(_without_counts(row), step)
        if None in ends:
            return _none(row, FEW)
        (least, most), (other_least, other_most) = (end for end in ends if end is not None)
        low = least.value - other_most.value - math.hypot(least.value - least.low, other_most.high - other_most.value)
        high = most.value - other_least.value + math.hypot(most.high - most.value, other_least.value - other_least.low)
        row = _without_counts(row)._replace(value=None, low=low, high=high)
        return self._outward(row, COARSE if step == COARSE else FINE)

    def _mean_over_diagnoses(self, row: Row) -> Row:
        place = row._asdict()
        alike = self.exact.rows(row.metric, **{key: place[key] for key in ("form", "tier", "arm", "by", "part")})
        of = [other for other in alike if other.diagnosis != "mean" and other.value is not None]
        if any(other.place not in self.steps for other in of):
            return _none(row, FEW_SETS if any(map(self._is_of_few_sets, of)) else FEW)
        step = max([FINE, *(self.steps[other.place] for other in of)])
        if METRICS[row.metric].unit != "share" or "-" in row.arm or step == FINE:
            return self._outward(row, step)
        ends = [self._between(self._one(other)) for other in of]
        low, high = (sum(end[side] for end in ends) / len(ends) for side in (0, 1))
        return _outward(_without_counts(row)._replace(value=None, low=low, high=high), FINE)

    def _between(self, row: Row) -> tuple[float, float]:
        """Return the ends between which a printed share lies."""
        if ends := _ends(row):
            return ends[0].value, ends[1].value
        if row.value is not None:
            return row.value - self.steps[row.place] / 2, row.value + self.steps[row.place] / 2
        return row.low or 0.0, row.high or 1.0

    def _at(self, row: Row, **place: str) -> Row | None:
        """Return the exact row at another place."""
        return self.exact.find(**dict(zip(PLACE, row.place, strict=True)) | place)

    def _alike(self, row: Row) -> list[Row]:
        """Return the rows at a row's place, of any part of the same kind."""
        return self.groups[_group(row)]


class _End(NamedTuple):
    """A share at one end of what is printed of it, with its interval."""

    value: float
    low: float
    high: float


def _ends(row: Row, exact: int | None = None) -> tuple[_End, _End] | None:
    """Return a printed share at its least and at its most; None where its counts are not printed.

    Where the exact count is given, of the half of the printed bounds that it lies in, if that holds four at least.
    """
    if row.count_low is None or row.count_high is None or not row.of_low or not row.of_high:
        return None
    low, high = row.count_low, row.count_high
    if exact is not None and high - low + 1 >= 2 * FEWEST_LEFT:
        middle = (low + high) // 2
        low, high = (low, middle) if exact <= middle else (middle + 1, high)
    counts = (low, row.of_high), (min(high, row.of_low), row.of_low)
    least, most = (_End(count / of, *beta_bounds(count, of)) for count, of in counts)
    return least, most


def _group(row: Row) -> tuple[str, ...]:
    return row.place[:-1]


def _composition(group: list[Row]) -> Iterator[tuple[Row, list[Row]]]:
    """Yield the shares of one composition: neither what is shown nor what is left out rests on 1 to 10 patients."""
    left = {row.part for row in group if is_small(row.behind)}
    shown = sorted((row for row in group if row.part not in left and row.value), key=lambda row: (row.value, row.part))
    while left and shown and all(is_small(row.behind) for row in group if row.part in left):
        left.add(shown.pop(0).part)
    for row in group:
        yield row, [_none(row, FEW) if row.part in left or not shown else _two_digits(row)]


def _none(row: Row, reason: str) -> Row:
    """Return a row without a figure, and why."""
    row = _without_counts(row)
    return row._replace(value=None, low=None, high=None, of_low=None, of_high=None, reason=row.reason or reason)


def _without_counts(row: Row) -> Row:
    return row._replace(count_low=None, count_high=None, of_low=None, of_high=None, behind=None)


def _hidden(row: Row, count: Bounds, of: Bounds | None) -> Row:
    """Return a count within bounds, its value where they are one."""
    least, most = of if of is not None else (None, None)
    row = row._replace(count_low=count[0], count_high=count[1], of_low=least, of_high=most, behind=None)
    return row._replace(value=float(count[0]) if _is_exact(count) else None)


def _outward(row: Row, step: float) -> Row:
    """Return a row with its figure in steps, the ends of its interval outward."""

    def to(of: float | None, rounded: Callable[[float], float]) -> float | None:
        # What is a whole number of steps but for the last bits is one.
        return None if of is None else min(1.0, max(-1.0, round(rounded(round(of / step, 9)) * step, 6)))

    return row._replace(value=to(row.value, round), low=to(row.low, math.floor), high=to(row.high, math.ceil))


def _coarse(of: int) -> float:
    """Return the step of figures of so many patients, a hidden count among them: 5%, and at least five patients."""
    return min(1.0, COARSE * math.ceil(ENOUGH / max(1, of)))


def _two_digits(row: Row) -> Row:
    """Return a figure of text: whole percents, or two digits."""
    value = row.value or 0.0
    digits = 2 if abs(value) < 1 else 1 - math.floor(math.log10(abs(value)))
    return row._replace(value=round(value, digits), behind=None)


def _is_exact(bounds: Bounds) -> bool:
    return bounds[0] == bounds[1]


def _plus(bounds: Bounds, more: int) -> Bounds:
    return bounds[0] + more, bounds[1] + more


def _sum(several: Sequence[Bounds]) -> Bounds:
    return sum(low for low, _ in several), sum(high for _, high in several)


def _number(part: str) -> float:
    return float(re.sub(r"[^0-9.]", "", part) or 0)
