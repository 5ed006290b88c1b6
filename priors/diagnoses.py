"""The sensitive diagnoses, and where a text refers to one (paper 3.2.2, Appendix G; docs/methods.md, section 1).

The panel is `diagnoses.toml` and a site's own entries. Its terms, and the drugs of `drug_names.txt` and
`drug_brands.txt` (words; a number sign begins a comment), make a clause of a note clinical.
"""

import bisect
import hashlib
import json
import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from functools import cache, lru_cache
from itertools import accumulate, compress, islice
from pathlib import Path
from typing import NamedTuple

from clinaudit.errors import BadInputError, UsageError
from clinaudit.templates.note import TermFinder
from clinaudit.templates.spans import Span

_PANEL_PATH = Path(__file__).with_name("diagnoses.toml")


class TermKind(StrEnum):
    """The kind of a term of a diagnosis."""

    NAME = "name"
    ICD10 = "icd10"
    MEDICATION = "medication"
    SYMPTOM = "symptom"


#: A text refers to the diagnosis if it holds one of these; symptoms do not count (docs/methods.md, section 1,
#: "Scrubbing").
_REFERRING_KINDS: tuple[TermKind, ...] = (TermKind.NAME, TermKind.ICD10, TermKind.MEDICATION)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One sensitive diagnosis and its terms (`diagnoses.toml` says what each list is)."""

    id: str
    display: str
    names: tuple[str, ...]
    icd10: tuple[str, ...] = ()
    medications: tuple[str, ...] = ()
    symptoms: tuple[str, ...] = ()
    #: Terms matched only in the case they are written in.
    as_written: tuple[str, ...] = ()
    #: Phrases that contain a term but mean something else.
    not_meant: tuple[str, ...] = ()
    #: SNOMED CT concept ids, which an import reads (`clinaudit.priors.importers.values`); no note is searched for them.
    snomed: tuple[str, ...] = ()


class TermMatch(NamedTuple):
    """One term of a diagnosis in a text; `span` in characters of that text."""

    span: Span
    kind: TermKind


_LISTS: tuple[str, ...] = tuple(field.name for field in fields(Diagnosis) if field.name not in ("id", "display"))
_ID = re.compile(r"[a-z][a-z0-9_]{0,39}")
#: Keys that stand beside the diagnoses in `results.json`.
_RESERVED_IDS = frozenset({"mean"})
_ICD10_CODE = re.compile(r"[A-Z][0-9][0-9A-Z](?:\.[0-9A-Z]{1,4})?")
_SNOMED_ID = re.compile(r"[1-9][0-9]{5,17}")


def load_panel(extra: Mapping[str, object] | None = None, *, only: Sequence[str] = ()) -> tuple[Diagnosis, ...]:
    """Return the panel: the default six, with a site's entries `extra` (id -> table) over and after them.

    `only` keeps those ids, in the panel's order. Raises `BadInputError` listing every wrong entry and field, and
    `UsageError` for an id in `only` that the panel lacks.
    """
    tables: dict[str, dict[str, object]] = tomllib.loads(_PANEL_PATH.read_text(encoding="utf-8"))
    problems: list[str] = []
    for name, table in (extra or {}).items():
        if isinstance(table, Mapping):
            tables[name] = _overlay(tables.get(name, {}), table)
        else:
            problems.append(f"diagnosis {name!r}: must be a table of fields")
    panel = tuple(_read_entry(name, table, problems) for name, table in tables.items())
    if problems:
        raise BadInputError(
            f"the diagnosis panel has {len(problems)} problem(s); correct the [diagnoses] tables", problems
        )
    unknown = sorted(set(only) - {diagnosis.id for diagnosis in panel})
    if unknown:
        known = ", ".join(diagnosis.id for diagnosis in panel)
        raise UsageError(f"no such diagnosis: {', '.join(unknown)}; the panel holds {known}")
    return tuple(diagnosis for diagnosis in panel if not only or diagnosis.id in only)


def _overlay(shipped: Mapping[str, object], own: Mapping[str, object]) -> dict[str, object]:
    """Return a shipped entry, overridden by a site's fields; a term's `as_written` goes where the term goes."""
    entry = {**shipped, **own}
    inherited = shipped.get("as_written")
    if "as_written" not in own and isinstance(inherited, list | tuple):
        lists = [entry.get(key) for key in ("names", "medications", "symptoms")]
        terms = [term for terms in lists if isinstance(terms, list | tuple) for term in terms]
        entry["as_written"] = [term for term in inherited if term in terms]
    return entry


def panel_digest(panel: Sequence[Diagnosis]) -> str:
    """Return the SHA-256 (hex) of the panel's content, for `run.json`; SNOMED codes, which no audit reads, left out."""
    content = [{key: value for key, value in asdict(one).items() if key != "snomed"} for one in panel]
    text = json.dumps(content, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def find_terms(text: str, diagnosis: Diagnosis, kinds: Collection[TermKind]) -> list[TermMatch]:
    """Return the terms of the given kinds in `text`, by position; of one kind, none overlap."""
    matcher = _matcher((diagnosis,))
    return matcher.find(text, matcher.places(text), kinds)[0]


def refers_to(text: str, diagnosis: Diagnosis) -> bool:
    """Whether `text` holds a name, a code or a medication of the diagnosis (symptoms do not count)."""
    return bool(find_terms(text, diagnosis, _REFERRING_KINDS))


#: By the number of a pattern, where it may match in a text, in order.
_Places = dict[int, list[int]]
#: The number of the drugs, which have no pattern.
_DRUGS = -1


class _TermMatcher:
    """The terms of a panel, compiled; they are matched on the text as it is, so that spans index it exactly.

    A word's first signs tell which patterns may match in it. Most words are those of texts before: what they tell is
    kept.
    """

    def __init__(self, panel: Sequence[Diagnosis]) -> None:
        #: Each with the place of its diagnosis, and its kind: None for what is not meant, the last of a diagnosis.
        self.patterns: list[tuple[int, TermKind | None, re.Pattern[str]]] = []
        self._size = len(panel)
        #: By how a word begins; the empty beginning is that of all.
        self._by_beginning: dict[str, list[int]] = {}
        for place, diagnosis in enumerate(panel):
            for kind, terms in (
                (TermKind.NAME, diagnosis.names),
                (TermKind.MEDICATION, diagnosis.medications),
                (TermKind.SYMPTOM, diagnosis.symptoms),
                (TermKind.ICD10, diagnosis.icd10),
                (None, diagnosis.not_meant),
            ):
                if not terms:
                    continue
                for beginning in _beginnings(terms):
                    self._by_beginning.setdefault(beginning, []).append(len(self.patterns))
                is_code, cased = kind is TermKind.ICD10, diagnosis.as_written if kind else ()
                pattern = _compile_codes(terms) if is_code else _compile_terms(terms, cased, with_numbers=kind is None)
                self.patterns.append((place, kind, pattern))
        self._read = lru_cache(maxsize=1 << 14)(self._read_word)

    def places(self, text: str) -> _Places:
        """Return where each pattern may match in a text, and where the list's drugs stand."""
        parts = _WRITTEN_WORD.split(text)
        starts = islice(accumulate(map(len, parts)), 0, None, 2)
        tried = list(map(self._read, parts[1::2]))
        found: _Places = {}
        for start, read in compress(zip(starts, tried, strict=False), tried):
            for number, before in read:
                found.setdefault(number, []).append(start + before)
        return found

    def find(self, text: str, places: _Places, kinds: Collection[TermKind]) -> list[list[TermMatch]]:
        """Return for each diagnosis its terms of the given kinds in a text, by position."""
        found: list[list[TermMatch]] = [[] for _ in range(self._size)]
        for number in sorted(places.keys() - {_DRUGS}):
            place, kind, pattern = self.patterns[number]
            matches = _find_all(pattern, places[number], text)
            if kind is None:
                other = [Span(*match.span()) for match in matches] if found[place] else []
                starts = [span.start for span in other]
                found[place] = [match for match in found[place] if not _inside_any(match.span, other, starts)]
            elif kind in kinds:
                found[place] += (
                    TermMatch(Span(*match.span()), kind)
                    for match in matches
                    if kind is not TermKind.ICD10 or _is_code(text, match)
                )
        return [_outermost(own) for own in found]

    def find_clinical(self, text: str) -> Iterator[Span]:
        """Yield the terms of all kinds, and the list's drugs."""
        places = self.places(text)
        for own in self.find(text, places, tuple(TermKind)):
            yield from (match.span for match in own)
        yield from (Span(*word.span()) for word in _find_all(_WRITTEN_WORD, places.get(_DRUGS, []), text))

    def _read_word(self, word: str) -> tuple[tuple[int, int], ...]:
        """Return the patterns that may match in a word, each with the characters of the word before that."""
        begun = _WORD_BEGINNING.finditer(word.translate(_LIKE_ASCII).lower())
        found = [
            (number, part.start())
            for part in begun
            for beginning in ("", part[0])
            for number in self._by_beginning.get(beginning, ())
        ]
        is_drug = not drug_words().isdisjoint([word.lower(), *word.lower().split("-")])
        return (*found, (_DRUGS, 0)) if is_drug else tuple(found)


_WORD_BEGINNING = re.compile(r"(?<![^\W_])[^\W_]{1,3}")
#: A term's first letters and digits, up to three, with what follows fewer: a hyphen may be left out in a text.
_TERM_BEGINNING = re.compile(r"([^\W_]{3})|([^\W_]{1,2})(?![^\W_])(?:[\s-]*-[\s-]*([^\W_]{1,3})?)?")
#: The signs beyond ASCII that a pattern without regard to case takes for a letter of ASCII.
_LIKE_ASCII = str.maketrans({"\u017f": "s", "\u0130": "i", "\u0131": "i", "\u212a": "k"})


def _beginnings(terms: Sequence[str]) -> frozenset[str]:
    """Return with which signs, at most three, words begin where a term may stand, in lower case; "" for any."""
    found: set[str] = set()
    for term in terms:
        begun = _TERM_BEGINNING.match(term)
        if begun is None or not begun[0].isascii() or "#" in term[:3]:
            return frozenset([""])
        long, short, joined = begun.groups()
        if joined and len(short + joined) < 3:
            return frozenset([""])
        # Of a short word the plural, and what a hyphen joins it with.
        found |= {long} if long else {(short + more)[:3] for more in ("", "s", "es", joined or "")}
    return frozenset(one.lower() for one in found)


def _find_all(pattern: re.Pattern[str], places: Iterable[int], text: str) -> Iterator[re.Match[str]]:
    """Yield what `pattern.finditer` does, but look only at the places where it may match: much the faster."""
    end = 0
    for place in places:
        if place >= end and (found := pattern.match(text, place)) is not None:
            end = found.end()
            yield found


@lru_cache(maxsize=256)
def _matcher(panel: tuple[Diagnosis, ...]) -> _TermMatcher:
    return _TermMatcher(panel)


def _outermost(found: Iterable[TermMatch]) -> list[TermMatch]:
    """Return the matches by position, without those inside a longer one ("manic" in "manic depression")."""
    kept: list[TermMatch] = []
    for match in sorted(found, key=lambda match: (match.span.start, -match.span.end, match.kind)):
        longest = kept[-1].span if kept else None
        if longest is None or match.span.end > longest.end or match.span == longest:
            kept.append(match)
    return kept


def _inside_any(span: Span, others: Sequence[Span], starts: Sequence[int]) -> bool:
    """Whether `span` lies in one of `others`, which do not overlap and start at `starts`, in order."""
    index = bisect.bisect_right(starts, span.start) - 1
    return index >= 0 and span.end <= others[index].end


# A word ends where letters and digits end; an underscore is no part of a word.
_WORD_START = r"(?<![^\W_])"
_WORD_END = r"(?![^\W_])"
_HYPHENS = "\\-\u2010\u2011\u2012\u2013"
# Bounded, so that a term does not reach over a page of blanks (and the search stays linear).
_SPACE = rf"[\s{_HYPHENS}]{{1,24}}"
_HYPHEN = rf"[\s{_HYPHENS}]{{0,24}}"
_SLASH = r"\s{0,8}/\s{0,8}"
# Of a dose: 5, 0.5, 1-2, 1/2, 7.5/325.
_NUMBER = r"\d{1,6}(?:\s?[.,/-]\s?\d{1,6}){0,3}"


def _compile_terms(terms: Sequence[str], cased: Sequence[str], *, with_numbers: bool) -> re.Pattern[str]:
    """Compile the terms into one pattern, longest first, grouped by first letter (much the faster to search).

    `with_numbers`: `#` in a term stands for any number.
    """
    groups: dict[str, list[str]] = {}
    for term in sorted(set(terms), key=lambda term: (-len(term), term)):
        keep_case = term in cased
        first = term[0] if keep_case else "".join(sorted({term[0].lower(), term[0].upper()}))
        rest = _rest_pattern(term)
        if with_numbers:
            rest = rest.replace(r"\#", _NUMBER)
        groups.setdefault(first, []).append(rest if keep_case else f"(?i:{rest})")
    branches = (f"[{re.escape(first)}](?:{'|'.join(rests)})" for first, rests in groups.items())
    return re.compile(f"{_WORD_START}(?:{'|'.join(branches)})")


def _rest_pattern(term: str) -> str:
    """Return the pattern of a term after its first character, with its word end."""
    parts: list[str] = []
    pieces = [piece for piece in re.split(r"([\s/-]+)", term[1:]) if piece]
    for number, piece in enumerate(pieces):
        if "/" in piece:
            parts.append(_SLASH)
        elif "-" in piece:
            parts.append(_HYPHEN)
        elif piece.isspace():
            parts.append(_SPACE)
        else:
            parts.append(re.escape(piece).replace("'", "['\u2019]"))
            # Of "termination of pregnancy" the first noun has the plural.
            if pieces[number + 1 : number + 3] == [" ", "of"] and piece[-1] not in "sS":
                parts.append("s?")
    ends_in_letter = term[-1].isalpha()
    if len(term) > 3 and re.search(r"[^aeiou\W\d]y$", term):
        parts[-1] = parts[-1][:-1] + "(?:y|ies)"
    elif ends_in_letter and term[-1] not in "sS":
        parts.append("(?:es|s)?" if re.search(r"(?:x|ch|sh)$", term) else "s?")
    # After a sign ("HIV+") the next character may be anything.
    return "".join(parts) + (_WORD_END if term[-1].isalnum() else "")


def _compile_codes(codes: Sequence[str]) -> re.Pattern[str]:
    """Compile ICD-10-CM codes, each with its subcodes, dotted or as on a claim (F41.1, F411)."""
    branches = []
    for code in sorted(codes, key=lambda code: (-len(code), code)):
        category, _, rest = code.partition(".")
        below = r"[0-9A-Z]{0,3}" if rest else r"(?:\.[0-9A-Z]{1,4}|[0-9][0-9A-Z]{0,3})?"
        branches.append(category + (rf"\.?{rest}" if rest else "") + below)
    return re.compile(rf"(?<![^\W_])(?<!\d\.)(?i:{'|'.join(branches)}){_WORD_END}(?!\.\w)")


def _is_code(text: str, match: re.Match[str]) -> bool:
    """Whether the match is a code: in lower case only with its dot or in brackets (a corpus may be lower-cased)."""
    code = match.group()
    return code.isupper() or "." in code or (match.start() > 0 and text[match.start() - 1] in "([")


def _read_entry(name: str, table: Mapping[str, object], problems: list[str]) -> Diagnosis:
    """Return one entry; adds to `problems` what is wrong with it (do not use it then)."""
    where = f"diagnosis {name!r}"
    if not _ID.fullmatch(name) or name in _RESERVED_IDS:
        problems.append(f"{where}: an id is lower-case letters, digits and _, and not {sorted(_RESERVED_IDS)}")
    problems.extend(
        f"{where}, field {key!r}: unknown; known are display, {', '.join(_LISTS)}"
        for key in table
        if key not in ("display", *_LISTS)
    )
    display = table.get("display", name)
    if not isinstance(display, str) or not display.strip():
        problems.append(f"{where}, field 'display': must be text")
        display = name
    lists = {key: _read_terms(f"{where}, field {key!r}", table.get(key, ()), problems) for key in _LISTS}
    if not lists["names"]:
        problems.append(f"{where}, field 'names': needs at least one")
    problems.extend(
        f"{where}, field 'icd10': {code!r} is no ICD-10-CM code (capitals, as F41 or F43.1)"
        for code in lists["icd10"]
        if not _ICD10_CODE.fullmatch(code)
    )
    problems.extend(
        f"{where}, field 'snomed': {code!r} is no SNOMED CT id (6 to 18 digits, in quotes)"
        for code in lists["snomed"]
        if not _SNOMED_ID.fullmatch(code)
    )
    terms = {*lists["names"], *lists["medications"], *lists["symptoms"]}
    problems.extend(
        f"{where}, field 'as_written': {term!r} is none of its names, medications or symptoms"
        for term in lists["as_written"]
        if term not in terms
    )
    return Diagnosis(name, display, **lists)


def _read_terms(where: str, value: object, problems: list[str]) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)):
        problems.append(f"{where}: must be a list of texts")
        return ()
    terms: list[str] = []
    for term in value:
        if not isinstance(term, str) or len(term) < 2 or term != " ".join(term.split()) or not term[0].isalnum():
            problems.append(
                f"{where}: {term!r} must be text of two characters or more that starts with a letter or digit, "
                "single blanks between words"
            )
        elif term not in terms:
            terms.append(term)
    return tuple(terms)


_DRUG_LISTS = ("drug_names.txt", "drug_brands.txt")
_WRITTEN_WORD = re.compile(r"([^\W_]+(?:-[^\W_]+)*)")


@cache
def drug_words() -> frozenset[str]:
    """Return the words of drugs' names, in lower case."""
    texts = (Path(__file__).with_name(name).read_text(encoding="utf-8").lower() for name in _DRUG_LISTS)
    return frozenset(word for text in texts for line in text.splitlines() for word in line.partition("#")[0].split())


def clinical_terms(panel: Sequence[Diagnosis]) -> TermFinder:
    """Return what finds the panel's names, ICD-10 codes, medications and symptoms, and the list's drugs, in a text."""
    return _matcher(tuple(panel)).find_clinical
