"""Draws random worlds with many counts of 1 to 10; knows nothing of results or of what is published."""

from collections.abc import Iterable, Sequence

import numpy as np
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
    OUTCOMES,
    REFERS,
    ROWS,
    SECTIONS,
    UNSURE,
    VERDICTS,
    World,
    population_of,
)

from clinaudit.priors.tiers import TIER_IDS


def draw_world(rng: np.random.Generator) -> World:
    """Return a random world with many counts of 1 to 10."""
    while True:
        try:
            return _draw_any(rng)
        except _TooManyDroppedError:
            continue


class _TooManyDroppedError(Exception):
    """More matched sets dropped than there are: no world."""


def _draw_any(rng: np.random.Generator) -> World:
    diagnoses = ("hiv", "ptsd")[: int(rng.integers(1, 3))]
    tiers = (TIER_IDS[0], TIER_IDS[-1])
    world = World(tiers, diagnoses, int(rng.integers(2, 6)), {})
    _draw_people(world, rng)
    for tier in tiers:
        for diagnosis in diagnoses:
            _draw_pair(world, rng, diagnosis, tier)
        for arm in ARMS:
            _draw_memorization(world, rng, tier, arm)
    for diagnosis in diagnoses:
        _draw_cohort(world, rng, diagnosis)
    _draw_judge(world, rng)
    return world


