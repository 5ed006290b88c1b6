"""At which tiers nothing can be asked of a patient for a diagnosis, found before cohorts are matched.

There a fact is missing, the prompt refers to the diagnosis, or it exceeds the model's context; in that tier the
patient's whole matched set is left out of the diagnosis' figures (docs/methods.md, section 1). Knows nothing of how
cohorts are matched.
"""

from collections.abc import Mapping, Sequence

from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.priors.diagnoses import Diagnosis
from clinaudit.priors.facts import PatientFacts
from clinaudit.priors.prompts import PromptWriter
from clinaudit.priors.renderings import ProbedTiers

#: Patient id -> diagnosis -> ids of the tiers; those who miss none are left out.
MissingTiers = Mapping[str, Mapping[str, frozenset[str]]]


def find_missing_tiers(
    facts: Mapping[str, PatientFacts],
    *,
    status: Mapping[str, Mapping[str, bool]],
    panel: Sequence[Diagnosis],
    probed: ProbedTiers,
    writer: PromptWriter,
    progress: Progress,
) -> MissingTiers:
    """Return which of the tiers asked cannot be made, for whom and for which diagnosis; of two renderings, in either.

    Only patients who may be candidates are looked at: of known age and sex, and of known status for a diagnosis.
    """
    found: dict[str, dict[str, frozenset[str]]] = {}
    with progress.stage("finding who can be asked", total=len(facts), unit="patients") as advance:
        for patient_id, known in facts.items():
            diagnoses = [diagnosis.id for diagnosis in panel if diagnosis.id in status.get(patient_id, {})]
            if diagnoses and known.age is not None and known.sex:
                missing = _missing_of(known, probed, diagnoses, writer)
                if missing:
                    found[patient_id] = missing
            advance(1)
    return found


def _missing_of(
    facts: PatientFacts, probed: ProbedTiers, diagnoses: Sequence[str], writer: PromptWriter
) -> dict[str, frozenset[str]]:
    missing: dict[str, set[str]] = {}
    for tier in probed.tiers:
        for rendering in probed.renderings_of(tier):
            for prior in writer.write(facts, tier, diagnoses, rendering):
                if prior.excluded:
                    for diagnosis in prior.diagnoses:
                        missing.setdefault(diagnosis, set()).add(tier.id)
    return {diagnosis: frozenset(of) for diagnosis, of in missing.items()}
