"""What a reader of `bench.json` can tell of the number of a site's patients, and of those whom a filter misses.

    python benchmarks/pii_bench_attack.py [--sites 1000] [--least 41] [--most 50]

Draws sites of 41 to 50 patients, each with one name and one birth date in one note, and eight rows: four systems on
either. The reader knows that, and the published file; he knows no patient. He keeps each number of patients for which
every row could be as it is published, and of it each number of missed patients. Beside it stands the rule of before:
numbers of patients in classes of ten, the share of the places to two digits where more than ten patients stand behind
it and behind what it leaves out. Exits with 1 where fewer than three values of a count from 1 to 10 are left, or of the
number of patients.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from functools import cache

import numpy as np

from clinaudit.audit.pii.benchmark.site_notes import SiteTally, publish_misses
from clinaudit.reports.tally.classes import ARM_STEP, class_of, is_enough, two_digits

ROWS = 8
FEW = 10
#: Values that must be left.
LEFT = 3


def main() -> None:
    """Attack sites by both rules, print what was found; exits with 1 where the rule of now gives anything away."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sites", type=int, default=1000, help="sites to draw (default 1000)")
    parser.add_argument("--least", type=int, default=41, help="fewest patients of a site (default 41)")
    parser.add_argument("--most", type=int, default=50, help="most patients of a site (default 50)")
    parser.add_argument("--seed", type=int, default=0, help="of the sites (default 0)")
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    pinned = 0
    sizes: Counter[int] = Counter()
    counts: Counter[int] = Counter()
    for _ in range(arguments.sites):
        patients = int(rng.integers(arguments.least, arguments.most + 1))
        missed = rng.binomial(patients, rng.uniform(0.2, 0.8, size=ROWS)).tolist()
        pinned += len(sizes_before(patients, missed)) == 1
        left = sizes_now(patients, missed)
        sizes[len(left)] += 1
        counts.update(values_now(left, patients, row) for row in missed if 1 <= row <= FEW)
    print(f"{arguments.sites} sites of {arguments.least} to {arguments.most} patients, {ROWS} rows")
    print(f"rule of before: the number of patients is told of {pinned / arguments.sites:.0%}")
    print(f"classes of twenty: at least {min(sizes)} numbers of patients are left")
    print(f"of {counts.total():,} counts from 1 to {FEW} at least {min(counts)} values are left")
    sys.exit(1 if min(sizes) < LEFT or min(counts) < LEFT else 0)


def sizes_before(patients: int, missed: Sequence[int]) -> list[int]:
    """Return the numbers of patients that the shares of before leave, each row of one place a patient."""
    shown = class_of(patients)
    return [
        size
        for size in range(shown.low, shown.high + 1)
        if all(
            any(_share_before(size, other) == _share_before(patients, row) for other in range(size + 1))
            for row in missed
        )
    ]


def _share_before(patients: int, missed: int) -> float | None:
    if not is_enough(patients, patients - missed, missed):
        return None
    return two_digits((patients - missed) / patients)


def sizes_now(patients: int, missed: Sequence[int]) -> list[int]:
    """Return the numbers of patients for which every row could be as it is published."""
    shown = class_of(patients, step=ARM_STEP)
    published = {_publish(patients, row) for row in missed}
    return [
        size
        for size in range(shown.low, shown.high + 1)
        if published <= {_publish(size, row) for row in range(size + 1)}
    ]


def values_now(sizes: Sequence[int], patients: int, missed: int) -> int:
    """Return how many numbers of missed patients a row leaves, whichever of these numbers of patients there are."""
    shown = _publish(patients, missed)
    return sum(any(value <= size and _publish(size, value) == shown for size in sizes) for value in range(max(sizes)))


@cache
def _publish(patients: int, missed: int) -> str:
    tally = SiteTally(
        system="rules", identifier="A", patients=patients, missed_patients=missed, places=patients, missed_places=missed
    )
    return publish_misses(tally).model_dump_json()


if __name__ == "__main__":
    main()
