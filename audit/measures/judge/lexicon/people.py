"""Whom a mention is about: the nearest person before it in its clause who may have it.

Owns the words for persons, and how a sentence goes from one person to the next. The patient is whoever is not named.
"""

import re
from typing import Final, Literal, NamedTuple

from clinaudit.audit.measures.judge.lexicon.cues import CUE_TABLES, compile_phrases

Gender = Literal["f", "m", ""]

_PEOPLE: Final = {name: frozenset(words.split()) for name, words in CUE_TABLES["people"].items()}
_FEMALE, _MALE = _PEOPLE["female"], _PEOPLE["male"]
_KIN: Final = _FEMALE | _MALE | _PEOPLE["kin"]
_WHOSE: Final = {"his": "m", "her": "f", "their": "", "my": "", "your": "", "our": ""}
_SUBJECTS: Final = {"he": "m", "she": "f", "they": "", "i": "", "himself": "m", "herself": "f", "myself": ""}
#: Somebody beside the patient, told by where they are; the same, where "our patient" follows; what goes back to the
#: patient after them.
_BYSTANDER, _BYSTANDER_OF_OUR, _TO_PATIENT = (
    compile_phrases(CUE_TABLES["bystanders"][name]) for name in ("beside", "before_our_patient", "to_patient")
)
_PATIENT: Final = frozenset({"patient", "pt", "personally", "personal", "client"})
#: How many words after a possessor and after a person's name are looked at [choice].
_OF_A_POSSESSOR, _OF_A_VERB = 3, 4
#: How far into a text its words are looked at for the patient's gender [choice]: notes begin with it.
_GENDER_CHARS: Final = 1000
_GENDER_WORD: Final = re.compile(
    r"\b(?:(?P<f>female|woman|lady|girl|mrs|ms|miss)|(?P<m>male|man|gentleman|boy|mr)|(?P<her>her)|(?P<his>his))\b"
    r"(?:\s+(?P<kin>[a-z]+))?|\b\d+\s*(?:y/?o|yr|year[- ]old)?\s*(?P<letter>[mf])\b"
)


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


class _Holder(NamedTuple):
    """A person other than the patient who may have what is named next."""

    at: int
    #: "With her brother": words must follow that say what the brother has.
    is_oblique: bool = False
    #: A verb of having follows, so that a comma changes nobody.
    is_linked: bool = True
    #: Something befell the person: a comma after it goes back to the patient.
    is_event: bool = False
    #: Not a relative: "people with".
    is_anybody: bool = False


def is_of_another(words: tuple[str, ...], mention_start: int, gender: Gender) -> bool:
    """Return whether the nearest person before a mention who may have it is not the patient.

    `words` are a clause's tokens in small letters. Example: ("lives", "with", "brother", "who", "is", "bipolar"), 5.
    """
    if _is_of_bystander(words, mention_start):
        return True
    holder = _Holder(0) if words and words[0] in _SUBJECTS and _differs(words[0], gender) else None
    at = 0 if holder is None else 1
    while at < mention_start:
        word, name = words[at], _name(words[at])
        # "He's", "she'd".
        subject = word.partition("'")[0]
        if _is_kin(words, at) and word != name:
            # "Her mother's anxiety": as far as the next words.
            following = words[at + 1 : mention_start]
            if len(following) <= _OF_A_POSSESSOR and all(one[0].isalnum() for one in following):
                return not _PEOPLE["between"].intersection(following)
        elif _is_kin(words, at):
            if _is_beside(words, at, mention_start):
                return True
            role = _role(words, at)
            if role == "subject" or (role == "oblique" and _is_told_of(words, at)):
                is_linked = role == "oblique" or any(one in _PEOPLE["links"] for one in words[at + 1 : at + 4])
                holder = _Holder(at, is_oblique=role == "oblique", is_linked=is_linked)
                at = _after_apposition(words, at, mention_start)
            elif role == "oblique" and holder is not None and holder.is_event:
                holder = None
        elif name in _PEOPLE["others"] and _is_told_of(words, at) and "neither" not in words[:at]:
            holder = _Holder(at, is_anybody=True)
        elif (
            subject in _SUBJECTS
            or word in _PATIENT
            or (word in _WHOSE and not _is_of_kin(words, at) and words[at + 1 : at + 3] != ("own", "life"))
        ):
            named = _nearest_kin(words, at, subject) if _differs(subject, gender) else None
            holder = None if named is None else holder if holder and subject in _SUBJECTS else _Holder(named)
        elif holder is not None:
            holder = _carried_on(holder, words, at, mention_start)
        at += 1
    return holder is not None


