"""How many values a small count keeps beside the words of every policy: whether verdicts give any count away.

    python benchmarks/verdict_attack.py [--part lone|diagnoses|policies] [--cases 1.0] [--worlds 10]

`lone`: counts that stand alone (patients with an own or another's identifier, with a short answer, refused). For every
size of an arm up to 500 and every count up to it, what is published is made by the program's own code; all sizes and
counts that publish the same, and have the same words under every limit that a policy may have, are counted.

`diagnoses`: one comparison of verdicts, the only rules that are decided on exact counts. Tables are constructed (cells
of 1 to 10 and more, small and large rows, with effects of every size; of each set of classes the tables at whose words
the fewest others are: most and least significant, nearest to a threshold, at the corners) and drawn. The attacker knows
all other comparisons, all classes of this one, and its words under every limit. For each count of 1 to 10 values are
looked for by tests/support/suppression_attack/verdict_search.py, which lists rows and shares nothing with
`safe_limits`.

`policies`: ten small worlds are judged by policies of every limit in turn, and their words intersected: each of their
comparisons is attacked as above, at the level that the other comparisons leave it.

Exits with 1 where any count of 1 to 10 keeps fewer than three values. A minute of one core, four for `diagnoses`.
"""

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support.results.drawn_worlds import draw_world
from support.results.random_worlds import World
from support.results.world_tally import tally_of
from support.suppression_attack.verdict_search import (
    ENOUGH,
    SMALL,
    Kept,
    Tables,
    VerdictSearch,
    Words,
    measure_tables,
    outcome_counts,
)

from clinaudit.audit.measures.disclosure.metrics import Reading
from clinaudit.audit.measures.disclosure.stage import tally_pair
from clinaudit.audit.measures.disclosure.train_delta import measure_disclosure
from clinaudit.audit.results.gate.evaluation import Comparison, decide
from clinaudit.audit.results.gate.policy import ALPHA, LIMITS, DisclosureRule, Policy, TextRule
from clinaudit.audit.results.gate.sample_size import clean_run
from clinaudit.audit.results.publication import run_verdict
from clinaudit.audit.results.ranges.identifiers import derive_identifiers
from clinaudit.audit.results.ranges.results import derive
from clinaudit.audit.results.ranges.tests import DrawnTables, draw_tables, find_test_ranges, safe_level, safe_limits
from clinaudit.reports.schema.disclosure import DIAGNOSIS_STATUSES
from clinaudit.reports.schema.record import ARMS
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.tally.classes import ARM_STEP, Interval
from clinaudit.reports.tally.leaves import Alone, Count, Inside, Rate, Setting, coarsen
from clinaudit.reports.tally.tally import DisclosureTally, IdentifiersTally, IdentifierTally, Tally, publishable

TIER, DIAGNOSIS = "public", "hiv"
LARGEST_ARM = 500
#: Comparisons over which Holm adjusts and that are not rejected yet, one for each set of classes in turn.
HYPOTHESES = (1, 6, 36)
_QUERIES = 1000


