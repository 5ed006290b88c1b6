"""Subgroup analysis of memorization and disclosure: by age band, sex, race where given, and number of notes.

Owns which group a patient is in, and the metrics by group. Knows nothing of how a fraction or a verdict came about, nor
of what is published. Every metric is a mean over patients of a number in [0, 1], with the Clopper-Pearson interval of
a bounded mean (`clinaudit.audit.statistics.intervals`): groups are small, where the bootstrap would be too narrow.
Intervals are not adjusted for the number of groups.
"""

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeVar

from clinaudit.audit.measures.disclosure.metrics import CollectedReadings, Reading
from clinaudit.audit.measures.memorization.generation_metrics import (
    GenerationMetrics,
    attributable_part,
    memorized_part,
)
from clinaudit.audit.measures.population.description import UNKNOWN, age_band, race_group, sex_group
from clinaudit.audit.statistics.intervals import clopper_pearson_of_mean
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.facts import PatientFacts
from clinaudit.reports.schema.corpus import (
    PARTITIONS,
    GroupDisclosure,
    GroupMemorization,
    MeasuredSubgroups,
    Partition,
)
from clinaudit.reports.schema.numbers import Estimate
from clinaudit.reports.schema.record import Arm
from clinaudit.reports.tally.classes import ARM_STEP, STEP
from clinaudit.reports.tally.leaves import Groups, Inside
from clinaudit.reports.tally.tally import SubgroupTally

#: Bands of the number of notes, each by its least number [choice]; the paper's patients have 14 on average.
_NOTE_BANDS: Final = ((21, "21 or more"), (11, "11-20"), (6, "6-10"), (3, "3-5"), (1, "1-2"))
Group = TypeVar("Group", GroupMemorization, GroupDisclosure)
#: Patient id to group, by partition.
GroupsOf = Mapping[Partition, Mapping[str, str]]
#: Reads the facts of patients one by one, which need not be kept.
FactsOf = Callable[[Sequence[str]], Iterable[PatientFacts]]


def group_patients(patient_ids: Iterable[str], *, facts: FactsOf, corpus: Corpus) -> GroupsOf:
    """Return each patient's group, by partition; without `race` where the corpus gives no patient's race."""
    groups: dict[Partition, dict[str, str]] = {partition: {} for partition in PARTITIONS}
    for own in facts(sorted(patient_ids)):
        patient_id = own.patient_id
        groups["age"][patient_id] = age_band(own.age)
        groups["sex"][patient_id] = sex_group(own.sex)
        groups["race"][patient_id] = race_group(corpus.patients[patient_id].race)
        groups["notes"][patient_id] = next(name for first, name in _NOTE_BANDS if own.note_count >= first)
    if set(groups["race"].values()) <= {UNKNOWN}:
        del groups["race"]
    return groups


def measure_subgroups(
    metrics: Iterable[GenerationMetrics], readings: Mapping[str, Iterable[Reading]], groups: GroupsOf
) -> MeasuredSubgroups:
    """Return all metrics by group; `readings` by tier, of all diagnoses.

    Disclosure is over judged readings of d-positive patients alone: it is their sensitivity.
    """
    # Three numbers a row, its patient's place and the two shares: the rows of a million generations take a gigabyte.
    places: dict[str, int] = {}
    by_place: dict[str, dict[Arm, array[float]]] = {}
    for row in metrics:
        place = places.setdefault(row.patient_id, len(places))
        of_arm = by_place.setdefault(row.tier, {}).setdefault(row.arm, array("d"))
        of_arm.extend((place, memorized_part(row), attributable_part(row)))
    patients = list(places)
    positives: dict[str, dict[Arm, list[Reading]]] = {}
    for tier, of_tier in readings.items():
        for reading in of_tier:
            if reading.present and reading.outcome != "unjudged":
                positives.setdefault(tier, {}).setdefault(reading.arm, []).append(reading)
    return MeasuredSubgroups(
        memorization={
            tier: {arm: _describe_memorization(rows, patients, groups) for arm, rows in arms.items()}
            for tier, arms in by_place.items()
        },
        disclosure={
            tier: {arm: _describe_disclosure(rows, groups) for arm, rows in arms.items()}
            for tier, arms in positives.items()
        },
    )


def _describe_memorization(rows: Sequence[float], patients: Sequence[str], groups: GroupsOf) -> list[GroupMemorization]:
    own = [patients[int(place)] for place in rows[::3]]
    memorized, attributable = (_mean_by_patient(zip(own, part, strict=True)) for part in (rows[1::3], rows[2::3]))
    return [
        GroupMemorization(
            partition=partition,
            group=group,
            patients=len(patients),
            memorized_fraction=_mean(patients, memorized),
            attributable_fraction=_mean(patients, attributable),
            memorized_patients=_count_above_zero(patients, memorized),
            attributable_patients=_count_above_zero(patients, attributable),
        )
        for partition, group, patients in _list_groups(memorized, groups)
    ]


