"""Whom a mention is about, and what else a drug may be for: patterns over the words of a clause (`cues.toml`).

Owns how a sentence goes from one person to the next. The patient is whoever is not named.
"""

import re
from collections.abc import Iterable
from typing import Final, Literal

from clinaudit.audit.measures.judge.lexicon.cues import Clause, letters_of, pattern, word_lists
from clinaudit.templates.spans import Span

Gender = Literal["f", "m", ""]

_GENDERS: Final[dict[str, Gender]] = {"he": "m", "himself": "m", "his": "m", "she": "f", "herself": "f", "her": "f"}
_WORDS: Final = word_lists("people")
_KIN: Final = _WORDS["female"] | _WORDS["male"] | _WORDS["kin"]
#: A capital for each list of words of what a drug is given for, and the words.
_REASONS: Final = [(letter, word_lists("purpose")[name]) for name, letter in letters_of("purpose").items()]
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
    if _is_of_bystander(clause, mention_start):
        return True
    said = clause.before(mention_start)
    # Where the person other than the patient stands who may have what is named next.
    holder, role, resumed_at = -1, "", 0
    for event in pattern("people", "event").finditer(said):
        at, word = event.start(), event[0].strip()
        if at < resumed_at:
            continue
        match event.lastgroup:
            case "owner" | "beside":
                return True
            case "nobody":
                return False
            case "kin" if not pattern("people", "joined").search(said, 0, event.end()):
                is_oblique = pattern("people", "oblique").search(said, 0, event.end()) is not None
                if event["told"] or not is_oblique:
                    holder, role, resumed_at = at, "oblique" if is_oblique else "subject", event.end("aside")
            case "others" if "neither" not in said[:at].split():
                holder, role = at, "others"
            case "patient":
                own = _GENDERS.get(word.partition("'")[0])
                is_other = own and gender and own != gender
                if not is_other or not (
                    pattern("people", own).search(said, 0, at) or (at == 0 and word in _WORDS["subjects"])
                ):
                    holder = -1
                elif holder < 0 or word in _WORDS["whose"]:
                    holder, role = at, "others"
            case "end" if holder >= 0 and pattern("people", f"after_{role}").match(f"{said[holder:at]}|{said[at:]}"):
                holder = -1
    return holder >= 0


def _is_of_bystander(clause: Clause, mention_start: int) -> bool:
    """Whether somebody beside the patient stands before a mention, and the patient not between them."""
    is_ours = {"our", "patient"}.issubset(clause.words[mention_start:])
    others = ("another", "placed") if is_ours else ("another",)
    ends = [cue.end for cue in clause.cues if cue.end <= mention_start and cue.says in others]
    backs = [cue.start for cue in clause.cues if cue.end <= mention_start and cue.says == "patient"]
    return max(ends, default=-1) > max(backs, default=-1)


def is_given_for_another(clause: Clause, drug: Span, *, only_listed: bool) -> bool:
    """Return whether a clause says that a drug, a half-open span of tokens, is given for something else.

    `only_listed`: by a condition of the table alone. Example: "lamotrigine 100 mg bd for focal epilepsy".
    """
    follows = pattern("purpose", "listed" if only_listed else "any").match(_marked(clause.words[drug.end :]))
    return bool(follows or pattern("purpose", "ahead").search(_marked(clause.words[: drug.start])))


def _marked(words: Iterable[str]) -> str:
    """Return words, each with the letters of its lists and a blank after it."""
    return "".join(f"{word}{''.join(letter for letter, held in _REASONS if word in held)} " for word in words)