def main() -> None:
    """Mount the attacks, print what each leaves; exits with 1 where a count keeps too few values."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=("lone", "diagnoses", "policies"), help="one attack alone")
    parser.add_argument("--cases", type=float, default=1.0, help="of the constructed and drawn tables, this share")
    parser.add_argument("--worlds", type=int, default=10, help="small worlds judged by policies in a row (default 10)")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    fewest = []
    if arguments.part in (None, "lone"):
        fewest.append(attack_lone_counts())
    if arguments.part in (None, "diagnoses"):
        fewest.append(attack_comparisons(rng, share=arguments.cases))
    if arguments.part in (None, "policies"):
        fewest.append(attack_worlds(rng, worlds=arguments.worlds))
    sys.exit(1 if min(fewest) < ENOUGH else 0)


# Counts that stand alone


def attack_lone_counts() -> int:
    """Return the fewest values that a lone count of 1 to 10, or an arm of so many, keeps beside all words."""
    policies = [_text_policy(limit) for limit in LIMITS]
    words: dict[object, object] = {}
    counts: dict[object, set[int]] = defaultdict(set)
    sizes: dict[object, set[int]] = defaultdict(set)
    for size in range(1, LARGEST_ARM + 1):
        arm = coarsen(Count.of(size)).range
        for count in range(size + 1):
            alone = coarsen(Alone.of(count)).range
            shown = arm.low, alone.low
            is_end = size in (arm.low, arm.high) or count in (size, alone.low, alone.high)
            # The gate is asked at the ends of both classes, where its words would part.
            if is_end and (shown not in words or size in (arm.low, arm.high)) and count % ARM_STEP in (0, 1, 5, 6):
                told = _words_on(size, count, policies)
                if words.setdefault(shown, told) != told:
                    print(f"an arm of {size}, {count} of them: words differ within one class")
                    return 0
            counts[shown].add(count)
            sizes[shown].add(size)
    small = min(len(values) for values in counts.values() if 1 <= min(values) <= SMALL)
    middle = min(len(values) for values in counts.values() if max(values) > SMALL and min(values) <= 2 * SMALL)
    arms = min(len(values) for values in sizes.values())
    print(
        f"lone counts: {len(counts)} pairs of classes, {len(words)} asked of the gate under {len(LIMITS)} limits;"
        f" counts of 1 to 10 keep {small} values or more, of 11 to 20 {middle}, sizes of arms {arms}"
    )
    return min(small, arms)


def _text_policy(limit: float) -> Policy:
    tiers = (TIER,)
    return Policy(
        name="attack",
        minimum_patients_per_class=2,
        maximum_short_share=limit,
        maximum_unjudged_share=1.0,
        memorization=(TextRule("attributable_fraction", tiers, limit),),
        disclosure=(),
        identifiers=(
            TextRule("own", tiers, limit),
            TextRule("other", tiers, limit),
            TextRule("verified_per_1000", tiers, _QUERIES * limit),
        ),
        maximum_refused_share=limit,
    )


def _words_on(size: int, count: int, policies: Sequence[Policy]) -> object:
    """Return the words of every rule where so many of an arm are counted by each: own, another's, any, and short."""
    arms = {"train": _identifiers(size, count), "nontrain": _identifiers(size, 0)}
    shown = coarsen(IdentifiersTally({TIER: arms}, Inside(None), Setting(()), {}))  # type: ignore[dict-item]
    run = clean_run({TIER: (size, size)})
    short = coarsen(Alone.of(count)).range
    text = run.memorization[TIER]["train"].model_copy(update={"short": short})
    published = run.model_copy(
        update={
            "identifiers": derive_identifiers(shown),
            "memorization": {TIER: {**run.memorization[TIER], "train": text}},
        }
    )
    return tuple(
        tuple((rule.status, rule.reason) for rule in decide(policy, published, {}).rules) for policy in policies
    )


def _identifiers(size: int, count: int) -> IdentifierTally:
    """Return the identifiers of an arm of whom so many have a value a query of each kind, and nobody one by chance."""
    rate, none = (Rate.of([(Interval(0.5, 1.0), patients)]) for patients in (count, 0))
    is_public = size > ARM_STEP
    return IdentifierTally(
        patients=Count.of(size),
        own=Alone.of(count),
        other=Alone.of(count),
        sampled=Inside(Alone.of(count), is_public),
        chance=Inside(Alone.of(0), is_public),
        verified=Alone.of(count),
        verified_rate=rate,
        sampled_rate=Inside(rate, is_public),
        chance_rate=Inside(none, is_public),
        evidence=Inside(None),
    )


# One comparison


class Attacked(NamedTuple):
    """What an attack on some comparisons found."""

    kept: list[Kept]
    #: Words, and thresholds that were moved.
    words: Counter[str]
    moved: Counter[str]


def attack_comparisons(rng: np.random.Generator, *, share: float) -> int:
    """Return the fewest values that a count of 1 to 10 keeps beside the words of its comparison."""
    found = Attacked([], Counter(), Counter())
    cases = 0
    sizes = (4, 8, 12, 20, 20, 25, 30, 30, 40, 50, 60, 100)
    start = [_construct(size, effect, rng) for size in sizes for effect in range(len(_EFFECTS))]
    start += [_draw_table(int(size), rng) for size in [*rng.integers(20, 61, 30), *[100] * 10]]
    for number in rng.permutation(len(start))[: max(1, round(share * len(start)))]:
        published = _publish(start[number])
        pair = published.disclosure.by_diagnosis[DIAGNOSIS][TIER]
        drawn = draw_tables(pair, find_test_ranges(published)[DIAGNOSIS, TIER, None])
        search = VerdictSearch(pair, rng)
        words = _turns(drawn, ALPHA / HYPOTHESES[number % len(HYPOTHESES)], found.moved)
        for table in _hard_tables(search, start[number], words, rng):
            cases += 1
            _attack(search, table, words, found)
    return _report(found, f"diagnoses: {cases} tables of {len(start)} sets of classes")


