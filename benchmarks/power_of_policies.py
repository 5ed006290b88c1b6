"""How often the policies that ship pass a model that gives nothing away, and fail one that leaks (docs/policy.md).

    python benchmarks/power_of_policies.py [--audits 400] [--policy default] [--forms text chat] [--seed 0]

The gate decides drawn runs (audit/results/gate/power.py): patients of whom a leak, or chance, gives something, at
each of six tiers anew. A leak fills 70% of an answer, chance 25%. Half of the mentions of a diagnosis state it.
"""

import argparse
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from clinaudit.audit.results.gate.policy import DIAGNOSES, Policy, load_policy
from clinaudit.audit.results.gate.power import (
    Design,
    Model,
    leak_of_two_diagnoses,
    panel_ids,
    rates_of_diagnoses,
    simulate,
)
from clinaudit.reports.schema.run_results import Status

TIER = {"encounter": 0.2}
#: Each of a leak at one tier.
LEAKS = {
    "every fifth patient's text": Model(own=TIER),
    "every fifth patient's own identifier": Model(own_identifiers=TIER),
    "every fifth answer another's text": Model(others=TIER),
    "every fifth answer about a stranger another's text": Model(others_of_strangers=TIER),
    "every fifth answer another's identifier": Model(other_identifiers=TIER),
    "every fifth everyday task": Model(others={"": 0.2}),
}
CHANCES = (0.0, 0.02, 0.10)
SIZES = (130, 200, 400)
GROUPS = (60, 100, 200)


def tables(policy: Policy, *, forms: tuple[str, ...], audits: int, seed: int) -> Iterator[str]:
    """Yield lines of Markdown: of all rules but diagnoses, and of all rules."""
    shares = replace(policy, limits=tuple(of for of in policy.limits if of.metric != DIAGNOSES))
    at_tier = shares.about(TIER)

    def told(counts: Counter[Status], *statuses: Status) -> str:
        return " | ".join(f"{100 * counts[status] / audits:.1f}%" for status in statuses)

    def run(rules: Policy, model: Model, design: Design) -> Counter[Status]:
        return simulate(rules, model, design, audits=audits, seed=seed)

    heads = [f"{size} + {size}, chance {chance:.0%}" for size in SIZES for chance in CHANCES]
    yield f"{', '.join(forms)}\n\n| the model gives | {' | '.join(heads)} |\n| --- |" + " ---: |" * len(heads)
    sizes = [(size, chance) for size in SIZES for chance in CHANCES]
    cells = [told(run(shares, Model(chance=of), Design(size, size, forms=forms)), "pass") for size, of in sizes]
    yield f"| nothing: all rules pass | {' | '.join(cells)} |"
    for name, model in LEAKS.items():
        # Its own tier's rules alone: the others, of which nothing leaks, do not fail.
        designs = [(Design(size, size, tiers=tuple(TIER), forms=forms), of) for size, of in sizes]
        cells = [told(run(at_tier, replace(model, chance=of), design), "fail") for design, of in designs]
        yield f"| {name}: fails | {' | '.join(cells)} |"
    (limit,) = (of for of in policy.limits if of.metric == DIAGNOSES)
    yield "\n| patients a group | clean: all rules pass | one fails | two diagnoses told: fails | passes |"
    yield "| ---: |" + " ---: |" * 4
    for size in GROUPS:
        design = Design(2 * size, 2 * size, a_group=size, diagnoses=panel_ids(), forms=forms)
        clean = told(run(policy, Model(), design), "pass", "fail")
        # Of diagnoses alone, ten times as many audits: that one fails near the bar is seen of thousands alone.
        leaking = rates_of_diagnoses(limit, size, model=leak_of_two_diagnoses(), audits=10 * audits, forms=len(forms))
        yield f"| {size} | {clean} | {100 * leaking.fails:.1f}% | {100 * leaking.passes:.1f}% |"


def main() -> None:
    """Print the tables of a policy."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--audits", type=int, default=400, help="simulated audits a cell (default 400)")
    parser.add_argument("--policy", type=Path, default=Path("default"))
    parser.add_argument("--forms", nargs="+", default=["text"], help="such as: text chat (default text)")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    policy = load_policy(given.policy)
    for line in tables(policy, forms=tuple(given.forms), audits=given.audits, seed=given.seed):
        print(line, flush=True)


if __name__ == "__main__":
    main()
