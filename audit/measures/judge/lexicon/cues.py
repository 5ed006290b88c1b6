"""What the words of a clause say of a mention (`cues.toml`), in the manner of ConText (Harkema et al. 2009).

Owns the language of phrases and patterns, the cues and how far each reaches, where a sentence turns, how it goes from
one person to the next, and what else a drug may be for. The patient is whoever is not named. Knows nothing of
diagnoses. Positions are in a clause's text, of tokens in small letters, each a word or a sign.
"""

import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import accumulate, pairwise
from pathlib import Path
from string import ascii_uppercase
from typing import Any, Final, Literal, NamedTuple

from clinaudit.priors.diagnoses import TermKind
from clinaudit.templates.shown_text import Span

CUE_TABLES: Final[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("cues.toml").read_text(encoding="utf-8"))
_SUBJECTS, _WHOSE = ({*CUE_TABLES["people"][name].split()} for name in ("subjects", "whose"))
#: What a drug is given for: long lists of words, each with a capital.
_REASONS: Final = {name: {*of.split()} for name, of in CUE_TABLES["purpose"].items() if isinstance(of, str)}
#: What each drug is also given for, unless it is denied, and how near it stands, in characters [choice].
_ALSO_FOR: Final = {
    name: CUE_TABLES["purpose"]["unless_denied"].replace("@", of.replace("\n", ""))
    for names, of in CUE_TABLES["purpose"]["also"].items()
    for name in names.split()
}
_NEAR_DRUG: Final = 80
#: By so many first letters a drug is known there.
_NAME_CHARS: Final = 6
_LETTERS: Final = dict(zip(_REASONS, ascii_uppercase, strict=False))
_KIN_OF: Final = {name[0]: {*CUE_TABLES["people"][name].split()} for name in ("female", "male")}
_KIN: Final = [word for name in ("female", "male", "kin") for word in CUE_TABLES["people"][name].split()]
_SETS: Final = {name: words.replace("\n", "") for name, words in CUE_TABLES["sets"].items()} | {"KIN": "|".join(_KIN)}
_NO_ADJECTIVES: Final = frozenset(CUE_TABLES["turns"]["no_adjectives"].split())
_TOKEN: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*|[^\w\s]")
#: Clauses whose cues are kept: those of a note, which is asked for one diagnosis after the other.
_MOST_KEPT: Final = 256
#: The farthest that a cue reaches, in tokens [choice]: lists of a review of systems are as long.
_FARTHEST: Final = 60
#: Of a phrase: a choice, a gap, a word or a sign.
_PIECE: Final = re.compile(r"\\[+()]|\(|\)|\||\.\.|[^\s()|]+")
_GAP: Final = r"(?:(?!(?:no|not|never|nor|without|denies|nothing|but|because) )[a-z0-9'-]+ ){0,3}?"


class Cue(NamedTuple):
    """An occurrence of a phrase, as a half-open span of the clause's text, with its row of the table."""

    start: int
    end: int
    says: str
    reach: str
    ends: str
    kinds: tuple[TermKind, ...]
    is_firm: bool
    is_of_infections: bool


class Clause(NamedTuple):
    """A clause as tokens in small letters, the cues in it, and where it turns."""

    #: The tokens, each with a blank after it; where each begins, and where the last one ends.
    text: str
    starts: Sequence[int]
    #: Where each token stands in the clause as it is written.
    spans: Sequence[Span]
    cues: Sequence[Cue]
    #: Colons, and dashes between two blanks; one that begins a line after the first is a bullet.
    signs: frozenset[int]


def _read_choice(pieces: Iterator[str]) -> tuple[str, set[str], bool, list[set[str]]]:
    """Read a choice up to its ")", or a phrase.

    Returns its pattern, words that it may begin with, whether it may be empty, and for each part that a phrase cannot
    do without the words of which it has one. Each word takes the blank after it with it. A choice that may begin with
    any word has "" among its first ones.
    """
    branches, still_empty, first_words, needed = [""], [True], set[str](), list[set[str]]()
    for piece in pieces:
        if piece == ")":
            break
        if piece == "|":
            branches.append("")
            still_empty.append(True)
            continue
        if piece == "(":
            pattern, begin, is_optional, _ = _read_choice(pieces)
        elif piece.startswith("@"):
            pattern, begin, is_optional, _ = _read_set(piece[1:])
        elif piece == "..":
            pattern, begin, is_optional = _GAP, {""}, True
        else:
            words = _TOKEN.findall(piece.removeprefix("\\"))
            pattern, begin, is_optional = "".join(re.escape(word) + " " for word in words), {words[0]}, False
        first_words |= begin if still_empty[-1] else set()
        if not is_optional and "" not in begin:
            needed.append(begin)
        branches[-1] += pattern
        still_empty[-1] &= is_optional
    # The longer first, so that nothing is chosen only where nothing else fits.
    pattern = "|".join(sorted(set(branches), key=lambda one: (-len(one), one)))
    return f"(?:{pattern})", first_words, any(still_empty), needed if len(branches) == 1 else []


