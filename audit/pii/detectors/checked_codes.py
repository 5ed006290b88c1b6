"""Codes with a shape or a check digit of their own, by the pattern recognizers of presidio-analyzer.

Its patterns and validators are called directly: no language pipeline runs. A pattern that its authors call weak counts
only near one of its context words.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from clinaudit.audit.pii.detectors.rule import Source
from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.runtime.language.english_pipeline import import_presidio

if TYPE_CHECKING:
    from presidio_analyzer import Pattern, PatternRecognizer

#: Category by presidio's recognizer; the first stands where two find the same place.
_CATEGORIES: Final = {
    "UsItinRecognizer": "tax_id",
    "UsSsnRecognizer": "ssn",
    "UsMbiRecognizer": "health_plan_number",
    "UsNpiRecognizer": "licence_number",
    "MedicalLicenseRecognizer": "licence_number",
    "UsLicenseRecognizer": "driver_licence",
    "UsPassportRecognizer": "passport",
    "CreditCardRecognizer": "credit_card",
    "IbanRecognizer": "bank_account",
    "AbaRoutingRecognizer": "bank_account",
    "UsBankRecognizer": "bank_account",
    "CryptoRecognizer": "bank_account",
    "IpRecognizer": "ip_address",
    "MacAddressRecognizer": "device_id",
}
#: A pattern with this score or a greater one counts by itself; presidio names those below it weak.
_STRONG: Final = 0.4
#: Patterns whose authors call them strong enough, and which a laboratory's numbers or a version match all the same.
_WEAK_HERE: Final = frozenset({"MedicalLicenseRecognizer", "UsLicenseRecognizer"})
#: Patterns that a failed check digit alone removes and a passed one makes certain.
_CERTAIN_BY_CHECK: Final = frozenset({"CreditCardRecognizer", "IbanRecognizer", "CryptoRecognizer"})
#: How far before a weak match a context word is looked for, in characters.
_CONTEXT_CHARS: Final = 40
#: Words that presidio counts as context and that any clinical note holds.
_TOO_COMMON: Final = frozenset(
    {"us", "united", "states", "save", "check", "number", "provider", "medical", "individual"}
)
#: Runs of characters that any of these codes stands in: most of a text is never shown to the patterns.
_CANDIDATE = re.compile(r"[0-9:][0-9A-Za-z:./-]*(?:[ ](?:[0-9A-Za-z-]*[0-9][0-9A-Za-z-]*|[A-Z]{4}))*")
_BEFORE_CANDIDATE = re.compile(r"[0-9A-Za-z:./-]*$")
#: The most letters before the first figure of a code: of a bitcoin address ("bc1"), of a licence, of an IBAN.
_MOST_LETTERS_FIRST: Final = 8
_FEWEST_CHARS: Final = 6


class _Candidate(NamedTuple):
    text: str
    start: int
    #: The characters before it, in lower case.
    before: str


class CheckedCodeRecognizer:
    """Finds codes with presidio's patterns."""

    name = "checked codes"
    categories = frozenset(_CATEGORIES.values())

    def find(self, source: Source) -> Iterator[EntitySpan]:
        """Yield every code of the text."""
        text = source.text
        for found in _CANDIDATE.finditer(text):
            if len(found[0]) < _FEWEST_CHARS - 1 or not _may_hold_code(found[0]):
                continue
            letters = _BEFORE_CANDIDATE.search(text[max(0, found.start() - _MOST_LETTERS_FIRST) : found.start()])
            start = found.start() - (len(letters[0]) if letters else 0)
            before = text[max(0, start - _CONTEXT_CHARS) : start].lower()
            for recognizer, category in _recognizers():
                yield from self._of(recognizer, category, _Candidate(text[start : found.end()], start, before))

    def _of(self, recognizer: "PatternRecognizer", category: str, candidate: "_Candidate") -> Iterator[EntitySpan]:
        kind = type(recognizer).__name__
        patterns: list[Pattern] = recognizer.patterns  # type: ignore[has-type]  # presidio does not declare it
        for pattern in patterns:
            for match in _compile(pattern.regex).finditer(candidate.text):
                written = match[0]
                valid = recognizer.validate_result(written)
                if not written or valid is False or recognizer.invalidate_result(written):
                    continue
                if not _stands_alone(candidate.text, match.start(), match.end()):
                    continue
                strong = pattern.score >= _STRONG and kind not in _WEAK_HERE
                certain = valid is True and kind in _CERTAIN_BY_CHECK
                near = candidate.before + candidate.text[: match.start()].lower()
                if strong or certain or _has_context(recognizer, near):
                    start = candidate.start + match.start()
                    yield EntitySpan(start, start + len(written), category, self.name)


@cache
def _recognizers() -> "tuple[tuple[PatternRecognizer, str], ...]":
    """Return presidio's recognizers, and what each finds."""
    import_presidio()
    from presidio_analyzer import predefined_recognizers

    return tuple((getattr(predefined_recognizers, name)(), category) for name, category in _CATEGORIES.items())


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.DOTALL | re.MULTILINE | re.IGNORECASE)


def _may_hold_code(candidate: str) -> bool:
    """Whether there are digits enough for a code, or the colons of an address of the Internet."""
    return (
        sum(character.isdigit() for character in candidate) >= 5
        or candidate.count(":") >= 2
        or candidate.count(".") >= 3
    )


def _stands_alone(text: str, start: int, end: int) -> bool:
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    if before[-1:].isalnum() or after[:1].isalnum():
        return False
    joined_before = len(before) == 2 and before[0].isdigit() and before[1] in ".-/"
    joined_after = len(after) == 2 and after[0] in ".-/" and after[1].isdigit()
    return not (joined_before or joined_after)


def _has_context(recognizer: "PatternRecognizer", near: str) -> bool:
    context = [word for word in recognizer.context or [] if word.strip().lower() not in _TOO_COMMON]
    return any(re.search(rf"\b{re.escape(word.strip().lower())}\b", near[-_CONTEXT_CHARS:]) for word in context)
