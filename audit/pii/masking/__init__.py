"""Masking of prompts: identifiers that a question does not need become tags, and tags become identifiers again.

`filter_detectors` are those of the command, a `PromptMasker` masks, `unmask_text` is its inverse: the library behind
`clinaudit mask` and `unmask` (docs/mask.md). It fails closed: what cannot be decided is masked, and a text that may
still identify is withheld.
"""

from clinaudit.audit.pii.masking.detection import filter_detectors
from clinaudit.audit.pii.masking.prompt import MaskedPrompt, PromptMasker
from clinaudit.audit.pii.masking.written_tags import unmask_text

__all__ = ["MaskedPrompt", "PromptMasker", "filter_detectors", "unmask_text"]
