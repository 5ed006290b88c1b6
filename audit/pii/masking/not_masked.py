"""What detectors find and a filter leaves: clinical words, facilities' names, states, the course of an illness.

What was found as a name may be nobody's: words of medicine and of the language, labels, drugs, what bears a name.
Detectors see capitals; here it counts what stands beside them. After a title everything is a name. Owns as well the
count of clinical terms that were masked nevertheless: a sample of what is lost, no total.
"""

import re
import tomllib
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Final

from clinaudit.audit.pii.detectors.numbers_and_dates import OLDEST_PLAIN_AGE
from clinaudit.audit.pii.detectors.people_and_places import is_of_a_carer
from clinaudit.audit.pii.detectors.rules import regex, words
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
from clinaudit.audit.pii.taxonomy import EntitySpan, categories
from clinaudit.audit.pii.values.normal_form import STATES, normalize
from clinaudit.priors.diagnoses import clinical_terms, load_panel
from clinaudit.templates.note import TermFinder


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("words.toml").read_text("utf-8"))


def pattern(name: str) -> re.Pattern[str]:
    """Return a pattern of `words.toml`, searched without regard to case."""
    return words("".join(_table()[name]))


#: After these a clinical word is somebody's name: "Mr. Lyme".
_TITLE: Final = re.compile(
    r"\b(?:Mr|Mrs|Ms|Mx|Miss|Dr|Doctor|Prof|Professor|Sir|Madam|Nurse|Sister|Sr|"
    r"Herr|Frau|Mme)\.?(?: (?:med|dent|phil)\.)? $",
    re.IGNORECASE,
)
_TITLE_CHARS: Final = 12
#: Magnetic resonance, and no title of a word in small letters: "MR arthrogram".
_RESONANCE: Final = re.compile(r"\bMR $")
#: By themselves they are nobody: "Prof. Dr. med. Lund" has three.
_TITLES: Final = frozenset(
    {"dr", "drs", "med", "prof", "mr", "mrs", "ms", "mx", "miss", "pd", "univ", "mum", "born", "sir", "sra", "srta"}
)
#: "AK is a 45-year-old": initials, which may be an abbreviation as well.
_IS_SOMEBODY: Final = re.compile(r",? (?:is|was) an? ")
#: "Ex-smoker": what somebody is no more, or is not.
_NO_LONGER: Final = re.compile(r"(?i:ex|non|pre|post|anti|semi)-[a-z]+")
_FEW_LETTERS: Final = 3
_LONGEST_INITIALS: Final = 4
_WORD: Final = re.compile(r"[^\s,;:()]+")
_CHARS: Final = 60

#: Who signs by initials: "BC, site matron".
_ROLE_AFTER: Final = words(r",[ ](?:[a-z]+[ ])?(?:${staff}|matron|sister|nurse|registrar|consultant|manager|doctor)\b")
#: A pair of names and a score: "Harvey-Bradshaw 6".
_PAIR_AND_SCORE: Final = re.compile(r"-[A-Z][\w'’]+(?: (?:index|score|grade))?:? \d")
#: A class and its letter: "Ann Arbor IIB". "Lund III" is the third of that name.
_CLASS: Final = re.compile(r"(?:I{1,3}|IV)[ABCab]")
_TAKEN: Final = pattern("taken")
_DOSED: Final = words(r"[ ]\d+(?:[.,/]\d+)*[ ]?(?:mg|mcg|µg|ml|units?|iu|mmol)\b")
#: What stands before a word in a list.
_ITEM_BEFORE: Final = re.compile(r"(?:^|[,;:.+])[ ]?([A-Za-z-]+)[^,;:.\n+]{0,25}[,+][ ]$")
#: What a test or a virus comes to: "ddx Q fever, Lyme".
_TO_RULE_OUT: Final = words(r"\b(?:ddx|dd|differentials?)\b:?[ ](?:[^,.;:\n]{2,30},[ ]){0,5}(?:[A-Z][a-z]+[ ])?$")
_RELATIVE: Final = words(r"\b(?:${kin}|${close}),?[ ](?:is[ ]|named[ ]|called[ ])?$")
#: A field that names a thing.
_OF_A_THING: Final = words(
    r"\b(?:device|drug|medication|product|brand|generic|trade|test|study|trial)[ ]name[ ]?:[ ][^,;\n]*$"
)
_OF_A_SERVICE: Final = pattern("of_a_service")
#: What follows a verb, and no name.
_OBJECT: Final = words(r"[ ](?:who|what|whether|that|how|me|him|us|them|the|an?|my|your|it|this|these)\b")
#: A word after which a number stands that is somebody's.
_NUMBER_AFTER: Final = re.compile(
    r"[ ]?(?:no\.?|nr\.?|number|#)?[ ]?[:#.–-]?[ ]?(?=<[A-Z]|[A-Z]{0,4}[ -]?[(+]?\d[\w ()/-]{3})"
)
_LABEL: Final = words(r"${label}|${of_driver}|${of_licence}|NHI|IHI|IPP|BSN|AHV|SVNR|KVNR|TAJ|PESEL|CPR|PPS|VIC|DVLA")
#: Where a sentence or a turn begins.
_BEGINS: Final = re.compile(r"(?:^|[.!?:\n]\s?|[*\])>]\s|\bwrites?:?\s|\basks?:?\s)$")
_GOES_ON: Final = pattern("goes_on")


