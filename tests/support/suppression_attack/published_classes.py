"""What a reader of the coarse table learns of a world's counts: classes, means and text as linear inequalities.

Owns where in the coarse table which sum of counts stands, as a reader would read it. Verdicts and standardized
differences are no inequalities, and not here.
"""

import math
from collections.abc import Iterator, Mapping, Sequence

from support.results.random_worlds import (
    AGES,
    ARMS,
    COPY_BINS,
    CORPUS_PARTITIONS,
    FRACTION_BINS,
    GROUPS,
    K_BINS,
    KINDS,
    MISSING,
    OTHERS_TEXT,
    REFERS,
    ROWS,
    SECTIONS,
    SECTIONS_OF,
    TOKENS,
    UNSURE,
    VERDICTS,
    Law,
    Sum,
    World,
    add,
    minus,
)
from support.results.world_follow_up import cells_of, days_of
from support.results.world_guard import guard_cells
from support.results.world_identifiability import BOTH, shown_partitions
from support.results.world_identifiers import shown_identifiers
from support.results.world_others import others_cells

from clinaudit.reports.schema.disclosure import VerdictCounts
from clinaudit.reports.schema.judge import ANSWER_CELLS
from clinaudit.reports.schema.numbers import NOBODY, CountRange
from clinaudit.reports.suppression.coarse_table import (
    Coarse,
    CoarseFollowUp,
    CoarseFraction,
    CoarseGroup,
    CoarseGuard,
    CoarseMemorization,
)
from clinaudit.reports.tally.classes import ARM_STEP, COHORT_STEP, OTHERS, MeanClass

_YEAR_DAYS = 365.25
#: By field of `CoarseMemorization.fractions`.
_FRACTIONS = {
    "memorized_fraction": "memorized",
    "memorized_fraction_without_echo": "unechoed",
    "attributable_fraction": "attributable",
    "attributable_fraction_unmasked": "unmasked",
    "near_verbatim_attributable_fraction": "near_attributable",
}
#: Share of a range at its ends that is left out: a number there may be rounded either way.
_EDGE = 1e-3


