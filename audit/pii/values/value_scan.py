"""Looking for known values in a text, however it writes them: which of some wanted values stand there.

Owns the search: one pass of an automaton (Aho and Corasick 1975; pyahocorasick) over the text without its marks and
spaces, so that "(555) 010-0199" holds 5550100199; and days by the value of every date in it. A detector is not asked:
what it finds in some contexts alone must be found in any. Knows nothing of whose a text is.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from clinaudit.audit.pii.values.dates_in_text import find_dates
from clinaudit.audit.pii.values.known_names import read_name
from clinaudit.audit.pii.values.normal_form import USPS_ABBREVIATIONS, IdentifierValue, readings
from clinaudit.templates.dates import WrittenDates

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
    """Finds which of some wanted values stand in a text."""

    def __init__(self, wanted: Sequence[IdentifierValue], dates: DateReader) -> None:
        self._dates = dates
        self._days = {value.text: number for number, value in enumerate(wanted) if value.kind == "date"}
        self._ages = {value.text: number for number, value in enumerate(wanted) if value.kind == "age"}
        self._phones = {number for number, value in enumerate(wanted) if value.kind == "phone"}
        forms: defaultdict[tuple[str, bool], list[int]] = defaultdict(list)
        for number, value in enumerate(wanted):
            for form in _forms(value):
                forms[form, len(form) >= _SHORTEST_IN_PIECES or " " in value.text].append(number)
        self._automaton = _make_automaton(forms)

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


def _make_automaton(forms: Mapping[tuple[str, bool], list[int]]) -> Any:
    if not forms:
        return None
    import ahocorasick

    automaton = ahocorasick.Automaton(ahocorasick.STORE_ANY)
    of_form: defaultdict[str, set[int]] = defaultdict(set)
    pieces: defaultdict[str, bool] = defaultdict(bool)
    for (form, in_pieces), numbers in forms.items():
        of_form[form].update(numbers)
        pieces[form] |= in_pieces
    for form, all_numbers in of_form.items():
        automaton.add_word(form, (len(form), pieces[form], tuple(sorted(all_numbers))))
    automaton.make_automaton()
    return automaton


def places_of(wanted: Collection[str], text: str) -> Iterator[tuple[str, int]]:
    """Yield where each of some texts stands in another, in one pass: by where they end, of those the longest first."""
    if not wanted:
        return
    import ahocorasick

    automaton = ahocorasick.Automaton(ahocorasick.STORE_LENGTH)
    for written in wanted:
        automaton.add_word(written)
    automaton.make_automaton()
    for last, length in automaton.iter(text):
        start = last - length + 1
        yield text[start : last + 1], start
