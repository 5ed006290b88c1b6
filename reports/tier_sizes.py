"""Tiers at which few patients are missing: their sizes are hidden, all together (contract, section 6).

Who is missing at a tier (no distinguishing fact, a generation that failed) shows in many places: the patients of an
arm, the prompts counted the paper's way, the sizes of subgroups, the sets dropped by diagnosis. Each is a difference of
two of the others, so that hiding one at a time leaves ways back: an attacker by linear programming found many. Where
any such count of a tier is 1 to 10, no size of that tier is published, and its figures are given to two decimals. Sizes
of other tiers stay, and so do those of outcome tables, which tell of matched sets alone.
"""

from collections.abc import Iterator

from clinaudit.reports.outcome_table import OutcomeTable, read_table
from clinaudit.reports.results import Arm, Disclosure, DisclosurePair, Results
from clinaudit.reports.small_cells import is_small


def find_hidden_tiers(results: Results) -> frozenset[str]:
    """Return the tiers of which no size may be published; takes the unsuppressed results."""
    return frozenset(tier for tier in results.memorization if any(map(is_small, _missing_counts(results, tier))))


def tells_left_over(results: Results, split: str) -> bool:
    """Whether 1 to 10 patients of a split are no targets, as far as sizes that are shown tell of them.

    Targets who are in no set of some cohort are not counted: hiding every size they follow from would leave none.
    """
    if results.corpus is None or results.corpus.splits[split].patients is None:
        return False
    at_tiers = {
        tier: figures.patients or 0
        for tier, arms in results.memorization.items()
        for arm, figures in arms.items()
        if arm == split
    }
    in_cohorts = [2 * (cohort.cells.get(f"{split}_positive") or 0) for cohort in results.cohorts.values()]
    excluded = {
        reason: count or 0 for stage in results.completeness.values() for reason, count in stage.excluded.items()
    }
    sizes = {
        max([*at_tiers.values(), *in_cohorts], default=0),
        # Whoever is missing at a tier is a target, too.
        *(
            size + count
            for tier, size in at_tiers.items()
            for reason, count in excluded.items()
            if reason.startswith(f"{tier}: ")
        ),
    }
    return any(is_small((results.corpus.splits[split].patients or 0) - size) for size in sizes)


def count_missing(results: Results, tier: str) -> int:
    """Return how many patients fewer a tier has than another tier or a cohort has, in both arms."""
    missing = 0
    for arm, figures in results.memorization.get(tier, {}).items():
        sizes = [arms[arm].patients or 0 for arms in results.memorization.values() if arm in arms]
        sizes += [2 * (cohort.cells.get(f"{arm}_positive") or 0) for cohort in results.cohorts.values()]
        missing += max(sizes) - (figures.patients or 0)
    return missing


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
