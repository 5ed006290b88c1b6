"""Small cells in the description of the corpus: splits, cohorts, and the groups of patients in them.

Owns whose number would give a size back that is hidden elsewhere. How sizes of tiers are hidden is `tier_sizes`, how
those of groups at a tier `groups`.
"""

from collections.abc import Collection, Mapping

from clinaudit.reports.schema.corpus import CorpusSummary, Moments, PopulationSummary
from clinaudit.reports.schema.estimate import ARMS, Arm
from clinaudit.reports.schema.results import Results
from clinaudit.reports.suppression.cohorts import has_small_cell
from clinaudit.reports.suppression.groups import (
    find_hidden_groups,
    find_partitions_with_few_missing,
    find_target_groups,
)
from clinaudit.reports.suppression.small_cells import is_small, suppress_breakdown
from clinaudit.reports.suppression.tier_sizes import cohort_sizes, find_hidden_splits

_PARTITION_FIELDS = {"age": "age_bands", "sex": "sex", "race": "race"}
_NO_MOMENTS = Moments(mean=None, sd=None, min=None, max=None)


def _find_whole_splits(results: Results) -> frozenset[str]:
    """Return the splits of which some cohort takes every patient: its groups are those of the split."""
    splits = {} if results.corpus is None else results.corpus.splits
    return frozenset(name for name, split in splits.items() if split.patients in cohort_sizes(results, name))


def group_sizes(corpus: CorpusSummary | None) -> dict[tuple[Arm, str], dict[str, int | None]]:
    """Return the sizes of the groups of each split that is described."""
    if corpus is None:
        return {}
    return {
        (arm, partition): counts
        for arm in ARMS
        if arm in corpus.splits and not is_small(corpus.splits[arm].patients)
        for partition, counts in _partitions(corpus.splits[arm]).items()
    }


def suppress_corpus(results: Results) -> CorpusSummary | None:
    """Return the publishable description of the corpus; takes the unsuppressed results."""
    corpus = results.corpus
    if corpus is None:
        return None
    hidden_splits = find_hidden_splits(results)
    sizes = group_sizes(corpus)
    hidden = find_hidden_groups(results.subgroups, sizes)
    whole = _find_whole_splits(results)
    few_missing = {
        place for place in find_partitions_with_few_missing(results.subgroups, sizes) if place[0] not in whole
    }
    by_arm = {arm: {partition: hidden.get((arm, partition), ()) for partition in _PARTITION_FIELDS} for arm in ARMS}
    targets = find_target_groups(results.subgroups)
    # A cohort's patients are of both arms: with one of them, they would give the other. One group alone is its arm,
    # whose size is shown.
    in_any = {
        partition: {
            group
            for arm in ARMS
            for group in by_arm[arm][partition]
            if results.subgroups is None or (group in targets[arm, partition] and len(targets[arm, partition]) > 1)
        }
        for partition in _PARTITION_FIELDS
    }
    splits = {}
    for name, split in corpus.splits.items():
        arm = _arm_of_split(name)
        published = _suppress_population(split, by_arm[arm])
        if name in hidden_splits:
            splits[name] = _without_size(published)
        else:
            splits[name] = _hide_groups(published, _find_lone_groups(split, arm, targets, few_missing))
    return corpus.model_copy(
        update={
            "splits": splits,
            "cohorts": {
                name: _withhold_population()
                if name in results.cohorts and has_small_cell(results.cohorts[name])
                else _without_partitions(_suppress_population(population, in_any), targets, few_missing)
                for name, population in corpus.cohorts.items()
            },
        }
    )


def _suppress_population(population: PopulationSummary, hidden: Mapping[str, Collection[str]]) -> PopulationSummary:
    if population.patients is None or is_small(population.patients):
        return _withhold_population()
    counts = {
        partition: suppress_breakdown(counts, hidden_elsewhere=hidden[partition])
        for partition, counts in _partitions(population).items()
    }
    return population.model_copy(
        update={
            "notes_per_patient": _without_extremes(population.notes_per_patient),
            "tokens_per_patient": _without_extremes(population.tokens_per_patient),
            "age": _round_moments(_without_extremes(population.age)),
            "age_bands": counts["age"],
            "sex": counts["sex"],
            "race": counts["race"],
        }
    )


def _without_partitions(
    population: PopulationSummary,
    targets: Mapping[tuple[Arm, str], Collection[str]],
    few_missing: Collection[tuple[Arm, str]],
) -> PopulationSummary:
    """Hide groups of an arm's partition with few missing: a cohort's less the other arm's would be this one's.

    One group alone is the arm's cells, which are shown.
    """
    told = {
        (partition, group)
        for (arm, partition), groups in targets.items()
        for group in groups
        if (arm, partition) in few_missing and len(groups) > 1
    }
    return _hide_groups(population, told)


def _find_lone_groups(
    population: PopulationSummary,
    arm: Arm,
    targets: Mapping[tuple[Arm, str], Collection[str]],
    few_missing: Collection[tuple[Arm, str]],
) -> set[tuple[str, str]]:
    """Return the groups of a split's partitions of which all targets are in one and few are missing: it is the arm."""
    told = set()
    for partition, counts in _partitions(population).items():
        # A split of one group is all of it.
        is_whole = sum(count != 0 for count in counts.values()) == 1
        if len(targets[arm, partition]) == 1 and (arm, partition) in few_missing and not is_whole:
            told |= {(partition, group) for group in counts}
    return told


def _without_size(population: PopulationSummary) -> PopulationSummary:
    """Hide how many patients a split has, and what it could be had back from."""
    every = {(partition, group) for partition, counts in _partitions(population).items() for group in counts}
    means = dict.fromkeys(("notes_per_patient", "tokens_per_patient"), _NO_MOMENTS)
    unsized = population.model_copy(update={"patients": None, **means})
    return _hide_groups(unsized, every)


def _hide_groups(population: PopulationSummary, told: Collection[tuple[str, str]]) -> PopulationSummary:
    """Hide how many patients are in these groups (partition and name), but for nobody and all."""
    return population.model_copy(
        update={
            _PARTITION_FIELDS[partition]: {
                group: None if count not in (0, population.patients) and (partition, group) in told else count
                for group, count in counts.items()
            }
            for partition, counts in _partitions(population).items()
        }
    )


def _partitions(population: PopulationSummary) -> dict[str, dict[str, int | None]]:
    return {partition: getattr(population, field) for partition, field in _PARTITION_FIELDS.items()}


def _arm_of_split(split: str) -> Arm:
    return "train" if split == "train" else "nontrain"


def _withhold_population() -> PopulationSummary:
    return PopulationSummary(
        notes=None,
        patients=None,
        tokens=None,
        practices=None,
        notes_per_patient=_NO_MOMENTS,
        tokens_per_patient=_NO_MOMENTS,
        age=_NO_MOMENTS,
        age_bands={},
        sex={},
        race={},
    )


def _without_extremes(moments: Moments) -> Moments:
    return moments.model_copy(update={"min": None, "max": None})


def _round_moments(moments: Moments) -> Moments:
    """Give one decimal: to six, a mean over those whose age is known tells how many they are."""
    mean, sd = (None if figure is None else round(figure, 1) for figure in (moments.mean, moments.sd))
    return moments.model_copy(update={"mean": mean, "sd": sd})