def names_nobody(text: str, start: int, end: int, *, of_a_person: bool = True) -> bool:
    """Whether what was found as a name is none: clinical words, "CVA LAS", "Thompson test", "Ex-smoker", "Dr. med."."""
    found = _WORD.findall(text, start, end)
    if text[start].islower() and _RESONANCE.search(text, max(0, start - _TITLE_CHARS), start):
        return True
    title = _TITLE.search(text, max(0, start - _TITLE_CHARS), start)
    has_title = title is not None
    if title is not None and is_allowed(text[title.start() : end]) and is_eponym(text, title.start(), end):
        return True
    if all(word.strip(".").lower() in _TITLES for word in found) and (not has_title or text[end : end + 1] == "."):
        return True
    if has_title or _IS_SOMEBODY.match(text, end) or _ROLE_AFTER.match(text, end):
        return False
    if is_eponym(text, start, end) or _CLASS.fullmatch(found[-1]) or _PAIR_AND_SCORE.match(text, end):
        return True
    is_relative = _RELATIVE.search(text, max(0, start - _CHARS), start) is not None
    if len(found) > 1 and is_allowed(text[start:end]) and not is_relative:
        return True
    if _OF_A_THING.search(text, max(0, start - _CHARS), start):
        return True
    if len(found) < _FEW_LETTERS and _TO_RULE_OUT.search(text, max(0, start - 2 * _CHARS), start):
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
        or any(map(_NO_LONGER.fullmatch, found))
        # Towns are in none of the lists of names.
        or all(is_clinical(word) or (of_a_person and is_only_a_word(word)) for word in named)
    )


_KINDS_OF_PLACES: Final = frozenset({"clinic", "clinics", "unit", "ward", "team", "service"})


def _is_no_name_here(text: str, start: int, end: int, word: str) -> bool:
    """Whether one word is a drug, the label of a number or the first of a sentence by what stands beside it."""
    if not is_first_name(word) and (_TAKEN.match(text, end) or _DOSED.match(text, end)):
        return True
    before = _ITEM_BEFORE.search(text, max(0, start - _CHARS), start)
    if before is not None and is_drug(before[1]) and not (is_first_name(word) or is_last_name(word)):
        return True
    if _OF_A_SERVICE.match(text, end):
        return True
    if is_label(text, end, word):
        return True
    begins = _BEGINS.search(text, max(0, start - _TITLE_CHARS), start) is not None
    if begins and is_word(word) and _OBJECT.match(text, end):
        return True
    return begins and is_plain_word(word) and not is_first_name(word) and _GOES_ON.match(text, end) is not None


def is_label(text: str, end: int, word: str) -> bool:
    """Whether a word that ends there labels the number after it: "NHI ZKH0555"."""
    return _LABEL.fullmatch(word) is not None and _NUMBER_AFTER.match(text, end) is not None


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
    if is_clinical_term(bare) or _NO_LONGER.fullmatch(bare):
        return True
    return any(span.end - span.start == len(bare) for span in clinical_term_finder()(bare))


@cache
def clinical_term_finder() -> TermFinder:
    """Return what finds the terms of the panel of diagnoses in a text."""
    return clinical_terms(load_panel())


#: What a text is about, rather than whose it is: never masked by itself.
CLINICAL_CONTENT: Final = frozenset({"diagnosis", "drug", "medical_condition"})
#: A blood pressure, which a library may take for a telephone number.
_PRESSURE: Final = re.compile(r"\d{2,3}/\d{2,3}")
_BEFORE_CHARS: Final = 40
_NEXT_FIELD: Final = re.compile(r"\n\s*[A-Z]")


