"""Draws random worlds with many counts of 1 to 10; knows nothing of results or of what is published."""

from collections.abc import Iterable, Sequence

import numpy as np
from support.results.random_worlds import (
    AGES,
    ARMS,
    CONTENTS,
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
    SECTIONS_OF,
    TOKENS,
    UNSURE,
    VERDICTS,
    World,
)
from support.results.world_follow_up import draw_follow_up
from support.results.world_guard import draw_guard
from support.results.world_identifiability import draw_identifiability
from support.results.world_identifiers import draw_identifiers
from support.results.world_others import draw_others

from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.schema.judge import ANSWER_CELLS


def draw_world(rng: np.random.Generator, *, diagnoses: int | None = None) -> World:
    """Return a random world with many counts of 1 to 10, of one or two diagnoses (drawn, where not given)."""
    while True:
        try:
            return _draw_any(rng, diagnoses or 1 + int(rng.random() < 2 / 3))
        except _TooManyDroppedError:
            continue


class _TooManyDroppedError(Exception):
    """More matched sets dropped than there are: no world."""


def _draw_any(rng: np.random.Generator, diagnosis_count: int) -> World:
    diagnoses = ("hiv", "ptsd")[:diagnosis_count]
    tiers = (TIER_IDS[0], TIER_IDS[-1])
    world = World(tiers, diagnoses, {})
    _draw_people(world, rng)
    for tier in tiers:
        for diagnosis in diagnoses:
            _draw_pair(world, rng, diagnosis, tier)
        for arm in ARMS:
            _draw_memorization(world, rng, tier, arm)
    for diagnosis in diagnoses:
        _draw_cohort(world, rng, diagnosis)
    _draw_judge(world, rng)
    draw_guard(world, rng)
    draw_identifiability(world, rng)
    draw_others(world, rng)
    draw_follow_up(world, rng)
    draw_identifiers(world, rng)
    _draw_refusals(world, rng)
    return world


