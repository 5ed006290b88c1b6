"""Draws random worlds with many counts of 1 to 10; knows nothing of results or of what is published."""

import numpy as np
from support.results import random_worlds as shape
from support.results.drawn_queries import draw_prompts
from support.results.drawn_text import draw_guard, draw_identifiers, draw_memorization, draw_others, draw_refusals
from support.results.random_worlds import World, few_or_many, pick, spread
from support.results.world_membership import draw_membership
from support.results.world_ordinary import draw_ordinary

from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.schema.corpus import FOLLOW_UP_UNKNOWN
from clinaudit.reports.schema.disclosure import Side
from clinaudit.reports.schema.judge import ANSWER_CELLS

#: Nobody of a drawn world is followed for longer.
_LONGEST_DAYS = 4000


def draw_world(
    rng: np.random.Generator, *, diagnoses: int | None = None, sides: tuple[Side, ...] = shape.ARMS
) -> World:
    """Return a random world with many counts of 1 to 10, of one or two diagnoses (drawn, where not given)."""
    while True:
        try:
            return _draw_any(rng, diagnoses or 1 + int(rng.random() < 2 / 3), sides)
        except _TooManyDroppedError:
            continue


class _TooManyDroppedError(Exception):
    """More matched sets dropped than there are: no world."""


def _draw_any(rng: np.random.Generator, diagnosis_count: int, sides: tuple[Side, ...]) -> World:
    diagnoses = ("hiv", "ptsd")[:diagnosis_count]
    tiers = (TIER_IDS[0], TIER_IDS[-1])
    world = World(tiers, diagnoses, {}, sides=sides)
    _draw_people(world, rng)
    for tier in tiers:
        for diagnosis in diagnoses:
            _draw_pair(world, rng, diagnosis, tier)
        for arm in shape.ARMS:
            draw_memorization(world, rng, tier, arm)
    for diagnosis in diagnoses:
        _draw_cohort(world, rng, diagnosis)
    _draw_judge(world, rng)
    draw_guard(world, rng)
    _draw_identifiability(world, rng)
    draw_others(world, rng)
    _draw_follow_up(world, rng)
    draw_identifiers(world, rng)
    draw_refusals(world, rng)
    draw_prompts(world, rng)
    draw_ordinary(world, rng)
    draw_membership(world, rng)
    return world


