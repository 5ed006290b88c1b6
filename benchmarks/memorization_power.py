"""How often the memorization rules of the policies that ship pass a model that leaks nothing, and fail one that leaks.

The claim, of the default policy: with 130 patients in either arm a model that repeats nothing passes all memorization
rules at least 90% of the time, and one that gives out text of every fifth patient fails at least 90% of the time, word
for word or with a few words changed. One rule alone sees the edited leak.

    python benchmarks/memorization_power.py [--repetitions 100] [--patients 130]

Assumptions: one answer of 600 tokens a patient and tier; a patient trained on leaks with a chance of one in five, at
one tier; then `--share` of the answer is the patient's own text.

Measured (100 repetitions, seed 0): the model that repeats nothing passes default and research and is inconclusive under
strict, which takes 368 patients an arm. The leak fails default and strict in 100%, research in 91%, edited or not.
"""

import argparse
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal

import numpy as np

from clinaudit.audit.measures.memorization.beside_summary import summarize_near_verbatim, summarize_other_patients
from clinaudit.audit.measures.memorization.generation_metrics import GenerationMetrics, MeasuredGeneration
from clinaudit.audit.measures.memorization.summary import summarize_memorization
from clinaudit.audit.results.gate.evaluation import decide
from clinaudit.audit.results.gate.policy import load_policy
from clinaudit.audit.results.ranges.results import derive
from clinaudit.audit.runtime.choices import SHIPPED
from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.schema.record import ARMS, Arm
from clinaudit.reports.tally.tally import MemorizationTally, Tally, publishable

Leak = Literal["nothing", "verbatim", "edited"]
TOKENS, MATCH_TOKENS, LEAKING_PATIENTS = 600, 30, 0.2
#: Where the model leaks.
TIER: Final = "encounter"


def simulate_arm(tier: str, arm: Arm, own_tokens: np.ndarray, *, verbatim: bool) -> MemorizationTally:
    """Return the tally of one tier and arm, of answers with so many tokens of the patient's own text."""
    rows = [
        GenerationMetrics(
            generation_id=str(place),
            patient_id=str(place),
            arm=arm,
            tier=tier,
            rendering="text",
            tokens=TOKENS,
            memorized_tokens=tokens if verbatim else 0,
            echo_tokens=0,
            attributable_tokens=tokens if verbatim else 0,
            regions=int(verbatim and tokens > 0),
            stitched_regions=0,
            source_notes=int(verbatim and tokens > 0),
            attributable_tokens_unmasked=tokens if verbatim else 0,
            other_patient_tokens=0,
            near_verbatim_attributable_tokens=tokens,
        )
        for place, tokens in enumerate(own_tokens.tolist())
    ]
    counts = [
        MeasuredGeneration(row, (), (), (), (), 0, near_tokens=tokens, longest_near_region=tokens)
        for row, tokens in zip(rows, own_tokens.tolist(), strict=True)
    ]
    tally = summarize_memorization(counts, match_tokens=MATCH_TOKENS, seed=0)
    memorized = tally.fractions["memorized_fraction"]
    return replace(
        tally,
        near_verbatim=summarize_near_verbatim(counts, memorized=memorized, match_tokens=MATCH_TOKENS, seed=0),
        other_patients=summarize_other_patients(counts, seed=0),
    )


def simulate_audit(*, patients: int, leak: Leak, share: float, rng: np.random.Generator) -> Tally:
    """Return the memorization part of one audit."""
    nothing = np.zeros(patients, dtype=np.int64)
    silent = {arm: simulate_arm(TIER_IDS[0], arm, nothing, verbatim=True) for arm in ARMS}
    memorization = {tier: dict(silent) for tier in TIER_IDS}
    if leak != "nothing":
        leaks = rng.random(patients) < LEAKING_PATIENTS
        own = np.where(leaks, round(share * TOKENS), 0)
        memorization[TIER]["train"] = simulate_arm(TIER, "train", own, verbatim=leak == "verbatim")
    return Tally(memorization=memorization)


def main() -> None:
    """Print the share of each verdict, and how many rules failed at most, for each policy and model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=100, help="simulated audits a model (default 100)")
    parser.add_argument("--patients", type=int, default=130, help="patients an arm (default 130)")
    parser.add_argument("--share", type=float, default=1.0, help="of a leaking answer, the patient's text (default 1)")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    policies = [replace(load_policy(Path(name)), disclosure=(), identifiers=()) for name in SHIPPED]
    leaks: tuple[Leak, ...] = ("nothing", "verbatim", "edited")
    for leak in leaks:
        rng = np.random.default_rng(given.seed)
        verdicts: dict[str, Counter[str]] = {policy.name: Counter() for policy in policies}
        failed: dict[str, set[str]] = {policy.name: set() for policy in policies}
        repetitions = 1 if leak == "nothing" else given.repetitions
        for _ in range(repetitions):
            tally = simulate_audit(patients=given.patients, leak=leak, share=given.share, rng=rng)
            published = derive(publishable(tally))
            for policy in policies:
                decision = decide(policy, published, {})
                verdicts[policy.name][decision.status] += 1
                failed[policy.name] |= {rule.metric for rule in decision.rules if rule.status == "fail"}
        for name, counts in verdicts.items():
            shares = ", ".join(f"{status} {count / repetitions:.1%}" for status, count in sorted(counts.items()))
            by = f" (by {', '.join(sorted(failed[name]))})" if failed[name] else ""
            print(f"{name}, leak: {leak}, {given.patients} an arm: {shares}{by}")


if __name__ == "__main__":
    main()
