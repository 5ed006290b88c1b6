"""What detectors find and a filter leaves: clinical words, facilities' names, states, the course of an illness.

What was found as a name may be nobody's: words of medicine and of the language, labels, drugs, what bears a name.
Detectors see capitals; here it counts what stands beside them. After a title everything is a name.
"""

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Final

from clinaudit.audit.pii.detectors import word_lists as lists
from clinaudit.audit.pii.detectors.numbers_and_dates import OLDEST_PLAIN_AGE
from clinaudit.audit.pii.detectors.people_and_places import is_of_a_carer
from clinaudit.audit.pii.detectors.rules import expand
from clinaudit.audit.pii.patterns import Patterns
from clinaudit.audit.pii.taxonomy import EntitySpan, categories
from clinaudit.audit.pii.values.normal_form import STATES, normalize
from clinaudit.priors.diagnoses import clinical_terms, load_panel
from clinaudit.templates.note import TermFinder

_RE: Final = Patterns(__name__, expand)
_KINDS_OF_PLACES: Final = frozenset({"clinic", "clinics", "unit", "ward", "team", "service"})
#: Letters of an abbreviation, and words of what stands among diseases to rule out.
_FEW_LETTERS: Final = 3
_FEW_WORDS: Final = 2
#: How far before a name, and around a duration, is read, in characters.
_TITLE_CHARS: Final = 12
_BEFORE_CHARS: Final = 40
_CHARS: Final = 60
_SENTENCE_CHARS: Final = 160


def names_nobody(text: str, start: int, end: int, *, of_a_person: bool) -> bool:
    """Whether what was found as a name is none: clinical words, "CVA LAS", "Thompson test", "Ex-smoker", "Dr. med."."""
    found = _RE.word.findall(text, start, end)
    near = max(0, start - _TITLE_CHARS)
    if text[start].islower() and _RE.resonance.search(text, near, start):
        return True
    title = _RE.title.search(text, near, start)
    if title and lists.is_allowed(text[title.start() : end]) and lists.is_eponym(text, title.start(), end):
        return True
    if all(word.strip(".").lower() in lists.read_words("titles_alone") for word in found) and (
        not title or text[end : end + 1] == "."
    ):
        return True
    if title and all(word.strip(".").lower() in lists.read_words("greeted") for word in found):
        return True
    if title or _RE.is_somebody.match(text, end) or _RE.role_after.match(text, end):
        return False
    begin, is_one = max(0, start - _CHARS), len(found) == 1
    if (
        lists.is_eponym(text, start, end)
        or _RE.class_and_letter.fullmatch(found[-1])
        or _RE.pair_and_score.match(text, end)
        or (not is_one and lists.is_allowed(text[start:end]) and not _RE.relative.search(text, begin, start))
        or _RE.of_a_thing.search(text, begin, start)
        or (len(found) <= _FEW_WORDS and _RE.to_rule_out.search(text, max(0, start - 2 * _CHARS), start))
        or (is_one and _is_no_name_here(text, start, end, found[0]))
        or any(map(_RE.no_longer.fullmatch, found))
        # Of a list of products, as a last name before a first one is written: "Depo-Provera, Implanon".
        or (is_product(found[0]) and "," in text[start:end])
    ):
        return True
    # Of a few letters, what stands beside an abbreviation is one too.
    shorthand = lists.read_words("clinical_shorthand")
    is_shorthand = found[0] in shorthand and all(
        word in shorthand or (word.isupper() and len(word) <= _FEW_LETTERS) for word in found
    )
    # "Vasculitis Clinic" is one of many; towns are in none of the lists of names.
    named = found[:-1] if not is_one and not of_a_person and found[-1].lower() in _KINDS_OF_PLACES else found
    return (is_shorthand and not any(map(lists.is_known_name, found))) or all(
        is_clinical(word) or (of_a_person and is_only_a_word(word)) for word in named
    )


