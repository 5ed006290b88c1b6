"""A text as the filter masks it by rules alone, checked to come back whole."""

from clinaudit.audit.pii.masking import filter_detectors, mask_prompt, unmask_text

FIRST, SECOND = filter_detectors(ner=False)


def masked(text: str) -> str:
    """Return the masked text, which unmasking must turn back."""
    result = mask_prompt(text, None, FIRST, second=SECOND)
    assert result.text is not None
    assert unmask_text(result.text, result.forms) == (text, 0)
    return result.text
