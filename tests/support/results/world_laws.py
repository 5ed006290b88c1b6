"""What holds in every world of a shape: who is counted where, as linear inequalities; counts are at least 0 besides.

Knows nothing of what is published.
"""

import itertools
from collections.abc import Iterator

import numpy as np
from support.results import random_worlds as shape
from support.results.random_worlds import Law, Sum, World, add, at_most, equal, minus, times
from support.results.world_membership import membership_laws
from support.results.world_ordinary import ordinary_laws

from clinaudit.reports.schema.attacks import NO_WINDOW
from clinaudit.reports.schema.corpus import FOLLOW_UP_UNKNOWN
from clinaudit.reports.schema.judge import ANSWER_CELLS

#: More than an arm has patients: nobody's text stands nowhere.
_MANY = 10_000


def laws(world: World) -> list[Law]:
    """Return what holds in every world of this shape."""
    found: list[Law] = []
    for arm in shape.ARMS:
        found += [*_split_laws(world, arm), *_identifier_laws(world, arm)]
        for partition in shape.GROUPS:
            found += _people_laws(world, arm, partition)
            for tier in world.tiers:
                found += _tier_laws(world, tier, arm, partition)
        if len(world.diagnoses) == 1:
            found.append(Law({f"total/twice/{arm}": 1}, 0, 0))
        found += [at_most(world.all_patients(arm), f"notes/{arm}"), at_most(f"notes/{arm}", f"tokens/{arm}")]
        for tier in world.tiers:
            found += [*_memorization_laws(world, tier, arm), *_prompt_laws(world, tier, arm)]
    for population in (*shape.ARMS, *world.diagnoses):
        bands = [(world.population(population, "age", band), ages) for band, ages in shape.AGES.items()]
        total = f"age/sum/{population}"
        found.append(at_most(add(*(times(band, ages[0]) for band, ages in bands)), total))
        found.append(at_most(total, add(*(times(band, ages[1]) for band, ages in bands))))
    for diagnosis in world.diagnoses:
        found += _cohort_laws(world, diagnosis)
        for tier in world.tiers:
            found += _pair_laws(world, diagnosis, tier)
    found += [*ordinary_laws(world), *membership_laws(world)]
    verdicts = world.asked_verdicts()
    found.append(equal(verdicts, *(f"judges/{kind}" for kind in ("agree", "disagree", "unjudged"))))
    found.append(equal(verdicts, *(f"judges/{cell}" for cell in ANSWER_CELLS)))
    # The tables are of whole sets; of the others the verdicts are counted here alone.
    lost = minus(add(*(f"judges/{cell}" for cell in ANSWER_CELLS[2:])), world.verdicts(("unjudged",)))
    return [*found, Law(lost), at_most(lost, minus(verdicts, world.verdicts(shape.OUTCOMES)))]


def _split_laws(world: World, arm: str) -> Iterator[Law]:
    """Every partition by what identifies a patient, and by follow-up, holds the whole split."""
    everyone = world.all_patients(arm)
    for cells in world.identifiable(arm).values():
        yield equal(everyone, *cells.values())
    if arm == "train":
        yield from (
            at_most(shape.BOTH, of) for of in (world.identifiable(arm)["ids"]["several"], world.all_targets(arm))
        )
    yield equal(everyone, *(f"follow/{arm}/{cell}" for cell in (*shape.FOLLOW_UP_DAYS, FOLLOW_UP_UNKNOWN)))
    lows, highs = ({f"follow/{arm}/{cell}": of[end] for cell, of in shape.FOLLOW_UP_DAYS.items()} for end in (0, 1))
    yield from (at_most(lows, f"follow/{arm}/sum"), at_most(f"follow/{arm}/sum", highs))


def _people_laws(world: World, arm: str, partition: str) -> list[Law]:
    groups = shape.GROUPS[partition]
    found = [equal(f"total/twice/{arm}", *(f"{partition}/{arm}/twice/{group}" for group in groups))]
    for diagnosis in world.diagnoses:
        names = [world.members(diagnosis, arm, partition, group) for group in groups]
        found.append(equal(add(*names), {f"total/cell/{diagnosis}": 2}))
        # Of both cohorts are at most all of either; of one diagnosis nobody stands in two.
        factor = 1 if len(world.diagnoses) > 1 else 2
        found += [
            at_most({f"{partition}/{arm}/twice/{group}": factor}, name)
            for group, name in zip(groups, names, strict=True)
        ]
    if partition in shape.CORPUS_PARTITIONS:
        found.append(equal(f"total/rest/{arm}", *(f"{partition}/{arm}/rest/{group}" for group in groups)))
    return found


