"""Clinical terms that stood in something masked: what a filter takes from the question by mistake.

Counts names, drugs and symptoms of the panel of diagnoses, so that the number is a sample of what is lost, no total.
Knows nothing of why something was masked.
"""

from functools import cache

from clinaudit.audit.pii.masking.written_tags import Forms
from clinaudit.priors.diagnoses import Diagnosis, TermKind, find_terms, load_panel

_KINDS = tuple(TermKind)


def count_clinical_terms(forms: Forms) -> int:
    """Return how many clinical terms stand in what the tags of a record stand for."""
    written = {form for found in forms.values() for form in found}
    return sum(len(find_terms(form, diagnosis, _KINDS)) for form in written for diagnosis in _panel())


@cache
def _panel() -> tuple[Diagnosis, ...]:
    return load_panel()
