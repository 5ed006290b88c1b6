"""Prompts masked: found, decided, tagged, and looked over again (PII-Bench, 2.1: query-unrelated masking).

Owns what is masked and what stays, and the rescan that decides whether a masked text is given out. It fails closed:
whatever the detector finds is masked, a quasi-identifier unless the question is shown to need it; a text is withheld
where the detector fails, or still finds something after some rounds. Knows nothing of files, nor of how identifiers
are found.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from clinaudit.audit.pii.detectors.numbers_and_dates import find_in_banners
from clinaudit.audit.pii.masking.detection import FoldedText, find_values
from clinaudit.audit.pii.masking.not_masked import named_somebody, pooled
from clinaudit.audit.pii.masking.structured_text import StructuredText
from clinaudit.audit.pii.masking.tags import Hidden, Kept, TagBook, TaggedText, find_tags, merge_hidden
from clinaudit.audit.pii.masking.written_tags import Forms, with_own
from clinaudit.audit.pii.plain_text import overlapping_pieces
from clinaudit.audit.pii.relevance import needed_spans
from clinaudit.audit.pii.taxonomy import Detector, EntitySpan, categories
from clinaudit.audit.pii.values.known_values import FoldedWords
from clinaudit.audit.runtime.choices import MaskingPolicy
from clinaudit.audit.runtime.run.processes import Processes, open_processes, usable_cores
from clinaudit.errors import ClinauditError, place_of

#: Why a text is withheld, in fixed words.
RESIDUAL: Final = "the rescan still found identifiers"
DETECTOR_FAILED: Final = "a detector failed"
#: What a site lets stand, among the categories of what stays.
KEPT_TERM: Final = "kept term"
#: How much of a text is looked through at once, and how much of it two neighbours share at least: more than an
#: identifier's length and what is beside it.
PART_CHARS: Final = 50_000
SHARED_CHARS: Final = 1_000
#: A mask may uncover what the detector did not see before, such as a name between two others.
_ROUNDS: Final = 4
#: A key of digits or letters is none of a person by itself; a site's own numbers are found by its corpus as such.
_WHAT_KEYS_ARE: Final = frozenset({"other_code", "tax_id", "password_hash"})
_MARKS_OF_KEYS: Final = str.maketrans("-_./:", "     ")
#: Has a bit of each kind: what is loaded for these is loaded.
_EXAMPLE: Final = "Dr. Ada Lund, 617-555-0134, seen 03/14/2024. Café."
#: A text, and the question about it.
Prompt = tuple[str, str | None]
_BY_STRUCTURE: Final = StructuredText()


@dataclass(frozen=True, slots=True)
class MaskedPrompt:
    """One prompt, masked; or withheld, with the reason."""

    #: None: withheld.
    text: str | None
    #: The question, masked like the text; None where there is none, or the text is withheld.
    query: str | None
    #: What each tag stands for, occurrence by occurrence. PHI.
    forms: Forms = field(repr=False)
    #: How many tags of each kind stand in the text: `{"DATE": 2}`.
    kinds: Counter[str] = field(default_factory=Counter)
    #: By tag, how often each rule or model found what it stands for: `{"DATE_1": {"dates": 2}}`.
    found_by: dict[str, dict[str, int]] = field(default_factory=dict)
    #: What was found in the text and stays by decision, by the kind of its tag, and as `KEPT_TERM`.
    stays: Counter[str] = field(default_factory=Counter)
    #: Why the text is withheld, in fixed words.
    withheld: str | None = None
    #: Where the detector failed, if it did: `KeyError at rules.py:12`.
    failure: str | None = None

    @property
    def tags(self) -> int:
        """How many tags stand in the text."""
        return sum(self.kinds.values())


class PromptMasker:
    """Masks what one detector finds, and looks over what is left with it."""

    def __init__(
        self, detector: Detector, *, policy: MaskingPolicy = "minimum-necessary", keep: Collection[str] = frozenset()
    ) -> None:
        """`keep` are a site's terms that stand wherever they are found: compared by whole words, folded."""
        self._detector = detector
        self._policy = policy
        #: By their first word, the words of each.
        self._terms: dict[str, list[list[str]]] = {}
        for words in (FoldedWords(term).texts for term in keep):
            self._terms.setdefault(words[0], []).append(words)

    @contextmanager
    def shared(self, texts: int, chars: int, *, most: int | None = None) -> Iterator[Processes]:
        """Yield as many processes as so many texts and characters are worth, at `most` (None: one per core)."""
        # It takes longer to make a process than to mask a few texts.
        count = min(most or usable_cores(), texts, chars // PART_CHARS + 1)
        if count > 1:
            # A process has what is loaded before it is made.
            self.hidden_in(_EXAMPLE)
        with open_processes(self, count) as processes:
            yield processes

    def mask(self, prompt: Prompt) -> MaskedPrompt:
        """Mask what is found, but for quasi-identifiers that the question needs; the same categories stay in it."""
        text, query = prompt
        try:
            spans = self._detect(text)
            kept = self._kept(text, spans, query)
            texts = [_Masking(text, spans, kept, self._terms)]
            if query is not None:
                # The question is short, and its own entities are what it is about: of the text's categories they stay.
                query_spans, stays = self._detect(query), {span.category for span in kept}
                query_kept = {span for span in query_spans if self._may_stay(span) and span.category in stays}
                texts.append(_Masking(query, query_spans, query_kept, self._terms))
            written = self._write(texts)
        except DetectionError as error:
            return MaskedPrompt(None, None, {}, withheld=DETECTOR_FAILED, failure=str(error))
        if written is None:
            return MaskedPrompt(None, None, {}, withheld=RESIDUAL)
        book, tagged = written
        return MaskedPrompt(
            tagged[0].text,
            tagged[1].text if len(tagged) > 1 else None,
            with_own(book.forms(), [one.text for one in tagged]),
            book.kinds(),
            book.found_by(),
            texts[0].stays(),
        )

    def _kept(self, text: str, spans: Sequence[EntitySpan], query: str | None) -> set[EntitySpan]:
        """Return what the question needs of a text: quasi-identifiers in no direct one."""
        direct = merge_hidden(Hidden(*span[:3]) for span in spans if categories()[span.category].direct)

        def is_apart(span: EntitySpan) -> bool:
            place = bisect_right(direct, span.start, key=lambda one: one.end)
            return place == len(direct) or direct[place].start >= span.end

        return {span for span in needed_spans(text, spans, query) if self._may_stay(span) and is_apart(span)}

    def hidden_in(self, text: str) -> list[Hidden]:
        """Return what is masked of a text without a question, by start; all of it where it is withheld."""
        try:
            one = _Masking(text, self._detect(text), (), self._terms)
            written = self._write([one])
        except DetectionError:
            written = None
        return [Hidden(0, len(text), None)] if written is None else one.hidden

    def identifies(self, key: str) -> bool:
        """Whether the key of a record is itself a direct identifier; a mere code is what keys are."""
        try:
            found = [span for text in {key, key.translate(_MARKS_OF_KEYS)} for span in self._find(text)]
        except DetectionError:
            return True
        return any(categories()[span.category].direct and span.category not in _WHAT_KEYS_ARE for span in found)

    def _write(self, texts: Sequence["_Masking"]) -> tuple[TagBook, list[TaggedText]] | None:
        """Mask until the rescan finds nothing more, and write the tags; None where something is still found."""
        for _ in range(_ROUNDS):
            for one in texts:
                one.hide(one.repeated(texts))
            book = TagBook([(one.text, one.hidden) for one in texts])
            written = book.write()
            is_more = False
            for tagged, one in zip(written, texts, strict=True):
                is_more |= one.hide([*one.left(tagged.kept, self._find(tagged.text)), *one.repeated(texts)])
            if not is_more:
                return book, written
        return None

    def _find(self, text: str) -> list[EntitySpan]:
        """Return what the detector finds that is of somebody, part by part, and what the text's structure says.

        Raises `DetectionError` for whatever a library or a bug raises, which may quote the text; not for what stops the
        work, `ClinauditError` and `MemoryError`.
        """
        try:
            found = set(_BY_STRUCTURE.detect(text))
            for begin, end in overlapping_pieces(text, chars=PART_CHARS, shared=SHARED_CHARS):
                spans = self._detector.detect(text[begin:end])
                found |= {EntitySpan(span.start + begin, span.end + begin, *span[2:]) for span in spans}
            return named_somebody(text, sorted(found))
        except (ClinauditError, MemoryError):
            raise
        except Exception as error:  # noqa: BLE001 (of any kind: the prompt is withheld, and its text not quoted)
            raise DetectionError(place_of(error)) from None

    def _detect(self, text: str) -> tuple[EntitySpan, ...]:
        found = [pooled(text, span) for span in self._find(text)]
        return tuple(sorted({*found, *find_in_banners(text, found)}))

    def _may_stay(self, span: EntitySpan) -> bool:
        category = categories()[span.category]
        return not category.direct and (self._policy == "minimum-necessary" or category.hipaa is None)


_Terms = Mapping[str, Sequence[Sequence[str]]]


def _places_of_terms(terms: _Terms, text: str) -> list[tuple[int, int]]:
    """Return where terms stand in a text, by start; of those with no letter and no figure between them, one."""
    found: list[tuple[int, int]] = []
    words = FoldedWords(text)
    for place, word in enumerate(words.texts):
        for term in terms.get(word, ()):
            if words.texts[place : place + len(term)] == term:
                start, end = words.start(place), words.end(place + len(term) - 1)
                if found and not any(map(str.isalnum, text[found[-1][1] : start])):
                    start, end = found[-1][0], max(end, found.pop()[1])
                found.append((start, end))
    return found


class _Masking:
    """What of one text is masked and what is kept, while it is worked on."""

    def __init__(self, text: str, spans: Sequence[EntitySpan], kept: Collection[EntitySpan], terms: _Terms) -> None:
        self.text = text
        self.hidden: list[Hidden] = []
        self._kept = kept
        self._terms = _places_of_terms(terms, text) if terms else []
        self._terms_found: set[tuple[int, int]] = set()
        self.hide(Hidden(*span[:3], (span.found_by,)) for span in spans if span not in kept)
        self.hidden = merge_hidden([*self.hidden, *find_tags(text)])

    def hide(self, found: Iterable[Hidden]) -> bool:
        """Mask more, but for a site's terms; return whether there was something."""
        more = [one for one in found if not self._is_term(one)]
        self.hidden = merge_hidden([*self.hidden, *more])
        return bool(more)

    def repeated(self, texts: Sequence["_Masking"]) -> list[Hidden]:
        """Return wherever a value stands once more, unmasked, that is masked in any text of the record."""
        kept = [self.text[span.start : span.end] for span in self._kept]
        values = [(one.text[each.start : each.end], each) for one in texts for each in one.hidden]
        return find_values(FoldedText(self.text, self.hidden), values, kept=kept)

    def left(self, kept: Sequence[Kept], spans: Iterable[EntitySpan]) -> Iterator[Hidden]:
        """Yield what a rescan found of the masked text, where it stands between tags in the text itself."""
        for span in spans:
            first = bisect_right(kept, span.start, key=lambda one: one.end)
            last = bisect_left(kept, span.end, key=lambda one: one.start)
            for one in kept[first:last]:
                moved = one.source_start - one.start
                start, end = max(span.start, one.start) + moved, min(span.end, one.end) + moved
                if not self._is_kept(start, end, span.category) and any(map(str.isalnum, self.text[start:end])):
                    yield Hidden(start, end, span.category, (span.found_by,))

    def stays(self) -> Counter[str]:
        """Return how much was found and stays, by the kind of its tag, and of a site's terms."""
        kinds = Counter(categories()[category].tag for _, _, category in {span[:3] for span in self._kept})
        return kinds + Counter({KEPT_TERM: len(self._terms_found)})

    def _is_kept(self, start: int, end: int, category: str) -> bool:
        """Whether what was found is what is kept: a part of it, or the same within other bounds ("34", "34 years")."""
        return any(
            (span.start <= start and end <= span.end and not categories()[category].direct)
            or (span.start < end and start < span.end and span.category == category)
            for span in self._kept
        )

    def _is_term(self, one: Hidden) -> bool:
        """Whether all words of what was found are words of terms that stay."""
        place = bisect_right(self._terms, one.start, key=lambda term: term[1])
        if place == len(self._terms):
            return False
        start, end = self._terms[place]
        outside = self.text[one.start : start] + self.text[max(end, one.start) : one.end]
        is_term = start < one.end and not any(map(str.isalnum, outside))
        if is_term:
            self._terms_found.add((start, end))
        return is_term


def mask_prompts(
    prompts: Sequence[Prompt], processes: Processes, advance: Callable[[int], None] = lambda _: None
) -> list[MaskedPrompt]:
    """Mask (text, question) pairs by processes that hold a `PromptMasker`; the result is the same by any.

    Where the detector fails on one, that one is withheld. Calls `advance` with the characters of each text.
    """
    masked = []
    for one, (text, _) in zip(processes.map(PromptMasker.mask, prompts), prompts, strict=True):
        masked.append(one)
        advance(len(text))
    return masked


class DetectionError(Exception):
    """A detector failed on a text; says where, and holds nothing of the text."""