def _is_of_bystander(words: tuple[str, ...], mention_start: int) -> bool:
    """Whether somebody beside the patient stands before a mention, and the patient not between them."""
    before = "".join(f"{word} " for word in words[:mention_start])
    found = [*_BYSTANDER.finditer(before)]
    if {"our", "patient"}.issubset(words[mention_start:]):
        found += _BYSTANDER_OF_OUR.finditer(before)
    return any(not _TO_PATIENT.search(before, one.end()) for one in found)


def _carried_on(holder: _Holder, words: tuple[str, ...], at: int, mention_start: int) -> _Holder | None:
    """Return the person after a further word; None: the sentence is of the patient again."""
    word, following = words[at], words[at + 1] if at + 1 < mention_start else ""
    is_near = at - holder.at <= _OF_A_VERB
    if word in _PEOPLE["telling"] and is_near:
        # "Came home with PTSD", "lives with HIV": what stands after "with" is the relative's.
        is_with = words[mention_start - 1] == "with" and "," not in words[at:mention_start]
        return holder if holder.is_anybody or is_with else None
    if word in _PEOPLE["events"] and is_near:
        return holder._replace(is_event=True)
    if word in (",", "and", "&") and following in _PEOPLE["verbs"]:
        goes_back = holder.is_oblique or (word == "," and following not in ("had", "was"))
        return None if goes_back else holder
    if word == "," and (not holder.is_linked or holder.is_event) and following not in ("who", "whose", "also"):
        return None if at - holder.at > 1 or holder.is_event else holder
    if word in ("but", "while", "whereas", "so", "since") and holder.is_oblique:
        return None
    return holder


def _after_apposition(words: tuple[str, ...], at: int, end: int) -> int:
    """Return the last token of what is said beside a name, within commas: "his dad, a farmer,"."""
    if words[at + 1 : at + 2] == (",",) and _begins_apposition(words, at + 2):
        for closing in range(at + 3, min(at + 9, end)):
            if words[closing] == ",":
                return closing
    return at


def _begins_apposition(words: tuple[str, ...], at: int) -> bool:
    return at < len(words) and (
        words[at] in ("a", "an", "the", "aged", "now", "my", "his", "her", "unlike", "like", "not")
        or words[at].isdigit()
    )


def _name(word: str) -> str:
    """Return a word without the ending of a possessor."""
    return word.removesuffix("'s").removesuffix("'")


def _is_kin(words: tuple[str, ...], at: int) -> bool:
    name = _name(words[at])
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
    if previous == "nor" and "neither" in words[:start] and not any(_is_kin(words, one) for one in range(start)):
        return "joined"
    if previous == "both" and words[at] in ("partners", "spouses", "twins"):
        return "joined"
    return "oblique" if previous in _PEOPLE["prepositions"] else "subject"


def _is_told_of(words: tuple[str, ...], at: int) -> bool:
    """Whether words follow that say what a person has: "who", "with"."""
    following = [word for word in words[at + 1 : at + 4] if word not in (",", "(", "also", "both")]
    return bool(following) and following[0] in _PEOPLE["telling_what"]


def _is_beside(words: tuple[str, ...], at: int, mention_start: int) -> bool:
    """Whether a mention stands in the brackets after a person, nobody else in them: "with partner (HIV+, on PrEP)"."""
    beside = words[at + 2 : mention_start]
    return words[at + 1 : at + 2] == ("(",) and not {")", *_SUBJECTS, *_WHOSE, *_PATIENT}.intersection(beside)


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
