"""Whether a word of somebody's name, standing by itself, is that name again: "Lund" or "lund", and no "Foley catheter".

Owns what tells a name from an eponym and from a word of the language. Knows nothing of how names are found.
"""

import re
from functools import lru_cache
from typing import Final

from clinaudit.audit.pii.word_lists.allowed_terms import is_allowed
from clinaudit.audit.pii.word_lists.reading import read_words

#: Before an eponym that stands alone ("a Foley", "the Holter"), and before no name.
_ARTICLES: Final = frozenset(
    {"a", "an", "the", "no", "any", "another", "each", "every", "indwelling", "suprapubic", "new"}
)
_FAMILY: Final = frozenset(
    {"family", "household", "home", "residence", "twins", "boy", "girl", "boys", "girls", "kids"}
)
#: Participles that say what became of a device; whoever did it stands before an object.
_OF_A_DEVICE: Final = re.compile(
    r"\s(?:was\s|is\s|remains\s)?(?:removed|inserted|placed|exchanged|changed|replaced|draining|discontinued|dc['’]?d|d/c['’]?d"
    r"|intact|patent|in\splace|in\ssitu|to\sgravity|positive|negative)\b(?=\s?(?:[.,;:)]|$|\n)|\s(?:and|with|without|today"
    r"|yesterday|at|on|for|this)\b)",
    re.IGNORECASE,
)
#: How no name ends.
_ABSTRACT: Final = re.compile(
    r"\w{3,}(?:tions?|sions?|ments?|ness|ology|ologist|ician|apist|apy|ics|ity|ated|ented)(?!\w)", re.IGNORECASE
)
_LAST_WORD: Final = re.compile(r"[ ,]+([A-Za-z.]+)$")
_VALUE_AFTER: Final = re.compile(r"\s?(?:[:#=(]|(?:no|number|is|of)\b|[A-Z]{0,3}-?\d)")
_WORD_BEFORE: Final = re.compile(r"([\w/'’-]+)[ \t\n]{1,2}$")
_WORD_AFTER: Final = re.compile(r"(?:['’]s)?[ \t\n]{1,2}([\w-]+)")
_CHARS: Final = 30
_HYPHENATED: Final = re.compile(r"[\w'’]*(?:-[\w'’]+)*$")
_HYPHENATED_ON: Final = re.compile(r"(?:['’]?\w)*(?:-[\w'’]+)*")


def is_name_again(text: str, start: int, end: int) -> bool:
    """Whether a word of a name that was found elsewhere is that name here.

    In small letters it is none where it is a word of the language or of medicine, or stands after an article.
    """
    before = _WORD_BEFORE.search(text, max(0, start - _CHARS), start)
    after = _WORD_AFTER.match(text, end)
    follows = after[1].lower() if after else ""
    after_article = before is not None and before[1].lower() in _ARTICLES and follows not in _FAMILY
    if text[start].islower():
        return not after_article and not is_word(text[start:end])
    return not _is_eponym(text, start, end, follows, after_article=after_article)


def without_labels(text: str, start: int, end: int) -> int:
    """Return where a name ends without the labels after it: "John Smith SSN" is "John Smith".

    A label is in capitals where the name is not, or a value follows it.
    """
    while (last := _LAST_WORD.search(text[start:end])) is not None:
        name, word = text[start : start + last.start()], last[1]
        is_loud = word.isupper() and len(word) > 1 and not name.isupper()
        if word.replace(".", "").lower() not in read_words("labels") or not (is_loud or _VALUE_AFTER.match(text, end)):
            break
        end = start + last.start()
    return end


@lru_cache(maxsize=100_000)
def is_word(written: str) -> bool:
    """Whether a word in small letters may be one of the language, of notes or of medicine rather than a name."""
    small = written.lower()
    return small in read_words("words_and_names") or small in read_words("no_names") or is_allowed(small)


def is_known_name(word: str) -> bool:
    """Whether a word is a first or last name, of those that are words too, or common."""
    small = word.lower()
    is_also_word = small in read_words("words_and_names") and small not in read_words("no_names")
    return is_also_word or small in read_words("given_words") or word.title() in read_words("given_names")


def is_abstract(word: str) -> bool:
    """Whether a word ends as no name does: "radiology", "weakness"."""
    return _ABSTRACT.match(word) is not None


def is_eponym(text: str, start: int, end: int) -> bool:
    """Whether a word stands for what bears somebody's name by the word after it: "Baker cyst", "Thomas test"."""
    after = _WORD_AFTER.match(text, end)
    return after is not None and (
        after[1].lower() in read_words("described") or is_allowed(f"{text[start:end]} {after[1]}")
    )


def _is_eponym(text: str, start: int, end: int, follows: str, *, after_article: bool) -> bool:
    written = text[start:end]
    if follows and (follows in read_words("described") or is_allowed(f"{written} {follows}")):
        return True
    joined = _HYPHENATED.search(text, max(0, start - _CHARS), start)
    whole = f"{joined[0] if joined else ''}{written}{(_HYPHENATED_ON.match(text, end) or [''])[0]}"
    if "-" in whole and is_allowed(whole):
        return True
    if not is_allowed(written):
        return False
    return follows in read_words("named_after") or after_article or _OF_A_DEVICE.match(text, end) is not None