@cache
def _read_set(name: str) -> tuple[str, set[str], bool, list[set[str]]]:
    return _read_choice(iter(_PIECE.findall(_SETS[name])))


def _phrases() -> dict[str, list[tuple[str, Sequence[frozenset[str]], tuple[Any, ...]]]]:
    """Return the phrases by the word that they begin with: pattern, words it needs, a cue's fields from `says` on.

    Under "" stand those that begin with any word.
    """
    marks = ({"says": says, "words": words, "kinds": ()} for says, words in CUE_TABLES["marks"].items())
    found: dict[str, list[tuple[str, Sequence[frozenset[str]], tuple[Any, ...]]]] = {}
    for row in (*CUE_TABLES["cues"], *marks):
        kinds = tuple(map(TermKind, row.get("kinds", TermKind)))
        is_firm, is_of_infections = row.get("firm", False), row.get("of_infections", False)
        fields = row["says"], row.get("reach", ""), row.get("ends", ""), kinds, is_firm, is_of_infections
        # One a line; a line that ends in "|" goes on in the next.
        for phrase in row["words"].strip().replace("|\n", "|").split("\n"):
            pattern, first_words, _, needed = _read_choice(iter(_PIECE.findall(phrase)))
            # The first words are those by which it is found.
            also = tuple(frozenset(words) for words in needed if words != first_words)
            for word in first_words:
                found.setdefault(word, []).append((pattern, also, fields))
    return found


_PHRASES: Final = _phrases()
#: Compiled when a text first holds a phrase's first word: there are thousands.
_compile: Final = cache(re.compile)


@cache
def pattern(table: str, name: str) -> re.Pattern[str]:
    """Return a pattern of a table over words, with what it names filled in."""
    return re.compile(_fill(table, name))


def _fill(table: str, name: str) -> str:
    if parts := CUE_TABLES[table]["patterns"].get(name):
        return re.sub(r"@(\w+)", lambda found: f"(?:{_fill(table, found[1])})", "".join(parts))
    if name in _SETS:
        return str(_SETS[name])
    if table == "purpose":  # In `_marked` words.
        return rf"\S*{_LETTERS[name]}\S*"
    return "|".join(map(re.escape, CUE_TABLES[table][name].split()))


@lru_cache(maxsize=_MOST_KEPT)
def read_clause(text: str) -> Clause:
    """Return a clause's tokens and cues."""
    found = [*_TOKEN.finditer(text)]
    words, spans = [one[0].lower().replace("’", "'") for one in found], [Span(*one.span()) for one in found]
    joined, starts = "".join(word + " " for word in words), [0, *accumulate(len(word) + 1 for word in words)]
    held = {*words}
    # Most phrases need a word that the clause has not, and are neither compiled nor tried.
    possible = {
        word: [(phrase, row) for phrase, needed, row in _PHRASES.get(word, ()) if not any(map(held.isdisjoint, needed))]
        for word in (*held, "")
    }
    cues = [
        Cue(start, match.end(), *row)
        for start, word in zip(starts, words, strict=False)
        for phrase, row in (*possible[word], *possible[""])
        if (match := _compile(phrase).match(joined, start)) is not None and match.end() > start
    ]
    gaps = ["  ", *(text[one.end : other.start] for one, other in pairwise(spans)), ""]
    signs = frozenset(
        start
        for start, word, (before, after) in zip(starts, words, pairwise(gaps), strict=False)
        if word == ":" or (word in "-–—" and before and after and "\n" not in before)
    )
    return Clause(joined, starts, spans, cues, signs)


def locate(clause: Clause, written: Span) -> Span:
    """Return where the tokens stand in a clause's text that a span of the clause as it is written touches."""
    tokens = zip(clause.spans, pairwise(clause.starts), strict=True)
    touched = [place for span, place in tokens if span.start < written.end and span.end > written.start]
    return Span(touched[0][0], touched[-1][1]) if touched else Span(0, 0)


