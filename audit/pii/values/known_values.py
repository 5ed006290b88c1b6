"""Known values in a text, however it writes them: which wanted values stand there, and whose a written name can be.

Owns the words of a text as names are compared, when two ways of writing a name can be of one person (initials, middle
names that one of them leaves out, double names, a part of the name alone), and the search for wanted values. A detector
is not asked: what it finds in some contexts alone must be found in any. Knows nothing of whose a text is.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from clinaudit.audit.pii.values.dates_in_text import find_dates
from clinaudit.audit.pii.values.normal_form import USPS_ABBREVIATIONS, IdentifierValue, fold_words, name_parts, readings
from clinaudit.templates.dates import WrittenDates

_APOSTROPHE: Final = r"['’‘ʼ`´]"
#: Letters with their combining marks, and apostrophes between them.
_WORD: Final = re.compile(rf"([^\W_][^\W_\u0300-\u036f]*(?:[\u0300-\u036f]+[^\W_]*)*(?:{_APOSTROPHE}[^\W_]+)*)")
_ASCII_WORD: Final = re.compile(r"([a-z0-9]+(?:['`][a-z0-9]+)*)")
_GENITIVES: Final = ("'s", "’s", "‘s", "ʼs", "'S", "’S")


class FoldedWords:
    """The words of a text in lower case without accents and apostrophes; the `'s` of a genitive belongs to none."""

    def __init__(self, text: str) -> None:
        is_ascii = text.isascii()
        #: By turns what stands between words, and a word.
        self._parts = _ASCII_WORD.split(text.lower()) if is_ascii else _WORD.split(text)
        self.texts = self._parts[1::2]
        if not is_ascii or "'" in text or "`" in text:
            # A word of ASCII is folded but for its apostrophes.
            self.texts = [word if is_ascii and word.isalnum() else _folded(word) for word in self.texts]

    def start(self, place: int) -> int:
        """Return where a word begins in the text."""
        return self._edges[2 * place]

    def end(self, place: int) -> int:
        """Return where a word ends."""
        return self._edges[2 * place + 1] - 2 * self._parts[2 * place + 1].endswith(_GENITIVES)

    @cached_property
    def _edges(self) -> list[int]:
        return list(accumulate(map(len, self._parts)))


@lru_cache(maxsize=100_000)
def _folded(word: str) -> str:
    return fold_words(word[:-2] if word.endswith(_GENITIVES) else word).replace(" ", "")


#: A name with more words is no name of a person but a stretch of text that was taken for one.
MOST_PARTS: Final = 6
_DOUBLE: Final = re.compile(r"[^\W\d_]+(?:[-‐‑][^\W\d_]+)+")


class PersonName(NamedTuple):
    """A person's name as one source writes it: folded words, first name first."""

    parts: tuple[str, ...]
    #: How many of the last parts are the last name: two of "Smith-Jones".
    last_parts: int

    @property
    def is_full(self) -> bool:
        """Whether it has a first name, or its initial, beside a last name."""
        return len(self.parts) > self.last_parts and len(self.parts[-1]) > 1

    def may_be(self, other: "PersonName") -> bool:
        """Whether both can be names of one person; both are full.

        The last names are equal, all of their parts. Of first and middle names each is equal, or the initial of the
        other; middle names may be missing on one side.
        """
        last = max(self.last_parts, other.last_parts)
        if min(len(self.parts), len(other.parts)) <= last or self.parts[-last:] != other.parts[-last:]:
            return False
        (first, *middle), (other_first, *other_middle) = self.parts[:-last], other.parts[:-last]
        return _is_or_initial(first, other_first) and _is_part_of(*sorted((middle, other_middle), key=len))


def read_name(text: str) -> PersonName | None:
    """Return the name that a text is, in either order ("Smith-Jones, John A."); None where it is none."""
    parts = name_parts(text)
    if not 0 < len(parts) <= MOST_PARTS:
        return None
    doubles = (tuple(fold_words(match[0]).split()) for match in _DOUBLE.finditer(text))
    return PersonName(parts, next((len(double) for double in doubles if parts[-len(double) :] == double), 1))


class KnownNames:
    """The names of known persons; a person is a number."""

    def __init__(self, names: Iterable[tuple[int, PersonName]]) -> None:
        self._full: defaultdict[tuple[str, str], set[tuple[int, PersonName]]] = defaultdict(set)
        self._of_part: defaultdict[str, set[int]] = defaultdict(set)
        self._double: set[tuple[str, ...]] = set()
        for person, name in names:
            if name.last_parts > 1:
                self._double.add(name.parts[-name.last_parts :])
            if name.is_full:
                self._full[name.parts[0][0], name.parts[-1]].add((person, name))
            for part in name.parts:
                if len(part) > 1:
                    self._of_part[part].add(person)

    def is_full(self, name: PersonName) -> bool:
        """Whether it is a full name: no first or last name alone, nor a double name without a first one."""
        return name.is_full and name.parts not in self._double

    def find(self, name: PersonName) -> set[int]:
        """Return everybody of whom this can be the full name."""
        if not self.is_full(name):
            return set()
        same = self._full.get((name.parts[0][0], name.parts[-1]), ())
        return {person for person, known in same if known.may_be(name)}

    def find_part(self, name: PersonName) -> set[int]:
        """Return everybody of whose names these words are parts, the initials left aside."""
        words = [part for part in name.parts if len(part) > 1]
        found = [self._of_part.get(word, set()) for word in words]
        return set.intersection(*found) if found else set()


