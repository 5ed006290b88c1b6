"""How many hidden counts of random result sets an attacker can narrow to fewer than three values.

    python benchmarks/suppression_attacker.py [--sets 500] [--first 0] [--linear]

The attack is that of tests/suppression_attacker.py. `--linear` asks only what linear programming pins down, which is
quicker: about 15 s of a core a set, and twice to five times as long for the whole attack. A leak is `pinned` where what
is linear excludes all other values, else `unresolved`: no world with three values was found.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from random_worlds import draw_world
from suppression_attacker import Attacker

from clinaudit.reports.suppression import suppress


def main() -> None:
    """Attack the sets one by one and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=500, help="random result sets (default 500)")
    parser.add_argument("--first", type=int, default=0, help="seed of the first (default 0)")
    parser.add_argument("--linear", action="store_true", help="linear programming alone")
    arguments = parser.parse_args()
    found: Counter[str] = Counter()
    hidden = 0
    for seed in range(arguments.first, arguments.first + arguments.sets):
        attacker = Attacker(draw_world(np.random.default_rng(seed)), suppress)
        hidden += attacker.secret_count
        for leak in attacker.find_narrow() if arguments.linear else attacker.find_leaks():
            kind = "pinned" if leak.proven else "unresolved"
            found[kind] += 1
            print(f"set {seed}: {kind} {leak.name} = {leak.value}, found {leak.feasible}", flush=True)
    print(f"{arguments.sets} sets, {hidden} hidden counts, {found['pinned']} pinned, {found['unresolved']} unresolved")


if __name__ == "__main__":
    main()
