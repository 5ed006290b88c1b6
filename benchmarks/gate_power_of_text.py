"""How often a policy's rules on text and identifiers pass a model that gives nothing away, and fail one that does.

    python benchmarks/gate_power_of_text.py [--repetitions 1000] [--patients 130] [--policy default]

Both arms have as many patients, each asked once at each of the six tiers. What is published is made by the program's
own code, and the gate decides on that. Chance gives 0.5% of the patients of either arm an identifier of their own, as
many one of another's of either pool, as many a match of their own text and as many one of another's, each of
`--matched` of the answer. A model that leaks gives every fifth patient of the train arm, by an independent draw at each
tier where it leaks, one of these besides: text of their own (`--share` of the answer's tokens, by default all), text of
another, an identifier of their own, one of another. Four models leak one of them, each at all six tiers, or at one.
"""

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal
from unittest.mock import patch

import numpy as np

from clinaudit.audit.measures.memorization.summary import fraction_by_patient
from clinaudit.audit.pii import summary
from clinaudit.audit.pii.owners import OwnedValue
from clinaudit.audit.pii.summary import IdentifiedAnswers, IdentifiedGeneration, summarize_identifiers
from clinaudit.audit.results.gate.evaluation import decide
from clinaudit.audit.results.gate.policy import Policy, load_policy
from clinaudit.audit.results.gate.sample_size import clean_run
from clinaudit.audit.results.ranges.identifiers import derive_identifiers
from clinaudit.audit.results.ranges.memorization import derive_fraction
from clinaudit.audit.statistics.intervals import resample_means
from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.schema.decision import GateDecision
from clinaudit.reports.schema.memorization import FractionOfText
from clinaudit.reports.schema.record import ARMS, Arm
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.tally.leaves import Count, Inside, Setting, coarsen
from clinaudit.reports.tally.tally import IdentifiersTally, IdentifierTally

Leak = Literal["text", "others' text", "identifiers", "others' identifiers"]
#: The rule that each leak is looked for by.
LEAKS: Final[dict[Leak, str]] = {
    "text": "attributable_fraction",
    "others' text": "other_patient_fraction",
    "identifiers": "own",
    "others' identifiers": "other",
}
CHANCE, LEAKED = 0.005, 0.2
#: Resamples of intervals that are not published.
_RESAMPLES = 2


def simulate(
    policy: Policy,
    *,
    patients: int,
    leak: Leak | None,
    tiers: int,
    shares: tuple[float, float],
    rng: np.random.Generator,
) -> GateDecision:
    """Return the verdict on one simulated audit of a model that leaks at the first tiers."""
    run = clean_run(dict.fromkeys(TIER_IDS, (patients, patients)))
    memorization, identifiers = {}, {}
    for place, tier in enumerate(TIER_IDS):
        leaks = leak if place < tiers else None
        memorization[tier] = {
            arm: run.memorization[tier][arm].model_copy(
                update=_draw_text(run, tier, arm, patients, leaks if arm == "train" else None, shares, rng)
            )
            for arm in ARMS
        }
        identifiers[tier] = {
            arm: _draw_identifiers(tier, arm, patients, leaks if arm == "train" else None, rng) for arm in ARMS
        }
    coarse = coarsen(IdentifiersTally(identifiers, Inside(None), Setting(()), {}))
    published = run.model_copy(update={"memorization": memorization, "identifiers": derive_identifiers(coarse)})
    return decide(policy, published, {})


def _draw_text(
    run: RunResults,
    tier: str,
    arm: Arm,
    patients: int,
    leak: Leak | None,
    shares: tuple[float, float],
    rng: np.random.Generator,
) -> dict[str, object]:
    own, others = (
        np.maximum(
            _given(rng, patients, CHANCE) * shares[0], _given(rng, patients, LEAKED * (leak == name)) * shares[1]
        )
        for name in ("text", "others' text")
    )
    clean = run.memorization[tier][arm]
    assert clean.other_patients is not None
    of_others = clean.other_patients.model_copy(update={"fraction": _publish(others)})
    return {"attributable_fraction": _publish(own), "other_patients": of_others}