def _tier_laws(world: World, tier: str, arm: str, partition: str) -> list[Law]:
    found = []
    groups = shape.GROUPS[partition]
    place = f"{partition}/{arm}/{{}}/{tier}/{{}}".format
    totals: dict[str, Sum | str] = {
        "missing": f"total/missing/{tier}/{arm}",
        "attributable": world.above(tier, arm, "attributable"),
        "asked": f"mem/{tier}/{arm}/asked",
        "exposed": f"mem/{tier}/{arm}/exposed",
    }
    for kind, total in totals.items():
        found.append(equal(total, *(place(kind, group) for group in groups)))
    for group in groups:
        here = world.at_tier(tier, arm, partition, group)
        found += [
            Law(here),
            at_most(place("attributable", group), here),
            at_most(place("asked", group), here),
            at_most(place("exposed", group), place("asked", group)),
        ]
    return found


def _memorization_laws(world: World, tier: str, arm: str) -> list[Law]:
    place = f"mem/{tier}/{arm}/{{}}".format
    patients, hit = world.patients(tier, arm), world.above(tier, arm, "memorized")
    near = world.above(tier, arm, "near")
    found = [
        at_most(place("empty"), place("short")),
        at_most(place("refused"), f"total/missing/{tier}/{arm}"),
        at_most(add(near, place("short")), patients),
        at_most(near, add(hit, world.above(tier, arm, "extra"))),
        equal(place("near/sum"), place("memorized/sum"), place("extra/sum")),
        # No equation: of the tokens of no match any part is attributable.
        at_most(place("near_attributable/sum"), add(place("attributable/sum"), place("extra/sum"))),
        at_most(
            world.above(tier, arm, "near_attributable"),
            add(world.above(tier, arm, "attributable"), world.above(tier, arm, "extra")),
        ),
    ]
    for fraction in shape.FRACTIONS:
        bins = [place(f"{fraction}/bin/{k}") for k in range(len(shape.FRACTION_BINS))]
        lows = {name: low + 1 for name, (low, _) in zip(bins, shape.FRACTION_BINS, strict=True)}
        highs = {name: high for name, (_, high) in zip(bins, shape.FRACTION_BINS, strict=True)}
        found += [at_most(lows, place(f"{fraction}/sum")), at_most(place(f"{fraction}/sum"), highs)]
    for whole, part in shape.NESTED:
        found.append(at_most(place(f"{part}/sum"), place(f"{whole}/sum")))
        for threshold in range(len(shape.FRACTION_BINS)):
            found.append(at_most(world.above(tier, arm, part, threshold), world.above(tier, arm, whole, threshold)))
    found += [*_text_laws(world, tier, arm), *_guard_laws(world, tier, arm), *_others_laws(world, tier, arm)]
    single = len(world.diagnoses) == 1
    # Who has a diagnosis and a verdict on it, and of whom it is stated: of one diagnosis these are its table's.
    for kind, outcomes in (("asked", shape.OUTCOMES[:-1]), ("exposed", shape.OUTCOMES[:1])):
        cells = [world.table(diagnosis, tier, arm, ("1",), outcomes) for diagnosis in world.diagnoses]
        found.append(Law(minus(add(*cells), place(kind)), 0, 0 if single else np.inf))
        found += [at_most(cell, place(kind)) for cell in cells]
    return found


def _text_laws(world: World, tier: str, arm: str) -> list[Law]:
    place = f"mem/{tier}/{arm}/{{}}".format
    hit, near = world.above(tier, arm, "memorized"), world.above(tier, arm, "near")
    found = [
        at_most(hit, place("source_notes")),
        at_most(place("source_notes"), times(hit, 9)),
        # Every patient with memorized text has a region, stitched or not.
        *_behind(place("stitched"), hit),
        *_behind(place("unstitched"), hit),
        equal(place("regions"), place("stitched/units"), place("unstitched/units")),
        at_most(hit, add(place("stitched/patients"), place("unstitched/patients"))),
        at_most(near, place("longest/sum")),
        at_most(place("longest/sum"), times(near, shape.TOKENS)),
    ]
    whole: dict[str, tuple[str, ...]] = {"k": shape.K_BINS, "copy": shape.COPY_BINS, **shape.SECTIONS_OF}
    for kind, names in whole.items():
        for name in names:
            found += _behind(place(f"{kind}/{name}"), hit)
    tokens = {
        content: [f"{kind}/{s}" for kind in shape.KINDS if kind.startswith(content) for s in shape.SECTIONS_OF[kind]]
        for content in shape.CONTENTS
    }
    found.append(equal(place("memorized/sum"), *(place(f"{cell}/units") for own in tokens.values() for cell in own)))
    found += _union_laws([place(cell) for cell in tokens["templated"]], place("templated/patients"), hit, {})
    found += _union_laws([place(cell) for cell in tokens["revealing"]], place("revealing/patients"), hit, {})
    found.append(at_most(hit, add(place("templated/patients"), place("revealing/patients"))))
    found += _union_laws([place(f"k/{name}") for name in shape.K_BINS[1:]], place("shared/patients"), hit, {})
    copies = [place(f"copy/{name}") for name in shape.COPY_BINS]
    others = minus(place("k/1/units"), *(f"{copy}/units" for copy in copies))
    found.append(Law(others))
    found += _union_laws(copies, place("k/1/patients"), hit, others)
    return found