def decide(clause: Clause, mention: Span, kind: TermKind, *, is_infection: bool) -> Cue | None:
    """Return the cue that decides a mention, as from `locate`, or None where none reaches it.

    `is_infection`: so that the cues for infections count.
    """
    apart = [cue for cue in clause.cues if cue.end <= mention.start or cue.start >= mention.end]
    fitting = [
        cue
        for cue in apart
        if kind in cue.kinds
        and cue.reach in ("both", "ahead" if cue.end <= mention.start else "back")
        and (is_infection or not cue.is_of_infections)
    ]
    cues = _outermost(clause, [cue for cue in fitting if cue.says not in ("held", "changed")])
    turns = _turns(clause, apart, cues)
    reached = [cue for cue in cues if cue.says != "nothing" and _reaches(clause, cue, mention, turns)]
    # Right before the mention, or one word between that may be an adjective: "his severe depression".
    # "Steroids will turn her bipolar": of a longer cue it is a part.
    held = (
        _between(clause, cue, mention)
        for cue in fitting
        if cue.says == "held"
        and not (
            clause.text.count(" ", cue.start, cue.end) == 1
            and any(other.start < cue.start and cue.end <= other.end for other in cues)
        )
    )
    is_held = any(words.count(" ") < 2 and _NO_ADJECTIVES.isdisjoint(words.split()) for words in held)
    if is_held:
        # What follows may ask for it still: "her HIV test is pending".
        of_nobody = ("asked", "queried", "general", "guarded")
        reached = [cue for cue in reached if cue.start > mention.start or cue.says not in of_nobody]

    def rank(cue: Cue) -> tuple[bool, bool, int]:
        # Of answers in a sentence the last counts: "had resolved, and is back". For a drug a cue of prevention outranks
        # all others.
        distance = -cue.start if cue.ends == "sentence" else _between(clause, cue, mention).count(" ")
        return cue.says != "guarded" or kind is not TermKind.MEDICATION, not cue.is_firm, distance

    nearest = min(reached, key=rank, default=None)
    if nearest is not None and nearest.says == "stated" and not nearest.is_firm:
        # A statement that is denied: "never diagnosed with", "nothing to suggest that gout is the cause".
        end = min(nearest.start, mention.start)
        denials = (cue for cue in reached if cue.says == "denied" and cue.end <= end)
        return next((cue for cue in denials if clause.text.count(" ", cue.end, end) < 2), nearest)
    if nearest is not None and nearest.says == "denied" and is_held:
        changes = (cue for cue in fitting if cue.says == "changed" and _reaches(clause, cue, mention, turns))
        return next(changes, nearest)
    return nearest


def _between(clause: Clause, cue: Cue, mention: Span) -> str:
    return clause.text[cue.end : mention.start] if cue.end <= mention.start else clause.text[mention.end : cue.start]


def _outermost(clause: Clause, cues: Sequence[Cue]) -> list[Cue]:
    """Return the cues without those that one of more words overlaps."""
    kept: list[Cue] = []
    for cue in sorted(cues, key=lambda cue: (not cue.is_firm, -clause.text.count(" ", cue.start, cue.end), cue.start)):
        if all(cue.end <= other.start or cue.start >= other.end or cue[:2] == other[:2] for other in kept):
            kept.append(cue)
    return sorted(kept)


def _turns(clause: Clause, apart: Sequence[Cue], cues: Sequence[Cue]) -> frozenset[int]:
    inside = {at for cue in cues if cue.says != "nothing" for at in range(cue.start, cue.end)}
    pauses = {found.end() for found in pattern("turns", "pause").finditer(clause.text)}
    # "The morning-after pill" turns nothing.
    found = {
        cue.start
        for cue in apart
        if cue.says == "turn"
        and not clause.text.endswith("- ", 0, cue.start)
        and not inside.issuperset(range(cue.start, cue.end))
    }
    found |= {cue.start for cue in apart if cue.says == "pause"} & pauses
    found |= {at for at in pauses if pattern("turns", "statement").match(clause.text, at)}
    # A colon after a cue, and before one that looks back, joins it with the mention: "nightmares: resolved".
    cue_ends = {cue.end for cue in cues} | {cue.start - len(": ") for cue in cues if cue.reach == "back"}
    return frozenset(found | clause.signs - cue_ends)


def _reaches(clause: Clause, cue: Cue, mention: Span, turns: frozenset[int]) -> bool:
    words, is_ahead = _between(clause, cue, mention), cue.end <= mention.start
    ends = "back" if cue.ends == "list" and not is_ahead else cue.ends
    name = "colon" if ends == "word" and cue.says == "general" else ends
    if words.count(" ") > _FARTHEST or not pattern("turns", name).fullmatch(words):
        return False
    # A turn right after the cue, or at the mention itself, is one, too.
    start, stop = (cue.end, mention.start + 1) if is_ahead else (mention.end, cue.start)
    return cue.ends not in ("list", "phrase") or not any(start <= turn < stop for turn in turns)


def asks(clause: Clause, mention: Span) -> bool:
    """Whether a clause asks for a mention in a full question, or by its mark: "Do you think I have depression?"."""
    return clause.text.rstrip(" \"')”").endswith("?") and (
        clause.text[mention.end :] == "? "
        or pattern("turns", "question").search(clause.text, 0, mention.start) is not None
    )