class Reader:
    """A reader of the coarse table of one world, who writes down what it says of the counts."""

    def __init__(self, world: World, coarse: Coarse) -> None:
        self._world = world
        self._coarse = coarse

    def clues(self) -> list[Law]:
        """Return all that is published, as far as it is linear."""
        return list(self._read())

    def _read(self) -> Iterator[Law]:
        world, coarse = self._world, self._coarse
        for tier in world.tiers:
            for arm in ARMS:
                if arm in coarse.memorization[tier]:
                    yield from self._memorization(tier, arm, coarse.memorization[tier][arm])
                else:
                    yield Law(world.patients(tier, arm), 0, 0)
                yield from self._groups(tier, arm)
        for diagnosis in world.diagnoses:
            for tier in world.tiers:
                yield from self._disclosure(diagnosis, tier)
            cohort = coarse.cohorts[diagnosis]
            candidates = {
                name: {f"candidates/{diagnosis}/train/{row}": 1}
                for name, row in zip(("present", "absent"), ROWS, strict=True)
            }
            yield from self._partition(candidates, cohort.candidates)
            # They are told as from 1 on; but who knows the program knows of which class the upper end is.
            excluded = {
                reason: CountRange(low=count.high - min(count.high, COHORT_STEP) + (count.high > 0), high=count.high)
                for reason, count in cohort.excluded.items()
            }
            yield from self._partition({r: {f"excluded/{diagnosis}/{r}": 1} for r in UNSURE}, excluded)
        yield from shown_identifiers(world, coarse)
        yield from self._corpus()
        yield from self._ledger()
        yield from self._judge()

    # How a class, a mean and a text become inequalities

    def _class(self, sum_: Sum, count: CountRange) -> Law:
        return Law(sum_, count.low, count.high)

    def _partition(self, cells: Mapping[str, Sum], shown: Mapping[str, CountRange]) -> Iterator[Law]:
        """Read a partition; cells that it does not name are empty, or pooled."""
        pooled = [name for name in cells if name not in shown]
        for name, sum_ in cells.items():
            if name in shown and name != OTHERS:
                yield self._class(sum_, shown[name])
        if OTHERS in shown:
            # Those without anybody have no name, and which these are is public.
            yield self._class(add(*(cells[name] for name in pooled)), shown[OTHERS])
            yield from (self._emptiness(cells[name]) for name in pooled)
        else:
            yield from (self._class(cells[name], NOBODY) for name in pooled)

    def _emptiness(self, sum_: Sum) -> Law:
        """Take as known whether anybody is in a pooled cell: it decides what is pooled."""
        return Law(sum_, 1) if self._world.value(sum_) else Law(sum_, 0, 0)

    def _mean(self, total: Sum, patients: Sum, scale: float, mean: MeanClass) -> Iterator[Law]:
        """Read a mean over patients: the total is `scale` times it and them."""
        number = self._world.value(patients)
        value = self._world.value(total) / number / scale if number else 0.0
        yield from self._ratio(total, patients, scale, mean.low, mean.high, value)

    def _ratio(self, part: Sum, whole: Sum, scale: float, low: float, high: float, value: float) -> Iterator[Law]:
        low, high = _inside(low, high, value)
        yield Law(minus(part, _times(whole, low * scale)), -_slack(low))
        yield Law(minus(_times(whole, high * scale), part), -_slack(high))

    def _text(self, shown: float | None, part: Sum, whole: Sum, *behind: Sum) -> Iterator[Law]:
        """Read a figure of text of two digits, and of whom it says that they are few."""
        for patients in behind:
            yield self._few(patients)
        if shown is None:
            return
        if not shown:
            yield Law(part, 0, 0)
            return
        digit = 10.0 ** (math.floor(math.log10(shown) + 1e-12) - 1)
        # Below a power of ten, digits are a tenth as large.
        below = digit / 20 if abs(shown / digit - 10) < 1e-6 else digit / 2
        value = self._world.value(part) / self._world.value(whole)
        yield from self._ratio(part, whole, 1, shown - below, shown + digit / 2, value)

    def _few(self, patients: Sum) -> Law:
        """Take as known whether nobody, few or more stand behind a text: it decides what is shown."""
        count = self._world.value(patients)
        if not count:
            return Law(patients, 0, 0)
        return Law(patients, 1, ARM_STEP) if count <= ARM_STEP else Law(patients, ARM_STEP + 1)

    def _shares(self, places: Mapping[str, str], shown: Mapping[str, float | None]) -> Iterator[Law]:
        """Read shares of what is shown; `places` of units and the patients behind them, by name."""
        for place in places.values():
            yield self._few({f"{place}/patients": 1})
        all_shown = add(
            *(
                {f"{places[name]}/units": 1}
                for name, share in shown.items()
                if name in places and self._shows(places[name])
            )
        )
        total = self._world.value(all_shown)
        for name, share in shown.items():
            if share is not None and name in places and total:
                part = {f"{places[name]}/units": 1}
                yield from self._ratio(
                    part, all_shown, 1, share - 0.005, share + 0.005, self._world.value(part) / total
                )
        yield Law(all_shown, 1) if total else Law(all_shown, 0, 0)

    def _shows(self, place: str) -> bool:
        return not 1 <= self._world.counts[f"{place}/patients"] <= ARM_STEP

    # The families

    def _memorization(self, tier: str, arm: str, coarse: CoarseMemorization) -> Iterator[Law]:
        world = self._world
        place = f"mem/{tier}/{arm}/{{}}".format
        patients = world.patients(tier, arm)
        hit, near = world.above(tier, arm, "memorized"), coarse.near_verbatim
        assert near is not None
        fractions = {_FRACTIONS[name]: fraction for name, fraction in coarse.fractions.items()}
        fractions |= {"near": near.fraction, "extra": near.extra_fraction}
        if coarse.guard is not None:
            yield from self._guard(tier, arm, coarse.guard)
        others = coarse.other_patients
        assert others is not None
        of_others = (others.fraction, others.sampled_fraction, others.chance)
        fractions |= {name: told for name, told in zip(OTHERS_TEXT, of_others, strict=True) if told is not None}
        yield from self._partition(others_cells(world, tier, arm), others.patients)
        yield self._class(add(place("owners")), others.others)
        for fraction, shown in fractions.items():
            yield from self._fraction(tier, arm, fraction, shown)
        shown_cells = (coarse.hits, coarse.attributable, near.patients, near.extra_patients)
        for fraction, cells in zip(("memorized", "attributable", "near", "extra"), shown_cells, strict=True):
            some = world.above(tier, arm, fraction)
            yield from self._partition({"any": some, "none": minus(patients, some)}, cells)
        alone = {"empty": coarse.empty, "short": coarse.short, "refused": coarse.refused}
        yield from (self._class(add(place(name)), count) for name, count in alone.items() if count is not None)
        if coarse.asked is not None:
            yield self._class(add(patients, place("refused")), coarse.asked)
        text = coarse.text
        yield from self._text(text["source_notes_mean"], add(place("source_notes")), hit, hit)
        yield from self._text(
            text["stitched_share"],
            add(place("stitched/units")),
            add(place("regions")),
            add(place("stitched/patients")),
            add(place("unstitched/patients")),
        )
        templated = [place(f"{kind}/{s}/units") for kind in KINDS if kind.startswith("templated") for s in SECTIONS]
        yield from self._text(
            text["templated_share"],
            add(*templated),
            add(place("memorized/sum")),
            add(place("templated/patients")),
            add(place("revealing/patients")),
        )
        shared = add(*(place(f"k/{name}/units") for name in K_BINS[1:]))
        yield from self._text(
            text["multi_patient_share"],
            shared,
            add(shared, place("k/1/units")),
            add(place("shared/patients")),
            add(place("k/1/patients")),
        )
        if text["region_tokens"] is not None:
            # The lengths of regions follow from how many there are, in no straight line.
            regions = world.counts[place("regions")]
            yield Law(add(place("regions")), regions, regions)
        yield from self._shares({name: place(f"k/{name}") for name in K_BINS}, dict(coarse.k_distribution))
        yield from self._shares({name: place(f"copy/{name}") for name in COPY_BINS}, dict(coarse.copy_forward))
        cells = {f"{kind} {section}": place(f"{kind}/{section}") for kind in KINDS for section in SECTIONS_OF[kind]}
        shares = {f"{kind} {section}": share for section, row in coarse.sections for kind, share in row.items()}
        yield from self._shares(cells, shares)
        any_near = world.above(tier, arm, "near")
        yield from self._text(near.longest_region, add(place("longest/sum")), any_near, any_near)

    def _guard(self, tier: str, arm: str, coarse: CoarseGuard) -> Iterator[Law]:
        world, place = self._world, f"mem/{tier}/{arm}/guard/{{}}".format
        for name, cells in guard_cells(world, tier, arm).items():
            yield from self._partition(cells, getattr(coarse, name))
        patients, cut = world.patients(tier, arm), add(place("recitation/patients"))
        lost, others = add(place("recitation/sum")), minus(patients, cut)
        yield from self._text(coarse.recitation_tokens_cut, lost, patients, cut, others)

    def _fraction(self, tier: str, arm: str, fraction: str, shown: CoarseFraction) -> Iterator[Law]:
        world = self._world
        bins = [{f"mem/{tier}/{arm}/{fraction}/bin/{k}": 1} for k in range(len(FRACTION_BINS))]
        patients = world.patients(tier, arm)
        for sum_, count in zip([minus(patients, *bins), *bins], shown.bins, strict=True):
            yield self._class(sum_, count)
        yield from self._mean(add(f"mem/{tier}/{arm}/{fraction}/sum"), patients, TOKENS, shown.mean)

    def _groups(self, tier: str, arm: str) -> Iterator[Law]:
        world, coarse = self._world, self._coarse
        assert coarse.group_memorization is not None
        assert coarse.group_disclosure is not None
        for affected, by_tier in (("attributable", coarse.group_memorization), ("exposed", coarse.group_disclosure)):
            if tier not in by_tier:
                # Not published at all, which says nothing.
                continue
            rows = by_tier[tier].get(arm, ())  # type: ignore[call-overload]
            for partition, groups in GROUPS.items():
                cells = {}
                for group in groups:
                    part = {f"{partition}/{arm}/{affected}/{tier}/{group}": 1}
                    asked: Sum = {f"{partition}/{arm}/asked/{tier}/{group}": 1}
                    whole = world.at_tier(tier, arm, partition, group) if affected == "attributable" else asked
                    cells[group] = (part, minus(whole, part))
                yield from self._group_rows(cells, [row for row in rows if row.partition == partition])

    def _group_rows(self, cells: Mapping[str, tuple[Sum, Sum]], rows: Sequence[CoarseGroup]) -> Iterator[Law]:
        shown = {row.group: row for row in rows}
        pooled = []
        for group, (part, others) in cells.items():
            if group in shown:
                yield self._class(part, shown[group].affected)
                yield self._class(others, shown[group].unaffected)
            elif OTHERS in shown:
                pooled.append((part, others))
                yield self._emptiness(part)
                yield self._emptiness(others)
            else:
                yield self._class(add(part, others), NOBODY)
        if pooled:
            yield self._class(add(*(part for part, _ in pooled)), shown[OTHERS].affected)
            yield self._class(add(*(others for _, others in pooled)), shown[OTHERS].unaffected)

    def _disclosure(self, diagnosis: str, tier: str) -> Iterator[Law]:
        world, coarse = self._world, self._coarse
        pair = coarse.disclosure[diagnosis][tier]
        for arm in ARMS:
            for row, status in zip(ROWS, ("present", "absent"), strict=True):
                first = {o: world.table(diagnosis, tier, arm, row, (o,)) for o in (*VERDICTS, "unjudged")}
                yield from self._row(first, pair.verdicts[arm][status])  # type: ignore[index]
        reasons: dict[str, Sum] = {r: {f"pair/{diagnosis}/{tier}/dropped/{r}": 1} for r in (MISSING, REFERS)}
        yield from self._partition(reasons, pair.dropped_sets)

    def _row(self, cells: Mapping[str, Sum], shown: VerdictCounts) -> Iterator[Law]:
        for verdict in ("positive", "negative", "ambiguous", "unjudged"):
            yield self._class(cells[verdict], getattr(shown, verdict))
        yield self._class(add(cells["ambiguous"], cells["not_mentioned"]), shown.undecided)

    def _corpus(self) -> Iterator[Law]:
        world, corpus = self._world, self._coarse.corpus
        assert corpus is not None
        assert corpus.targets_in_both_splits is not None
        yield self._class({BOTH: 1}, corpus.targets_in_both_splits)
        for name, shown in (corpus.splits | corpus.cohorts).items():  # type: ignore[operator]
            cells = {"sex": shown.sex, "race": shown.race, "age": shown.age_bands}
            for partition in CORPUS_PARTITIONS:
                groups = {group: world.population(name, partition, group) for group in GROUPS[partition]}
                yield from self._partition(groups, cells[partition])
            known = add(*(world.population(name, "age", band) for band in AGES))
            if shown.age is not None:
                yield from self._mean(add(f"age/sum/{name}"), known, 1, shown.age)
            if name in ARMS:
                for partition_ in shown_partitions(world, name, corpus.identifiability[name]):  # type: ignore[index]
                    yield from self._partition(*partition_)
                patients, of_one = world.all_patients(name), shown.text
                yield from self._follow_up(name, corpus.follow_up[name])  # type: ignore[index]
                if shown.practice_patients is not None:  # each is in one practice, the only one
                    yield self._class(patients, shown.practice_patients)
                yield from self._text(of_one["tokens_per_note"], add(f"tokens/{name}"), add(f"notes/{name}"), patients)
                for kind in ("notes", "tokens"):
                    total = add(f"{kind}/{name}")
                    yield from self._text(of_one[f"{kind}_per_patient"], total, patients, patients)
                    if of_one[kind] is not None:
                        yield from self._total(total, of_one[kind] or 0.0)

    def _follow_up(self, arm: str, coarse: CoarseFollowUp) -> Iterator[Law]:
        yield from self._partition(cells_of(arm), coarse.patients)
        days, patients = days_of(arm)
        if coarse.span_years is not None:
            yield from self._mean(days, patients, _YEAR_DAYS, coarse.span_years)

    def _total(self, total: Sum, shown: float) -> Iterator[Law]:
        digit = 10.0 ** (math.floor(math.log10(shown) + 1e-12) - 1) if shown else 1.0
        below = digit / 20 if abs(shown / digit - 10) < 1e-6 else digit / 2
        value = self._world.value(total)
        yield Law(total, *_inside(shown - below, shown + digit / 2, value))

    def _ledger(self) -> Iterator[Law]:
        world = self._world
        excluded = {}
        for tier in world.tiers:
            excluded[f"{tier}: {MISSING}"] = add(*(f"total/missing/{tier}/{arm}" for arm in ARMS))
            refers = [f"pair/{d}/{tier}/own/{REFERS}/{arm}" for d in world.diagnoses for arm in ARMS]
            excluded[f"{tier}: {REFERS}"] = add(*refers)
        shown = self._coarse.completeness["priors"].excluded
        # They are not given at all, which says nothing.
        if shown:
            yield from self._partition(excluded, shown)

    def _judge(self) -> Iterator[Law]:
        judge = self._coarse.judge
        assert judge is not None
        for truth, row in judge.matrix.items():
            for verdict, count in row.items():
                yield self._class({f"judge/{truth}/{verdict}": 1}, count)
        kinds = {"agreements": "agree", "disagreements": "disagree", "unjudged": "unjudged"}
        yield from self._partition({name: {f"judges/{kind}": 1} for name, kind in kinds.items()}, judge.second)
        assert judge.run_answers is not None
        yield from self._partition({cell: {f"judges/{cell}": 1} for cell in ANSWER_CELLS}, judge.run_answers.cells)


def _times(sum_: Sum, factor: float) -> dict[str, float]:
    return {name: factor * count for name, count in sum_.items()}


def _inside(low: float, high: float, value: float) -> tuple[float, float]:
    """Return the range without its very ends, unless the value lies there."""
    edge = _EDGE * (high - low)
    return min(low + edge, value), max(high - edge, value)


def _slack(factor: float) -> float:
    """Return what the rounding of a product may come to."""
    return 1e-9 * (1 + abs(factor))
