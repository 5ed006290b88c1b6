"""Whether a row of the patients table is of the patient whose notes it stands beside (docs/methods.md, section 1).

A table that was joined to the wrong patients gives prompts of other people, and so an audit that finds nothing.
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import date
from enum import StrEnum

from clinaudit.priors.corpus.patient import Patient
from clinaudit.priors.tiers import Fact
from clinaudit.templates.shown_text import show

#: Facts of a row that tell whose it is.
IDENTIFYING = (Fact.NAME, Fact.DOB, Fact.SEX)
#: Of a longer name so many parts must stand in a note: middle names, titles and former names are often left out.
_NAME_PARTS = 2
_WORD = re.compile(r"[^\W\d_]+")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_LEADING_ZERO = re.compile(r"\b0+(?=\d)")
_SEX_OF_WORD = {
    **dict.fromkeys(("she", "her", "hers", "female", "woman", "girl", "lady", "mrs", "ms", "miss"), "female"),
    **dict.fromkeys(("he", "his", "him", "male", "man", "boy", "gentleman", "mr"), "male"),
}
_SEXES = ("female", "male")


class Standing(StrEnum):
    """Whether a value of the table stands in the patient's notes."""

    STANDS = "stands"
    #: The notes state another value; or none at all, where the note template says that they do.
    DIFFERS = "differs"
    #: The notes state none, and the note template says of none where it stands.
    UNTOLD = "untold"

    @classmethod
    def told(cls, stands: bool) -> "Standing":
        """Return the standing of a value of which the notes tell."""
        return cls.STANDS if stands else cls.DIFFERS


def agrees(standing: Mapping[Fact, Standing]) -> bool:
    """Whether a row is of its patient: nothing differs and something stands, where anything can be compared."""
    return not standing or (Standing.DIFFERS not in standing.values() and Standing.STANDS in standing.values())


#: What a text says of a value, None where it does not.
_Look = Callable[[str], Standing | None]


def compare_with_notes(
    patient: Patient,
    *,
    stated_birth: date | None,
    stated_sex: str | None,
    placed: Collection[Fact],
    texts: Iterable[str],
    formats: Sequence[str],
) -> dict[Fact, Standing]:
    """Return whether the table's name, date of birth and sex stand in a patient's notes, where the table has them.

    `stated_birth` and `stated_sex` are what the latest note states, `placed` the facts that its template places,
    `formats` its dates' (strptime). `texts` are the patient's notes, the latest first; they are read as far as needed.
    """
    standing: dict[Fact, Standing] = {}
    left: dict[Fact, _Look] = {}
    words = words_of(patient.name or "")
    parts = frozenset(word for word in words if len(word) > 1) or frozenset(words)
    if parts:
        least = min(_NAME_PARTS, len(parts))
        left[Fact.NAME] = lambda text: Standing.STANDS if _count_words(text, parts) >= least else None
    born = patient.dob or patient.birth_year
    if born is not None and stated_birth is not None:
        standing[Fact.DOB] = Standing.told(born in (stated_birth, stated_birth.year))
    elif born is not None:
        written = [str(born)] if isinstance(born, int) else [born.strftime(form) for form in (*formats, "%Y-%m-%d")]
        both = {form for text in written for form in (text, _LEADING_ZERO.sub("", text))}
        regex = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, sorted(both)))})(?!\w)", re.IGNORECASE)
        left[Fact.DOB] = lambda text: Standing.STANDS if regex.search(show(text).text) else None
    if patient.sex in _SEXES and stated_sex is not None:
        standing[Fact.SEX] = Standing.told(stated_sex == patient.sex)
    elif patient.sex in _SEXES:

        def told_sex(text: str) -> Standing | None:
            # What most words of a note tell; a note may tell of relatives, too.
            told = [_SEX_OF_WORD[word] for word in words_of(text) if word in _SEX_OF_WORD]
            return Standing.told(2 * told.count(patient.sex or "") >= len(told)) if told else None

        left[Fact.SEX] = told_sex
    for text in texts if left else ():
        told = {fact: found for fact, look in left.items() if (found := look(text)) is not None}
        standing |= told
        left = {fact: look for fact, look in left.items() if fact not in told}
        if not left:
            break
    for fact in left:
        # Sex is often told by a template's place, and as often left out.
        is_expected = fact in placed and fact is not Fact.SEX
        standing[fact] = Standing.DIFFERS if is_expected else Standing.UNTOLD
    return {fact: standing[fact] for fact in IDENTIFYING if fact in standing}


def _count_words(text: str, words: Collection[str]) -> int:
    """Return how many of some words, as `words_of` gives them, a text holds."""
    if not text.isascii():
        return len({*words}.intersection(words_of(text)))
    plain, count = text.lower(), 0
    for word in words:
        at = plain.find(word)
        while at >= 0 and (
            plain[max(0, at - 1) : at].isalpha() or plain[at + len(word) : at + len(word) + 1].isalpha()
        ):
            at = plain.find(word, at + 1)
        count += at >= 0
    return count


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case, without accents."""
    if not text.isascii():
        plain = unicodedata.normalize("NFKD", text)
        text = _NOT_ASCII.sub(lambda char: "" if unicodedata.combining(char[0]) else char[0], plain)
    return _WORD.findall(text.casefold())
