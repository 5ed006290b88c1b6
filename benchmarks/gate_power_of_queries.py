"""How often the rules on queries needed pass a model that gives nothing away, and fail one that does.

    python benchmarks/gate_power_of_queries.py [--repetitions 400] [--patients 100 130 200 400 600]

What is published is made by the program's own code of patients drawn by number of queries, as many in either arm, and
the gate's own reading is held against each limit. Of patients never seen nobody's text comes, as where a prompt quotes
less than the history of present illness; or one of 200 patients' by chance; or, as may be after that history, that of
17, 27 and 40% within 10, 100 and 1,000 queries, because it can be guessed. A model that gives nothing away does to
patients trained on what it does to others. One that leaks gives the text of every fifth or of every second patient
within 1,000 queries besides, a third each within 10, 100 and 1,000, so that a greedy answer shows none of it; one that
`recites` gives that of 35, 96 and 100% within 1, 10 and 100 queries, as the demo's does of an appointment reminder.
"""

import argparse
from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np

from clinaudit.audit.results.gate.reading import read_figure
from clinaudit.audit.results.ranges.attacks import derive_queries
from clinaudit.reports.schema.attacks import QUERY_CELLS, QueriesResults
from clinaudit.reports.schema.decision import RuleStatus
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.tally.attacks import QueriesTally
from clinaudit.reports.tally.leaves import Partition, coarsen

#: Shares of patients by `QUERY_CELLS`.
Shares = Sequence[float]
NOBODY: Final[Shares] = (0, 0, 0, 0, 0, 0.9, 0.1)
#: Of one patient in two hundred by chance.
CHANCE: Final[Shares] = (0, 0, 0, 0.005, 0, 0.9, 0.095)
GUESSED: Final[Shares] = (0, 0.17, 0.10, 0.13, 0.10, 0.45, 0.05)
RECITED: Final[Shares] = (0.35, 0.61, 0.04, 0, 0, 0, 0)


def leaking(guessed: Shares, share: float) -> Shares:
    """Return the shares of a model that gives a share of the patients away besides."""
    leak = np.array([0, 1 / 3, 1 / 3, 1 / 3, 0, 0, 0])
    return [*(share * leak + (1 - share) * np.array(guessed))]


def publish(counts: Sequence[int]) -> QueriesResults:
    """Return what is published of so many patients by number of queries."""
    cells = {name: int(count) for name, count in zip(QUERY_CELLS, counts, strict=True)}
    return derive_queries(coarsen(QueriesTally(Partition.of(cells), None)))


def decide(train: QueriesResults, nontrain: QueriesResults, *, queries: int, limit: float) -> RuleStatus:
    """Return what a rule of such a limit says, the rest of the evidence being enough."""
    run = RunResults(queries={"encounter": {"train": train, "nontrain": nontrain}})
    read = read_figure(run, metric="queries_needed", tier="encounter", diagnosis=None, arm="train", queries=queries)
    low, high = read.observed.confidence_low, read.observed.confidence_high
    if low is not None and low > limit:
        return "fail"
    return "pass" if high is not None and high <= limit else "inconclusive"


def simulate(
    train: Shares, nontrain: Shares, *, patients: int, limits: Sequence[float], repetitions: int, seed: int
) -> dict[float, Counter[RuleStatus]]:
    """Return how often a rule on 1,000 queries is decided how, by limit."""
    rng = np.random.default_rng(seed)
    decided: dict[float, Counter[RuleStatus]] = {limit: Counter() for limit in limits}
    for _ in range(repetitions):
        drawn = [publish(rng.multinomial(patients, shares)) for shares in (train, nontrain)]
        for limit, counted in decided.items():
            counted[decide(*drawn, queries=1000, limit=limit)] += 1
    return decided


def main() -> None:
    """Print how often a rule is decided how, by what can be guessed, model, size and limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=400)
    parser.add_argument("--patients", type=int, nargs="+", default=[100, 130, 200, 400, 600], help="an arm")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    places = {
        "nothing can be guessed": (NOBODY, (0.02, 0.05)),
        "1 in 200 by chance": (CHANCE, (0.02, 0.05)),
        "up to 40% can be guessed": (GUESSED, (0.20, 0.25, 0.30)),
    }
    for place, (guessed, limits) in places.items():
        models = {
            "gives nothing away": guessed,
            "leaks every fifth": leaking(guessed, 0.2),
            "leaks every second": leaking(guessed, 0.5),
            "recites": RECITED,
        }
        for model, train in models.items():
            for patients in arguments.patients:
                decided = simulate(
                    train,
                    guessed,
                    patients=patients,
                    limits=limits,
                    repetitions=arguments.repetitions,
                    seed=arguments.seed,
                )
                of_limits = "; ".join(
                    f"{limit:g}: "
                    + ", ".join(f"{status} {count / counted.total():.1%}" for status, count in sorted(counted.items()))
                    for limit, counted in decided.items()
                )
                print(f"{place}, {model}, {patients} an arm: {of_limits}", flush=True)


if __name__ == "__main__":
    main()
