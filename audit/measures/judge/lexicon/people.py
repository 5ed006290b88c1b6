"""Whom a mention is about: the nearest person before it in its clause who may have it.

Owns the words for persons, and how a sentence goes from one person to the next. The patient is whoever is not named.
"""

import re
from functools import lru_cache
from typing import Final, Literal

from clinaudit.audit.measures.judge.lexicon.cues import CUE_TABLES

Gender = Literal["f", "m", ""]

_PEOPLE: Final = {name: frozenset(words.split()) for name, words in CUE_TABLES["people"].items()}
_FEMALE, _MALE = _PEOPLE["female"], _PEOPLE["male"]
_KIN: Final = _FEMALE | _MALE | _PEOPLE["kin"]
_WHOSE: Final = {"his": "m", "her": "f", "their": "", "my": "", "your": "", "our": ""}
_SUBJECTS: Final = {"he": "m", "she": "f", "they": "", "i": "", "himself": "m", "herself": "f", "myself": ""}
_PATIENT: Final = frozenset({"patient", "pt", "personally", "personal", "client"})
#: How far into a text its words are looked at for the patient's gender [choice]: notes begin with it.
_GENDER_CHARS: Final = 1000
_GENDER_WORD: Final = re.compile(
    r"\b(?:(?P<f>female|woman|lady|girl|mrs|ms|miss)|(?P<m>male|man|gentleman|boy|mr)|(?P<her>her)|(?P<his>his))\b"
    r"(?:\s+(?P<kin>[a-z]+))?|\b\d+\s*(?:y/?o|yr|year[- ]old)?\s*(?P<letter>[mf])\b"
)


@lru_cache(maxsize=64)
def gender_of_patient(text: str) -> Gender:
    """Return the patient's gender as a text's words tell it: "her son", "45 yo F"; "" where none does."""
    for found in _GENDER_WORD.finditer(text[:_GENDER_CHARS].lower()):
        if found["letter"]:
            return "f" if found["letter"] == "f" else "m"
        if found["f"] or found["m"]:
            return "f" if found["f"] else "m"
        if found["kin"] and found["kin"] in _KIN:
            return "f" if found["her"] else "m"
    return ""


def is_of_another(words: tuple[str, ...], mention_start: int, gender: Gender) -> bool:
    """Return whether the nearest person before a mention who may have it is not the patient.

    `words` are a clause's tokens in small letters. Example: ("lives", "with", "brother", "who", "is", "bipolar"), 5.
    """
    holder: int | None = None
    is_oblique = is_linked = is_event = is_generic = False
    at = 0
    if words and words[0] in _SUBJECTS and _differs(words[0], gender):
        holder, is_linked = 0, True
        at = 1
    while at < mention_start:
        word = words[at]
        name = word.removesuffix("'s").removesuffix("'")
        if _is_kin(words, at):
            role = _role(words, at)
            if word != name:
                # "Her mother's anxiety": as far as the next words.
                if mention_start - at <= 4 and all(one[0].isalnum() for one in words[at + 1 : mention_start]):
                    return not any(one in _PEOPLE["between"] for one in words[at + 1 : mention_start])
            elif role == "subject" or (role == "oblique" and _is_told_of(words, at)):
                holder, is_oblique, is_event = at, role == "oblique", False
                is_linked, is_generic = is_oblique or _is_linked(words, at), False
                at = _after_apposition(words, at, mention_start)
            elif role == "oblique" and holder is not None and is_event:
                holder = None
        elif name in _PEOPLE["others"] and _is_told_of(words, at):
            holder, is_oblique, is_linked, is_event, is_generic = at, False, True, False, True
        elif word in _SUBJECTS or word in _PATIENT:
            if not _differs(word, gender) or (named := _nearest_kin(words, at, word)) is None:
                holder = None
            elif holder is None:
                holder, is_linked = named, True
        elif word in _WHOSE and not _is_of_kin(words, at):
            named = _nearest_kin(words, at, word) if _differs(word, gender) else None
            holder, is_linked = named, True
        elif holder is not None:
            if word in _PEOPLE["telling"] and at - holder <= 4:
                # "Came home with PTSD", "lives with HIV": what stands after "with" is the relative's.
                is_with = words[mention_start - 1] == "with" and "," not in words[at:mention_start]
                holder = holder if is_generic or is_with else None
            elif word in _PEOPLE["events"] and at - holder <= 4:
                is_event = True
            elif word in (",", "and", "&") and at + 1 < mention_start and words[at + 1] in _PEOPLE["verbs"]:
                if is_oblique or (word == "," and words[at + 1] not in ("had", "was", "who")):
                    holder = None
            elif word == "," and (not is_linked or is_event) and words[at + 1] not in ("who", "whose", "also"):
                holder = None if at - holder > 1 or is_event else holder
            elif word in ("but", "while", "whereas", "so", "since") and is_oblique:
                holder = None
        at += 1
    return holder is not None


