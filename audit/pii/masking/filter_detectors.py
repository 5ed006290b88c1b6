"""The detectors of the filter: those that look first, and the one that looks over what is left.

Owns which detectors `clinaudit mask` uses, with a site's corpus and without. Knows nothing of how a text is masked.
"""

from clinaudit.audit.pii.entity_span import Detector
from clinaudit.audit.pii.masking.detection import EverySpan
from clinaudit.audit.pii.masking.named_people import NamedPeople
from clinaudit.audit.pii.masking.other_scripts import OtherScripts
from clinaudit.audit.pii.masking.strict_rules import StrictRules
from clinaudit.audit.pii.masking.structured_text import StructuredText


def filter_detectors(site: Detector | None = None, *, ner: bool = False) -> tuple[Detector, Detector]:
    """Return what finds, and what looks over the rest.

    `site` finds the names of a site's own patients (a `Gazetteer`). With `ner` a small language model adds people and
    places where the context agrees, which rules miss in running text; it needs the extra `clinaudit[pii]`.
    """
    from clinaudit.audit.pii.detectors.plainly import PlainReadingDetector
    from clinaudit.audit.pii.detectors.presidio import PresidioDetector
    from clinaudit.audit.pii.detectors.rules import RuleDetector

    detectors: list[Detector] = [RuleDetector(), NamedPeople(), StrictRules(), OtherScripts()]
    if site is not None:
        detectors.append(site)
    if ner:
        from clinaudit.audit.pii.detectors.spacy_model import SpacyDetector
        from clinaudit.audit.pii.masking.agreed_names import AgreedNames

        detectors.append(AgreedNames(SpacyDetector().entities))
    return EverySpan(detectors, by_line=[StructuredText()]), PlainReadingDetector(PresidioDetector())
