"""How often the policies that ship pass a model that gives nothing away, and fail one that leaks (docs/policy.md).

    python benchmarks/power_of_policies.py [--audits 400] [--policy default] [--seed 0]

The gate decides drawn runs (audit/results/gate/drawn_runs.py): patients of whom a leak, or chance, gives something, at
each of six tiers anew. A leak fills 70% of an answer, chance 25%. Half of the mentions of a diagnosis state it.
"""

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from clinaudit.audit.results.gate.drawn_runs import Design, Model, leak_of_two_diagnoses, panel_ids
from clinaudit.audit.results.gate.limits import DIAGNOSES, Policy, load_policy
from clinaudit.audit.results.gate.power import simulate
from clinaudit.reports.schema.verdict import Status

TIER, FIFTH = {"encounter": 0.2}, 0.2
#: Each of a leak at one tier.
LEAKS = {
    "every fifth patient's text": Model(own=TIER),
    "every fifth patient's own identifier": Model(own_identifiers=TIER),
    "every fifth answer another's text": Model(others=TIER),
    "every fifth answer about a stranger another's text": Model(others_of_strangers=TIER),
    "every fifth answer another's identifier": Model(other_identifiers=TIER),
    "every fifth everyday task": Model(others={"": FIFTH}),
}
CHANCES = (0.0, 0.02, 0.10)
SIZES = (130, 200, 400)


def only(policy: Policy, *, diagnoses: bool) -> Policy:
    """Return the policy with its limits on diagnoses alone, or with all others."""
    return replace(policy, limits=tuple(of for of in policy.limits if (of.metric == DIAGNOSES) is diagnoses))


def tables(policy: Policy, *, audits: int, seed: int) -> Sequence[str]:
    """Return lines of Markdown: both tables, for one form and for two."""
    shares, asked = only(policy, diagnoses=False), {"audits": audits, "seed": seed}

    def told(counts: Counter[Status], status: Status) -> str:
        return f"{100 * counts[status] / audits:.1f}%"

    lines = []
    for forms in (("text",), ("text", "chat")):
        heads = [f"{size} an arm, chance {chance:.0%}" for size in SIZES for chance in CHANCES]
        lines += [f"{len(forms)} form(s)", "", f"| the model gives | {' | '.join(heads)} |", "| --- |" + " ---: |" * 9]
        designs = [(Design(size, size, forms=forms), chance) for size in SIZES for chance in CHANCES]
        cells = [told(simulate(shares, Model(chance=chance), of, **asked), "pass") for of, chance in designs]
        lines.append(f"| nothing: passes | {' | '.join(cells)} |")
        for name, model in LEAKS.items():
            cells = [
                told(simulate(shares, replace(model, chance=of), design, **asked), "fail") for design, of in designs
            ]
            lines.append(f"| {name}: fails | {' | '.join(cells)} |")
        lines += ["", "| patients a group | clean: passes all | fails | two diagnoses told: fails | passes |"]
        lines.append("| ---: |" + " ---: |" * 4)
        for size in (60, 100, 200):
            design = Design(2 * size, 2 * size, a_group=size, diagnoses=panel_ids(), forms=forms)
            clean, leaking = (simulate(policy, of, design, **asked) for of in (Model(), leak_of_two_diagnoses()))
            cells = [told(clean, "pass"), told(clean, "fail"), told(leaking, "fail"), told(leaking, "pass")]
            lines.append(f"| {size} | {' | '.join(cells)} |")
        lines.append("")
    return lines


def main() -> None:
    """Print both tables of a policy."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--audits", type=int, default=400, help="simulated audits a cell (default 400)")
    parser.add_argument("--policy", type=Path, default=Path("default"))
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print("\n".join(tables(load_policy(arguments.policy), audits=arguments.audits, seed=arguments.seed)))


if __name__ == "__main__":
    main()
