"""What was found as a name and is nobody's: words of medicine and of the language, labels, drugs, what bears a name.

Detectors see capitals; here it counts what stands beside them. After a title everything is a name.
"""

import re
from functools import cache, lru_cache
from typing import Final

from clinaudit.audit.pii.detectors.name_lists import is_first_name, is_last_name, is_plain_word
from clinaudit.audit.pii.detectors.rule_table import words
from clinaudit.audit.pii.detectors.word_lists import (
    is_allowed,
    is_clinical_term,
    is_drug,
    is_eponym,
    is_known_name,
    is_word,
    read_words,
)
from clinaudit.priors.diagnoses import clinical_terms, load_panel
from clinaudit.templates.note import TermFinder

#: After these a clinical word is somebody's name: "Mr. Lyme".
_TITLE: Final = re.compile(
    r"\b(?:Mr|Mrs|Ms|Mx|Miss|Dr|Doctor|Prof|Professor|Sir|Madam|Nurse|Sister|Sr|Herr|Frau|Mme)\.? $", re.IGNORECASE
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
#: How often and how a drug is given, or that it ends: after a name stands none of these.
_TAKEN: Final = words(
    r"[ ](?:\d+(?:[.,/]\d+)*[ ]?(?:mg|mcg|µg|g|ml|units?|iu|mmol|%)?[ ]?)?(?:po|iv|im|sc|s/c|sl|pr|top)?[ ]?"
    r"(?:od|bd|bid|tds|tid|qds|qid|qhs|qd|prn|nocte|mane|stat|(?:once|twice)[ ](?:daily|weekly)|daily|reducing|weaning"
    r"|tapering|(?:wk|week|cycle)[ ]\d+/\d+|tabs?|tablets?|caps?|capsules?|patch(?:es)?|inhaler|infusion"
    r"|drip|po|iv|im|sc|s/c)(?![\w/])"
)
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
#: A service in short before who speaks for it, and a network before who somebody is there.
_OF_A_SERVICE: Final = words(
    r"[ ]\((?:@|(?:<[A-Z_]+_\d+>|(?-i:[A-Z])[\w'’-]+)\)[ ](?:called|paged|notified|aware|agree[sd]"
    r"|recommends?|consulted|saw|updated|informed))"
)
#: What follows a verb, and no name.
_OBJECT: Final = words(r"[ ](?:who|what|whether|that|how|me|him|us|them|the|an?|my|your|it|this|these)\b")
#: A word after which a number stands that is somebody's.
_NUMBER_AFTER: Final = re.compile(
    r"[ ]?(?:no\.?|nr\.?|number|#)?[ ]?[:#.–-]?[ ]?(?=<[A-Z]|[A-Z]{0,4}[ -]?[(+]?\d[\w ()/-]{3})"
)
_LABEL: Final = words(r"${label}|${of_driver}|${of_licence}|NHI|IHI|IPP|BSN|AHV|SVNR|KVNR|TAJ|PESEL|CPR|PPS|VIC|DVLA")
#: Where a sentence or a turn begins.
_BEGINS: Final = re.compile(r"(?:^|[.!?:\n]\s?|[*\])>]\s|\bwrites?:?\s|\basks?:?\s)$")
#: Of a sentence that goes on, and not by what somebody does.
_GOES_ON: Final = words(
    r"(?:,?[ ](?!(?:is|was|has|had|will|and|who|said|says|reports?|reported|states|denies|lives|came|called)\b)"
    r"[a-z]|[?!])"
)


def names_nobody(text: str, start: int, end: int, *, of_a_person: bool = True) -> bool:
    """Whether what was found as a name is none: clinical words, "CVA LAS", "Thompson test", "Ex-smoker", "Dr. med."."""
    found = _WORD.findall(text, start, end)
    if text[start].islower() and _RESONANCE.search(text, max(0, start - _TITLE_CHARS), start):
        return True
    has_title = _TITLE.search(text, max(0, start - _TITLE_CHARS), start) is not None
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
    return (
        (is_shorthand and not is_name)
        or any(map(_NO_LONGER.fullmatch, found))
        or all(map(is_clinical, found))
        # Towns are in none of the lists of names.
        or (of_a_person and all(map(is_only_a_word, found)))
    )


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