def _draw_people(world: World, rng: np.random.Generator) -> None:
    counts = world.counts
    for diagnosis in world.diagnoses:
        counts[f"total/cell/{diagnosis}"] = int(
            rng.choice([8, 15, 30, 45, 60, 100], p=[0.04, 0.16, 0.2, 0.2, 0.2, 0.2])
        )
    cells = [counts[f"total/cell/{diagnosis}"] for diagnosis in world.diagnoses]
    # Matched patients are alike in sex; few of one sex are drawn often.
    sexes = rng.dirichlet([0.5] * len(shape.GROUPS["sex"]))
    for arm in shape.ARMS:
        for partition, groups in shape.GROUPS.items():
            shares = sexes if partition == "sex" else rng.dirichlet([1.0] * len(groups))
            for diagnosis, cell in zip(world.diagnoses, cells, strict=True):
                members = rng.multinomial(2 * cell, shares)
                if partition == "sex" and arm != shape.ARMS[0]:
                    female = counts[world.members(diagnosis, shape.ARMS[0], "sex", "female")] + int(rng.integers(-1, 2))
                    members = (min(max(female, 0), 2 * cell), 2 * cell - min(max(female, 0), 2 * cell))
                for group, count in zip(groups, members, strict=True):
                    counts[world.members(diagnosis, arm, partition, group)] = int(count)
        shared = min(
            sum(min(counts[world.members(d, arm, p, g)] for d in world.diagnoses) for g in groups)
            for p, groups in shape.GROUPS.items()
        )
        twice = 0 if len(cells) == 1 else int(rng.integers(0, shared + 1))
        counts[f"total/twice/{arm}"] = twice
        rest = few_or_many(rng, 0.3) + (0 if rng.random() < 0.3 else int(rng.integers(20, 300)))
        counts[f"total/rest/{arm}"] = rest
        missing = {tier: few_or_many(rng, 0.5) for tier in world.tiers}
        for partition, groups in shape.GROUPS.items():
            most = [min(counts[world.members(d, arm, partition, g)] for d in world.diagnoses) for g in groups]
            spread(counts, f"{partition}/{arm}/twice/{{}}", groups, pick(rng, most, twice))
            if partition in shape.CORPUS_PARTITIONS:
                spread(
                    counts,
                    f"{partition}/{arm}/rest/{{}}",
                    groups,
                    rng.multinomial(rest, rng.dirichlet([0.5] * len(groups))),
                )
            targets = [world.value(world.targets(arm, partition, group)) for group in groups]
            for tier in world.tiers:
                away = min(missing[tier], sum(targets) // 3)
                counts[f"total/missing/{tier}/{arm}"] = away
                spread(counts, f"{partition}/{arm}/missing/{tier}/{{}}", groups, pick(rng, targets, away))
        patients = world.value(world.all_patients(arm))
        counts[f"notes/{arm}"] = patients * int(rng.integers(2, 9)) + int(rng.integers(0, 50))
        counts[f"tokens/{arm}"] = counts[f"notes/{arm}"] * int(rng.integers(200, 900)) + int(rng.integers(0, 500))
    for population in (*shape.ARMS, *world.diagnoses):
        counts[f"age/sum/{population}"] = sum(
            int(rng.integers(*shape.AGES[band], endpoint=True))
            for band in shape.AGES
            for _ in range(world.value(world.population(population, "age", band)))
        )


def _draw_pair(world: World, rng: np.random.Generator, diagnosis: str, tier: str) -> None:
    counts = world.counts
    cell, single = counts[f"total/cell/{diagnosis}"], len(world.diagnoses) == 1
    missing = {arm: counts[f"total/missing/{tier}/{arm}"] for arm in shape.ARMS}
    own = dict(missing)
    if not single:
        first = diagnosis == world.diagnoses[0]
        for arm, count in missing.items():
            before = 0 if first else counts[f"pair/{world.diagnoses[0]}/{tier}/own/{shape.MISSING}/{arm}"]
            least, most = count - before, min(count, count - before + counts[f"total/twice/{arm}"])
            own[arm] = int(rng.integers(0, count + 1) if first else rng.integers(least, most + 1))
    refers = {arm: few_or_many(rng, 0.5) if tier == world.tiers[-1] else 0 for arm in shape.ARMS}
    room = cell - 11 if cell > 20 else cell // 2
    for reason, by_arm in ((shape.MISSING, own), (shape.REFERS, refers)):
        for arm in shape.ARMS:
            by_arm[arm] = min(by_arm[arm], max(0, room)) if reason == shape.REFERS else by_arm[arm]
            counts[f"pair/{diagnosis}/{tier}/own/{reason}/{arm}"] = by_arm[arm]
        total, least = sum(by_arm.values()), max(-(-count // 2) for count in by_arm.values())
        low, high = least, min(total, max(room, least))
        dropped = int(rng.integers(low, high + 1))
        counts[f"pair/{diagnosis}/{tier}/dropped/{reason}"] = dropped
        room -= dropped
    kept = cell - world.value(world.dropped(diagnosis, tier))
    if kept < 0:
        raise _TooManyDroppedError
    for arm in world.sides:
        common = rng.dirichlet([0.6, 0.15, 0.3, 0.8])
        for row in shape.ROWS:
            own_share = rng.dirichlet([0.6, 0.15, 0.3, 0.8])
            unjudged = min(kept, 0 if rng.random() < 0.7 else few_or_many(rng, 0.2) // 2)
            cells = [*rng.multinomial(kept - unjudged, common if rng.random() < 0.5 else own_share), unjudged]
            spread(counts, f"table/{diagnosis}/{tier}/{arm}/{row}/{{}}", shape.OUTCOMES, cells)


def _draw_cohort(world: World, rng: np.random.Generator, diagnosis: str) -> None:
    counts = world.counts
    cell = counts[f"total/cell/{diagnosis}"]
    left = 0
    for arm in shape.ARMS:
        spare = world.value(world.all_patients(arm)) - 2 * cell
        more = [min(spare, few_or_many(rng, 0.2))]
        more.append(int(rng.integers(0, spare - more[0] + 1)) if rng.random() < 0.8 else 0)
        left += spare - sum(more)
        female = counts[world.members(diagnosis, arm, "sex", "female")]
        # Matched cells are alike: a woman more or less in one than in the other.
        near_half = female // 2 + int(rng.integers(-1, 2)) * int(rng.random() < 0.5)
        first = min(max(near_half, female - cell, 0), cell, female)
        for row, unmatched, females in zip(shape.ROWS, more, (first, female - first), strict=True):
            counts[f"candidates/{diagnosis}/{arm}/{row}"] = cell + unmatched
            counts[f"female/{diagnosis}/{arm}/{row}"] = females
            share = min(1.0, max(0.0, female / (2 * cell) + float(rng.normal(scale=0.1))))
            counts[f"female_before/{diagnosis}/{arm}/{row}"] = females + int(rng.binomial(unmatched, share))
            # How ages and numbers of notes of a cell lie beside those of the others, in standard deviations.
            for covariate in ("age", "notes"):
                world.fixed[f"shift/{diagnosis}/{arm}/{row}/{covariate}"] = float(rng.normal(scale=0.06))
                world.fixed[f"shift_before/{diagnosis}/{arm}/{row}/{covariate}"] = float(rng.normal(scale=0.3))
    few = [min(left, few_or_many(rng, 0.2))]
    few.append(min(left - few[0], few_or_many(rng, 0.2)))
    spread(counts, f"excluded/{diagnosis}/{{}}", shape.UNSURE, [*few, left - sum(few)])


def _draw_judge(world: World, rng: np.random.Generator) -> None:
    for truth in shape.VERDICTS:
        texts = int(rng.integers(50, 100))
        right = float(rng.uniform(0.86, 0.99))
        shares = [
            right if verdict == truth else (1 - right) / len(shape.VERDICTS)
            for verdict in (*shape.VERDICTS, "unjudged")
        ]
        cells = rng.multinomial(texts, np.array(shares) / sum(shares))
        spread(world.counts, f"judge/{truth}/{{}}", (*shape.VERDICTS, "unjudged"), cells)
    world.fixed["judge/site"] = float(rng.random() < 0.5)
    verdicts = world.value(world.asked_verdicts())
    apart = [min(few_or_many(rng, 0.3), verdicts // 4) for _ in range(2)]
    spread(world.counts, "judges/{}", ("disagree", "unjudged", "agree"), [*apart, verdicts - sum(apart)])
    # Of the same verdicts, what became of the questions: nothing is drawn, so that worlds stay what they are.
    unjudged = world.value(world.verdicts(("unjudged",)))
    majority = min(2 * apart[0], verdicts - unjudged)
    lost = [unjudged - 3 * (unjudged // 4), *[unjudged // 4] * 3]
    spread(world.counts, "judges/{}", ANSWER_CELLS, [verdicts - unjudged - majority, majority, *lost])


def _draw_identifiability(world: World, rng: np.random.Generator) -> None:
    """Add the counts, many of them small; those of ids leave the other numbers that are drawn as they are."""
    (of_ids,) = rng.spawn(1)
    for arm in shape.ARMS:
        patients = world.value(world.all_patients(arm))
        for kind, cells in world.identifiable(arm).items():
            own = of_ids if kind == "ids" else rng
            drawn = own.multinomial(patients, own.dirichlet([0.4] * len(cells)))
            world.counts.update({name: int(count) for (name,), count in zip(cells.values(), drawn, strict=True)})
    most = min(map(world.value, (world.identifiable("train")["ids"]["several"], world.all_targets("train"))))
    world.counts[shape.BOTH] = int(of_ids.integers(0, most + 1))


def _draw_follow_up(world: World, rng: np.random.Generator) -> None:
    """Draw who was followed for how long."""
    for arm in shape.ARMS:
        everyone = world.value(world.all_patients(arm))
        cells = (*shape.FOLLOW_UP_DAYS, FOLLOW_UP_UNKNOWN)
        drawn = dict(zip(cells, rng.multinomial(everyone, rng.dirichlet([0.5] * len(cells))), strict=True))
        world.counts.update({f"follow/{arm}/{cell}": int(count) for cell, count in drawn.items()})
        world.counts[f"follow/{arm}/sum"] = sum(
            int(rng.integers(low, min(high, _LONGEST_DAYS), endpoint=True))
            for cell, (low, high) in shape.FOLLOW_UP_DAYS.items()
            for _ in range(drawn[cell])
        )