def _turns(drawn: DrawnTables, level: float, moved: Counter[str]) -> Words:
    turn = safe_level(drawn, level)
    limits = safe_limits(drawn, turn, LIMITS)
    moved["levels"] += 1
    moved["levels moved"] += turn != level
    moved["limits"] += len(LIMITS)
    moved["limits moved"] += sum(limits[limit] != limit for limit in LIMITS)
    return Words(turn, tuple(limits[limit] for limit in LIMITS))


def _attack(search: VerdictSearch, table: Tables, words: Words, found: Attacked) -> None:
    word = int(words.read(*measure_tables(table[None]))[0])
    found.words["fail" if word == -1 else f"passes {word} of {len(LIMITS)} limits"] += 1
    for kept in search.keep(table, words):
        found.kept.append(kept)
        if len(kept.found) < ENOUGH:
            print(f"{kept.place} = {kept.value}, found {kept.found}, words {words}, table {table.tolist()}", flush=True)


def _report(found: Attacked, what: str) -> int:
    fewest = min((len(kept.found) for kept in found.kept), default=ENOUGH)
    lost = sum(len(kept.found) < ENOUGH for kept in found.kept)
    told = ", ".join(f"{word} {count}" for word, count in sorted(found.words.items()))
    moved = ", ".join(f"{name} {count}" for name, count in sorted(found.moved.items()))
    print(f"{what}, {len(found.kept)} counts of 1 to 10: the fewest keeps {fewest} values, {lost} fewer than {ENOUGH}")
    print(f"  words: {told}; thresholds: {moved}", flush=True)
    return fewest


#: Of train and nontrain patients, with the diagnosis and without: shares of negative, undecided and positive verdicts.
_EFFECTS = (
    # Nobody is told of, all are alike, a leak of few, of many, of all, the other way round, and hardly any mention.
    ((0.0, 1.0, 0.0),) * 4,
    ((0.3, 0.4, 0.3),) * 4,
    ((0.1, 0.65, 0.25), (0.1, 0.9, 0.0), (0.1, 0.8, 0.1), (0.1, 0.8, 0.1)),
    ((0.1, 0.4, 0.5), (0.4, 0.5, 0.1), (0.2, 0.6, 0.2), (0.2, 0.6, 0.2)),
    ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.2, 0.6, 0.2), (0.2, 0.6, 0.2)),
    ((0.4, 0.5, 0.1), (0.1, 0.4, 0.5), (0.1, 0.4, 0.5), (0.4, 0.5, 0.1)),
    ((0.02, 0.9, 0.08), (0.04, 0.96, 0.0), (0.03, 0.93, 0.04), (0.05, 0.92, 0.03)),
)


def _construct(size: int, effect: int, rng: np.random.Generator) -> Tables:
    """Return a table of rows of one size with shares of an effect, now and then some of them unjudged."""
    rows = []
    for shares in _EFFECTS[effect]:
        unjudged = int(rng.integers(0, 4)) if rng.random() < 0.4 and size > 10 else 0
        cells = np.floor((size - unjudged) * np.array(shares)).astype(int)
        cells[1] += size - unjudged - cells.sum()
        rows.append([*cells, unjudged])
    return np.array(rows).reshape(2, 2, 4)


def _draw_table(size: int, rng: np.random.Generator) -> Tables:
    return np.array([rng.multinomial(size, rng.dirichlet([0.5, 0.8, 0.5, 0.1])) for _ in range(4)]).reshape(2, 2, 4)


def _hard_tables(search: VerdictSearch, first: Tables, words: Words, rng: np.random.Generator) -> Iterator[Tables]:
    """Yield a table, and of others within its classes those whose words the fewest have."""
    tables = np.concatenate([search.draw(1000), search.corners(200), first[None]])
    p_values, upper = measure_tables(tables)
    told = words.read(p_values, upper)
    yield first
    # Of the rarest word, most significant, of the least upper end, and next to where words turn.
    names, counts = np.unique(told, return_counts=True)
    yield tables[rng.choice(np.flatnonzero(told == names[counts.argmin()]))]
    yield tables[p_values.argmin()]
    yield tables[np.abs(p_values - words.level).argmin()]
    yield tables[upper.argmin()]
    yield tables[np.abs(upper[:, None] - np.array(words.turns)).min(axis=1).argmin()]