Gender = Literal["f", "m", ""]
_GENDERS: Final[dict[str, Gender]] = {"he": "m", "himself": "m", "his": "m", "she": "f", "herself": "f", "her": "f"}
#: How far into a text its words are looked at for the patient's gender [choice]: notes begin with it.
_GENDER_CHARS: Final = 1000


def gender_of_patient(text: str) -> Gender:
    """Return the patient's gender as a text's words tell it: "her son", "45 yo F"; "" where none does."""
    for found in pattern("people", "gender").finditer(text[:_GENDER_CHARS].lower()):
        if found["letter"] or found["f"] or found["m"]:
            return "f" if found["f"] or found["letter"] == "f" else "m"
        if (found["kin"] or "").removesuffix("s") in _KIN:
            return _GENDERS[found["whose"]]
    # Where no relative of a gender is named, the pronouns of that gender are the patient's.
    words = {*_TOKEN.findall(text[:_GENDER_CHARS].lower())}
    spoken_of = {_GENDERS[word] for word in words & _GENDERS.keys()}
    unnamed = [own for own in spoken_of if words.isdisjoint(_KIN_OF[own])]
    return unnamed[0] if len(unnamed) == 1 else ""


def is_of_another(clause: Clause, mention_start: int, gender: Gender) -> bool:
    """Return whether the nearest person before a mention who may have it is not the patient.

    Example: "lives with brother who is bipolar ", 26.
    """
    # Somebody beside the patient, and the patient not between them.
    others = ("another", "placed") if {"our", "patient"}.issubset(clause.text[mention_start:].split()) else ("another",)
    ends = [cue.end for cue in clause.cues if cue.end <= mention_start and cue.says in others]
    backs = [cue.start for cue in clause.cues if cue.end <= mention_start and cue.says == "patient"]
    if max(ends, default=-1) > max(backs, default=-1):
        return True
    said = clause.text[:mention_start]
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
            case "kin":
                stands = _role(said[: event.end()])
                if stands == "subject" or (stands == "oblique" and event["told"]):
                    held = pattern("people", "held").match(said)
                    holder, role, resumed_at = at, stands, max(event.end("aside"), held.end() if held else 0)
            case "kin_of":
                holder, role = at, "others"
            case "others" if "neither" not in said[:at].split():
                holder, role = at, "others"
            case "patient":
                own = _GENDERS.get(word.partition("'")[0])
                # "Daughter on citalopram for her depression": hers, unless the patient is known to be a woman.
                is_hers = holder >= 0 and role == "subject" and word in _WHOSE
                is_rid = is_hers and pattern("people", "rid").match(said, holder, at)
                is_other = own and (own != gender or is_rid if gender else is_hers)
                if not is_other or not (pattern("people", own).search(said, 0, at) or (at == 0 and word in _SUBJECTS)):
                    holder = -1
                elif holder < 0 or word in _WHOSE:
                    holder, role = at, "others"
            case "end" if holder >= 0 and pattern("people", f"after_{role}").match(f"{said[holder:at]}|{said[at:]}"):
                holder = -1
    return holder >= 0


@lru_cache(maxsize=_MOST_KEPT)
def _role(said: str) -> str:
    """Return how a relative stands in a sentence, of which the words up to the name are given."""
    return next((role for role in ("joined", "oblique") if pattern("people", role).search(said)), "subject")


def is_given_for_another(clause: Clause, drug: Span, *, only_listed: bool) -> bool:
    """Return whether a clause says that a drug, as from `locate`, is given for something else.

    `only_listed`: by a condition of the table alone. Example: "lamotrigine 100 mg bd for focal epilepsy".
    """
    follows = pattern("purpose", "listed" if only_listed else "any").match(_marked(clause.text[drug.end :]))
    return bool(follows or pattern("purpose", "ahead").search(_marked(clause.text[: drug.start])))


def is_also_for(text: str, drug: Span) -> bool:
    """Return whether something else that a drug is given for stands near it, wherever a clause ends.

    Example: "Last seizure in May. Lamotrigine 100 mg bd", (21, 32).
    """
    if (reason := _ALSO_FOR.get(text[drug.start : drug.start + _NAME_CHARS].lower())) is None:
        return False
    line = text.rfind("\n", 0, drug.start) + 1, text.find("\n", drug.end) % (len(text) + 1)
    near = max(line[0], drug.start - _NEAR_DRUG), min(line[1], drug.end + _NEAR_DRUG)
    return _compile(reason, re.IGNORECASE).search(text, *near) is not None


def _marked(text: str) -> str:
    """Return a text with the letters of its lists after each word."""
    lists = _REASONS.items()
    return "".join(f"{word}{''.join(_LETTERS[name] for name, held in lists if word in held)} " for word in text.split())
