"""At which tiers nothing can be asked of a patient for a diagnosis, found before cohorts are matched.

There a fact is missing, the prompt refers to the diagnosis, or it exceeds the model's context; in that tier the
patient's whole matched set is left out of the diagnosis' figures (docs/methods.md, section 1). Knows nothing of how
cohorts are matched.
"""

from collections.abc import Collection, Mapping, Sequence

from clinaudit.priors.diagnoses import Diagnosis
from clinaudit.priors.facts import PatientFacts
from clinaudit.priors.prompts import PromptWriter
from clinaudit.priors.tiers import TIERS

#: Patient id -> diagnosis -> ids of the tiers; those who miss none are left out.
MissingTiers = Mapping[str, Mapping[str, frozenset[str]]]


def find_missing_tiers(
    facts: Mapping[str, PatientFacts],
    *,
    status: Mapping[str, Mapping[str, bool]],
    panel: Sequence[Diagnosis],
    tiers: Collection[str],
    writer: PromptWriter,
) -> MissingTiers:
    """Return which of the tiers asked (ids) cannot be made, for whom and for which diagnosis.

    Only patients who may be candidates are looked at: of known age and sex, and of known status for a diagnosis.
    """
    asked = [tier for tier in TIERS if tier.id in tiers]
    found: dict[str, dict[str, frozenset[str]]] = {}
    for patient_id, known in facts.items():
        diagnoses = [diagnosis.id for diagnosis in panel if diagnosis.id in status.get(patient_id, {})]
        if not diagnoses or known.age is None or not known.sex:
            continue
        missing: dict[str, set[str]] = {}
        for tier in asked:
            for prior in writer.write(known, tier, diagnoses):
                if prior.excluded:
                    for diagnosis_id in prior.diagnoses:
                        missing.setdefault(diagnosis_id, set()).add(tier.id)
        if missing:
            found[patient_id] = {diagnosis_id: frozenset(of) for diagnosis_id, of in missing.items()}
    return found
