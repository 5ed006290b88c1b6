"""Draws what the answers of a world hold: text of the patient's and of others', identifiers, and what was cut."""

import itertools
from collections.abc import Iterable, Sequence

import numpy as np
from support.results import random_worlds as shape
from support.results.random_worlds import World, few_or_many, pick, spread


def draw_memorization(world: World, rng: np.random.Generator, tier: str, arm: str) -> None:
    counts = world.counts
    place = f"mem/{tier}/{arm}/{{}}".format
    patients = world.value(world.patients(tier, arm))
    fractions = _draw_fractions(rng, patients)
    for fraction, tokens in fractions.items():
        _set_fraction(world, place(fraction), tokens)
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
            place("longest/sum"): near * int(rng.integers(1, shape.TOKENS + 1)),
        }
    )
    _draw_text(world, rng, tier, arm, hit)
    # Who has a diagnosis and a verdict on it. Of two diagnoses as few have both as can be.
    asked_of = [world.value(world.table(d, tier, arm, ("1",), shape.OUTCOMES[:-1])) for d in world.diagnoses]
    exposed_of = [world.value(world.table(d, tier, arm, ("1",), shape.OUTCOMES[:1])) for d in world.diagnoses]
    asked = min(patients, sum(asked_of))
    exposed = max(exposed_of) if len(exposed_of) > 1 else exposed_of[0]
    counts.update({place("asked"): asked, place("exposed"): exposed})
    attributable = int((fractions["attributable"] > 0).sum())
    for partition, groups in shape.GROUPS.items():
        here = [world.value(world.at_tier(tier, arm, partition, group)) for group in groups]
        asks = pick(rng, here, asked)
        by_kind = {"attributable": pick(rng, here, attributable), "asked": asks, "exposed": pick(rng, asks, exposed)}
        for kind, numbers in by_kind.items():
            spread(counts, f"{partition}/{arm}/{kind}/{tier}/{{}}", groups, numbers)


def draw_refusals(world: World, rng: np.random.Generator) -> None:
    """Draw of whom the model refused to answer: of patients without an answer, who were asked about all the same."""
    for tier in world.tiers:
        for arm in shape.ARMS:
            missing = world.counts[f"total/missing/{tier}/{arm}"]
            world.counts[f"mem/{tier}/{arm}/refused"] = min(missing, few_or_many(rng, 0.3))