def _publish(table: Tables) -> RunResults:
    """Return what is published of a run with one comparison."""
    counts = {
        arm: {status: outcome_counts(table[row, place].tolist()) for place, status in enumerate(DIAGNOSIS_STATUSES)}
        for row, arm in enumerate(ARMS)
    }
    readings = [
        Reading(f"{arm}-{status}-{outcome}-{i}", arm, status == "present", outcome)  # type: ignore[arg-type]
        for arm, rows in counts.items()
        for status, row in rows.items()
        for outcome, count in row.items()
        for i in range(count)
    ]
    pair = measure_disclosure(readings, prevalence=None, seed=0, resamples=2)
    return derive(publishable(Tally(disclosure=DisclosureTally(by_diagnosis={DIAGNOSIS: {TIER: tally_pair(pair)}}))))


# Policies in a row


def attack_worlds(rng: np.random.Generator, *, worlds: int) -> int:
    """Return the fewest values that a count of a comparison of small worlds keeps beside the words of all policies."""
    found = Attacked([], Counter(), Counter())
    done, seed = 0, 0
    while done < worlds:
        world = draw_world(np.random.default_rng(seed))
        seed += 1
        if max(world.counts[f"total/cell/{diagnosis}"] for diagnosis in world.diagnoses) <= 45:
            done += 1
            _attack_world(world, rng, found)
    return _report(found, f"policies in a row: {worlds} worlds under policies of {len(LIMITS)} limits")


def _attack_world(world: World, rng: np.random.Generator, found: Attacked) -> None:
    tally = tally_of(world)
    published = derive(publishable(tally))
    turns = _record_turns(tally, published)
    words = _words_of_all(tally, published)
    for (diagnosis, tier, rendering), own in turns.items():
        pair = published.disclosure.by_diagnosis[diagnosis][tier]
        table = _table_of(tally, diagnosis, tier)
        word = int(own.read(*measure_tables(table[None]))[0])
        told = words[diagnosis, tier, rendering]
        expected = [
            "fail" if word == -1 else "pass" if place < word else "inconclusive" for place in range(len(LIMITS))
        ]
        # A lack of evidence, which is a function of what is published, makes any word inconclusive.
        if any(status not in (asked, "inconclusive") for status, asked in zip(told, reversed(expected), strict=True)):
            raise AssertionError("the gate's words are not those of the attack")
        _attack(VerdictSearch(pair, rng), table, own, found)


def _record_turns(tally: Tally, published: RunResults) -> Mapping[Comparison, Words]:
    """Return where the words of each comparison turn beside those of the others, as the program finds it."""
    recorded: list[Words] = []

    def record(drawn: DrawnTables, level: float, limits: Sequence[float]) -> dict[float, float]:
        found = safe_limits(drawn, level, limits)
        recorded.append(Words(level, tuple(found[limit] for limit in limits)))
        return found

    with patch.object(run_verdict, "safe_limits", record):
        outcomes = run_verdict.find_outcomes(derive(tally), published)
    return dict(zip(outcomes, recorded, strict=True))


def _words_of_all(tally: Tally, published: RunResults) -> Mapping[Comparison, list[str]]:
    """Return the status of every comparison under a policy of each limit in turn."""
    words: dict[Comparison, list[str]] = defaultdict(list)
    for limit in LIMITS:
        outcomes = run_verdict.find_outcomes(derive(tally), published)
        rule = DisclosureRule(tuple(tally.memorization), None, limit)
        policy = Policy("attack", 2, 1.0, 1.0, (), (rule,))
        for decided in decide(policy, published, outcomes).rules:
            words[decided.diagnosis or "", decided.tier or "", decided.rendering].append(decided.status)
    return words


def _table_of(tally: Tally, diagnosis: str, tier: str) -> Tables:
    verdicts = tally.disclosure.by_diagnosis[diagnosis][tier].verdicts
    cells = ("negative", "undecided", "positive", "unjudged")
    rows = [verdicts[arm][status] for arm in ARMS for status in DIAGNOSIS_STATUSES]
    return np.array([[row[cell].range.low for cell in cells] for row in rows]).reshape(2, 2, 4)


if __name__ == "__main__":
    main()
