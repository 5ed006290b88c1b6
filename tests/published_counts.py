"""Where a world's counts stand in the results, and what a reader of the published copy learns of them.

Owns the list of counts and rates with their places. `clues` turns what is shown of them into linear inequalities:
a count that is shown, a share to the decimals that it is shown with, a band. Knows nothing of how counts were hidden.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from random_worlds import (
    ARMS,
    COPY_BINS,
    CORPUS_PARTITIONS,
    FRACTION_BINS,
    GROUPS,
    K_BINS,
    KINDS,
    MISSING,
    OUTCOMES,
    REFERS,
    ROWS,
    SECTIONS,
    UNSURE,
    VERDICTS,
    Law,
    Sum,
    World,
    add,
    minus,
    population_of,
)

from clinaudit.reports.results import Disclosure, Estimate, Memorization, Results

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


def list_places(world: World) -> tuple[list[Place], list[Share]]:
    """Return every count and share of a world that the results have a place for, and differences between them."""
    places: list[Place] = []
    shares: list[Share] = []
    for population in (*ARMS, *world.diagnoses):
        _people(world, population, places, shares)
    for diagnosis in world.diagnoses:
        _cohort(world, diagnosis, places, shares)
        for tier in world.tiers:
            _pair(world, diagnosis, tier, places, shares)
    for arm in ARMS:
        places.append(Place(f"corpus/{arm}/no targets", {f"total/rest/{arm}": 1}))
    for tier in world.tiers:
        for arm in ARMS:
            _memorization(world, tier, arm, places, shares)
            for partition in GROUPS:
                _groups(world, tier, arm, partition, places, shares)
    _ledger(world, places)
    _judge(places, shares)
    return places, shares


def _people(world: World, population: str, places: list[Place], shares: list[Share]) -> None:
    def summary(results: Results):
        assert results.corpus is not None
        return results.corpus.splits[population] if population in ARMS else results.corpus.cohorts[population]

    fields = {"sex": "sex", "race": "race", "age": "age_bands"}
    for partition in CORPUS_PARTITIONS:
        groups = {group: population_of(world, population, partition, group) for group in GROUPS[partition]}
        for group, people in groups.items():

            def read(results: Results, group: str = group, partition: str = partition) -> int | None:
                shown = getattr(summary(results), fields[partition])
                # A group that nobody is in has no key, unless the whole was withheld.
                return shown.get(group, 0) if shown else None

            def is_named(results: Results, group: str = group, partition: str = partition) -> bool:
                return group in getattr(summary(results), fields[partition])

            places.append(Place(f"corpus/{population}/{partition}/{group}", people, read, is_named=is_named))
    places.append(Place(f"corpus/{population}", add(*groups.values()), lambda results: summary(results).patients))
    known = add(*(people for group, people in groups.items() if group != "unknown"))
    shares.append(Share({f"age/sum/{population}": 1}, known, lambda results: summary(results).age.mean))


def _cohort(world: World, diagnosis: str, places: list[Place], shares: list[Share]) -> None:
    cell = {f"total/cell/{diagnosis}": 1}
    places.append(
        Place(f"cohort/{diagnosis}", cell, lambda results: results.cohorts[diagnosis].cells["train_positive"])
    )
    for reason in UNSURE:

        def excluded(results: Results, reason: str = reason) -> int | None:
            return results.cohorts[diagnosis].excluded.get(reason, 0)

        name = f"overlap/{diagnosis}/excluded/{reason}"
        places.append(
            Place(
                name,
                {name: 1},
                excluded,
                is_named=lambda results, why=reason: why in results.cohorts[diagnosis].excluded,
            )
        )
    sums = {}
    for arm in ARMS:
        for status, row in (("positive", "1"), ("negative", "0")):
            for kind in ("candidates", "matched"):
                parts = [f"overlap/{diagnosis}/{arm}/{row}/{kind}/{k}" for k in range(world.overlap_bins)]
                sums[arm, row, kind] = add(*parts)
                # Bins may be joined: what is shown between two edges is the sum of what lies between them.
                for first in range(world.overlap_bins):
                    for last in range(first, world.overlap_bins):
                        edges = first / world.overlap_bins, (last + 1) / world.overlap_bins

                        def joined(
                            results: Results,
                            arm: str = arm,
                            edges: tuple[float, float] = edges,
                            name: str = f"{status}_{kind}",
                        ) -> int | None:
                            rows = results.cohorts[diagnosis].overlap
                            return next(
                                (getattr(r, name) for r in rows if r.arm == arm and (r.low, r.high) == edges), None
                            )

                        where = f"overlap/{diagnosis}/{arm}/{row}/{kind}/{first}-{last}"
                        places.append(Place(where, add(*parts[first : last + 1]), joined))
            whole = minus(sums[arm, row, "candidates"], sums[arm, row, "matched"])
            places.append(Place(f"overlap/{diagnosis}/{arm}/{row}/unmatched", whole))
    train = [sums["train", row, "candidates"] for row in ROWS]
    shares.append(Share(train[0], add(*train), lambda results: results.cohorts[diagnosis].prevalence))
    places.append(Place(f"prevalence/{diagnosis}/positive", train[0]))
    places.append(Place(f"prevalence/{diagnosis}/negative", train[1]))


def _pair(world: World, diagnosis: str, tier: str, places: list[Place], shares: list[Share]) -> None:
    for reason in (MISSING, REFERS):

        def dropped(results: Results, reason: str = reason) -> int | None:
            return results.disclosure.by_diagnosis[diagnosis][tier].dropped_sets.get(reason, 0)

        name = f"pair/{diagnosis}/{tier}/dropped/{reason}"
        places.append(
            Place(
                name,
                {name: 1},
                dropped,
                is_named=lambda results, why=reason: (
                    why in results.disclosure.by_diagnosis[diagnosis][tier].dropped_sets
                ),
            )
        )
        for arm in ARMS:
            own = f"pair/{diagnosis}/{tier}/own/{reason}/{arm}"
            places.append(Place(own, {own: 1}))
    places.append(Place(f"pair/{diagnosis}/{tier}/dropped", world.dropped(diagnosis, tier)))
    for arm in ARMS:

        def of(results: Results, arm: str = arm) -> Disclosure:
            side = getattr(results.disclosure.by_diagnosis[diagnosis][tier], arm)
            assert side is not None
            return side

        def cells(rows: str, outcomes: tuple[str, ...], arm: str = arm) -> dict[str, int]:
            return world.table(diagnosis, tier, arm, tuple(rows), outcomes)

        judged, mentions = OUTCOMES[:-1], OUTCOMES[:3]
        where = f"table/{diagnosis}/{tier}/{arm}"
        places += [
            Place(f"{where}/generations", cells("10", OUTCOMES), lambda results, of=of: of(results).generations),
            Place(f"{where}/mentioned", cells("10", mentions), lambda results, of=of: of(results).mentioned),
            Place(f"{where}/unjudged", cells("10", ("unjudged",)), lambda results, of=of: of(results).unjudged),
            Place(f"{where}/unmentioned", cells("10", ("not_mentioned",))),
        ]
        for row in ROWS:
            places += [Place(f"{where}/{row}/{outcome}", cells(row, (outcome,))) for outcome in OUTCOMES]
            places.append(Place(f"{where}/{row}/not exposed", minus(cells(row, judged), cells(row, OUTCOMES[:1]))))
        rates = {
            "mention_rate": (cells("10", mentions), cells("10", judged)),
            "sensitivity": (cells("1", OUTCOMES[:1]), cells("1", judged)),
            "false_positive_rate": (cells("0", OUTCOMES[:1]), cells("0", judged)),
            "ppv": (cells("1", OUTCOMES[:1]), cells("10", OUTCOMES[:1])),
            "base_rate": (cells("1", judged), cells("10", judged)),
        }
        shares += [
            Share(
                part,
                whole,
                lambda results, of=of, metric=metric: getattr(of(results), metric),
                is_of_patients=metric != "ppv",
            )
            for metric, (part, whole) in rates.items()
        ]
        for threshold, outcomes in ((1.0, OUTCOMES[:1]), (0.5, OUTCOMES[:2])):
            for row, field in (("1", "true_positive_rate"), ("0", "false_positive_rate")):

                def point(results: Results, of=of, threshold: float = threshold, field: str = field) -> float | None:
                    return next((getattr(p, field) for p in of(results).roc or () if p.threshold == threshold), None)

                shares.append(Share(cells(row, outcomes), cells(row, mentions), point))


def _memorization(world: World, tier: str, arm: str, places: list[Place], shares: list[Share]) -> None:
    def of(results: Results) -> Memorization:
        return results.memorization[tier][arm]

    def name(kind: str) -> str:
        return f"mem/{tier}/{arm}/{kind}"

    patients = world.patients(tier, arm)
    missing = f"total/missing/{tier}/{arm}"

    def patients_shown(results: Results) -> int | None:
        return of(results).patients if of(results).patients is not None else of(results).generations

    hidden = {
        kind: Place(name(kind), {name(kind): 1}) for kind in ("hit", "near", "extra", "exposed", "asked", "hit_rows")
    }
    places += [
        Place(name("patients"), patients, patients_shown),
        Place(name("missing"), {missing: 1}),
        Place(name("empty"), {name("empty"): 1}, lambda results: of(results).empty),
        Place(name("short"), {name("short"): 1}, lambda results: of(results).shorter_than_ngram),
        Place(name("not short"), minus(patients, name("short"))),
        Place(name("short, not empty"), minus(name("short"), name("empty"))),
        Place(name("revealed"), {name("revealed"): 1}, lambda results: of(results).attributable_patients),
        Place(name("not revealed"), minus(patients, name("revealed"))),
        Place(name("hit, not revealed"), minus(name("hit"), name("revealed"))),
        Place(name("not hit"), minus(patients, name("hit"))),
        *hidden.values(),
        Place(name("asked, not exposed"), minus(name("asked"), name("exposed"))),
        Place(
            name("rows"),
            {name("rows"): 1},
            lambda results: None if of(results).paper_view is None else of(results).paper_view.rows,
        ),
    ]
    for k in range(len(FRACTION_BINS)):

        def in_bin(results: Results, k: int = k) -> int | None:
            spread = of(results).distribution
            return None if spread is None else spread.bins[k + 1].patients

        places.append(Place(name(f"bin/{k}"), {name(f"bin/{k}"): 1}, in_bin))
        above = add(*(name(f"bin/{j}") for j in range(k, len(FRACTION_BINS))))

        def share_above(results: Results, k: int = k) -> Estimate | None:
            spread = of(results).distribution
            return None if spread is None else spread.above[k].share

        shares.append(Share(above, patients, share_above))
        places.append(Place(name(f"above/{k}"), above))
    for kind, field in (("k", "k_distribution"), ("copy", "copy_forward")):
        for order, key in enumerate(K_BINS if kind == "k" else COPY_BINS):

            def pieces(results: Results, field: str = field, order: int = order) -> int | None:
                rows = getattr(of(results), field)
                return rows[order].pieces if order < len(rows) else None

            places.append(Place(name(f"{kind}/{key}"), {name(f"{kind}/{key}/units"): 1}, pieces, of_patients=False))
            places.append(Place(name(f"{kind}/{key}/behind"), {name(f"{kind}/{key}/patients"): 1}))
    for section in SECTIONS:
        for kind in KINDS:

            def tokens(results: Results, section: str = section, kind: str = kind) -> int | None:
                return next((getattr(r, kind) for r in of(results).sections if r.section == section), None)

            units = {name(f"{kind}/{section}/units"): 1}
            places.append(Place(name(f"{kind}/{section}"), units, tokens, of_patients=False))
            places.append(Place(name(f"{kind}/{section}/behind"), {name(f"{kind}/{section}/patients"): 1}))
    sums = {kind: {name(kind): 1} for kind in ("hit_sum", "revealed_sum", "extra_sum")}
    fractions = {
        "memorized_fraction": sums["hit_sum"],
        "memorized_fraction_bounds": sums["hit_sum"],
        "attributable_fraction": sums["revealed_sum"],
        "attributable_fraction_bounds": sums["revealed_sum"],
    }
    for field, total in fractions.items():
        shares.append(Share(total, patients, lambda results, field=field: getattr(of(results), field), 1000))
    shares += [
        Share({name("hit"): 1}, patients, lambda results: of(results).hit_rate),
        Share({name("stitched"): 1}, {name("regions"): 1}, lambda results: of(results).stitched_share),
        Share(
            {name("hit_rows"): 1},
            {name("rows"): 1},
            lambda results: None if of(results).paper_view is None else of(results).paper_view.hit_rate,
        ),
        Share(
            {name(f"{kind}/{section}/units"): 1 for kind in KINDS[2:] for section in SECTIONS},
            {name(f"{kind}/{section}/units"): 1 for kind in KINDS for section in SECTIONS},
            lambda results: of(results).templated_share,
        ),
        Share(
            {name(f"k/{k}/units"): 1 for k in K_BINS[1:]},
            {name(f"k/{k}/units"): 1 for k in K_BINS},
            lambda results: of(results).multi_patient_share,
        ),
        Share(sums["extra_sum"], patients, lambda results: of(results).near_verbatim.extra_fraction, 1000),
        Share(
            add(sums["hit_sum"], sums["extra_sum"]), patients, lambda results: of(results).near_verbatim.fraction, 1000
        ),
    ]


def _groups(world: World, tier: str, arm: str, partition: str, places: list[Place], shares: list[Share]) -> None:
    def row(results: Results, kind: str, group: str):
        assert results.subgroups is not None
        rows = getattr(results.subgroups, kind).get(tier, {}).get(arm, [])
        return next((r for r in rows if (r.partition, r.group) == (partition, group)), None)

    def size(kind: str, group: str) -> Callable[[Results], int | None]:
        def read(results: Results) -> int | None:
            found = row(results, kind, group)
            # A group that nobody is in has no row.
            return 0 if found is None else found.patients

        return read

    def named(kind: str, group: str) -> Callable[[Results], bool]:
        return lambda results: row(results, kind, group) is not None

    def figure(kind: str, group: str, field: str) -> Callable[[Results], Estimate | None]:
        def read(results: Results) -> Estimate | None:
            found = row(results, kind, group)
            return None if found is None else getattr(found, field)

        return read

    for group in GROUPS[partition]:
        place = f"{partition}/{arm}/{{}}/{tier}/{group}".format
        here = world.at_tier(tier, arm, partition, group)
        targets = world.targets(arm, partition, group)
        places += [
            Place(place("here"), here, size("memorization", group), is_named=named("memorization", group)),
            Place(place("missing"), {place("missing"): 1}),
            Place(
                place("not here"),
                minus(world.split(arm, partition, group), here) if partition != "notes" else {place("missing"): 1},
            ),
            Place(place("targets"), targets),
            Place(place("hit"), {place("hit"): 1}),
            Place(place("not hit"), minus(here, place("hit"))),
            Place(place("revealed"), {place("revealed"): 1}),
            Place(place("not revealed"), minus(here, place("revealed"))),
            Place(place("asked"), {place("asked"): 1}, size("disclosure", group), is_named=named("disclosure", group)),
            Place(place("exposed"), {place("exposed"): 1}),
            Place(place("not exposed"), minus(place("asked"), place("exposed"))),
        ]
        for field, kind in (("memorized_fraction", "hit_sum"), ("attributable_fraction", "revealed_sum")):
            shares.append(Share({place(kind): 1}, here, figure("memorization", group, field), 1000))
        shares.append(
            Share({place("exposed_sum"): 1}, {place("asked"): 1}, figure("disclosure", group, "sensitivity"), 1000)
        )


def _ledger(world: World, places: list[Place]) -> None:
    for tier in world.tiers:
        missing = add(*(f"total/missing/{tier}/{arm}" for arm in ARMS))
        refers = add(*(f"pair/{d}/{tier}/own/{REFERS}/{arm}" for d in world.diagnoses for arm in ARMS))
        for reason, excluded in ((MISSING, missing), (REFERS, refers)):

            def read(results: Results, key: str = f"{tier}: {reason}") -> int | None:
                return results.completeness["priors"].excluded.get(key, 0)

            def is_named(results: Results, key: str = f"{tier}: {reason}") -> bool:
                return key in results.completeness["priors"].excluded

            places.append(Place(f"ledger/{tier}/{reason}", excluded, read, is_named=is_named))
    planned = add(*(world.patients(tier, arm) for tier in world.tiers for arm in ARMS))
    verdicts = minus(
        {f"total/cell/{d}": 4 * len(world.tiers) for d in world.diagnoses},
        *(world.own(d, tier) for d in world.diagnoses for tier in world.tiers),
    )
    for stage, units in (("priors", planned), ("generations", planned), ("judgements", verdicts)):
        for field in ("planned", "done"):

            def total(results: Results, stage: str = stage, field: str = field) -> int | None:
                return getattr(results.completeness[stage], field)

            places.append(Place(f"ledger/{stage}/{field}", units, total, of_patients=False))


def _judge(places: list[Place], shares: list[Share]) -> None:
    rows = {truth: {v: {f"judge/{truth}/{v}": 1} for v in (*VERDICTS, "unjudged")} for truth in VERDICTS}

    def cell(order: int, verdict: str) -> Callable[[Results], int | None]:
        return lambda results: getattr(results.judge_quality.matrix[order], verdict)

    for order, (truth, cells) in enumerate(rows.items()):
        for verdict, one in cells.items():
            places.append(Place(f"judge/{truth}/{verdict}", one, cell(order, verdict)))
        judged = add(*(cells[v] for v in VERDICTS))
        places.append(Place(f"judge/{truth}/wrong", minus(judged, cells[truth])))
        shares.append(
            Share(cells[truth], judged, lambda results, truth=truth: results.judge_quality.accuracy_by_class.get(truth))
        )
    everything = add(*(one for cells in rows.values() for one in cells.values()))
    judged = add(*(rows[truth][v] for truth in VERDICTS for v in VERDICTS))
    right = add(*(rows[truth][truth] for truth in VERDICTS))
    others = add(*(rows[truth][v] for truth in VERDICTS[1:] for v in VERDICTS))
    called = add(*(rows[truth]["positive"] for truth in VERDICTS[1:]))
    places.append(Place("judge/texts", everything, lambda results: results.judge_quality.texts))
    shares += [
        Share(
            rows["positive"]["positive"],
            add(*(rows["positive"][v] for v in VERDICTS)),
            lambda r: r.judge_quality.sensitivity,
        ),
        Share(minus(others, called), others, lambda r: r.judge_quality.specificity),
        Share(right, judged, lambda r: r.judge_quality.agreement.agreement),
        Share(right, judged, lambda r: r.judge_quality.accuracy_by_diagnosis.get("hiv")),
    ]


def secrets(places: list[Place], world: World, original: Results, published: Results) -> Iterator[Place]:
    """Yield the counts that no reader may learn: 1 to 10 patients, and whatever was hidden beside them."""
    for place in places:
        if not place.of_patients:
            continue
        is_hidden = place.read is not None and place.read(original) is not None and place.read(published) is None
        if 1 <= world.value(place.sum) <= 10 or (is_hidden and world.value(place.sum) > 0):
            yield place
