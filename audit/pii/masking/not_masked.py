"""What detectors find and a filter leaves: clinical words, facilities' names, states, the course of an illness.

What was found as a name may be nobody's: words of medicine and of the language, labels, drugs, what bears a name.
Detectors see capitals; here it counts what stands beside them. After a title everything is a name. Owns as well the
count of clinical terms that were masked nevertheless: a sample of what is lost, no total.
"""

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Final

from clinaudit.audit.pii.detectors.numbers_and_dates import OLDEST_PLAIN_AGE
from clinaudit.audit.pii.detectors.people_and_places import is_of_a_carer
from clinaudit.audit.pii.detectors.word_lists import (
    is_allowed,
    is_clinical_term,
    is_drug,
    is_eponym,
    is_first_name,
    is_known_name,
    is_last_name,
    is_plain_word,
    is_word,
    read_words,
)
from clinaudit.audit.pii.masking.written_tags import Forms, tagged_forms
from clinaudit.audit.pii.patterns import Patterns
from clinaudit.audit.pii.taxonomy import EntitySpan, categories
from clinaudit.audit.pii.values.normal_form import STATES, normalize
from clinaudit.priors.diagnoses import clinical_terms, load_panel
from clinaudit.templates.note import TermFinder

_RE: Final = Patterns(__name__)


_TITLE_CHARS: Final = 12
#: By themselves they are nobody: "Prof. Dr. med. Lund" has three.
_TITLES: Final = frozenset(
    {"dr", "drs", "med", "prof", "mr", "mrs", "ms", "mx", "miss", "pd", "univ", "mum", "born", "sir", "sra", "srta"}
)
_FEW_LETTERS: Final = 3
_LONGEST_INITIALS: Final = 4
_CHARS: Final = 60


def names_nobody(text: str, start: int, end: int, *, of_a_person: bool = True) -> bool:
    """Whether what was found as a name is none: clinical words, "CVA LAS", "Thompson test", "Ex-smoker", "Dr. med."."""
    found = _RE.word.findall(text, start, end)
    if text[start].islower() and _RE.resonance.search(text, max(0, start - _TITLE_CHARS), start):
        return True
    title = _RE.title.search(text, max(0, start - _TITLE_CHARS), start)
    has_title = title is not None
    if title is not None and is_allowed(text[title.start() : end]) and is_eponym(text, title.start(), end):
        return True
    if all(word.strip(".").lower() in _TITLES for word in found) and (not has_title or text[end : end + 1] == "."):
        return True
    if has_title or _RE.is_somebody.match(text, end) or _RE.role_after.match(text, end):
        return False
    if is_eponym(text, start, end) or _RE.class_and_letter.fullmatch(found[-1]) or _RE.pair_and_score.match(text, end):
        return True
    is_relative = _RE.relative.search(text, max(0, start - _CHARS), start) is not None
    if len(found) > 1 and is_allowed(text[start:end]) and not is_relative:
        return True
    if _RE.of_a_thing.search(text, max(0, start - _CHARS), start):
        return True
    if len(found) < _FEW_LETTERS and _RE.to_rule_out.search(text, max(0, start - 2 * _CHARS), start):
        return True
    if len(found) == 1 and _is_no_name_here(text, start, end, found[0]):
        return True
    # Of a few letters, what stands beside an abbreviation is one too.
    shorthand = read_words("clinical_shorthand")
    is_shorthand = found[0] in shorthand and all(
        word in shorthand or (word.isupper() and len(word) <= _FEW_LETTERS and not is_known_name(word))
        for word in found
    )
    is_name = any(map(is_known_name, found))
    # "Vasculitis Clinic" is one of many.
    named = found[:-1] if len(found) > 1 and not of_a_person and found[-1].lower() in _KINDS_OF_PLACES else found
    return (
        (is_shorthand and not is_name)
        or any(map(_RE.no_longer.fullmatch, found))
        # Towns are in none of the lists of names.
        or all(is_clinical(word) or (of_a_person and is_only_a_word(word)) for word in named)
    )


_KINDS_OF_PLACES: Final = frozenset({"clinic", "clinics", "unit", "ward", "team", "service"})


def _is_no_name_here(text: str, start: int, end: int, word: str) -> bool:
    """Whether one word is a drug, the label of a number or the first of a sentence by what stands beside it."""
    if not is_first_name(word) and (_RE.taken.match(text, end) or _RE.dosed.match(text, end)):
        return True
    before = _RE.item_before.search(text, max(0, start - _CHARS), start)
    if before is not None and is_drug(before[1]) and not (is_first_name(word) or is_last_name(word)):
        return True
    if _RE.of_a_service.match(text, end):
        return True
    if is_label(text, end, word):
        return True
    begins = _RE.begins.search(text, max(0, start - _TITLE_CHARS), start) is not None
    if begins and is_word(word) and _RE.object.match(text, end):
        return True
    return begins and is_plain_word(word) and not is_first_name(word) and _RE.goes_on.match(text, end) is not None


