"""What is asked of names of people and of places beyond their patterns; rows of the rules name these functions.

Owns which words of a stretch are a name, and where a name that was found beside a label, a title or a relative stands
again in the same text, whole and by its last name. Of places: an address to its end, a given name that is a town before
a state.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from clinaudit.audit.pii.detectors.rules import Places, Rule, expand, span_in
from clinaudit.audit.pii.detectors.word_lists import is_allowed, is_of_notes, read_words, says, without_labels
from clinaudit.audit.pii.patterns import Patterns
from clinaudit.audit.pii.taxonomy import EntitySpan, resolve_overlaps
from clinaudit.audit.pii.values.known_values import places_of
from clinaudit.audit.pii.values.normal_form import name_parts

_RE: Final = Patterns(__name__, expand)

_MAY_WRITE: Final = says("-nobody")
_IS_OF_A_TOWN: Final = says("-term -coding_systems -no_names")
_FEWEST_LETTERS_ALONE: Final = 4
#: How far before a name, a state and an occupation is read, in characters.
_CHARS: Final = 40


def find_names_elsewhere(text: str, found: Iterable[EntitySpan]) -> Iterator[EntitySpan]:
    """Yield names that stand beside something, then their other places."""
    spans, known = list(found), dict[str, str]()
    for span in spans:
        known.setdefault(text[span.start : span.end], span.category)
    # "Ms. Lund" is the patient where "Ada Lund" is: the first longer name that ends so.
    of_last: dict[str, str] = {}
    for written, category in known.items():
        if " " in written:
            of_last.setdefault(written.rpartition(" ")[2], category)
    for span in spans:
        written = text[span.start : span.end]
        yield span._replace(category=of_last.get(written, known[written]))
    # Whole, and by their longer parts.
    wanted: dict[str, str] = {}
    for written, category in known.items():
        if not is_allowed(written):
            wanted.setdefault(written, category)
        for word in _RE.token.findall(written) if len(name_parts(written)) > 1 else ():
            alone = len(word) >= _FEWEST_LETTERS_ALONE and not is_allowed(word)
            if alone and word[0].isupper() and word.lower() not in read_words("no_names"):
                wanted.setdefault(word, category)
    for written, start in places_of(wanted, text):
        end = start + len(written)
        if _is_whole(text, start, end):
            # A last name begins with the first name or initials before it, if such stand there.
            before = _RE.first_name.search(text, max(0, start - _CHARS), start)
            if before is not None and not is_of_notes(before["first"]) and not is_allowed(before["first"]):
                start = before.start("first")
            yield EntitySpan(start, end, wanted[written], "names")


def _is_whole(text: str, start: int, end: int) -> bool:
    """Whether no word goes on before or after a stretch; a genitive does not count."""
    before, after = text[start - 1 : start], text[end : end + 3]
    if before.isalnum() or before in tuple("_-'’") or after[:1].isalnum() or after[:1] in tuple("_-"):
        return False
    return after[:1] not in tuple("'’") or not after[1:2].isalpha() or (after[1:2] == "s" and not after[2:].isalpha())


def read_name(match: "re.Match[str]", rule: Rule) -> Places:
    """Yield the part of a stretch that is a name: up to the first word that is none, without what ends no name."""
    text = match.string
    kept: list[re.Match[str]] = []
    for word in _RE.token.finditer(text, *span_in(match)):
        if rule.goes_on is None:
            is_end = _RE.what_they_are.fullmatch(word[0]) is not None
        else:
            is_label = len(kept) >= rule.fewest_words and text[word.end() : word.end() + 1] == ":"
            is_end = is_label or not rule.goes_on(word[0])
        if kept and is_end:
            break
        kept.append(word)
        if _RE.genitive.search(word[0]):
            break
    while (
        kept
        and (
            _RE.no_end.fullmatch(kept[-1][0])
            # The letters of a number: "Mrs. Krag KC10442".
            or (len(kept) > rule.fewest_words and text[kept[-1].end() : kept[-1].end() + 1].isdigit())
            # "Ross, PA-C" is no last name with a first.
            or (len(kept) > 2 and _RE.degree.fullmatch(kept[-1][0]) and text[: kept[-1].start()].rstrip().endswith(","))
        )
    ):
        kept.pop()
    if len(kept) < rule.fewest_words or sum(len(word[0].strip(".")) for word in kept) < 2:
        return
    if not rule.is_sure and all(is_allowed(word[0]) for word in kept):
        return
    last = kept[-1]
    genitive = _RE.genitive.search(last[0])
    # A full stop after an initial belongs to it; the last one may end the sentence.
    is_stop = last[0].endswith(".") and len(last[0]) > 2 and last[0].count(".") == 1
    end = last.start() + genitive.start() if genitive else last.end() - is_stop
    start = kept[0].start()
    yield start, end if rule.goes_on else without_labels(text, start, end), rule.kind


def are_initials(match: "re.Match[str]") -> bool:
    """Whether letters are initials: no abbreviation that notes are full of."""
    written = match.string[slice(*span_in(match))]
    letters = re.sub(r"[^A-Z]", "", written)
    return letters not in read_words("no_initials") and ("." in written or not is_allowed(letters))


def keep_apart(_text: str, found: Iterable[EntitySpan]) -> list[EntitySpan]:
    """Return the spans of which none overlaps another."""
    return resolve_overlaps(found)


_AROUND_CHARS: Final = 500


def _lines_around(match: "re.Match[str]") -> list[str]:
    return match.string[max(0, match.start() - _AROUND_CHARS) : match.end() + _AROUND_CHARS].splitlines()


def is_no_speech(match: "re.Match[str]") -> bool:
    """Whether a field's value is no turn of a transcript: there two capitalized words that are all of it are a name."""
    text, (start, end) = match.string, span_in(match)
    if not text[max(0, start - 6) : start].rstrip(" \t").endswith(":"):
        return True
    turns = [turn for turn in map(_RE.speaker.match, _lines_around(match)) if turn is not None]
    # Of a header's fields each is somebody's, and none a sentence.
    if len({turn["who"].lower() for turn in turns}) < 2 or not any(_RE.speech.search(turn["said"]) for turn in turns):
        return True
    found = text[start:end].split()
    is_all = len(found) > 1 and _RE.all_said.match(text, end) is not None
    return is_all and all(word[0].isupper() and not is_of_notes(word.strip(".,")) for word in found)