def named_somebody(text: str, found: Sequence[EntitySpan]) -> list[EntitySpan]:
    """Return of what a detector found the places smaller than a state, and no clinical content."""
    whole = (_without_edges(text, span) for span in _without_facilities(found, text))
    places = (without_larger_places(text, span) for span in whole)
    return [span for span in places if span is not None and span.start < span.end and not _is_of_nobody(text, span)]


#: Before what somebody is: no part of it.
_BEFORE_TRADE: Final = re.compile(
    r"(?:(?:trained|qualified|full-time|part-time|self-employed|with|in|an?|the)\s+)+(?=\S)", re.IGNORECASE
)
_BEFORE_FACILITY: Final = re.compile(
    r"(?:Born|Seen|Admitted|Referred|Transferred|Discharged|Presented|Delivered)[ ](?=\S+[ ]\S)"
)
_FIRST_WORD: Final = re.compile(r"([^\W\d_][\w'’]+)[ ]([A-Z][\w'’]+)")
#: A segment of HL7 begins, and what was found ends: "SIDNEY" before "OBX|1", whose line would be read as another's.
_SEGMENT: Final = re.compile(
    r"\s*[\r\n\v][ \t]*(?:[A-Z]{2}\d|MSH|MSA|EVN|PID|MRG|ORC|OBR|OBX|NTE|SPM|TXA|SCH|IAM|RX[ADEO])\|"
)
_SEGMENT_NAME_CHARS: Final = 3
#: "H. Lund, NHI ABC1234".
_LABEL_AFTER: Final = re.compile(r",[ ]?([A-Za-z]+)$")
#: "As Ada Lund, I have": a last name with an initial, if it went on otherwise.
_I_AFTER: Final = re.compile(r",[ ]I(?=[ ])")


def _without_edges(text: str, span: EntitySpan) -> EntitySpan:
    """Return a span without blanks at its ends, and without a word that stands before a name: "Reached Ada Lund"."""
    start, end = span.start, span.end
    start += len(text[start:end]) - len(text[start:end].lstrip())
    segment = _SEGMENT.search(text, start, end + _SEGMENT_NAME_CHARS)
    end = segment.start() if segment else end
    end -= len(text[start:end]) - len(text[start:end].rstrip())
    if span.category == "occupation":
        before = _BEFORE_TRADE.match(text, start, end)
        start = before.end() if before else start
    elif span.category in _FACILITIES:
        before = _BEFORE_FACILITY.match(text, start, end)
        start = before.end() if before else start
    elif categories()[span.category].type == "PER":
        first = _FIRST_WORD.match(text, start, end)
        if first is not None and is_only_a_word(first[1]) and is_first_name(first[2]):
            start = first.start(2)
        if _I_AFTER.match(text, end - 3):
            end -= 3
        label = _LABEL_AFTER.search(text, start, end)
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


#: "The supervisor called": whoever it is, the patient is none by that.
_ANYONES: Final = re.compile(
    r"(?i:(?<!\bis)(?<!\bwas)(?<!\bas)(?<!\bbeing)(?<!\bbecame)(?:^|[\s\"“(])the )$|(?:^|[.!?:\n\]]\s?)An? $"
)
_AND_ANOTHER: Final = re.compile(r" and an? ")
_TO_ONE: Final = re.compile(r"1:\d{1,4}")
_OF_A_RATIO: Final = re.compile(
    r"[ ](?:carb|ratio|dilution|titer|titre|insulin|CHO|adrenaline|epinephrine|with\b|\()", re.IGNORECASE
)
_WORD_BEFORE: Final = re.compile(r"([A-Za-z-]+)[ ]$")


def _is_ratio(text: str, start: int, end: int) -> bool:
    """Whether what is written as a time is one to something: "Humalog 1:10 carb ratio"."""
    before = _WORD_BEFORE.search(text, max(0, start - _BEFORE_CHARS), start)
    return _TO_ONE.fullmatch(text, start, end) is not None and (
        _OF_A_RATIO.match(text, end) is not None or (before is not None and is_allowed(before[1]))
    )


def _is_of_nobody(text: str, span: EntitySpan) -> bool:
    """Whether what was found is clinical content: a word of medicine, the course of an illness, a pressure."""
    start, end, category, _ = span
    if category in CLINICAL_CONTENT:
        return True
    if category == "phone":
        return _PRESSURE.fullmatch(text, start, end) is not None
    if category == "duration":
        return not _tells_of_a_life(text, start, end)
    if category == "occupation":
        # In a form the next line is another field.
        is_two_fields = _NEXT_FIELD.search(text, start, end) is not None
        article = _ANYONES.search(text, max(0, start - _BEFORE_CHARS), start)
        is_anyones = article is not None and ("the" in article[0].lower() or _AND_ANOTHER.match(text, end) is not None)
        return is_two_fields or is_anyones or is_eponym(text, start, end) or is_of_a_carer(text, start)
    if category == "time":
        return _is_ratio(text, start, end)
    is_name = categories()[category].type in ("PER", "ORG") or category in ("city", "landmark")
    return is_name and names_nobody(text, start, end, of_a_person=categories()[category].type == "PER")