def _draw_people(world: World, rng: np.random.Generator) -> None:
    counts = world.counts
    for diagnosis in world.diagnoses:
        counts[f"total/cell/{diagnosis}"] = int(
            rng.choice([8, 15, 30, 45, 60, 100], p=[0.04, 0.16, 0.2, 0.2, 0.2, 0.2])
        )
    cells = [counts[f"total/cell/{diagnosis}"] for diagnosis in world.diagnoses]
    for arm in ARMS:
        for partition, groups in GROUPS.items():
            shares = rng.dirichlet([0.5] * len(groups))
            for diagnosis, cell in zip(world.diagnoses, cells, strict=True):
                for group, count in zip(groups, rng.multinomial(2 * cell, shares), strict=True):
                    counts[world.members(diagnosis, arm, partition, group)] = int(count)
        shared = min(
            sum(min(counts[world.members(d, arm, p, g)] for d in world.diagnoses) for g in groups)
            for p, groups in GROUPS.items()
        )
        twice = 0 if len(cells) == 1 else int(rng.integers(0, shared + 1))
        counts[f"total/twice/{arm}"] = twice
        rest = few_or_many(rng, 0.3) + (0 if rng.random() < 0.3 else int(rng.integers(20, 300)))
        counts[f"total/rest/{arm}"] = rest
        missing = {tier: few_or_many(rng, 0.5) for tier in world.tiers}
        for partition, groups in GROUPS.items():
            most = [min(counts[world.members(d, arm, partition, g)] for d in world.diagnoses) for g in groups]
            _spread(counts, f"{partition}/{arm}/twice/{{}}", groups, pick(rng, most, twice))
            if partition in CORPUS_PARTITIONS:
                _spread(
                    counts,
                    f"{partition}/{arm}/rest/{{}}",
                    groups,
                    rng.multinomial(rest, rng.dirichlet([0.5] * len(groups))),
                )
            targets = [world.value(world.targets(arm, partition, group)) for group in groups]
            for tier in world.tiers:
                away = min(missing[tier], sum(targets) // 3)
                counts[f"total/missing/{tier}/{arm}"] = away
                _spread(counts, f"{partition}/{arm}/missing/{tier}/{{}}", groups, pick(rng, targets, away))
    for population in (*ARMS, *world.diagnoses):
        counts[f"age/sum/{population}"] = sum(
            int(rng.integers(*AGES[band], endpoint=True))
            for band in AGES
            for _ in range(world.value(population_of(world, population, "age", band)))
        )


def _draw_pair(world: World, rng: np.random.Generator, diagnosis: str, tier: str) -> None:
    counts = world.counts
    cell, single = counts[f"total/cell/{diagnosis}"], len(world.diagnoses) == 1
    missing = {arm: counts[f"total/missing/{tier}/{arm}"] for arm in ARMS}
    own = dict(missing)
    if not single:
        first = diagnosis == world.diagnoses[0]
        for arm, count in missing.items():
            before = 0 if first else counts[f"pair/{world.diagnoses[0]}/{tier}/own/{MISSING}/{arm}"]
            least, most = count - before, min(count, count - before + counts[f"total/twice/{arm}"])
            own[arm] = int(rng.integers(0, count + 1) if first else rng.integers(least, most + 1))
    refers = {arm: few_or_many(rng, 0.5) if tier == world.tiers[-1] else 0 for arm in ARMS}
    room = cell - 11 if cell > 20 else cell // 2
    for reason, by_arm in ((MISSING, own), (REFERS, refers)):
        for arm in ARMS:
            by_arm[arm] = min(by_arm[arm], max(0, room)) if reason == REFERS else by_arm[arm]
            counts[f"pair/{diagnosis}/{tier}/own/{reason}/{arm}"] = by_arm[arm]
        total = sum(by_arm.values())
        low, high = -(-total // 4), min(total, max(room, -(-total // 4)))
        dropped = int(rng.integers(low, high + 1))
        counts[f"pair/{diagnosis}/{tier}/dropped/{reason}"] = dropped
        room -= dropped
    kept = cell - world.value(world.dropped(diagnosis, tier))
    if kept < 0:
        raise _TooManyDroppedError
    for arm in ARMS:
        common = rng.dirichlet([0.6, 0.15, 0.3, 0.8])
        for row in ROWS:
            own_share = rng.dirichlet([0.6, 0.15, 0.3, 0.8])
            unjudged = min(kept, 0 if rng.random() < 0.7 else few_or_many(rng, 0.2) // 2)
            cells = [*rng.multinomial(kept - unjudged, common if rng.random() < 0.5 else own_share), unjudged]
            _spread(counts, f"table/{diagnosis}/{tier}/{arm}/{row}/{{}}", OUTCOMES, cells)


def _draw_memorization(world: World, rng: np.random.Generator, tier: str, arm: str) -> None:
    counts = world.counts
    place = f"mem/{tier}/{arm}/{{}}".format
    patients = world.value(world.patients(tier, arm))
    hit = _portion(rng, patients)
    revealed = _portion(rng, hit)
    each, each_revealed = int(rng.integers(20, 1001)), int(rng.integers(1, 21))
    asked_of = [world.value(world.table(d, tier, arm, ("1",), OUTCOMES[:-1])) for d in world.diagnoses]
    exposed_of = [world.value(world.table(d, tier, arm, ("1",), OUTCOMES[:1])) for d in world.diagnoses]
    # Of two diagnoses as few have both as can be.
    asked = min(patients, sum(asked_of))
    exposed = max(exposed_of) if len(exposed_of) > 1 else exposed_of[0]
    totals = {"hit": hit, "revealed": revealed, "asked": asked, "exposed": exposed}
    counts.update({place(kind): count for kind, count in totals.items()})
    share = 1000 if len(world.diagnoses) == 1 else 500
    counts.update({place("hit_sum"): each * hit, place("revealed_sum"): each_revealed * revealed})
    counts[place("exposed_sum")] = share * exposed
    for partition, groups in GROUPS.items():
        here = [world.value(world.at_tier(tier, arm, partition, group)) for group in groups]
        hits = pick(rng, here, hit)
        reveals = pick(rng, hits, revealed)
        asks = pick(rng, here, asked)
        exposes = pick(rng, asks, exposed)
        by_kind = {"hit": hits, "revealed": reveals, "asked": asks, "exposed": exposes}
        by_kind |= {
            "hit_sum": [each * count for count in hits],
            "revealed_sum": [each_revealed * count for count in reveals],
            "exposed_sum": [share * count for count in exposes],
        }
        for kind, numbers in by_kind.items():
            _spread(counts, f"{partition}/{arm}/{kind}/{tier}/{{}}", groups, numbers)
    in_bins = [0] * len(FRACTION_BINS)
    in_bins[0 if each_revealed <= 10 else 1] = revealed
    _move_between_bins(in_bins, each_revealed * revealed, rng)
    _spread(counts, f"mem/{tier}/{arm}/bin/{{}}", tuple(map(str, range(len(FRACTION_BINS)))), in_bins)
    short = min(patients - hit, 0 if rng.random() < 0.5 else few_or_many(rng, 0.2))
    extra = _portion(rng, patients)
    near = int(rng.integers(max(hit, extra), min(patients, hit + extra) + 1))
    regions = hit * 3
    counts.update(
        {
            place("short"): short,
            place("empty"): int(rng.integers(0, short + 1)),
            place("near"): near,
            place("extra"): extra,
            place("extra_sum"): extra * int(rng.integers(1, 60)),
            place("regions"): regions,
            place("stitched"): min(patients, int(rng.integers(0, regions + 1))) if regions else 0,
            place("rows"): sum(
                2 * counts[f"total/cell/{d}"] - counts[f"pair/{d}/{tier}/own/{MISSING}/{arm}"] for d in world.diagnoses
            ),
            place("hit_rows"): hit,
        }
    )
    for kind, names in {"k": K_BINS, "copy": COPY_BINS, **dict.fromkeys(KINDS, SECTIONS)}.items():
        for name in names:
            behind = min(hit, 0 if rng.random() < 0.2 else few_or_many(rng, 0.1) * int(rng.integers(1, 4)))
            most = 2000 * behind
            if kind == "copy":
                taken = sum(counts[place(f"copy/{n}/units")] for n in names if place(f"copy/{n}/units") in counts)
                behind = min(behind, counts[place("k/1/units")] - taken)
                most = counts[place("k/1/units")] - taken
            units = min(most, behind + int(rng.integers(0, 3 * behind + 1)))
            counts[place(f"{kind}/{name}/units")], counts[place(f"{kind}/{name}/patients")] = units, behind


def _move_between_bins(in_bins: list[int], total: int, rng: np.random.Generator) -> None:
    """Put some patients into other bins, as far as the sum of all fractions allows."""
    for _ in range(12):
        source, to = rng.integers(0, len(in_bins), 2)
        moved = min(in_bins[source], few_or_many(rng, 0.2))
        in_bins[source] -= moved
        in_bins[to] += moved
        ends = zip(in_bins, FRACTION_BINS, strict=True)
        lows, highs = zip(*((count * (low + 1), count * high) for count, (low, high) in ends), strict=True)
        if not sum(lows) <= total <= sum(highs):
            in_bins[source] += moved
            in_bins[to] -= moved


def _draw_cohort(world: World, rng: np.random.Generator, diagnosis: str) -> None:
    counts = world.counts
    cell, bins = counts[f"total/cell/{diagnosis}"], world.overlap_bins
    place = f"overlap/{diagnosis}/{{}}/{{}}/{{}}/{{{{}}}}".format
    left = 0
    for arm in ARMS:
        spare = world.value(world.all_patients(arm)) - 2 * cell
        more = min(spare, few_or_many(rng, 0.2)), 0
        more = more[0], int(rng.integers(0, spare - more[0] + 1)) if rng.random() < 0.8 else 0
        left += spare - sum(more)
        for row, unmatched in zip(ROWS, more, strict=True):
            shares = rng.dirichlet([1.0] * bins)
            matched = rng.multinomial(cell, shares)
            candidates = matched + rng.multinomial(unmatched, rng.dirichlet([1.0] * bins))
            _spread(counts, place(arm, row, "matched"), tuple(map(str, range(bins))), matched)
            _spread(counts, place(arm, row, "candidates"), tuple(map(str, range(bins))), candidates)
    few = [min(left, few_or_many(rng, 0.2))]
    few.append(min(left - few[0], few_or_many(rng, 0.2)))
    _spread(counts, f"overlap/{diagnosis}/excluded/{{}}", UNSURE, [*few, left - sum(few)])


def _draw_judge(world: World, rng: np.random.Generator) -> None:
    for truth in VERDICTS:
        texts = int(rng.integers(15, 80))
        right = float(rng.uniform(0.7, 0.98))
        shares = [right if verdict == truth else (1 - right) / len(VERDICTS) for verdict in (*VERDICTS, "unjudged")]
        cells = rng.multinomial(texts, np.array(shares) / sum(shares))
        _spread(world.counts, f"judge/{truth}/{{}}", (*VERDICTS, "unjudged"), cells)


def few_or_many(rng: np.random.Generator, none: float) -> int:
    """Return 0 with a chance of `none`, else mostly 1 to 10, else 11 to 40."""
    if rng.random() < none:
        return 0
    return int(rng.integers(1, 11)) if rng.random() < 0.7 else int(rng.integers(11, 41))


def _portion(rng: np.random.Generator, whole: int) -> int:
    """Return a part of a whole: few, nearly all, none, all or anything."""
    kind = rng.choice(5, p=[0.25, 0.25, 0.1, 0.1, 0.3])
    few = min(whole, int(rng.integers(1, 11)))
    return int([few, whole - few, 0, whole, rng.integers(0, whole + 1)][kind])


def pick(rng: np.random.Generator, of: Sequence[int], count: int) -> list[int]:
    """Draw `count` patients without replacement from groups of these sizes; returns how many of each."""
    return [int(n) for n in rng.multivariate_hypergeometric(list(of), count)] if sum(of) else [0] * len(of)


def _spread(counts: dict[str, int], place: str, names: Sequence[str], numbers: Iterable[int]) -> None:
    for name, number in zip(names, numbers, strict=True):
        counts[place.format(name)] = int(number)