def _behind(place: str, hit: Sum) -> list[Law]:
    """Say that so many patients have these units: one each at least, and not more than a patient can have."""
    units, behind = f"{place}/units", f"{place}/patients"
    return [at_most(behind, units), at_most(behind, hit), at_most(units, {behind: shape.TOKENS})]


def _union_laws(places: list[str], union: str, hit: Sum, others: Sum) -> list[Law]:
    """Say that so many patients have any of these units, or of `others`."""
    behind = [f"{place}/patients" for place in places]
    return [*(at_most(own, union) for own in behind), at_most(union, add(*behind, others)), at_most(union, hit)]


def _pair_laws(world: World, diagnosis: str, tier: str) -> list[Law]:
    found = []
    place = f"pair/{diagnosis}/{tier}/{{}}/{{}}".format
    kept = minus(f"total/cell/{diagnosis}", world.dropped(diagnosis, tier))
    for side, row in itertools.product(world.sides, shape.ROWS):
        found.append(equal(kept, world.table(diagnosis, tier, side, row, shape.OUTCOMES)))
    for arm in shape.ARMS:
        away = f"pair/{diagnosis}/{tier}/own/{shape.MISSING}/{arm}"
        missing = f"total/missing/{tier}/{arm}"
        found.append(Law(minus(missing, away), 0, 0 if len(world.diagnoses) == 1 else np.inf))
        if len(world.diagnoses) > 1:
            others = [f"pair/{d}/{tier}/own/{shape.MISSING}/{arm}" for d in world.diagnoses]
            found.append(at_most(missing, add(*others)))
    for reason in (shape.MISSING, shape.REFERS):
        own = [f"pair/{diagnosis}/{tier}/own/{reason}/{arm}" for arm in shape.ARMS]
        found.append(at_most(place("dropped", reason), add(*own)))
        # A set has two patients of an arm.
        found += [at_most(of_arm, {place("dropped", reason): 2}) for of_arm in own]
    return found


def _cohort_laws(world: World, diagnosis: str) -> list[Law]:
    found = []
    place = f"{{}}/{diagnosis}/{{}}/{{}}".format
    cell = f"total/cell/{diagnosis}"
    candidates = []
    for arm in shape.ARMS:
        of_arm = [place("candidates", arm, row) for row in shape.ROWS]
        candidates += of_arm
        found.append(at_most(add(*of_arm), world.all_patients(arm)))
        females = [place("female", arm, row) for row in shape.ROWS]
        found.append(equal(world.members(diagnosis, arm, "sex", "female"), *females))
        for row, pool, female in zip(shape.ROWS, of_arm, females, strict=True):
            before = place("female_before", arm, row)
            found += [
                at_most(cell, pool),
                at_most(female, cell),
                at_most(female, before),
                at_most(add(before, cell), add(pool, female)),
            ]
    excluded = [f"excluded/{diagnosis}/{reason}" for reason in shape.UNSURE]
    everyone = add(*(world.all_patients(arm) for arm in shape.ARMS))
    found.append(equal(everyone, *candidates, *excluded))
    return found


