"""Prompts masked together: a served model is asked about all of a batch, and processes share the work.

A short text is masked by one process; the parts of a long one are looked through by all. Owns which is which, and the
progress within a batch. The result is the same whoever does the work.
"""

from collections.abc import Collection, Sequence

from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.pii.masking.detection import PART_CHARS
from clinaudit.audit.pii.masking.prompt import (
    DETECTOR_FAILED,
    Advance,
    BatchRelevance,
    DetectionError,
    FoundPrompt,
    MaskedPrompt,
    PromptMasker,
    unwatched,
    withheld_prompt,
)
from clinaudit.audit.pii.relevance import needed_spans

#: A text, and the question about it.
Prompt = tuple[str, str | None]
#: What was found in a prompt (None: a detector failed), and what of it the question needs.
_Decided = tuple[FoundPrompt | None, Collection[EntitySpan]]


def mask_prompts(
    prompts: Sequence[Prompt], masker: PromptMasker, relevance: BatchRelevance, advance: Advance = unwatched
) -> list[MaskedPrompt]:
    """Mask (text, question) pairs together; where a detector fails on one, that one is withheld.

    Calls `advance` with the characters of each text, as it is looked through for the first time and then over.
    """
    shares = [_Share(len(text), advance) for text, _ in prompts]
    short = [len(text) <= PART_CHARS for text, _ in prompts]
    in_processes = masker.processes.map(_find, (one for one, is_short in zip(prompts, short, strict=True) if is_short))
    found: list[FoundPrompt | None] = []
    for prompt, is_short, share in zip(prompts, short, shares, strict=True):
        found.append(next(in_processes) if is_short else _find(masker, prompt, share.of_first))
        share.of_first(share.chars)
    needed = iter(relevance([one for one in found if one is not None]))
    decided: list[_Decided] = [(one, () if one is None else next(needed)) for one in found]
    over = masker.processes.map(_mask, (one for one, is_short in zip(decided, short, strict=True) if is_short))
    masked: list[MaskedPrompt] = []
    for one, is_short, share in zip(decided, short, shares, strict=True):
        masked.append(next(over) if is_short else _mask(masker, one, share.of_second))
        share.finish()
    return masked


def _find(masker: PromptMasker, prompt: Prompt, advance: Advance = unwatched) -> FoundPrompt | None:
    try:
        return masker.find(*prompt, advance)
    except DetectionError:
        return None


def _mask(masker: PromptMasker, decided: _Decided, advance: Advance = unwatched) -> MaskedPrompt:
    found, needed = decided
    try:
        return withheld_prompt(DETECTOR_FAILED) if found is None else masker.mask(found, needed, advance)
    except DetectionError:
        return withheld_prompt(DETECTOR_FAILED)


class _Share:
    """What of one text is done: half once it was looked through, most of the rest once it was looked over."""

    def __init__(self, chars: int, advance: Advance) -> None:
        self.chars = chars
        self._left = chars
        self._advance = advance

    def of_first(self, chars: int) -> None:
        self._go_on(min(chars // 2, self._left - self.chars // 2))

    def of_second(self, chars: int) -> None:
        self._go_on(chars // 3)

    def finish(self) -> None:
        self._go_on(self._left)

    def _go_on(self, chars: int) -> None:
        chars = min(chars, self._left)
        self._left -= chars
        self._advance(chars)


def rules_for_all(found: Sequence[FoundPrompt]) -> list[list[EntitySpan]]:
    """Return what the questions need of their prompts by the rules alone."""
    return [needed_spans(one.text, one.spans, one.query) for one in found]
