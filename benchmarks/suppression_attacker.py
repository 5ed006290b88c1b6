"""How many suppressed counts of random result sets an attacker can narrow to fewer than three values.

    python benchmarks/suppression_attacker.py [--sets 500] [--first 0] [--linear]

The attack is that of tests/support/suppression_attack/suppression_attacker.py. `--linear` asks only which values
are left by whole worlds (sets of counts) that agree with all that is linear in what is published: 2 to 5 s of a core a
set. Without it, the suppressed results of a world must also be the very same, which takes minutes. A leak is `pinned`
where integer programming proves that all other values are excluded, else `unresolved`: no three worlds were found in
time.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support.results.drawn_worlds import draw_world
from support.suppression_attack.suppression_attacker import Attacker

from clinaudit.reports.suppression.results import suppress


def main() -> None:
    """Attack the sets one by one and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=500, help="random result sets (default 500)")
    parser.add_argument("--first", type=int, default=0, help="seed of the first (default 0)")
    parser.add_argument("--linear", action="store_true", help="what is linear alone, in whole numbers")
    arguments = parser.parse_args()
    found: Counter[str] = Counter()
    hidden = 0
    for seed in range(arguments.first, arguments.first + arguments.sets):
        attacker = Attacker(draw_world(np.random.default_rng(seed)), suppress)
        hidden += attacker.secret_count
        if sys.stderr.isatty():
            print(f"\rset {seed + 1 - arguments.first} of {arguments.sets}", end="", file=sys.stderr)
        for leak in attacker.find_narrow() if arguments.linear else attacker.find_leaks():
            kind = "pinned" if leak.proven else "unresolved"
            found[kind] += 1
            print(f"set {seed}: {kind} {leak.name} = {leak.value}, found {leak.feasible}", flush=True)
    print(f"{arguments.sets} sets, {hidden} hidden counts, {found['pinned']} pinned, {found['unresolved']} unresolved")


if __name__ == "__main__":
    main()