def read_mail_names(match: "re.Match[str]", rule: Rule) -> Places:
    """Yield everybody whom a header of mail names: "Cc: A. Krag; B. Lund <b@x.org>"; a lone "To:" is none."""
    headers = sum(_RE.headers.match(line) is not None for line in _lines_around(match))
    if headers < 2 and "@" not in match["value"]:
        return
    place = match.start("value")
    # What is no name keeps its length, so that places stay.
    line = _RE.mail_address.sub(lambda found: ";" * len(found[0]), match["value"])
    for found in _RE.anybody.finditer(line):
        if all(map(_MAY_WRITE, re.split(r"[\s,]+", found[0]))):
            yield place + found.start(), place + found.end(), rule.kind


def is_in_no_state(match: "re.Match[str]") -> bool:
    """Whether a word is no town before a state: "Charlotte, NC", "in Gary, IN"; "by Gary, MD" is a clinician."""
    state = _RE.before_state.match(match.string, match.end())
    begin = max(0, match.start() - _CHARS)
    return state is None or (state["safe"] is None and not _RE.in_a_place.search(match.string, begin, match.start()))


def find_rest_of_addresses(text: str, streets: Iterable[EntitySpan]) -> Iterator[EntitySpan]:
    """Yield each street up to where its address ends: flat, town, state, postal code."""
    for span in streets:
        place = end = span.end
        parts: list[EntitySpan] = []
        while (part := _RE.part.match(text, place)) is not None and all(
            map(_IS_OF_A_TOWN, (part["city"] or "").split())
        ):
            if part["street_address"] is not None and place == end:
                end = part.end()
            elif part.lastgroup is not None:
                parts.append(EntitySpan(*part.span(part.lastgroup), part.lastgroup, span.found_by))
            place = part.end()
        yield EntitySpan(span.start, end, span.category, span.found_by)
        yield from parts


def is_of_a_carer(text: str, start: int) -> bool:
    """Whether an occupation is that of whoever treats the patient: "sees a counselor", "her trainer wrapped it"."""
    begin = max(0, start - _CHARS)
    if _RE.treated_by.search(text, begin, start):
        return True
    return _RE.carer.match(text, start) is not None and _RE.somebodys.search(text, begin, start) is not None
