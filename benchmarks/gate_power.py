"""How often the disclosure rules of the policies that ship pass a model that leaks nothing, and fail one that leaks.

The claim, of the default policy: with 100 patients a cell and all 36 (diagnosis, tier) pairs at the paper's Table 1
mention rates, a leak-free model passes at least 90% of the time, and a model that leaks abortion and HIV at the three
fragment tiers (sensitivity 0.25 in train against 0.08, false-positive rate 0.005 against 0.08) fails at least 90% of
the time.

    python benchmarks/gate_power.py [--repetitions 300] [--patients 100]

Assumption: half of the mentions state the diagnosis and half deny it, which gives the largest variance that a mention
rate allows, and reproduces the claim's 0.08 at the mention rates of abortion (0.165) and HIV (0.195).
"""

import argparse
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np

from clinaudit.audit.measures.cohorts.balance import BalanceRow
from clinaudit.audit.measures.cohorts.cohort import CohortSummary, tally_cohort
from clinaudit.audit.measures.disclosure.metrics import Reading
from clinaudit.audit.measures.disclosure.stage import tally_pair
from clinaudit.audit.measures.disclosure.train_delta import adjust_holm, measure_disclosure
from clinaudit.audit.results.gate import evaluation
from clinaudit.audit.results.gate.policy import Policy, load_policy
from clinaudit.audit.results.publication.run_verdict import find_outcomes
from clinaudit.audit.results.ranges.results import derive
from clinaudit.audit.runtime.choices import SHIPPED
from clinaudit.priors.renderings import View
from clinaudit.priors.tiers import TIERS
from clinaudit.reports.schema.decision import Status
from clinaudit.reports.schema.disclosure import MeasuredPair, Outcome
from clinaudit.reports.schema.memorization import MemorizationResults
from clinaudit.reports.schema.numbers import Estimate, ShownEstimate
from clinaudit.reports.schema.record import ARMS, Arm
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.tally.classes import class_of
from clinaudit.reports.tally.tally import DisclosureTally, PairTally, Tally, publishable

#: Table 1: average share of generations that mention the diagnosis.
MENTION_RATES = {
    "anxiety": 0.60,
    "depression": 0.70,
    "abortion": 0.165,
    "bipolar": 0.46,
    "ptsd": 0.415,
    "hiv": 0.195,
}
LEAKED = ("abortion", "hiv")
SENSITIVITY, FALSE_POSITIVE_RATE, BACKGROUND = 0.25, 0.005, 0.08

_NOTHING = Estimate(value=None, reason="not simulated")


def simulate_verdicts(
    *,
    patients: int,
    leaking: bool,
    rng: np.random.Generator,
    repetition_count: int,
) -> dict[str, Counter[Status]]:
    """Return how often each policy that ships gave each verdict, on the same `repetition_count` simulated audits."""
    policies = [_only_disclosure(load_policy(Path(name))) for name in SHIPPED]
    verdicts: dict[str, Counter[Status]] = {name: Counter() for name in SHIPPED}
    for _ in range(repetition_count):
        tally = simulate_audit(patients=patients, leaking=leaking, rng=rng)
        published = publish_results(tally, patients=patients)
        outcomes = find_outcomes(derive(tally), published)
        for policy in policies:
            verdicts[policy.name][evaluation.decide(policy, published, outcomes).status] += 1
    return verdicts


def _only_disclosure(policy: Policy) -> Policy:
    return replace(
        policy, memorization=(), identifiers=(), ordinary=None, judge=None, to_pass=replace(policy.to_pass, judge=None)
    )


def simulate_audit(*, patients: int, leaking: bool, rng: np.random.Generator) -> Tally:
    """Return the disclosure part of one audit with `patients` a cell."""
    pairs: dict[tuple[View, str, str], MeasuredPair] = {}
    for diagnosis, mention_rate in MENTION_RATES.items():
        for tier in TIERS:
            leaks = leaking and tier.is_fragment and diagnosis in LEAKED
            readings = _draw_readings(patients, mention_rate, leaks=leaks, rng=rng)
            # The gate rests on DeLong's formulas: few resamples spare time and change no verdict.
            pair = measure_disclosure(readings, prevalence=None, seed=0, resamples=2)
            pairs[None, diagnosis, tier.id] = pair
    by_diagnosis: dict[str, dict[str, PairTally]] = {}
    for (_, diagnosis, tier_id), pair in adjust_holm(pairs).items():
        by_diagnosis.setdefault(diagnosis, {})[tier_id] = tally_pair(pair)
    cohort = CohortSummary(
        status="balanced",
        reason=None,
        prevalence=_NOTHING,
        cells={},
        # Perfectly matched: a cohort that is not is inconclusive without any simulation.
        balance=[BalanceRow(contrast="pos-train vs. pos-nontrain", covariate="age", smd=0.0, flag="balanced")],
        excluded={},
    )
    return Tally(
        disclosure=DisclosureTally(by_diagnosis=by_diagnosis),
        cohorts=dict.fromkeys(MENTION_RATES, tally_cohort(cohort)),
    )


def publish_results(tally: Tally, *, patients: int) -> RunResults:
    """Return what is published of an audit, on which the gate asks whether there is enough evidence; no short texts."""
    texts = MemorizationResults.model_construct(
        patients=class_of(4 * patients), short_share=ShownEstimate(low=0.0, high=0.0)
    )
    published = derive(publishable(tally))
    return published.model_copy(update={"memorization": {tier.id: dict.fromkeys(ARMS, texts) for tier in TIERS}})


def _draw_readings(patients: int, mention_rate: float, *, leaks: bool, rng: np.random.Generator) -> list[Reading]:
    readings = []
    arms: tuple[Arm, ...] = ("train", "nontrain")
    for arm in arms:
        for present in (True, False):
            positive = mention_rate / 2
            if leaks:
                positive = BACKGROUND
                if arm == "train":
                    positive = SENSITIVITY if present else FALSE_POSITIVE_RATE
            chances = [mention_rate / 2, 1 - mention_rate / 2 - positive, positive]
            kinds: tuple[Outcome, ...] = ("negative", "not_mentioned", "positive")
            for i, kind in enumerate(rng.choice(3, size=patients, p=chances)):
                readings.append(Reading(f"{arm}-{present}-{i}", arm, present, kinds[kind]))
    return readings


def main() -> None:
    """Print the share of each verdict for both models."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=300, help="simulated audits a model (default 300)")
    parser.add_argument("--patients", type=int, default=100, help="patients a cell (default 100)")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    for leaking in (False, True):
        verdicts = simulate_verdicts(
            patients=arguments.patients,
            leaking=leaking,
            rng=np.random.default_rng(arguments.seed),
            repetition_count=arguments.repetitions,
        )
        for policy, counts in verdicts.items():
            shares = ", ".join(f"{status} {counts[status] / arguments.repetitions:.1%}" for status in sorted(counts))
            print(f"{policy}, {'leaking' if leaking else 'leak-free'} model, {arguments.patients} a cell: {shares}")


if __name__ == "__main__":
    main()
