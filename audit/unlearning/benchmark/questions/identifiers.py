"""Whether a text holds what identifies a person: a question in its paper form must not (AMNESIA, appendix B.2).

Owns which kinds count: the identifiers of HIPAA's safe-harbor list, and what the paper names besides (age, sex) with
its like. Finding them is the rule detectors' matter, and that of the site's own names. Diseases, drugs and measures are
what questions are about. Knows nothing of questions.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Final

from clinaudit.audit.pii.detectors.gazetteer import Gazetteer
from clinaudit.audit.pii.detectors.rules import RuleDetector
from clinaudit.audit.pii.detectors.union import UnionDetector
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.templates.profile import NoteProfile

#: Beside the eighteen of HIPAA (45 CFR 164.514(b)(2)).
_NAMED_BESIDE: Final = frozenset(
    {
        "age",
        "gender",
        "occupation",
        "race",
        "ethnicity",
        "nationality",
        "religion",
        "sexual_orientation",
        "clinic",
        "healthcare_facility",
        "company",
        "school",
    }
)
_REMEMBERED: Final = 50_000


def identifying_kinds() -> frozenset[str]:
    """Return the categories of identifying text that no question may hold."""
    return frozenset(
        category.id
        for category in categories().values()
        if category.hipaa is not None or category.direct or category.id in _NAMED_BESIDE
    )


def identifier_check(
    corpus: Corpus, profile: NoteProfile, *, advance: Callable[[int], None] = lambda _: None
) -> Callable[[str], bool]:
    """Return a check of texts: True where one holds an identifier. Calls `advance(1)` for each patient read."""
    detector = UnionDetector([Gazetteer(corpus, profile, advance=advance), RuleDetector(identifying_kinds())])

    @lru_cache(maxsize=_REMEMBERED)
    def holds_identifier(text: str) -> bool:
        return bool(detector.detect(text))

    return holds_identifier