def _draw_fractions(rng: np.random.Generator, patients: int) -> dict[str, np.ndarray]:
    """Return the tokens of each patient's generation that make each fraction up."""
    hit, extra = _portion(rng, patients), _portion(rng, patients)

    def part_of(whole: np.ndarray) -> np.ndarray:
        """Keep anything of each, nothing of some."""
        kept = np.minimum(whole, rng.integers(1, shape.TOKENS + 1, patients) // int(rng.choice([1, 4, 20, 100])) + 1)
        kept[rng.permutation(patients)[: patients - _portion(rng, patients)]] = 0
        return kept

    memorized = np.zeros(patients, dtype=int)
    memorized[:hit] = np.minimum(
        shape.TOKENS, rng.integers(1, shape.TOKENS + 1, hit) // int(rng.choice([1, 1, 5, 40])) + 1
    )
    unechoed = memorized.copy() if rng.random() < 0.5 else part_of(memorized)
    added = np.zeros(patients, dtype=int)
    added[rng.permutation(patients)[:extra]] = int(rng.integers(1, 40))
    added = np.minimum(added, shape.TOKENS - memorized)
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
    for kind, names in {"k": shape.K_BINS, **dict.fromkeys(shape.KINDS, shape.SECTIONS)}.items():
        for name in names:
            behind = min(hit, 0 if rng.random() < 0.2 else few_or_many(rng, 0.1) * int(rng.integers(1, 4)))
            units = behind + int(rng.integers(0, 3 * behind + 1))
            if kind != "k":
                behind, units = min(behind, room), min(units, room)
                room -= units
            _set(counts, place(f"{kind}/{name}"), units, behind)
    single, left = counts[place("k/1/patients")], counts[place("k/1/units")]
    for name in shape.COPY_BINS:
        behind = min(single, left, few_or_many(rng, 0.3))
        _set(counts, place(f"copy/{name}"), behind, behind)
        left -= behind

    def most_and_all(cells: Iterable[str]) -> tuple[int, int]:
        behind = [counts[place(f"{cell}/patients")] for cell in cells]
        return max(behind), min(hit, sum(behind))

    unions = {
        content: [f"{k}/{s}" for k in shape.KINDS if k.startswith(content) for s in shape.SECTIONS]
        for content in shape.CONTENTS
    }
    unions["shared"] = [f"k/{name}" for name in shape.K_BINS[1:]]
    for union, cells in unions.items():
        low, high = most_and_all(cells)
        counts[place(f"{union}/patients")] = int(rng.integers(low, high + 1))
    # Whoever has memorized text has tokens of one kind at least, and some lie in no section.
    least = hit - counts[place("templated/patients")]
    sectionless = counts[place("memorized/sum")] - sum(
        counts[place(f"{k}/{s}/units")] for k in shape.KINDS for s in shape.SECTIONS
    )
    of_all = -(-sectionless // shape.TOKENS)
    behind = counts[place("revealing/patients")] = max(counts[place("revealing/patients")], least, of_all)
    _set(
        counts,
        place(f"{shape.KINDS[0]}/{shape.SECTIONS_OF[shape.KINDS[0]][-1]}"),
        sectionless,
        min(behind, sectionless),
    )


def _set(counts: dict[str, int], place: str, units: int, behind: int) -> None:
    counts[f"{place}/units"], counts[f"{place}/patients"] = units, behind


def _portion(rng: np.random.Generator, whole: int) -> int:
    """Return a part of a whole: few, nearly all, none, all or anything."""
    kind = rng.choice(5, p=[0.25, 0.25, 0.1, 0.1, 0.3])
    few = min(whole, int(rng.integers(1, 11)))
    return int([few, whole - few, 0, whole, rng.integers(0, whole + 1)][kind])


def draw_guard(world: World, rng: np.random.Generator) -> None:
    """Add the guard's counts to a world that has all others."""
    counts = world.counts
    for arm in shape.ARMS:
        targets = world.value(world.all_targets(arm))
        repeating = counts[f"repeating/{arm}"] = _part(rng, targets)
        for tier in world.tiers:
            patients, place = world.value(world.patients(tier, arm)), f"mem/{tier}/{arm}/guard/{{}}".format
            away = rng.hypergeometric(repeating, targets - repeating, targets - patients) if targets else 0
            here = counts[place("repeating")] = repeating - int(away)
            spared = counts[place("spared")] = _part(rng, here)
            counts[place("ended")] = spared + _part(rng, patients - spared)
            cut = counts[place("recitation/patients")] = _part(rng, here) if tier in shape.FRAGMENTS else 0
            counts[place("recitation/sum")] = sum(int(rng.integers(1, shape.TOKENS + 1)) for _ in range(cut))
            _draw_unguarded(world, rng, tier, arm, rng.permutation(patients)[:spared])


def _part(rng: np.random.Generator, whole: int) -> int:
    """Return a part of a whole: few, none, or anything."""
    few = min(whole, int(rng.integers(1, 11)))
    return int([few, 0, rng.integers(0, whole + 1)][rng.choice(3, p=[0.4, 0.1, 0.5])])


def _draw_unguarded(world: World, rng: np.random.Generator, tier: str, arm: str, spared: np.ndarray) -> None:
    before = _tokens_by_rank(world, tier, arm)
    memorized, attributable = before["memorized"].copy(), before["attributable"].copy()
    memorized[spared] = rng.integers(np.minimum(1, memorized[spared]), shape.TOKENS + 1)
    attributable[spared] = rng.integers(0, memorized[spared] + 1)
    for name, tokens in zip(shape.UNGUARDED, (attributable, memorized), strict=True):
        _set_fraction(world, f"mem/{tier}/{arm}/{name}", tokens)


def draw_others(world: World, rng: np.random.Generator) -> None:
    """Add the counts of other patients' text to a world that has all others."""
    for arm in shape.ARMS:
        for tier in world.tiers:
            place = f"mem/{tier}/{arm}/{{}}".format
            memorized = _tokens_by_rank(world, tier, arm)["memorized"]
            for fraction in shape.OTHERS_TEXT:
                tokens = _draw_tokens(rng, memorized, short=world.counts[place("short")])
                _set_fraction(world, place(fraction), tokens)
            most = min(world.value(world.all_patients("train")), world.counts[place(f"{shape.OTHERS_TEXT[0]}/sum")])
            owners = int(rng.integers(1, 11) if rng.random() < 0.6 else rng.integers(1, max(2, most + 1)))
            world.counts[place("owners")] = min(most, owners)


def _draw_tokens(rng: np.random.Generator, memorized: np.ndarray, *, short: int) -> np.ndarray:
    """Return each patient's tokens, by rank: beside what is memorized, and none in a short text."""
    long = len(memorized) - short
    few = min(long, int(rng.integers(1, 11)))
    any_ = int([few, 0, rng.integers(0, long + 1)][rng.choice(3, p=[0.4, 0.2, 0.4])])
    tokens = np.zeros(len(memorized), dtype=int)
    having = rng.permutation(long)[:any_]
    tokens[having] = rng.integers(1, shape.TOKENS + 1, any_) // int(rng.choice([1, 4, 20])) + 1
    return np.minimum(tokens, shape.TOKENS - memorized)


def draw_identifiers(world: World, rng: np.random.Generator) -> None:
    """Add the counts of identifiers to a world that has all others; each patient was asked once at a tier."""
    for arm in shape.ARMS:
        targets = world.value(world.all_targets(arm))
        here = np.ones((len(world.tiers), targets), dtype=bool)
        for row, tier in zip(here, world.tiers, strict=True):
            row[rng.permutation(targets)[: world.counts[f"total/missing/{tier}/{arm}"]]] = False
        written = np.stack([_without_empty(world, tier, arm, row) for tier, row in zip(world.tiers, here, strict=True)])
        world.counts[f"identifiers/missing/{arm}"] = int((~here.any(axis=0)).sum())
        # By tier, category and patient.
        given = {kind: _draw_given(rng, written) for kind in shape.OWNER_KINDS}
        # One or two at most times, and now and then many; some are their own and not verified.
        many = rng.choice([0, 1, 2, 8, 30], given["own"].shape, p=[0.2, 0.5, 0.2, 0.06, 0.04])
        own = np.where(given["own"], many, 0) / 2
        chance = given["chance"] * rng.choice([1, 2, 6, 21], given["own"].shape, p=[0.8, 0.1, 0.06, 0.04])
        values = {"verified": own + given["other"], "sampled": own + given["sampled"], "chance": chance}
        for axis, names in ((1, world.tiers), (0, shape.CATEGORIES)):
            queries = np.maximum(1, here.sum(axis=0)) if axis == 0 else 1
            rates = {rate: counted.sum(axis=axis) / queries for rate, counted in values.items()}
            for row, name in enumerate(names):
                place = f"identifiers/{name}/{arm}"
                for kind in shape.OWNER_KINDS:
                    world.counts[f"{place}/{kind}"] = int(given[kind].any(axis=axis)[row].sum())
                for rate, (k, (low, high)) in itertools.product(shape.RATES, enumerate(shape.RATE_BINS)):
                    own_rates = rates[rate][row]
                    inside = (own_rates > low) & (own_rates <= (np.inf if high is None else high))
                    world.counts[f"{place}/{rate}/bin/{k}"] = int(inside.sum())


def _without_empty(world: World, tier: str, arm: str, here: np.ndarray) -> np.ndarray:
    """Return the patients with an answer of any words: an empty one holds no identifier."""
    written = here.copy()
    empty = world.counts[f"mem/{tier}/{arm}/empty"]
    written[np.flatnonzero(here)[len(np.flatnonzero(here)) - empty :]] = False
    return written


def _draw_given(rng: np.random.Generator, written: np.ndarray) -> np.ndarray:
    """Return of whom any is given, `(tiers, categories, patients)`: of few, of nobody or of any number."""
    tiers, targets = written.shape
    given = np.zeros((tiers, len(shape.CATEGORIES), targets), dtype=bool)
    for tier in range(tiers):
        for category in range(len(shape.CATEGORIES)):
            few, many = int(rng.integers(1, 11)), int(rng.integers(0, targets + 1))
            number = [few, 0, many][rng.choice(3, p=[0.6, 0.25, 0.15])]
            given[tier, category, rng.permutation(targets)[:number]] = True
    return given & written[:, None]


def _tokens_by_rank(world: World, tier: str, arm: str) -> dict[str, np.ndarray]:
    """Return the tokens of each patient in order, each of four fractions at least the next where the sums allow it."""
    patients = world.value(world.patients(tier, arm))
    found: dict[str, np.ndarray] = {}
    below = [0] * patients
    for fraction in ("attributable", "unmasked", "unechoed", "memorized"):
        place = f"mem/{tier}/{arm}/{fraction}"
        bins = [
            ends
            for k, ends in reversed(list(enumerate(shape.FRACTION_BINS)))
            for _ in range(world.counts[f"{place}/bin/{k}"])
        ]
        total = world.counts[f"{place}/sum"]
        lows = [low + 1 for low, _ in bins]
        nested = [min(high, max(low + 1, least)) for (low, high), least in zip(bins, below, strict=False)]
        tokens = _fill(total, nested if sum(nested) <= total else lows, [high for _, high in bins])
        below = [*tokens, *[0] * (patients - len(tokens))]
        found[fraction] = np.array(below, dtype=int)
    return found


def _fill(total: int, lows: Sequence[int], highs: Sequence[int]) -> list[int]:
    """Return numbers between the ends that sum up to the total, the first as large as can be."""
    numbers, left = list(lows), total - sum(lows)
    for i, high in enumerate(highs):
        added = min(left, high - numbers[i])
        numbers[i] += added
        left -= added
    return numbers


def _set_fraction(world: World, place: str, tokens: np.ndarray) -> None:
    """Set the tokens of a fraction, and the patients in each of its bins."""
    world.counts[f"{place}/sum"] = int(tokens.sum())
    for k, (low, high) in enumerate(shape.FRACTION_BINS):
        world.counts[f"{place}/bin/{k}"] = int(((tokens > low) & (tokens <= high)).sum())
