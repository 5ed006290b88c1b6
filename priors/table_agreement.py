"""Whether a row of the patients table is of the patient whose notes it stands beside (docs/methods.md, section 1).

A table that was joined to the wrong patients gives prompts of other people, and so an audit that finds nothing. Owns
the comparison of a row's name, date of birth and sex with the patient's notes. Knows nothing of prompts.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from enum import StrEnum

from clinaudit.priors.corpus.patient import Patient
from clinaudit.priors.tiers import Fact

#: Facts of a row that tell whose it is.
IDENTIFYING = (Fact.NAME, Fact.DOB, Fact.SEX)
#: Of a longer name so many parts must stand in a note: middle names, titles and former names are often left out.
_NAME_PARTS = 2
_WORD = re.compile(r"[^\W\d_]+")
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


def agrees(standing: Mapping[Fact, Standing]) -> bool:
    """Whether a row is of its patient: nothing differs and something stands, where anything can be compared."""
    return not standing or (Standing.DIFFERS not in standing.values() and Standing.STANDS in standing.values())


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
    finders = {
        fact: found
        for fact, found in (
            (Fact.NAME, _name_finder(patient.name)),
            (Fact.DOB, _birth_finder(patient, stated_birth, formats)),
            (Fact.SEX, _sex_finder(patient.sex, stated_sex)),
        )
        if found is not None
    }
    standing = {fact: finder for fact, finder in finders.items() if isinstance(finder, Standing)}
    open_facts = {fact: finder for fact, finder in finders.items() if not isinstance(finder, Standing)}
    for text in texts if open_facts else ():
        for fact, finder in tuple(open_facts.items()):
            told = finder.look(text)
            if told is not None:
                standing[fact] = told
                del open_facts[fact]
        if not open_facts:
            break
    for fact in open_facts:
        # Sex is often told by a template's place, and as often left out.
        is_expected = fact in placed and fact is not Fact.SEX
        standing[fact] = Standing.DIFFERS if is_expected else Standing.UNTOLD
    return {fact: standing[fact] for fact in IDENTIFYING if fact in standing}


class _Name:
    def __init__(self, parts: frozenset[str]) -> None:
        self._parts = parts

    def look(self, text: str) -> Standing | None:
        found = len(self._parts.intersection(words_of(text)))
        return Standing.STANDS if found >= min(_NAME_PARTS, len(self._parts)) else None


class _Written:
    """A date of birth, or a year of birth, as a text writes it."""

    def __init__(self, forms: Iterable[str]) -> None:
        both = {form for written in forms for form in (written, _LEADING_ZERO.sub("", written))}
        self._regex = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, sorted(both)))})(?!\w)", re.IGNORECASE)

    def look(self, text: str) -> Standing | None:
        return Standing.STANDS if self._regex.search(text) else None


class _Sex:
    """The sex that most words of a note tell; a note may tell of relatives, too."""

    def __init__(self, sex: str) -> None:
        self._sex = sex

    def look(self, text: str) -> Standing | None:
        told = [_SEX_OF_WORD[word] for word in words_of(text) if word in _SEX_OF_WORD]
        if not told:
            return None
        return Standing.STANDS if 2 * told.count(self._sex) >= len(told) else Standing.DIFFERS


def _name_finder(name: str | None) -> _Name | None:
    words = words_of(name or "")
    parts = frozenset(word for word in words if len(word) > 1) or frozenset(words)
    return _Name(parts) if parts else None


def _birth_finder(patient: Patient, stated: date | None, formats: Sequence[str]) -> _Written | Standing | None:
    if patient.dob is not None:
        if stated is not None:
            return Standing.STANDS if stated == patient.dob else Standing.DIFFERS
        return _Written(patient.dob.strftime(form) for form in (*formats, "%Y-%m-%d"))
    if patient.birth_year is not None:
        if stated is not None:
            return Standing.STANDS if stated.year == patient.birth_year else Standing.DIFFERS
        return _Written([str(patient.birth_year)])
    return None


def _sex_finder(sex: str | None, stated: str | None) -> _Sex | Standing | None:
    if sex not in _SEXES:
        return None
    if stated is not None:
        return Standing.STANDS if stated == sex else Standing.DIFFERS
    return _Sex(sex)


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case, without accents."""
    if not text.isascii():
        text = "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))
    return _WORD.findall(text.casefold())