def _guard_laws(world: World, tier: str, arm: str) -> Iterator[Law]:
    place = f"mem/{tier}/{arm}/guard/{{}}".format
    patients, spared, repeating = world.patients(tier, arm), place("spared"), place("repeating")
    lost, cut = place("recitation/sum"), place("recitation/patients")
    yield from itertools.starmap(
        at_most,
        (
            (repeating, patients),
            (repeating, f"repeating/{arm}"),
            (minus(f"repeating/{arm}", repeating), f"total/missing/{tier}/{arm}"),
            (f"repeating/{arm}", world.all_targets(arm)),
            (spared, repeating),
            (spared, place("ended")),
            (place("ended"), patients),
            (cut, repeating),
            (cut, lost),
            (lost, {cut: shape.TOKENS}),
            (world.above(tier, arm, "unguarded_memorized"), patients),
            (world.above(tier, arm, "memorized"), world.above(tier, arm, "unguarded_memorized")),
        ),
    )
    if tier not in shape.FRAGMENTS:
        yield Law({cut: 1}, 0, 0)
    for second, first in zip(shape.UNGUARDED, ("attributable", "memorized"), strict=True):
        # Nothing else changes than the text of those who are spared.
        sums = [f"mem/{tier}/{arm}/{fraction}/sum" for fraction in (second, first)]
        changes = [({spared: shape.TOKENS}, minus(*sums))]
        for threshold in range(len(shape.FRACTION_BINS)):
            aboves = [world.above(tier, arm, fraction, threshold) for fraction in (second, first)]
            changes.append(({spared: 1}, minus(*aboves)))
        yield from (Law(sum_) for most, changed in changes for sum_ in (minus(most, changed), add(most, changed)))


def _others_laws(world: World, tier: str, arm: str) -> Iterator[Law]:
    place = f"mem/{tier}/{arm}/{{}}".format
    patients, short, owners = world.patients(tier, arm), place("short"), place("owners")
    most = len(shape.FRACTION_BINS) - 1
    for fraction in shape.OTHERS_TEXT:
        # None of it is memorized, and a text shorter than a match has none.
        yield at_most(add(world.above(tier, arm, fraction), short), patients)
        yield at_most(
            add(place(f"{fraction}/sum"), place("memorized/sum"), {short: shape.TOKENS}), times(patients, shape.TOKENS)
        )
        yield at_most(add(*(world.above(tier, arm, name, most) for name in (fraction, "memorized"))), patients)
    yield at_most(world.above(tier, arm, shape.OTHERS_TEXT[0]), {owners: _MANY})
    yield from (at_most(owners, of) for of in (place(f"{shape.OTHERS_TEXT[0]}/sum"), world.all_patients("train")))


def _prompt_laws(world: World, tier: str, arm: str) -> Iterator[Law]:
    """Both models are asked with the prompts that fit, and of as many nothing that follows counts."""
    patients, fitting = world.patients(tier, arm), world.fitting(tier, arm)
    yield at_most(fitting, patients)
    yield from (at_most(f"prompts/{tier}/{arm}/{kind}", patients) for kind in shape.PROMPTS)
    if tier in shape.FRAGMENTS:
        audited, control = (world.queries(tier, arm, model) for model in shape.MODELS)
        yield equal(fitting, *control.values())
        yield equal(audited[NO_WINDOW], control[NO_WINDOW])


def _identifier_laws(world: World, arm: str) -> Iterator[Law]:
    missing = [f"total/missing/{tier}/{arm}" for tier in world.tiers]
    everywhere = f"identifiers/missing/{arm}"
    yield from (at_most(everywhere, at_tier) for at_tier in missing)
    yield at_most(add(*missing), add(everywhere, times(world.all_targets(arm), len(missing) - 1)))
    for place, patients in world.identified_places(arm).items():
        any_, pooled, chance = (world.having(place, rate) for rate in shape.RATES)
        own, other, sampled, of_chance = (f"{place}/{kind}" for kind in shape.OWNER_KINDS)
        tier = place.split("/")[1]
        written = minus(patients, f"mem/{tier}/{arm}/empty") if tier in world.tiers else patients
        yield from (at_most(part, written) for part in (own, other, sampled, of_chance, any_, pooled, chance))
        # What is another's alone is verified; what is verified is their own or another's.
        yield from (at_most(other, any_), at_most(any_, add(own, other)))
        # A pool's values are sampled ones and the verified ones that are their own.
        yield from (at_most(sampled, pooled), at_most(pooled, add(own, sampled)))
        yield from (at_most(pooled, add(any_, sampled)), at_most(any_, add(pooled, other)))
        yield equal(chance, of_chance)

    def sum_of(name: str, kind: str) -> Sum:
        place = f"identifiers/{name}/{arm}"
        return world.having(place, kind.removeprefix("any ")) if kind.startswith("any ") else add(f"{place}/{kind}")

    # Who has any at a tier has it of a category, and the other way round.
    for kind in (*shape.OWNER_KINDS, *(f"any {rate}" for rate in shape.RATES)):
        for names, others in itertools.permutations((world.tiers, shape.CATEGORIES)):
            yield from (at_most(sum_of(name, kind), add(*(sum_of(other, kind) for other in others))) for name in names)