def _draw_people(world: World, rng: np.random.Generator) -> None:
    counts = world.counts
    for diagnosis in world.diagnoses:
        counts[f"total/cell/{diagnosis}"] = int(
            rng.choice([8, 15, 30, 45, 60, 100], p=[0.04, 0.16, 0.2, 0.2, 0.2, 0.2])
        )
    cells = [counts[f"total/cell/{diagnosis}"] for diagnosis in world.diagnoses]
    # Matched patients are alike in sex; few of one sex are drawn often.
    sexes = rng.dirichlet([0.5] * len(GROUPS["sex"]))
    for arm in ARMS:
        for partition, groups in GROUPS.items():
            shares = sexes if partition == "sex" else rng.dirichlet([1.0] * len(groups))
            for diagnosis, cell in zip(world.diagnoses, cells, strict=True):
                members = rng.multinomial(2 * cell, shares)
                if partition == "sex" and arm != ARMS[0]:
                    female = counts[world.members(diagnosis, ARMS[0], "sex", "female")] + int(rng.integers(-1, 2))
                    members = (min(max(female, 0), 2 * cell), 2 * cell - min(max(female, 0), 2 * cell))
                for group, count in zip(groups, members, strict=True):
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
        patients = world.value(world.all_patients(arm))
        counts[f"notes/{arm}"] = patients * int(rng.integers(2, 9)) + int(rng.integers(0, 50))
        counts[f"tokens/{arm}"] = counts[f"notes/{arm}"] * int(rng.integers(200, 900)) + int(rng.integers(0, 500))
    for population in (*ARMS, *world.diagnoses):
        counts[f"age/sum/{population}"] = sum(
            int(rng.integers(*AGES[band], endpoint=True))
            for band in AGES
            for _ in range(world.value(world.population(population, "age", band)))
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
        total, least = sum(by_arm.values()), max(-(-count // 2) for count in by_arm.values())
        low, high = least, min(total, max(room, least))
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
    fractions = _draw_fractions(rng, patients)
    for fraction, tokens in fractions.items():
        counts[place(f"{fraction}/sum")] = int(tokens.sum())
        for k, (low, high) in enumerate(FRACTION_BINS):
            counts[place(f"{fraction}/bin/{k}")] = int(((tokens > low) & (tokens <= high)).sum())
    hit, near = (int((fractions[fraction] > 0).sum()) for fraction in ("memorized", "near"))
    short = min(patients - near, 0 if rng.random() < 0.7 else few_or_many(rng, 0.2))
    stitched = _portion(rng, hit)
    unstitched = hit - stitched + _portion(rng, stitched)
    units = [part + int(rng.integers(0, 3 * part + 1)) for part in (stitched, unstitched)]
    counts.update(
        {
            place("short"): short,
            place("empty"): int(rng.integers(0, short + 1)),
            place("stitched/patients"): stitched,
            place("stitched/units"): units[0],
            place("unstitched/patients"): unstitched,
            place("unstitched/units"): units[1],
            place("regions"): sum(units),
            place("source_notes"): hit + int(rng.integers(0, 3 * hit + 1)),
            place("longest/sum"): near * int(rng.integers(1, TOKENS + 1)),
        }
    )
    _draw_text(world, rng, tier, arm, hit)
    # Who has a diagnosis and a verdict on it. Of two diagnoses as few have both as can be.
    asked_of = [world.value(world.table(d, tier, arm, ("1",), OUTCOMES[:-1])) for d in world.diagnoses]
    exposed_of = [world.value(world.table(d, tier, arm, ("1",), OUTCOMES[:1])) for d in world.diagnoses]
    asked = min(patients, sum(asked_of))
    exposed = max(exposed_of) if len(exposed_of) > 1 else exposed_of[0]
    counts.update({place("asked"): asked, place("exposed"): exposed})
    attributable = int((fractions["attributable"] > 0).sum())
    for partition, groups in GROUPS.items():
        here = [world.value(world.at_tier(tier, arm, partition, group)) for group in groups]
        asks = pick(rng, here, asked)
        by_kind = {"attributable": pick(rng, here, attributable), "asked": asks, "exposed": pick(rng, asks, exposed)}
        for kind, numbers in by_kind.items():
            _spread(counts, f"{partition}/{arm}/{kind}/{tier}/{{}}", groups, numbers)


def _draw_refusals(world: World, rng: np.random.Generator) -> None:
    """Draw of whom the model refused to answer: of patients without an answer, who were asked about all the same."""
    for tier in world.tiers:
        for arm in ARMS:
            missing = world.counts[f"total/missing/{tier}/{arm}"]
            world.counts[f"mem/{tier}/{arm}/refused"] = min(missing, few_or_many(rng, 0.3))


def _draw_fractions(rng: np.random.Generator, patients: int) -> dict[str, np.ndarray]:
    """Return the tokens of each patient's generation that make each fraction up."""
    hit, extra = _portion(rng, patients), _portion(rng, patients)

    def part_of(whole: np.ndarray) -> np.ndarray:
        """Keep anything of each, nothing of some."""
        kept = np.minimum(whole, rng.integers(1, TOKENS + 1, patients) // int(rng.choice([1, 4, 20, 100])) + 1)
        kept[rng.permutation(patients)[: patients - _portion(rng, patients)]] = 0
        return kept

    memorized = np.zeros(patients, dtype=int)
    memorized[:hit] = np.minimum(TOKENS, rng.integers(1, TOKENS + 1, hit) // int(rng.choice([1, 1, 5, 40])) + 1)
    unechoed = memorized.copy() if rng.random() < 0.5 else part_of(memorized)
    added = np.zeros(patients, dtype=int)
    added[rng.permutation(patients)[:extra]] = int(rng.integers(1, 40))
    added = np.minimum(added, TOKENS - memorized)
    attributable = part_of(unechoed)
    return {
        "near": memorized + added,
        "memorized": memorized,
        "unechoed": unechoed,
        "unmasked": np.where(np.arange(patients) % 3, attributable, unechoed),
        "attributable": attributable,
        "extra": added,
        # Some of what is near-verbatim alone, of those who have any.
        "near_attributable": attributable + part_of(added),
    }


def _draw_text(world: World, rng: np.random.Generator, tier: str, arm: str, hit: int) -> None:
    """Draw pieces and tokens: few of some, so that most memorized tokens are in no section."""
    counts = world.counts
    place = f"mem/{tier}/{arm}/{{}}".format
    room = counts[place("memorized/sum")] - hit
    for kind, names in {"k": K_BINS, **dict.fromkeys(KINDS, SECTIONS)}.items():
        for name in names:
            behind = min(hit, 0 if rng.random() < 0.2 else few_or_many(rng, 0.1) * int(rng.integers(1, 4)))
            units = behind + int(rng.integers(0, 3 * behind + 1))
            if kind != "k":
                behind, units = min(behind, room), min(units, room)
                room -= units
            _set(counts, place(f"{kind}/{name}"), units, behind)
    single, left = counts[place("k/1/patients")], counts[place("k/1/units")]
    for name in COPY_BINS:
        behind = min(single, left, few_or_many(rng, 0.3))
        _set(counts, place(f"copy/{name}"), behind, behind)
        left -= behind

    def most_and_all(cells: Iterable[str]) -> tuple[int, int]:
        behind = [counts[place(f"{cell}/patients")] for cell in cells]
        return max(behind), min(hit, sum(behind))

    unions = {content: [f"{k}/{s}" for k in KINDS if k.startswith(content) for s in SECTIONS] for content in CONTENTS}
    unions["shared"] = [f"k/{name}" for name in K_BINS[1:]]
    for union, cells in unions.items():
        low, high = most_and_all(cells)
        counts[place(f"{union}/patients")] = int(rng.integers(low, high + 1))
    # Whoever has memorized text has tokens of one kind at least, and some lie in no section.
    least = hit - counts[place("templated/patients")]
    sectionless = counts[place("memorized/sum")] - sum(counts[place(f"{k}/{s}/units")] for k in KINDS for s in SECTIONS)
    of_all = -(-sectionless // TOKENS)
    behind = counts[place("revealing/patients")] = max(counts[place("revealing/patients")], least, of_all)
    _set(counts, place(f"{KINDS[0]}/{SECTIONS_OF[KINDS[0]][-1]}"), sectionless, min(behind, sectionless))


def _set(counts: dict[str, int], place: str, units: int, behind: int) -> None:
    counts[f"{place}/units"], counts[f"{place}/patients"] = units, behind


def _draw_cohort(world: World, rng: np.random.Generator, diagnosis: str) -> None:
    counts = world.counts
    cell = counts[f"total/cell/{diagnosis}"]
    left = 0
    for arm in ARMS:
        spare = world.value(world.all_patients(arm)) - 2 * cell
        more = [min(spare, few_or_many(rng, 0.2))]
        more.append(int(rng.integers(0, spare - more[0] + 1)) if rng.random() < 0.8 else 0)
        left += spare - sum(more)
        female = counts[world.members(diagnosis, arm, "sex", "female")]
        # Matched cells are alike: a woman more or less in one than in the other.
        near_half = female // 2 + int(rng.integers(-1, 2)) * int(rng.random() < 0.5)
        first = min(max(near_half, female - cell, 0), cell, female)
        for row, unmatched, females in zip(ROWS, more, (first, female - first), strict=True):
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
    _spread(counts, f"excluded/{diagnosis}/{{}}", UNSURE, [*few, left - sum(few)])


def _draw_judge(world: World, rng: np.random.Generator) -> None:
    for truth in VERDICTS:
        texts = int(rng.integers(50, 100))
        right = float(rng.uniform(0.86, 0.99))
        shares = [right if verdict == truth else (1 - right) / len(VERDICTS) for verdict in (*VERDICTS, "unjudged")]
        cells = rng.multinomial(texts, np.array(shares) / sum(shares))
        _spread(world.counts, f"judge/{truth}/{{}}", (*VERDICTS, "unjudged"), cells)
    world.fixed["judge/site"] = float(rng.random() < 0.5)
    verdicts = sum(
        4 * world.counts[f"total/cell/{d}"] - world.value(world.own(d, tier))
        for d in world.diagnoses
        for tier in world.tiers
    )
    apart = [min(few_or_many(rng, 0.3), verdicts // 4) for _ in range(2)]
    _spread(world.counts, "judges/{}", ("disagree", "unjudged", "agree"), [*apart, verdicts - sum(apart)])
    # Of the same verdicts, what became of the questions: nothing is drawn, so that worlds stay what they are.
    unjudged = world.value(world.verdicts(("unjudged",)))
    majority = min(2 * apart[0], verdicts - unjudged)
    lost = [unjudged - 3 * (unjudged // 4), *[unjudged // 4] * 3]
    _spread(world.counts, "judges/{}", ANSWER_CELLS, [verdicts - unjudged - majority, majority, *lost])


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