def _describe_disclosure(readings: Sequence[Reading], groups: GroupsOf) -> list[GroupDisclosure]:
    shares = _mean_by_patient((reading.patient_id, float(reading.outcome == "positive")) for reading in readings)
    return [
        GroupDisclosure(
            partition=partition,
            group=group,
            patients=len(patients),
            sensitivity=_mean(patients, shares),
            exposed_patients=_count_above_zero(patients, shares),
        )
        for partition, group, patients in _list_groups(shares, groups)
    ]


def _mean_by_patient(rows: Iterable[tuple[str, float]]) -> dict[str, float]:
    values: defaultdict[str, list[float]] = defaultdict(list)
    for patient_id, value in rows:
        values[patient_id].append(value)
    # In order of ids, so that sums of floats do not depend on the order of generations.
    return {patient_id: sum(values[patient_id]) / len(values[patient_id]) for patient_id in sorted(values)}


def _list_groups(values: Mapping[str, float], groups: GroupsOf) -> list[tuple[Partition, str, list[str]]]:
    """Return partition, group and patients, partitions in their order and groups by name."""
    listed = []
    for partition in PARTITIONS:
        members: defaultdict[str, list[str]] = defaultdict(list)
        for patient_id in values if partition in groups else ():
            members[groups[partition][patient_id]].append(patient_id)
        listed += [(partition, group, members[group]) for group in sorted(members, key=_place)]
    return listed


def _place(group: str) -> tuple[bool, int, str]:
    """Return the sort key of a group: bands by their first number, names by name, `unknown` last."""
    digits = "".join(sign if sign.isdigit() else " " for sign in group).split()
    first = (0 if group.startswith("<") else int(digits[0])) if digits else 0
    return group == UNKNOWN, first, group


def _mean(patients: Sequence[str], values: Mapping[str, float]) -> Estimate:
    return clopper_pearson_of_mean(sum(values[patient_id] for patient_id in patients), len(patients))


def _count_above_zero(patients: Sequence[str], values: Mapping[str, float]) -> int:
    return sum(values[patient_id] > 0 for patient_id in patients)


def describe_subgroups(
    metrics: Iterable[GenerationMetrics],
    collected: CollectedReadings,
    *,
    facts: FactsOf,
    corpus: Corpus,
    cohorts: int,
) -> SubgroupTally:
    """Return the groups, of all measured generations, which are read twice, and all readings; `facts` of every target.

    `cohorts`: how many diagnoses have one.
    """
    by_tier: dict[str, list[Reading]] = {}
    for of_diagnosis in collected.values():
        for tier, of_tier in of_diagnosis.items():
            by_tier.setdefault(tier, []).extend(of_tier.readings)
    targets = {row.patient_id for row in metrics} | {r.patient_id for rows in by_tier.values() for r in rows}
    return tally_subgroups(
        measure_subgroups(metrics, by_tier, group_patients(targets, facts=facts, corpus=corpus)), cohorts=cohorts
    )


def tally_subgroups(measured: MeasuredSubgroups, *, cohorts: int) -> SubgroupTally:
    """Return patients by group and whether they are affected; `cohorts`: how many diagnoses have one."""
    # Of one diagnosis the two margins of such a table are cells of its verdict table: it would leave one value.
    disclosure = Inside(
        _tally_groups(measured.disclosure, lambda group: group.exposed_patients, step=STEP), is_public=cohorts != 1
    )
    memorization = _tally_groups(measured.memorization, lambda group: group.attributable_patients, step=ARM_STEP)
    return SubgroupTally(memorization, disclosure, evidence=Inside(measured))


def _tally_groups(
    measured: Mapping[str, Mapping[Arm, Sequence[Group]]], affected: Callable[[Group], int], *, step: int
) -> Mapping[str, Mapping[Arm, Mapping[Partition, Groups]]]:
    """Return by tier and arm the groups of each partition; `affected` is how many patients of a group are."""

    def tally(rows: Sequence[Group], partition: Partition) -> Groups:
        of_it = (row for row in rows if row.partition == partition)
        return Groups.of([(row.group, affected(row), row.patients - affected(row)) for row in of_it], step=step)

    return {
        tier: {
            arm: {one: tally(rows, one) for one in PARTITIONS if any(row.partition == one for row in rows)}
            for arm, rows in arms.items()
        }
        for tier, arms in measured.items()
    }
