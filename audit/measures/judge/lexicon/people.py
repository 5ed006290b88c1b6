"""Whom a mention is about: the nearest person before it in its clause who may have it.

Owns the words for persons, and how a sentence goes from one person to the next. The patient is whoever is not named.
"""

import re
from typing import Final, Literal

from clinaudit.audit.measures.judge.lexicon.cues import CUE_TABLES, Clause

Gender = Literal["f", "m", ""]

_PEOPLE: Final = {name: frozenset(words.split()) for name, words in CUE_TABLES["people"].items()}
_KIN: Final = _PEOPLE["female"] | _PEOPLE["male"] | _PEOPLE["kin"]
_SUBJECTS: Final = {"he": "m", "she": "f", "they": "", "i": "", "himself": "m", "herself": "f", "myself": ""}
_GENDERS: Final = {**_SUBJECTS, "his": "m", "her": "f", "their": "", "my": "", "your": "", "our": ""}
_WHOSE: Final = _GENDERS.keys() - _SUBJECTS.keys()
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
        if found["letter"] or found["f"] or found["m"]:
            return "f" if found["f"] or found["letter"] == "f" else "m"
        if found["kin"] in _KIN:
            return "f" if found["her"] else "m"
    return ""


def is_of_another(clause: Clause, mention_start: int, gender: Gender) -> bool:
    """Return whether the nearest person before a mention, a number of tokens, who may have it is not the patient.

    Example: "lives with brother who is bipolar", 5.
    """
    words = clause.words
    if _is_of_bystander(clause, mention_start):
        return True
    # The person other than the patient who may have what is named next.
    holder = 0 if words[0] in _SUBJECTS and _differs(words[0], gender) else None
    at = 0 if holder is None else 1
    while at < mention_start:
        # "He's", "she'd".
        word, subject = words[at], words[at].partition("'")[0]
        if _is_kin(words, at) and word.endswith(("'s", "'")):
            # "Her mother's anxiety": as far as the next words.
            following = words[at + 1 : mention_start]
            if len(following) <= _OF_A_POSSESSOR and all(one[0].isalnum() for one in following):
                return not _PEOPLE["between"].intersection(following)
        elif _is_kin(words, at):
            if _is_beside(words, at, mention_start):
                return True
            role = _role(words, at)
            if role == "subject" or (role == "oblique" and _is_told_of(words, at)):
                holder = at
                at = _after_apposition(words, at, mention_start)
        elif _name(word) in _PEOPLE["others"] and _is_told_of(words, at) and "neither" not in words[:at]:
            holder = at
        elif subject in _SUBJECTS or word in _PATIENT or _is_patients_own(words, at):
            goes_on = _differs(subject, gender) and _names_kin_before(words, at, subject)
            holder = None if not goes_on else at if holder is None or word in _WHOSE else holder
        elif holder is not None and _ends(words, holder, at, mention_start):
            holder = None
        at += 1
    return holder is not None


def _is_of_bystander(clause: Clause, mention_start: int) -> bool:
    """Whether somebody beside the patient stands before a mention, and the patient not between them."""
    before = [cue for cue in clause.cues if cue.end <= mention_start]
    is_ours = {"our", "patient"}.issubset(clause.words[mention_start:])
    return any(
        (cue.says == "another" or (is_ours and cue.says == "placed"))
        and not any(back.says == "patient" and back.start >= cue.end for back in before)
        for cue in before
    )


def _ends(words: tuple[str, ...], holder: int, at: int, mention_start: int) -> bool:
    """Whether the sentence is of the patient again at a word after another person."""
    word, following = words[at], words[at + 1] if at + 1 < mention_start else ""
    is_kin, is_near = _is_kin(words, holder), at - holder <= _OF_A_VERB
    is_oblique = is_kin and _role(words, holder) == "oblique"
    if word in _PEOPLE["telling"] and is_near:
        # "Came home with PTSD", "lives with HIV": what stands after "with" is the relative's.
        is_with = words[mention_start - 1] == "with" and "," not in words[at:mention_start]
        return not is_with and _name(words[holder]) not in _PEOPLE["others"]
    if word in (",", "and", "&") and following in _PEOPLE["verbs"]:
        return is_oblique or (word == "," and following not in ("had", "was"))
    if word == "," and following not in ("who", "whose", "also"):
        # Something befell the person, or no verb of having follows: a comma goes back to the patient.
        is_linked = not is_kin or is_oblique or not _PEOPLE["links"].isdisjoint(words[holder + 1 : holder + 4])
        return _has_event(words, holder, at) or (not is_linked and at - holder > 1)
    return word in ("but", "while", "whereas", "so", "since") and is_oblique