def stands_in(name: PersonName, words: Collection[str]) -> bool:
    """Whether a text of these folded words holds every part of a name; of an initial, a word that begins with it."""
    return all(
        part in words or (len(part) == 1 and any(word.startswith(part) for word in words)) for part in name.parts
    )


def _is_or_initial(first: str, second: str) -> bool:
    return first == second or (1 in (len(first), len(second)) and first[0] == second[0])


def _is_part_of(fewer: Sequence[str], more: Sequence[str]) -> bool:
    """Whether the fewer middle names are among the more, in their order; an initial stands for a name."""
    rest = iter(more)
    return all(any(_is_or_initial(name, other) for other in rest) for name in fewer)


#: Shorter values stand in one piece: "021 39" is no ZIP code.
_SHORTEST_IN_PIECES: Final = 7
#: Marks and spaces between two characters of one value.
_MOST_BETWEEN: Final = 3
_LARGEST_CACHE: Final = 200_000
#: What a telephone number may run on into, without marks and spaces: "555-010-0199x12".
_EXTENSION: Final = re.compile(r"(?:x|ext(?:ension)?)[0-9]{1,6}(?![0-9])")
_LONGEST_EXTENSION: Final = len("extension") + 7
#: Digits of a number with the code of a country, at least.
_FEWEST_INTERNATIONAL: Final = 11
#: Ways of writing one address that are sought.
_MOST_SPELLINGS: Final = 32
_WORDS_OF: Final = {
    short: tuple(word for word, abbreviated in USPS_ABBREVIATIONS.items() if abbreviated == short and word != short)
    for short in set(USPS_ABBREVIATIONS.values())
}
#: Ages above 89 alone are identifiers.
_AGE: Final = re.compile(r"(?:9[0-9]|1[0-2][0-9])(?![0-9/.%])")
_YEARS: Final = re.compile(r"[\s-]{0,2}(?:y\b|yo\b|y/o|yrs?\b|years?\b)", re.IGNORECASE)
_AGED: Final = re.compile(r"\bage[ds]?:?\s{0,2}$", re.IGNORECASE)
_LONGEST_BEFORE_AGE: Final = 8
_LOWER: Final = np.array([ord(chr(code).lower()) if code < 128 else code for code in range(256)], dtype=np.uint8)
_KEPT: Final = np.array([chr(code).isalnum() and code < 128 for code in range(256)])


class DateReader:
    """Reads what dates say, in the order of day and month of a site's notes where it has one."""

    def __init__(self, formats: Sequence[str]) -> None:
        self._formats = formats
        self._site = WrittenDates(formats)
        self.read = lru_cache(maxsize=_LARGEST_CACHE)(self._read)

    def __reduce__(self) -> tuple[type["DateReader"], tuple[Sequence[str]]]:
        return DateReader, (self._formats,)

    def _read(self, text: str) -> str | None:
        """Return the day (`2024-03-14`), or what is known of it (`2024-03`, `--03-14`); None where it is no date."""
        found = [value.text for value in readings("date", text)]
        if len(found) < 2:
            return found[0] if found else None
        own = {day.isoformat()[4:] for day in self._site.find(text)}
        return next((value for value in found if value[4:] in own), found[0])


