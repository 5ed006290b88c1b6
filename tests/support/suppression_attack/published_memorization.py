"""Where the counts behind memorization and subgroups stand in the results."""

from collections.abc import Callable

from support.results.random_worlds import (
    COPY_BINS,
    FRACTION_BINS,
    GROUPS,
    K_BINS,
    KINDS,
    SECTIONS,
    World,
    add,
    minus,
)
from support.suppression_attack.published_places import Place, Share

from clinaudit.reports.schema.estimate import Estimate
from clinaudit.reports.schema.memorization import Memorization
from clinaudit.reports.schema.results import Results


def list_memorization(world: World, tier: str, arm: str, places: list[Place], shares: list[Share]) -> None:
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


def list_groups(world: World, tier: str, arm: str, partition: str, places: list[Place], shares: list[Share]) -> None:
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