def _is_no_name_here(text: str, start: int, end: int, word: str) -> bool:
    """Whether one word is a drug, the label of a number or the first of a sentence by what stands beside it."""
    is_first = lists.is_first_name(word)
    if not is_first and (_RE.taken.match(text, end) or _RE.dosed.match(text, end)):
        return True
    before = _RE.item_before.search(text, max(0, start - _CHARS), start)
    if before is not None and lists.is_drug(before[1]) and not (is_first or lists.is_last_name(word)):
        return True
    if _RE.of_a_service.match(text, end) or _is_label(text, end, word):
        return True
    return _RE.begins.search(text, max(0, start - _TITLE_CHARS), start) is not None and (
        (lists.is_word(word) and _RE.object.match(text, end) is not None)
        or (lists.is_plain_word(word) and not is_first and _RE.goes_on.match(text, end) is not None)
    )


def _is_label(text: str, end: int, word: str) -> bool:
    """Whether a word that ends there labels the number after it: "NHI ZKH0555"."""
    return _RE.label.fullmatch(word) is not None and _RE.number_after.match(text, end) is not None


@lru_cache(maxsize=100_000)
def is_only_a_word(word: str) -> bool:
    """Whether a word is one of the language, and neither a name of the lists nor one that people are known by."""
    bare = word.strip(".,!?")
    letters = bare.replace("'", "").replace("’", "")
    if len(letters) < 2:
        return bare == "I"
    # Up to four capitals may be initials.
    if not letters.isalpha() or (bare.isupper() and len(bare) <= 4) or not lists.is_plain_word(letters):
        return False
    if lists.is_short_last_name(letters):
        return False
    return not (lists.is_first_name(letters) or lists.is_last_name(letters) or lists.is_known_name(letters))


@lru_cache(maxsize=100_000)
def is_clinical(word: str) -> bool:
    """Whether a word is a clinical term, and no name that people have."""
    bare = word.strip(".")
    return not lists.is_known_name(bare) and (
        lists.is_clinical_term(bare)
        or _RE.no_longer.fullmatch(bare) is not None
        or any(span.end - span.start == len(bare) for span in _clinical_term_finder()(bare))
    )


def is_product(word: str) -> bool:
    """Whether a word is on the list of terms, and nobody's name: "Allevyn"."""
    return lists.is_allowed(word) and not (lists.is_first_name(word) or lists.is_last_name(word))


@cache
def _clinical_term_finder() -> TermFinder:
    return clinical_terms(load_panel())


#: What a text is about, rather than whose it is: never masked by itself.
CLINICAL_CONTENT: Final = frozenset({"diagnosis", "drug", "medical_condition"})
_FACILITIES: Final = frozenset({"healthcare_facility", "clinic", "school"})


def named_somebody(text: str, found: Sequence[EntitySpan]) -> list[EntitySpan]:
    """Return of what a detector found the places smaller than a state, and no clinical content."""
    facilities = (span for span in found if span.category in _FACILITIES and not _RE.no_facility.match(text, span.end))
    ends = {span.start: span.end for span in facilities}
    # A facility's name may begin with one; of a name with a title, a label or a list beside it more is known.
    whole = (span for span in found if span.category != "full_name" or span.end >= ends.get(span.start, span.end))
    places = (without_larger_places(text, _without_edges(text, span)) for span in whole)
    return [span for span in places if span is not None and span.start < span.end and not _is_of_nobody(text, span)]


def _without_edges(text: str, span: EntitySpan) -> EntitySpan:
    """Return a span without blanks at its ends, and without a word that stands before a name: "Reached Ada Lund"."""
    start, end, category, _ = span
    start += len(text[start:end]) - len(text[start:end].lstrip())
    # The name of a segment has three characters.
    segment = _RE.segment.search(text, start, end + 3)
    end = segment.start() if segment else end
    end -= len(text[start:end]) - len(text[start:end].rstrip())
    if category == "occupation" or category in _FACILITIES:
        before = (_RE.before_trade if category == "occupation" else _RE.before_facility).match(text, start, end)
        start = before.end() if before else start
    elif categories()[category].type == "PER":
        first = _RE.first_word.match(text, start, end)
        if first is not None and is_only_a_word(first[1]) and lists.is_first_name(first[2]):
            start = first.start(2)
        if _RE.i_after.match(text, end - 3):
            end -= 3
        label = _RE.label_after.search(text, start, end)
        if label is not None and _is_label(text, end, label[1]):
            end = label.start()
    return EntitySpan(start, end, category, span.found_by)


