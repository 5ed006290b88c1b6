"""What a reader of published files can tell of counts of 1 to 10: an attack on many worlds, and twins of many worlds.

    python benchmarks/suppression_attacker.py [--worlds 500] [--twins 200] [--first 0]

Attack (tests/support/suppression_attack/attack.py): for each small count of a world, at least three values are looked
for among worlds that are measured and publish the same, and have the same words on every diagnosis under every limit
that a policy may have; a third of the worlds has one diagnosis. A leak is `proven` where all that is linear in what is
published excludes every further value, else none was found in time. Twins (twins.py): another world with the same
coarse table and as many other counts as can be; all files of both are written and compared byte by byte.

A world takes 5 to 30 s of a core, a pair of twins 3 to 8 s. Each is drawn by its own seed: go on with `--first` where a
run was stopped, and give both cores a part.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support.results.drawn_worlds import draw_world
from support.results.random_worlds import World
from support.suppression_attack.attack import Attacker
from support.suppression_attack.published_bytes import write_published
from support.suppression_attack.twins import find_twins


def main() -> None:
    """Make twins, attack worlds, print what was found; exits with 1 where anything was."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=500, help="worlds to attack (default 500)")
    parser.add_argument("--twins", type=int, default=200, help="worlds to find a twin of (default 200)")
    parser.add_argument("--first", type=int, default=0, help="seed of the first of either (default 0)")
    arguments = parser.parse_args()
    differing = make_twins(range(arguments.first, arguments.first + arguments.twins))
    leaks = attack_worlds(range(arguments.first, arguments.first + arguments.worlds))
    sys.exit(1 if differing or leaks else 0)


def drawn(seed: int) -> World:
    """Return the world of a seed; every third has one diagnosis."""
    return draw_world(np.random.default_rng(seed), diagnoses=1 if seed % 3 == 0 else 2)


def make_twins(seeds: range) -> int:
    """Compare the files of twins; returns how many pairs differ."""
    found: Counter[str] = Counter()
    changed = []
    for seed in told(seeds, "twins"):
        twins = find_twins(drawn(seed), seed=seed)
        if twins is None:
            found["without a twin"] += 1
            print(f"world {seed}: no twin was found", flush=True)
            continue
        changed.append(twins.changed)
        found["refused"] += twins.refused
        with tempfile.TemporaryDirectory() as folder:
            first = write_published(Path(folder, "first"), twins.first)
            second = write_published(Path(folder, "second"), twins.second)
        if first != second:
            found["differing"] += 1
            names = [name for name in first if first[name] != second.get(name)]
            print(f"world {seed}: twins of {twins.changed} changed counts differ in {', '.join(names)}", flush=True)
    print(
        f"{len(changed)} pairs of twins, {np.mean(changed or [0]):.0f} changed counts in the mean, at least"
        f" {min(changed, default=0)}; {found['differing']} pairs differ; {found['without a twin']} worlds without a"
        f" twin; {found['refused']} worlds within all inequalities were no twins",
        flush=True,
    )
    return found["differing"] + found["without a twin"]


def attack_worlds(seeds: range) -> int:
    """Attack worlds; returns how many small counts were found to have too few values."""
    found: Counter[str] = Counter()
    fewest = []
    for seed in told(seeds, "attack"):
        attacker = Attacker(drawn(seed), seed=seed)
        for leak in attacker.find_leaks():
            kind = "proven" if leak.proven else "unresolved"
            found[kind] += 1
            print(f"world {seed}: {kind} {leak.name} = {leak.value}, found {leak.feasible}", flush=True)
        found["counts"] += attacker.count
        found["worlds"] += attacker.worlds
        found["refused"] += attacker.refused
        fewest.append(attacker.fewest)
    print(
        f"{len(fewest)} worlds, {found['counts']} counts of 1 to 10; {found['worlds']} other worlds measured,"
        f" {found['refused']} of them publish something else; fewer than three values: {found['proven']} proven,"
        f" {found['unresolved']} unresolved",
        flush=True,
    )
    return found["proven"] + found["unresolved"]


def told(seeds: range, what: str) -> Iterator[int]:
    """Yield the seeds and tell how far it is."""
    begin = time.monotonic()
    for done, seed in enumerate(seeds):
        if sys.stderr.isatty() or done % 10 == 0:
            end = "" if sys.stderr.isatty() else "\n"
            print(f"\r{what}: {done} of {len(seeds)}, {time.monotonic() - begin:.0f} s", end=end, file=sys.stderr)
        yield seed


if __name__ == "__main__":
    main()