def is_label(text: str, end: int, word: str) -> bool:
    """Whether a word that ends there labels the number after it: "NHI ZKH0555"."""
    return _RE.label.fullmatch(word) is not None and _RE.number_after.match(text, end) is not None


@lru_cache(maxsize=100_000)
def is_only_a_word(word: str) -> bool:
    """Whether a word is one of the language, and neither a name of the lists nor one that people are known by."""
    bare = word.strip(".,!?")
    letters = bare.replace("'", "").replace("’", "")
    if len(letters) < 2:
        return bare == "I"
    if not letters.isalpha() or (bare.isupper() and len(bare) <= _LONGEST_INITIALS):
        return False
    is_listed = is_first_name(letters) or is_last_name(letters) or is_known_name(letters)
    return is_plain_word(letters) and not is_listed


@lru_cache(maxsize=100_000)
def is_clinical(word: str) -> bool:
    """Whether a word is a clinical term, and no name that people have."""
    bare = word.strip(".")
    if is_known_name(bare):
        return False
    if is_clinical_term(bare) or _RE.no_longer.fullmatch(bare):
        return True
    return any(span.end - span.start == len(bare) for span in clinical_term_finder()(bare))


@cache
def clinical_term_finder() -> TermFinder:
    """Return what finds the terms of the panel of diagnoses in a text."""
    return clinical_terms(load_panel())


#: What a text is about, rather than whose it is: never masked by itself.
CLINICAL_CONTENT: Final = frozenset({"diagnosis", "drug", "medical_condition"})
_BEFORE_CHARS: Final = 40


def named_somebody(text: str, found: Sequence[EntitySpan]) -> list[EntitySpan]:
    """Return of what a detector found the places smaller than a state, and no clinical content."""
    whole = (_without_edges(text, span) for span in _without_facilities(found, text))
    places = (without_larger_places(text, span) for span in whole)
    return [span for span in places if span is not None and span.start < span.end and not _is_of_nobody(text, span)]


_SEGMENT_NAME_CHARS: Final = 3


def _without_edges(text: str, span: EntitySpan) -> EntitySpan:
    """Return a span without blanks at its ends, and without a word that stands before a name: "Reached Ada Lund"."""
    start, end = span.start, span.end
    start += len(text[start:end]) - len(text[start:end].lstrip())
    segment = _RE.segment.search(text, start, end + _SEGMENT_NAME_CHARS)
    end = segment.start() if segment else end
    end -= len(text[start:end]) - len(text[start:end].rstrip())
    if span.category == "occupation":
        before = _RE.before_trade.match(text, start, end)
        start = before.end() if before else start
    elif span.category in _FACILITIES:
        before = _RE.before_facility.match(text, start, end)
        start = before.end() if before else start
    elif categories()[span.category].type == "PER":
        first = _RE.first_word.match(text, start, end)
        if first is not None and is_only_a_word(first[1]) and is_first_name(first[2]):
            start = first.start(2)
        if _RE.i_after.match(text, end - 3):
            end -= 3
        label = _RE.label_after.search(text, start, end)
        if label is not None and is_label(text, end, label[1]):
            end = label.start()
    return EntitySpan(start, end, span.category, span.found_by)


def pooled(text: str, span: EntitySpan) -> EntitySpan:
    """Return an age that the rules of HIPAA pool as such, whatever its detector called it."""
    if span.category != "age":
        return span
    value = normalize("age", text[span.start : span.end])
    if value is None or not value.text.isdecimal() or int(value.text) > OLDEST_PLAIN_AGE:
        return EntitySpan(span.start, span.end, "age_over_89", span.found_by)
    return span


def _is_ratio(text: str, start: int, end: int) -> bool:
    """Whether what is written as a time is one to something: "Humalog 1:10 carb ratio"."""
    before = _RE.word_before.search(text, max(0, start - _BEFORE_CHARS), start)
    return _RE.to_one.fullmatch(text, start, end) is not None and (
        _RE.of_a_ratio.match(text, end) is not None or (before is not None and is_allowed(before[1]))
    )