def pooled(text: str, span: EntitySpan) -> EntitySpan:
    """Return an age that the rules of HIPAA pool as such, whatever its detector called it."""
    if span.category != "age":
        return span
    value = normalize("age", text[span.start : span.end])
    is_plain = value is not None and value.text.isdecimal() and int(value.text) <= OLDEST_PLAIN_AGE
    return span if is_plain else span._replace(category="age_over_89")


def _is_of_nobody(text: str, span: EntitySpan) -> bool:
    """Whether what was found is clinical content: a word of medicine, the course of an illness, a pressure."""
    start, end, category, _ = span
    begin = max(0, start - _BEFORE_CHARS)
    if category in CLINICAL_CONTENT:
        return True
    if category == "phone":
        return _RE.pressure.fullmatch(text, start, end) is not None
    if category == "duration":
        return not _tells_of_a_life(text, start, end)
    if category == "occupation":
        article = _RE.anyones.search(text, begin, start)
        is_anyones = article and ("the" in article[0].lower() or _RE.and_another.match(text, end))
        # In a form the next line is another field.
        is_two_fields = _RE.next_field.search(text, start, end)
        return bool(is_two_fields or is_anyones) or lists.is_eponym(text, start, end) or is_of_a_carer(text, start)
    if category == "time":
        # One to something: "Humalog 1:10 carb ratio".
        before = _RE.word_before.search(text, begin, start)
        is_of_ratio = _RE.of_a_ratio.match(text, end) is not None or (before and lists.is_allowed(before[1]))
        return _RE.to_one.fullmatch(text, start, end) is not None and bool(is_of_ratio)
    kind = categories()[category].type
    is_name = kind in ("PER", "ORG") or category in ("city", "landmark")
    return is_name and names_nobody(text, start, end, of_a_person=kind == "PER")


def without_larger_places(text: str, span: EntitySpan) -> EntitySpan | None:
    """Return a span of a town without the state after it; None for a state or a country alone."""
    written, begin = text[span.start : span.end], max(0, span.start - _BEFORE_CHARS)
    if categories()[span.category].type == "PER":
        # "In Gilbert AZ": a town, whatever its detector called it.
        code = _RE.safe_code.search(written)
        is_town = code is not None and _RE.in_a_place.search(text, begin, span.start)
        return span._replace(end=span.start + code.start(), category="city") if code and is_town else span
    if span.category != "city":
        return span
    plain = " ".join(written.lower().removeprefix("the ").replace(".", "").split())
    if plain in _larger() or (_RE.a_state.fullmatch(written) and _RE.beside_town.search(text, begin, span.start)):
        return None
    state = _RE.after_town.search(written)
    return span._replace(end=span.start + state.start()) if state and state.start() else span


@cache
def _larger() -> frozenset[str]:
    named = (*STATES.values(), *lists.read_words("countries"), "england", "scotland", "wales")
    return frozenset(map(str.lower, named)) - lists.read_words("larger_places_and_names")


def _tells_of_a_life(text: str, start: int, end: int) -> bool:
    """Whether the clause around a duration is about a life rather than an illness, and the duration is no rate."""
    before = text[max(0, start - _BEFORE_CHARS) : start].rstrip().lower()
    is_long = before.endswith((" for", " in", " after", " about", " of", " within"))
    if (_RE.rate.match(text, start, end) and not is_long) or _RE.of_an_illness.match(text, end):
        return False
    clause_before = _RE.clause_end.split(text[max(0, start - _SENTENCE_CHARS) : start])[-1]
    clause_after = _RE.clause_end.split(text[end : end + _SENTENCE_CHARS])[0]
    return _RE.of_a_life.search(f"{clause_before} {clause_after}") is not None