class ValueScanner:
    """Finds which of some wanted values stand in a text.

    One pass goes over the text without its marks and spaces, so that "(555) 010-0199" holds 5550100199; days are found
    by the value of every date in it.
    """

    def __init__(self, wanted: Sequence[IdentifierValue], dates: DateReader) -> None:
        self._dates = dates
        self._days = {value.text: number for number, value in enumerate(wanted) if value.kind == "date"}
        self._ages = {value.text: number for number, value in enumerate(wanted) if value.kind == "age"}
        self._phones = {number for number, value in enumerate(wanted) if value.kind == "phone"}
        numbers: defaultdict[str, set[int]] = defaultdict(set)
        in_pieces: set[str] = set()
        for number, value in enumerate(wanted):
            for form in _forms(value):
                numbers[form].add(number)
                if len(form) >= _SHORTEST_IN_PIECES or " " in value.text:
                    in_pieces.add(form)
        #: By each form its length, whether it may stand in pieces, and the numbers of its values.
        self._automaton = _make_automaton(
            {form: (len(form), form in in_pieces, tuple(sorted(found))) for form, found in numbers.items()}
        )

    def find(self, text: str) -> set[int]:
        """Return the places of the wanted values that the text holds."""
        found: set[int] = set()
        if self._days:
            for date in find_dates(text):
                number = self._days.get(self._dates.read(text[date.start : date.end]) or "")
                if number is not None:
                    found.add(number)
        if self._ages:
            found.update(self._ages[age] for age in _ages_of(text) if age in self._ages)
        if self._automaton is not None:
            found.update(self._search(text))
        return found

    def _search(self, text: str) -> Iterator[int]:
        squeezed, places = squeeze(text)
        for last, (length, in_pieces, numbers) in self._automaton.iter(squeezed):
            first = last - length + 1
            # Whole words alone: on either side stands a mark, a space or nothing.
            if first and places[first] - places[first - 1] == 1:
                continue
            if last + 1 < len(places) and places[last + 1] - places[last] == 1:
                if not _EXTENSION.match(squeezed, last + 1, last + 1 + _LONGEST_EXTENSION):
                    continue
                numbers = self._phones.intersection(numbers)
            is_whole = places[last] - places[first] == length - 1
            if is_whole or (in_pieces and int(np.diff(places[first : last + 1]).max()) <= _MOST_BETWEEN + 1):
                yield from numbers


def _ages_of(text: str) -> Iterator[str]:
    """Yield the ages above 89 of a text. Context is looked at last: few numbers of a note are so large."""
    for match in _AGE.finditer(text):
        before = text[max(0, match.start() - _LONGEST_BEFORE_AGE) : match.start()]
        is_number = before[-1:].isdigit() or before[-1:] in ("/", ".", "-")
        if not is_number and (_YEARS.match(text, match.end()) or _AGED.search(before)):
            yield match[0]


def squeeze(text: str) -> tuple[str, npt.NDArray[np.int64]]:
    """Return a text's letters and digits, folded, and the place of each in the text, or in it without accents."""
    if text.isascii():
        data = np.frombuffer(text.encode(), dtype=np.uint8)
        places = np.flatnonzero(_KEPT[data])
        return _LOWER[data[places]].tobytes().decode("ascii"), places
    plain = "".join(char for char in unicodedata.normalize("NFKD", text).casefold() if not unicodedata.combining(char))
    kept = [place for place, char in enumerate(plain) if char.isalnum()]
    return "".join(plain[place] for place in kept), np.array(kept, dtype=np.int64)


def _forms(value: IdentifierValue) -> set[str]:
    """Return how a value can stand in a text without marks and spaces; none of a kind that is not sought so."""
    whole = "".join(char for char in value.text if char.isalnum())
    if value.kind in ("date", "age", "time", "quantity") or not whole:
        return set()
    if value.kind == "name":
        name = read_name(value.text)
        if name is None or not name.is_full:
            # A first name alone, or a last one, is no identifier where nobody says whose.
            return set()
        *first, last = name.parts
        return {whole, last + "".join(first)}
    if value.kind == "address":
        return {"".join(words) for words in _spelled_out(value.text.split())}
    return _phone_forms(whole) if value.kind == "phone" else {whole}


def _phone_forms(whole: str) -> set[str]:
    """Return how the digits of a number can stand: with the country's code, 00 before it, or a 0 in brackets after."""
    import phonenumbers

    if len(whole) < _FEWEST_INTERNATIONAL:
        # An American number with its country code in one piece.
        return {whole, f"1{whole}"} if len(whole) == _FEWEST_INTERNATIONAL - 1 else {whole}
    try:
        code = str(phonenumbers.parse(f"+{whole}").country_code)
    except phonenumbers.NumberParseException:
        return {whole}
    both = {whole, f"{code}0{whole.removeprefix(code)}"}
    return both | {f"00{form}" for form in both}


def _spelled_out(words: Sequence[str]) -> list[list[str]]:
    """Return an address in the post's abbreviations, and with each of them spelled out in each of its ways."""
    ways: list[list[str]] = [[]]
    for word in words:
        ways = [[*way, spelled] for way in ways for spelled in (word, *_WORDS_OF.get(word, ()))][:_MOST_SPELLINGS]
    return ways


def _make_automaton(wanted: Mapping[str, object]) -> Any:
    """Return what finds all of some texts in one pass, with what stands by each (Aho and Corasick 1975)."""
    if not wanted:
        return None
    import ahocorasick

    automaton = ahocorasick.Automaton(ahocorasick.STORE_ANY)
    for text, found in wanted.items():
        automaton.add_word(text, found)
    automaton.make_automaton()
    return automaton


def places_of(wanted: Collection[str], text: str) -> Iterator[tuple[str, int]]:
    """Yield where each of some texts stands in another, by where they end, of those the longest first."""
    automaton = _make_automaton({written: written for written in wanted})
    for last, written in automaton.iter(text) if automaton is not None else ():
        yield written, last - len(written) + 1
