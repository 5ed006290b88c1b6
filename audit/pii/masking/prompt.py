"""One prompt masked: found, decided, tagged, and looked over again (PII-Bench, 2.1: query-unrelated masking).

Owns what is masked and what stays, and the rescan that decides whether a masked text is given out. It fails closed: a
direct identifier is always masked, a quasi-identifier unless the question is shown to need it, and a text in which a
rescan still finds something is withheld. Knows nothing of files, nor of how identifiers are found.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from typing import Final

from clinaudit.audit.pii.detectors.ages import OLDEST_PLAIN_AGE, find_in_banners
from clinaudit.audit.pii.detectors.places import is_of_a_carer
from clinaudit.audit.pii.detectors.word_lists import is_eponym
from clinaudit.audit.pii.entity_span import Detector, EntitySpan
from clinaudit.audit.pii.masking.detection import PartedDetector
from clinaudit.audit.pii.masking.not_masked import (
    are_two_sentences,
    names_nobody,
    tells_of_a_life,
    without_facilities,
    without_larger_places,
)
from clinaudit.audit.pii.masking.repeated import FoldedText, find_values
from clinaudit.audit.pii.masking.tags import Hidden, Kept, TagBook, TaggedText, find_tags, merge_hidden
from clinaudit.audit.pii.masking.written_tags import Forms
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.audit.pii.values.normal_form import normalize
from clinaudit.audit.runtime.choices import MaskingPolicy
from clinaudit.audit.runtime.run.processes import Processes
from clinaudit.errors import ClinauditError

#: What a text is about, rather than whose it is: never masked by itself.
CLINICAL_CONTENT: Final = frozenset({"diagnosis", "drug", "medical_condition"})
#: Why a text is withheld, in fixed words.
RESIDUAL: Final = "the rescan still found identifiers"
DETECTOR_FAILED: Final = "a detector failed"
#: A mask may uncover what a detector did not see before, such as a name between two others.
_ROUNDS: Final = 4
#: A blood pressure, which presidio may take for a telephone number.
_PRESSURE: Final = re.compile(r"\d{2,3}/\d{2,3}")
_NEXT_FIELD: Final = re.compile(r"\n\s*[A-Z]")
#: A key of digits or letters is none of a person by itself; a site's own numbers are found by its corpus as such.
_WHAT_KEYS_ARE: Final = frozenset({"other_code", "tax_id", "password_hash"})
_MARKS_OF_KEYS: Final = re.compile(r"[-_./:]+")
#: Called with how many more characters were looked through.
Advance = Callable[[int], None]


def unwatched(_: int) -> None:
    """Be told of no progress."""


@dataclass(frozen=True, slots=True)
class MaskedPrompt:
    """One prompt, masked; or withheld, with the reason."""

    #: None: withheld.
    text: str | None
    #: The question, masked like the text; None where there is none, or the text is withheld.
    query: str | None
    #: How many tags stand in the text.
    tags: int
    #: What each tag stands for, occurrence by occurrence. PHI.
    forms: Forms = field(repr=False)
    #: Why the text is withheld, in fixed words.
    withheld: str | None = None


@dataclass(frozen=True, slots=True)
class FoundPrompt:
    """What was found in a prompt. PHI."""

    text: str = field(repr=False)
    query: str | None = field(repr=False)
    spans: tuple[EntitySpan, ...]
    query_spans: tuple[EntitySpan, ...]

    def quasi_identifiers(self) -> list[EntitySpan]:
        """Return what may stay if the question needs it, by start."""
        # Those that are merged lie apart, so that few of them can overlap a span.
        direct = merge_hidden(Hidden(span.start, span.end, span.category) for span in self.spans if _is_direct(span))
        return [span for span in self.spans if not _is_direct(span) and not _overlaps_any(direct, span.start, span.end)]


#: What the questions of a batch need of it, prompt by prompt; None: that cannot be decided.
BatchRelevance = Callable[[Sequence[FoundPrompt]], Sequence[Collection[EntitySpan]]]


class PromptMasker:
    """Masks prompts with one detector, and looks over what is left with it and a second one."""

    def __init__(
        self, detector: Detector, *, second: Detector | None = None, policy: MaskingPolicy = "minimum-necessary"
    ) -> None:
        """`second` should find in another way than `detector`; None: `detector` alone looks over what is left."""
        self._detectors = (detector,) if second is None else (detector, second)
        self._policy = policy
        self._processes = Processes(self)

    def over(self, processes: Processes) -> "PromptMasker":
        """Return a masker that finds the same, whose long texts are looked through by processes that hold this one."""
        other = copy(self)
        other._processes = processes
        return other

    @property
    def processes(self) -> Processes:
        """What looks through the parts of a long text, and masks short ones."""
        return self._processes

    def find(self, text: str, query: str | None, advance: Advance = unwatched) -> FoundPrompt:
        """Return what is found in a prompt; calls `advance` with the characters that were looked through."""
        return FoundPrompt(text, query, self._detect(text, advance), self._detect(query) if query is not None else ())

    def keepable(self, found: FoundPrompt) -> list[EntitySpan]:
        """Return what may stay in the text if the question needs it, by start."""
        return self._keepable(found.quasi_identifiers())

    def mask(self, found: FoundPrompt, needed: Collection[EntitySpan], advance: Advance = unwatched) -> MaskedPrompt:
        """Mask a prompt but for those quasi-identifiers that are `needed`; the same categories stay in the question.

        Calls `advance` as `find` does, for each time that the text is looked over.
        """
        kept = {span for span in self.keepable(found) if span in needed}
        texts = [_Masking(found.text, found.spans, kept)]
        if found.query is not None:
            # The question is short, and its own entities are what it is about: of the text's categories they stay.
            stays = {span.category for span in kept}
            query_kept = {span for span in self._keepable(found.query_spans) if span.category in stays}
            texts.append(_Masking(found.query, found.query_spans, query_kept))
        written = self._write(texts, advance)
        if written is None:
            return withheld_prompt(RESIDUAL)
        book, tagged = written
        forms = book.forms([(one.text, one.hidden) for one in texts])
        query = tagged[1].text if len(tagged) > 1 else None
        return MaskedPrompt(tagged[0].text, query, tagged[0].tags, forms)

    def hidden_in(self, text: str) -> list[Hidden]:
        """Return what is masked of a text without a question, by start; all of it where it is withheld."""
        try:
            one = _Masking(text, self._detect(text), ())
            written = self._write([one])
        except DetectionError:
            written = None
        return [Hidden(0, len(text), None)] if written is None else one.hidden

    def identifies(self, key: str) -> bool:
        """Whether the key of a record is itself a direct identifier; a mere code is what keys are."""
        written = (key, _MARKS_OF_KEYS.sub(" ", key))
        try:
            found = [span for text in written for span in self._found_by(0, text)]
        except DetectionError:
            return True
        return any(_is_direct(span) and span.category not in _WHAT_KEYS_ARE for span in found)

    def _write(
        self, texts: Sequence["_Masking"], advance: Advance = unwatched
    ) -> tuple[TagBook, list[TaggedText]] | None:
        """Mask until the rescan finds nothing more, and write the tags; None where something is still found."""
        for _ in range(_ROUNDS):
            for one in texts:
                one.hide(one.repeated(texts))
            book = TagBook([(one.text, one.hidden) for one in texts])
            written = [book.write(one.text, one.hidden) for one in texts]
            left = [
                self._left_in(tagged, one, 0, advance) + one.repeated(texts)
                for tagged, one in zip(written, texts, strict=True)
            ]
            if not any(left):
                break
            for one, spans in zip(texts, left, strict=True):
                one.hide(spans)
        else:
            return None
        for second in range(1, len(self._detectors)):
            if any(self._left_in(tagged, one, second) for tagged, one in zip(written, texts, strict=True)):
                return None
        return book, written

    def _found_by(self, which: int, text: str, advance: Advance = unwatched) -> list[EntitySpan]:
        """Return what one of the detectors finds that is of somebody; raises `DetectionError` where it fails."""
        detector = self._detectors[which]

        def look(parts: Iterable[str]) -> Iterator[list[EntitySpan]]:
            return self._processes.map(_look_through, ((which, part) for part in parts))

        with _errors_without_text(detector.name):
            if isinstance(detector, PartedDetector):
                return _named_somebody(text, detector.detect(text, advance, look))
            return _named_somebody(text, detector.detect(text))

    def look_through(self, which: int, part: str) -> list[EntitySpan]:
        """Return what one of the detectors finds in a part of a text; raises `DetectionError` where it fails."""
        detector = self._detectors[which]
        with _errors_without_text(detector.name):
            if isinstance(detector, PartedDetector):
                return list(detector.detect_in_part(part))
            return detector.detect(part)

    def _detect(self, text: str, advance: Advance = unwatched) -> tuple[EntitySpan, ...]:
        found = [_pooled(text, span) for span in self._found_by(0, text, advance)]
        return tuple(sorted({*found, *find_in_banners(text, found)}))

    def _keepable(self, spans: Sequence[EntitySpan]) -> list[EntitySpan]:
        table = categories()
        is_listed = self._policy == "safe-harbor"
        return [
            span
            for span in spans
            if not _is_direct(span) and not (is_listed and table[span.category].hipaa is not None)
        ]

    def _left_in(
        self, tagged: TaggedText, masking: "_Masking", which: int, advance: Advance = unwatched
    ) -> list[Hidden]:
        """Return what a detector still finds between the tags of a masked text, where it stands in the text itself."""
        return [
            Hidden(start, end, span.category)
            for span in self._found_by(which, tagged.text, advance)
            for start, end in _between_tags(span, tagged.kept)
            if not masking.keeps(start, end, span.category) and any(map(str.isalnum, masking.text[start:end]))
        ]


class _Masking:
    """What of one text is masked and what is kept, while it is worked on."""

    def __init__(self, text: str, spans: Sequence[EntitySpan], kept: Collection[EntitySpan]) -> None:
        self.text = text
        self._kept = kept
        found = [Hidden(span.start, span.end, span.category) for span in spans if span not in kept]
        self.hidden = merge_hidden([*found, *find_tags(text)])

    def hide(self, found: Sequence[Hidden]) -> None:
        """Mask more."""
        self.hidden = merge_hidden([*self.hidden, *found])

    def repeated(self, texts: Sequence["_Masking"]) -> list[Hidden]:
        """Return wherever a value stands once more, unmasked, that is masked in any text of the record."""
        kept = [self.text[span.start : span.end] for span in self._kept]
        values = [(one.text[each.start : each.end], each) for one in texts for each in one.hidden]
        return find_values(FoldedText(self.text, self.hidden), values, kept=kept)

    def keeps(self, start: int, end: int, category: str) -> bool:
        """Whether what was found is what is kept: a part of it, or the same within other bounds ("34", "34 years")."""
        return any(
            (span.start <= start and end <= span.end and not categories()[category].direct)
            or (span.start < end and start < span.end and span.category == category)
            for span in self._kept
        )


def withheld_prompt(reason: str) -> MaskedPrompt:
    """Return a prompt that is not given out."""
    return MaskedPrompt(None, None, 0, {}, reason)


class DetectionError(Exception):
    """A detector failed on a text; holds nothing of it."""


@contextmanager
def _errors_without_text(name: str) -> Iterator[None]:
    """Raise `DetectionError` for whatever a library raises, which may quote the text; not for what stops the work."""
    try:
        yield
    except (ClinauditError, DetectionError):
        raise
    except Exception:  # noqa: BLE001 (a library's error of any kind: the prompt is withheld, and its text not quoted)
        raise DetectionError(name) from None


def _look_through(masker: PromptMasker, part: tuple[int, str]) -> list[EntitySpan]:
    return masker.look_through(*part)


def _named_somebody(text: str, found: Sequence[EntitySpan]) -> list[EntitySpan]:
    """Return of what a detector found the places smaller than a state, and no clinical content."""
    places = (without_larger_places(text, span) for span in without_facilities(text, found))
    return [
        span
        for span in places
        if span is not None
        and span.start < span.end
        and span.category not in CLINICAL_CONTENT
        and not _is_of_nobody(text, span)
    ]


def _is_of_nobody(text: str, span: EntitySpan) -> bool:
    """Whether what was found is clinical content: a word of medicine, the course of an illness, a pressure."""
    if span.category == "phone":
        return _PRESSURE.fullmatch(text, span.start, span.end) is not None
    if span.category == "url":
        return span.found_by == "presidio" and are_two_sentences(text[span.start : span.end])
    if span.category == "duration":
        return not tells_of_a_life(text, span.start, span.end)
    if span.category == "occupation":
        # In a form the next line is another field.
        is_two_fields = _NEXT_FIELD.search(text, span.start, span.end) is not None
        return is_two_fields or is_eponym(text, span.start, span.end) or is_of_a_carer(text, span.start)
    is_name = categories()[span.category].type in ("PER", "ORG") or span.category in ("city", "landmark")
    return is_name and names_nobody(text, span.start, span.end)


def _overlaps_any(apart: Sequence[Hidden], start: int, end: int) -> bool:
    """Whether a stretch overlaps one of some that lie apart, by start."""
    place = bisect_right(apart, start, key=lambda one: one.end)
    return place < len(apart) and apart[place].start < end


def _is_direct(span: EntitySpan) -> bool:
    return categories()[span.category].direct


def _pooled(text: str, span: EntitySpan) -> EntitySpan:
    """Return an age that the rules of HIPAA pool as such, whatever its detector called it."""
    if span.category != "age":
        return span
    value = normalize("age", text[span.start : span.end])
    if value is None or not value.text.isdecimal() or int(value.text) > OLDEST_PLAIN_AGE:
        return EntitySpan(span.start, span.end, "age_over_89", span.found_by)
    return span


def _between_tags(span: EntitySpan, kept: Sequence[Kept]) -> list[tuple[int, int]]:
    """Return the parts of a span of a masked text that stand in no tag, where they stand in the text itself."""
    return [
        (
            one.source_start + max(span.start, one.start) - one.start,
            one.source_start + min(span.end, one.end) - one.start,
        )
        for one in kept[
            bisect_right(kept, span.start, key=lambda one: one.end) : bisect_left(
                kept, span.end, key=lambda one: one.start
            )
        ]
    ]