def _is_of_nobody(text: str, span: EntitySpan) -> bool:
    """Whether what was found is clinical content: a word of medicine, the course of an illness, a pressure."""
    start, end, category, _ = span
    if category in CLINICAL_CONTENT:
        return True
    if category == "phone":
        return _RE.pressure.fullmatch(text, start, end) is not None
    if category == "duration":
        return not _tells_of_a_life(text, start, end)
    if category == "occupation":
        # In a form the next line is another field.
        is_two_fields = _RE.next_field.search(text, start, end) is not None
        article = _RE.anyones.search(text, max(0, start - _BEFORE_CHARS), start)
        is_anyones = article is not None and (
            "the" in article[0].lower() or _RE.and_another.match(text, end) is not None
        )
        return is_two_fields or is_anyones or is_eponym(text, start, end) or is_of_a_carer(text, start)
    if category == "time":
        return _is_ratio(text, start, end)
    is_name = categories()[category].type in ("PER", "ORG") or category in ("city", "landmark")
    return is_name and names_nobody(text, start, end, of_a_person=categories()[category].type == "PER")


_FACILITIES: Final = frozenset({"healthcare_facility", "clinic", "school"})
#: Of a name with a title, a label or a list beside it more is known.
_GENERIC: Final = "full_name"


def _without_facilities(spans: Sequence[EntitySpan], text: str) -> list[EntitySpan]:
    """Return spans without the names that a facility's name begins with."""
    facilities = [span for span in spans if span.category in _FACILITIES and not _RE.no_facility.match(text, span.end)]
    ends = {span.start: span.end for span in facilities}
    return [span for span in spans if span.category != _GENERIC or span.end >= ends.get(span.start, span.end)]


#: Names of a town, or of a person, as well.
_OTHERS_TOO: Final = frozenset(
    {"new york", "washington", "virginia", "georgia", "chad", "jordan", "israel", "kenya", "asia"}
)
_STATE: Final = "|".join((*STATES, *sorted(STATES.values(), key=len, reverse=True)))
#: Without a comma by its letters alone: "Port Washington" and "West New York" are towns.
_AFTER_TOWN: Final = re.compile(rf"(?:,[ ]?(?:{_STATE})|[ ](?:{'|'.join(STATES)}|NSW|VIC|QLD|TAS|ACT))$")

_A_STATE: Final = re.compile(_STATE)


def without_larger_places(text: str, span: EntitySpan) -> EntitySpan | None:
    """Return a span of a town without the state after it; None for a state or a country alone."""
    written = text[span.start : span.end]
    if categories()[span.category].type == "PER":
        # "In Gilbert AZ": a town, whatever its detector called it.
        code = _RE.safe_code.search(written)
        if code is None or not _RE.in_a_place.search(text, max(0, span.start - _BEFORE_CHARS), span.start):
            return span
        return EntitySpan(span.start, span.start + code.start(), "city", span.found_by)
    if span.category != "city":
        return span
    if _plain(written) in _larger() or (
        _A_STATE.fullmatch(written) and _RE.beside_town.search(text, max(0, span.start - _BEFORE_CHARS), span.start)
    ):
        return None
    state = _AFTER_TOWN.search(written)
    if state is None or not state.start():
        return span
    return EntitySpan(span.start, span.start + state.start(), span.category, span.found_by)


def _plain(name: str) -> str:
    return " ".join(name.lower().removeprefix("the ").replace(".", "").split())


@cache
def _larger() -> frozenset[str]:
    states = {name.lower() for name in STATES.values()} | {"england", "scotland", "wales"}
    return frozenset(states | {name.lower() for name in read_words("countries")}) - _OTHERS_TOO


def count_clinical_terms(forms: Forms) -> int:
    """Return how many clinical terms stand in what the tags of a record stand for."""
    written = {form for found in tagged_forms(forms).values() for form in found}
    return sum(map(_count_terms, written))


def _count_terms(form: str) -> int:
    """Return how many terms of the panel, and other clinical words, stand in a text."""
    terms = list(clinical_term_finder()(form))
    covered = {place for term in terms for place in range(term.start, term.end)}
    others = (word for word in _RE.word.finditer(form) if word.start() not in covered)
    return len(set(terms)) + sum(not is_known_name(word[0]) and is_clinical_term(word[0].strip(".")) for word in others)


_LONG: Final = (" for", " in", " after", " about", " of", " within")
_RATE_CHARS: Final = 40
#: How far around a duration its sentence is read, in characters.
_SENTENCE_CHARS: Final = 160


def _tells_of_a_life(text: str, start: int, end: int) -> bool:
    """Whether the clause around a duration is about a life rather than an illness, and the duration is no rate."""
    before = text[max(0, start - _RATE_CHARS) : start].rstrip().lower()
    if _RE.rate.match(text, start, end) and not before.endswith(_LONG):
        return False
    if _RE.of_an_illness.match(text, end):
        return False
    clause_before = _RE.clause_end.split(text[max(0, start - _SENTENCE_CHARS) : start])[-1]
    clause_after = _RE.clause_end.split(text[end : end + _SENTENCE_CHARS])[0]
    return _RE.of_a_life.search(f"{clause_before} {clause_after}") is not None
