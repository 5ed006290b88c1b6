"""Tiers at which few patients are missing: their sizes are hidden, all together (docs/results.md, "Small cells").

Who is missing at a tier (no distinguishing fact, a generation that failed) shows in many places: the patients of an
arm, the prompts counted the paper's way, the sizes of subgroups, the sets dropped by diagnosis. Each is a difference of
two of the others, so that hiding one at a time leaves ways back: an attacker by linear programming found many. Where
any such count of a tier is 1 to 10, no size of that tier is published, and its figures are given to two decimals. Sizes
of other tiers stay, and so do those of outcome tables, which tell of matched sets alone.
"""

from collections.abc import Iterator

from clinaudit.reports.schema.disclosure import Disclosure, DisclosurePair
from clinaudit.reports.schema.estimate import ARMS, Arm
from clinaudit.reports.schema.results import Results
from clinaudit.reports.suppression.outcome_table import OutcomeTable, read_table
from clinaudit.reports.suppression.small_cells import LARGEST_HIDDEN, is_small

#: Values that a hidden count must be left.
_VALUES = 3


def find_hidden_tiers(results: Results) -> frozenset[str]:
    """Return the tiers of which no size may be published; takes the unsuppressed results."""
    return frozenset(
        tier
        for tier in results.memorization
        if any(map(is_small, _missing_counts(results, tier))) or _tells_dropped_sets(results, tier)
    )


def _tells_dropped_sets(results: Results, tier: str) -> bool:
    """Whether so many patients are missing that the few sets dropped must be nearly ten: a set has two of an arm."""
    missing = [_largest(results, arm) - (figures.patients or 0) for arm, figures in results.memorization[tier].items()]
    least = max(-(-sum(missing) // 4), *(-(-count // 2) for count in missing))
    pairs = (tiers[tier] for tiers in results.disclosure.by_diagnosis.values() if tier in tiers)
    return least > LARGEST_HIDDEN - _VALUES and any(map(has_few_dropped, pairs))


def find_hidden_splits(results: Results) -> frozenset[str]:
    """Return the splits of which shown sizes tell that 1 to 10 patients are no targets.

    Whoever is missing at a tier is a target, too; of whom the ledger counts as excluded, some are not missing. Targets
    who are in no set of some cohort are not guarded: hiding every size they follow from would leave none.
    """
    splits = {} if results.corpus is None else results.corpus.splits
    sizes: dict[Arm, int] = {arm: splits[arm].patients or 0 for arm in ARMS if arm in splits}
    told: set[str] = {arm for arm, size in sizes.items() if is_small(size - _largest(results, arm))}
    for tier, arms in results.memorization.items():
        seen = {arm: _largest(results, arm) - (arms[arm].patients or 0) for arm in sizes if arm in arms}
        left = {arm: sizes[arm] - _largest(results, arm) for arm in seen}
        for excluded in _excluded_counts(results, tier):
            unseen = excluded - sum(seen.values())
            if unseen < 0:
                continue
            # Those of the excluded who are seen nowhere else are of either arm.
            if is_small(sum(left.values()) - unseen):
                told |= set(left)
            told |= {arm for arm, count in left.items() if is_small(count - unseen)}
    return frozenset(told)


def _excluded_counts(results: Results, tier: str) -> set[int]:
    """Return how many patients the ledger may count as missing at a tier: for each reason, and for all."""
    counts = [
        count or 0
        for stage in results.completeness.values()
        for reason, count in stage.excluded.items()
        if reason.startswith(f"{tier}: ")
    ]
    return {sum(counts), *counts}


def count_missing(results: Results, tier: str) -> int:
    """Return how many patients fewer a tier has than another tier or a cohort has, in both arms."""
    return sum(
        _largest(results, arm) - (figures.patients or 0) for arm, figures in results.memorization.get(tier, {}).items()
    )


def _largest(results: Results, arm: Arm) -> int:
    """Return the largest size of an arm that tiers and cohorts tell."""
    at_tiers = [arms[arm].patients or 0 for arms in results.memorization.values() if arm in arms]
    return max([*at_tiers, *cohort_sizes(results, arm)], default=0)


def cohort_sizes(results: Results, arm: str) -> list[int]:
    """Return how many patients of an arm each cohort takes: one with the diagnosis and one without in every set."""
    return [2 * (cohort.cells.get(f"{arm}_positive") or 0) for cohort in results.cohorts.values()]


def find_few_unread(results: Results) -> frozenset[tuple[str, Arm]]:
    """Return the tiers and arms at which few sets were dropped or few verdicts are missing: the judged tell of them."""
    found: set[tuple[str, Arm]] = set()
    for tiers in results.disclosure.by_diagnosis.values():
        for tier, pair in tiers.items():
            few_dropped = has_few_dropped(pair)
            arms: dict[Arm, Disclosure | None] = {"train": pair.train, "nontrain": pair.nontrain}
            for arm, figures in arms.items():
                if figures is not None and (few_dropped or has_few_unjudged(figures, read_table(figures))):
                    found.add((tier, arm))
    return frozenset(found)


def has_few_dropped(pair: DisclosurePair) -> bool:
    """Whether 1 to 10 sets were dropped in all, or for one reason: another tier may drop just those of the others."""
    counts = [count or 0 for count in pair.dropped_sets.values()]
    return any(map(is_small, (sum(counts), *counts)))


def has_few_unjudged(arm: Disclosure, table: OutcomeTable | None) -> bool:
    """Whether 1 to 10 verdicts are missing in all, or of patients with or without the diagnosis."""
    if table is None or not arm.unjudged:
        return False
    # A matched set has one patient of each status, so both classes had as many before any verdict went missing.
    of_class = table.generations // 2
    return any(map(is_small, (table.unjudged, of_class - table.positives, of_class - table.negatives)))


def _missing_counts(results: Results, tier: str) -> Iterator[int]:
    """Yield every count of patients or prompts missing at a tier that follows from sizes."""
    for arm, figures in results.memorization[tier].items():
        patients = figures.patients or 0
        yield max((arms[arm].patients or 0) - patients for arms in results.memorization.values() if arm in arms)
        cells = [cohort.cells.get(f"{arm}_positive") or 0 for cohort in results.cohorts.values()]
        # Patients, less those of other cohorts, would give a hidden cell.
        yield from cells
        # The paper counts a prompt once a cohort that the patient is a member of; of one cohort these are patients.
        yield 2 * sum(cells) - (figures.paper_view.rows if figures.paper_view else patients)
        if len(cells) == 1:
            yield 2 * cells[0] - patients
