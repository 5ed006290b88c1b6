"""One text masked by detectors of choice; and as the filter masks it by rules alone, checked to come back whole."""

from collections.abc import Collection

from clinaudit.audit.pii.masking import MaskedPrompt, PromptMasker, filter_detectors, unmask_text
from clinaudit.audit.pii.taxonomy import Detector
from clinaudit.audit.runtime.choices import MaskingPolicy

BY_RULES = filter_detectors(rules_only=True)


def mask_prompt(
    text: str,
    query: str | None,
    detector: Detector,
    *,
    policy: MaskingPolicy = "minimum-necessary",
    keep: Collection[str] = frozenset(),
) -> MaskedPrompt:
    return PromptMasker(detector, policy=policy, keep=keep).mask((text, query))


def masked(text: str) -> str:
    """Return the masked text, which unmasking must turn back."""
    result = mask_prompt(text, None, BY_RULES)
    assert result.text is not None
    assert unmask_text(result.text, result.forms) == (text, 0)
    return result.text