def _after_apposition(words: tuple[str, ...], at: int, end: int) -> int:
    """Return the last token of what is said beside a name, within commas: "his dad, a farmer,"."""
    if words[at + 1 : at + 2] == (",",) and _begins_apposition(words, at + 2):
        for closing in range(at + 3, min(at + 9, end)):
            if words[closing] == ",":
                return closing
    return at


def _begins_apposition(words: tuple[str, ...], at: int) -> bool:
    return at < len(words) and (
        words[at] in ("a", "an", "the", "aged", "now", "my", "his", "her", "unlike", "like") or words[at].isdigit()
    )


def _is_kin(words: tuple[str, ...], at: int) -> bool:
    name = words[at].removesuffix("'s").removesuffix("'")
    name = name if name in _KIN else name.removesuffix("s")
    # "Mother of two" is the patient.
    return name in _KIN and words[at + 1 : at + 2] != ("of",)


def _role(words: tuple[str, ...], at: int) -> Literal["subject", "oblique", "joined"]:
    """Return how a relative stands in the sentence; `joined`: beside the patient ("she and her brother")."""
    start = at
    while start and (words[start - 1] in _PEOPLE["before"] or words[start - 1].removesuffix("'s") in _PATIENT):
        start -= 1
    previous = words[start - 1] if start else ""
    if (
        previous in ("and", "or", "nor", "&")
        and start > 1
        and (words[start - 2] in _SUBJECTS or words[start - 2] in _PATIENT)
    ):
        return "joined"
    if previous == "both" and words[at] in ("partners", "spouses", "twins"):
        return "joined"
    return "oblique" if previous in _PEOPLE["prepositions"] else "subject"


def _is_told_of(words: tuple[str, ...], at: int) -> bool:
    """Whether words follow that say what a person has: "who", "with"."""
    following = [word for word in words[at + 1 : at + 4] if word not in (",", "(", "also", "both")]
    return bool(following) and following[0] in _PEOPLE["telling_what"]


def _is_linked(words: tuple[str, ...], at: int) -> bool:
    return any(word in _PEOPLE["links"] for word in words[at + 1 : at + 4])


def _is_of_kin(words: tuple[str, ...], at: int) -> bool:
    """Whether a possessive is that of a relative's name: "her older brother"."""
    for following in range(at + 1, min(at + 4, len(words))):
        if _is_kin(words, following):
            return True
        if words[following] not in _PEOPLE["before"]:
            return False
    return False


def _nearest_kin(words: tuple[str, ...], at: int, pronoun: str) -> int | None:
    """Return where the nearest relative before a pronoun stands whom it may mean, or None."""
    gender = _SUBJECTS.get(pronoun, _WHOSE.get(pronoun, ""))
    others = _FEMALE if gender == "m" else _MALE
    for before in range(at - 1, -1, -1):
        if _is_kin(words, before) and words[before].removesuffix("s") not in others:
            return before
    return None


def _differs(word: str, gender: Gender) -> bool:
    own = _SUBJECTS.get(word, _WHOSE.get(word, ""))
    return bool(own and gender and own != gender)