def _has_event(words: tuple[str, ...], holder: int, at: int) -> bool:
    """Whether something befell a person by a word: "her son died"."""
    return not _PEOPLE["events"].isdisjoint(words[holder + 1 : min(holder + _OF_A_VERB + 1, at)])


def _after_apposition(words: tuple[str, ...], at: int, end: int) -> int:
    """Return the last token of what is said beside a name, within commas: "his dad, a farmer,"."""
    if words[at + 1 : at + 2] == (",",) and at + 2 < len(words):
        first = words[at + 2]
        if first.isdigit() or first in ("a", "an", "the", "aged", "now", "my", "his", "her", "unlike", "like", "not"):
            return next((closing for closing in range(at + 3, min(at + 9, end)) if words[closing] == ","), at)
    return at


def _name(word: str) -> str:
    """Return a word without the ending of a possessor."""
    return word.removesuffix("'s").removesuffix("'")


def _is_kin(words: tuple[str, ...], at: int) -> bool:
    name = _name(words[at])
    # "Mother of two" is the patient.
    return (name in _KIN or name.removesuffix("s") in _KIN) and words[at + 1 : at + 2] != ("of",)


def _role(words: tuple[str, ...], at: int) -> Literal["subject", "oblique", "joined"]:
    """Return how a relative stands in the sentence; `joined`: beside the patient ("she and her brother")."""
    start = at
    while start and (words[start - 1] in _PEOPLE["before"] or words[start - 1].removesuffix("'s") in _PATIENT):
        start -= 1
    previous, before = words[start - 1] if start else "", words[start - 2] if start > 1 else ""
    if (
        (previous in ("and", "or", "nor", "&") and (before in _SUBJECTS or before in _PATIENT))
        or (previous == "nor" and "neither" in words[:start] and not any(_is_kin(words, one) for one in range(start)))
        or (previous == "both" and words[at] in ("partners", "spouses", "twins"))
    ):
        return "joined"
    return "oblique" if previous in _PEOPLE["prepositions"] else "subject"


def _is_told_of(words: tuple[str, ...], at: int) -> bool:
    """Whether words follow that say what a person has: "who", "with"."""
    following = [word for word in words[at + 1 : at + 4] if word not in (",", "(", "also", "both")]
    return bool(following) and following[0] in _PEOPLE["telling_what"]


def _is_beside(words: tuple[str, ...], at: int, mention_start: int) -> bool:
    """Whether a mention stands in the brackets after a person, nobody else in them: "with partner (HIV+, on PrEP)"."""
    beside = words[at + 2 : mention_start]
    return words[at + 1 : at + 2] == ("(",) and not {")", *_GENDERS, *_PATIENT}.intersection(beside)


def _is_patients_own(words: tuple[str, ...], at: int) -> bool:
    """Whether a word is a possessive, but not that of a relative's name: "her older brother"."""
    if words[at] not in _WHOSE or words[at + 1 : at + 3] == ("own", "life"):
        return False
    for following in range(at + 1, min(at + 4, len(words))):
        if _is_kin(words, following):
            return False
        if words[following] not in _PEOPLE["before"]:
            break
    return True


def _names_kin_before(words: tuple[str, ...], at: int, pronoun: str) -> bool:
    """Whether a relative whom a pronoun may mean stands before it."""
    others = _PEOPLE["female"] if _GENDERS.get(pronoun) == "m" else _PEOPLE["male"]
    return any(_is_kin(words, before) and words[before].removesuffix("s") not in others for before in range(at))


def _differs(word: str, gender: Gender) -> bool:
    own = _GENDERS.get(word)
    return bool(own and gender and own != gender)