_FACILITIES: Final = frozenset({"healthcare_facility", "clinic", "school"})
#: Of a name with a title, a label or a list beside it more is known.
_GENERIC: Final = "full_name"
#: "Ada Lund Hospital day 3": the word belongs to what follows.
_NO_FACILITY: Final = re.compile(r"[ ](?i:day|course|stay|visit|note|number|no\b|id\b)|[ ]?[#:]")


def _without_facilities(spans: Sequence[EntitySpan], text: str) -> list[EntitySpan]:
    """Return spans without the names that a facility's name begins with."""
    facilities = [span for span in spans if span.category in _FACILITIES and not _NO_FACILITY.match(text, span.end)]
    ends = {span.start: span.end for span in facilities}
    return [span for span in spans if span.category != _GENERIC or span.end >= ends.get(span.start, span.end)]


#: Names of a town, or of a person, as well.
_OTHERS_TOO: Final = frozenset(
    {"new york", "washington", "virginia", "georgia", "chad", "jordan", "israel", "kenya", "asia"}
)
_STATE: Final = "|".join((*STATES, *sorted(STATES.values(), key=len, reverse=True)))
#: Without a comma by its letters alone: "Port Washington" and "West New York" are towns.
_AFTER_TOWN: Final = re.compile(rf"(?:,[ ]?(?:{_STATE})|[ ](?:{'|'.join(STATES)}|NSW|VIC|QLD|TAS|ACT))$")

_SAFE_CODE: Final = regex(r"(?<=[a-z])[ ]${safe_state_code}$")
_IN: Final = re.compile(r"\b(?:in|near|from|to|outside|around) $")
_A_STATE: Final = re.compile(_STATE)
#: A town, or its tag, and a comma.
_BESIDE_TOWN: Final = re.compile(r"(?:\b[A-Z][\w'’-]*|<[A-Z_]+_\d+>),[ ]$")


def without_larger_places(text: str, span: EntitySpan) -> EntitySpan | None:
    """Return a span of a town without the state after it; None for a state or a country alone."""
    written = text[span.start : span.end]
    if categories()[span.category].type == "PER":
        # "In Gilbert AZ": a town, whatever its detector called it.
        code = _SAFE_CODE.search(written)
        if code is None or not _IN.search(text, max(0, span.start - _BEFORE_CHARS), span.start):
            return span
        return EntitySpan(span.start, span.start + code.start(), "city", span.found_by)
    if span.category != "city":
        return span
    if _plain(written) in _larger() or (
        _A_STATE.fullmatch(written) and _BESIDE_TOWN.search(text, max(0, span.start - _BEFORE_CHARS), span.start)
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
    others = (word for word in _WORD.finditer(form) if word.start() not in covered)
    return len(set(terms)) + sum(not is_known_name(word[0]) and is_clinical_term(word[0].strip(".")) for word in others)


_OF_A_LIFE: Final = pattern("of_a_life")
_RATE: Final = words(r"(?:a|an|per|each|every)\s")
_LONG: Final = (" for", " in", " after", " about", " of", " within")
_RATE_CHARS: Final = 40
#: How far around a duration its sentence is read, in characters.
_SENTENCE_CHARS: Final = 160
_CLAUSE_END: Final = re.compile(
    r"[.!?;](?=\s)|\n|,|\s(?:with|but|has|had|presents?|presenting|reports?|complains?|denies|developed)\s"
)
_OF_AN_ILLNESS: Final = pattern("of_an_illness")


def _tells_of_a_life(text: str, start: int, end: int) -> bool:
    """Whether the clause around a duration is about a life rather than an illness, and the duration is no rate."""
    before = text[max(0, start - _RATE_CHARS) : start].rstrip().lower()
    if _RATE.match(text, start, end) and not before.endswith(_LONG):
        return False
    if _OF_AN_ILLNESS.match(text, end):
        return False
    clause_before = _CLAUSE_END.split(text[max(0, start - _SENTENCE_CHARS) : start])[-1]
    clause_after = _CLAUSE_END.split(text[end : end + _SENTENCE_CHARS])[0]
    return _OF_A_LIFE.search(f"{clause_before} {clause_after}") is not None