def _given(rng: np.random.Generator, patients: int, chance: float) -> np.ndarray:
    return (rng.random(patients) < chance).astype(float)


def _publish(fractions: np.ndarray) -> FractionOfText:
    """Return a fraction of each patient's text as it is published."""
    exact = fraction_by_patient({str(i): [float(own)] for i, own in enumerate(fractions)})
    return derive_fraction(coarsen(exact), coarsen(Count.of(len(fractions))).range)


def _draw_identifiers(
    tier: str, arm: Arm, patients: int, leak: Leak | None, rng: np.random.Generator
) -> IdentifierTally:
    chances = {
        "own": (CHANCE, LEAKED * (leak == "identifiers")),
        "sampled": (CHANCE, LEAKED * (leak == "others' identifiers")),
        "chance": (CHANCE, 0.0),
    }
    given = {kind: np.maximum(*(_given(rng, patients, chance) for chance in of)) for kind, of in chances.items()}
    answers = IdentifiedAnswers(
        IdentifiedGeneration(
            f"p{i}", arm, tier, None, tuple(_values(3 * i, {kind: bool(g[i]) for kind, g in given.items()}))
        )
        for i in range(patients)
    )
    with (
        patch.object(summary, "RESAMPLES", _RESAMPLES),
        patch.dict(resample_means.__kwdefaults__, resamples=_RESAMPLES),
    ):
        return summarize_identifiers(answers.of(arm), recall=[], has_pools=True, seed=0)


def _values(number: int, given: dict[str, bool]) -> Iterator[OwnedValue]:
    if given["own"]:
        yield OwnedValue(number, "A", "own", True, False, False)
    if given["sampled"]:
        yield OwnedValue(number + 1, "A", "other_train", True, True, False)
    if given["chance"]:
        yield OwnedValue(number + 2, "A", "other_nontrain", False, False, True)


def main() -> None:
    """Print how often each rule and the whole run is decided how, by model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=1000, help="simulated audits a model (default 1,000)")
    parser.add_argument("--patients", type=int, default=130, help="patients an arm (default 130)")
    parser.add_argument("--policy", default="default")
    parser.add_argument("--share", type=float, default=1.0, help="of an answer that is leaked text (default 1)")
    parser.add_argument(
        "--matched", type=float, default=0.05, help="of an answer that is a chance match (default 0.05)"
    )
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    loaded = load_policy(Path(arguments.policy))
    policy = Policy(
        loaded.name, loaded.minimum_patients_per_class, 1.0, 1.0, loaded.memorization, (), loaded.identifiers
    )
    models: list[tuple[Leak | None, int]] = [(None, 0), *((leak, tiers) for leak in LEAKS for tiers in (6, 1))]
    for leak, tiers in models:
        rng = np.random.default_rng(arguments.seed)
        runs: Counter[str] = Counter()
        rules: Counter[tuple[str, str]] = Counter()
        for _ in range(arguments.repetitions):
            decided = simulate(
                policy,
                patients=arguments.patients,
                leak=leak,
                tiers=tiers,
                shares=(arguments.matched, arguments.share),
                rng=rng,
            )
            runs[decided.status] += 1
            rules.update(
                (rule.metric + ("" if rule.arm != "nontrain" else ", never seen"), rule.status)
                for rule in decided.rules
                if leak is None or (rule.tier == TIER_IDS[0] and rule.metric == LEAKS[leak] and rule.arm != "nontrain")
            )
        name = "leak-free" if leak is None else f"{leak} of every fifth patient at {tiers} tier{'s' * (tiers > 1)}"
        print(f"{name}, {arguments.patients} an arm: run {_shares(runs)}")
        for metric in sorted({metric for metric, _ in rules}):
            of_rule = Counter({status: count for (own, status), count in rules.items() if own == metric})
            print(f"    one rule on {metric}: {_shares(of_rule)}", flush=True)


def _shares(counts: Counter[str]) -> str:
    return ", ".join(f"{status} {count / counts.total():.1%}" for status, count in sorted(counts.items()))


if __name__ == "__main__":
    main()
