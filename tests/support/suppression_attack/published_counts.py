"""Where a world's counts stand in the results: the list of counts and rates with their places.

Knows nothing of how counts were hidden, or of what a reader makes of what is shown.
"""

from collections.abc import Callable

from support.results.random_worlds import (
    ARMS,
    CORPUS_PARTITIONS,
    GROUPS,
    MISSING,
    OUTCOMES,
    REFERS,
    ROWS,
    UNSURE,
    VERDICTS,
    World,
    add,
    minus,
    population_of,
)
from support.suppression_attack.published_memorization import list_groups, list_memorization
from support.suppression_attack.published_places import Place, Share

from clinaudit.reports.schema.disclosure import Disclosure
from clinaudit.reports.schema.results import Results


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
            list_memorization(world, tier, arm, places, shares)
            for partition in GROUPS:
                list_groups(world, tier, arm, partition, places, shares)
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
