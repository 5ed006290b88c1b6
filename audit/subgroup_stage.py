"""The subgroups stage: who is in which group, and the figures by group, for `audit` and `analyze` alike.

Owns where the stage reads its figures from: the table of generation metrics, as the memorization stage wrote it. Knows
nothing of how a group's figure is computed.
"""

from collections.abc import Iterable, Mapping

from clinaudit.audit.evidence import read_table
from clinaudit.audit.memorization_figures import GenerationMetrics
from clinaudit.audit.readings import Collected, Reading
from clinaudit.audit.store import RunDirectory
from clinaudit.audit.subgroups import group_patients, measure_subgroups
from clinaudit.priors.corpus import Corpus
from clinaudit.priors.facts import FactReader, PatientFacts
from clinaudit.reports.patient_groups import Subgroups
from clinaudit.templates.profile import NoteProfile


def describe_subgroups(
    run: RunDirectory, corpus: Corpus, facts: Mapping[str, PatientFacts], collected: Collected
) -> Subgroups:
    """Return the figures by group of all generations measured in this run, and of all readings."""
    metrics = [GenerationMetrics(**row) for row in read_table(run.evidence, "generation_metrics")]
    by_tier: dict[str, list[Reading]] = {}
    for of_diagnosis in collected.values():
        for tier, (readings, _) in of_diagnosis.items():
            by_tier.setdefault(tier, []).extend(readings)
    targets = {row.patient_id for row in metrics} | {r.patient_id for rows in by_tier.values() for r in rows}
    return measure_subgroups(metrics, by_tier, group_patients(targets, facts=facts, corpus=corpus))


def read_facts_of(corpus: Corpus, patient_ids: Iterable[str], profile: NoteProfile) -> dict[str, PatientFacts]:
    """Return what is known of some patients of the corpus."""
    reader = FactReader(profile)
    return {patient_id: reader.read(corpus, patient_id) for patient_id in sorted(patient_ids)}
