"""The sensitive diagnoses, and where a text refers to one (paper 3.2.2, Appendix G; docs/methods.md, section 1).

The panel is `diagnoses.toml` and a site's own entries. Its terms, and the drugs of `drug_names.txt` and
`drug_brands.txt` (words; a number sign begins a comment), make a clause of a note clinical.
"""

import bisect
import hashlib
import json
import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from functools import cache, lru_cache
from itertools import product
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from clinaudit.errors import BadInputError, UsageError
from clinaudit.templates.note import TermFinder
from clinaudit.templates.shown_text import Span

#: Texts whose words are kept, and texts whose terms are, by list: notes are asked for one diagnosis after the other.
_MOST_TEXTS, _MOST_FOUND = 64, 1024
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
    #: How people say a symptom; found as symptoms are.
    own_words: tuple[str, ...] = ()
    #: Terms matched only in the case they are written in.
    as_written: tuple[str, ...] = ()
    #: Terms that count only where one of `beside` is near.
    only_beside: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    #: Phrases that contain a term but mean something else.
    not_meant: tuple[str, ...] = ()
    #: SNOMED CT concept ids, which an import reads (`clinaudit.priors.importers.codes`); no note is searched for them.
    snomed: tuple[str, ...] = ()

    def __hash__(self) -> int:
        return hash(self.id)  # of its many terms none: a note is asked for one diagnosis after the other


class TermMatch(NamedTuple):
    """One term of a diagnosis in a text; `span` in characters of that text."""

    span: Span
    kind: TermKind


_LISTS: tuple[str, ...] = tuple(field.name for field in fields(Diagnosis) if field.name not in ("id", "display"))
#: Those of words, of which some count only as they are written.
_WRITTEN: tuple[str, ...] = ("names", "medications", "symptoms", "own_words")
#: Those that say something of terms of these.
_OF_TERMS: tuple[str, ...] = ("as_written", "only_beside")
#: How far from such a term a word of `beside` may stand, in characters of one line [choice].
_BESIDE_CHARS = 80
#: How many terms one text with choices may stand for [choice].
_MOST_CHOICES = 1000
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
    """Return a shipped entry, overridden by a site's fields; what is said of a term goes where the term goes."""
    entry = {**shipped, **own}
    if "symptoms" in own and "own_words" not in own:
        entry.pop("own_words", None)  # they say the shipped symptoms
    lists = [entry.get(key) for key in _WRITTEN]
    terms = [term for terms in lists if isinstance(terms, list | tuple) for term in terms]
    for key in _OF_TERMS:
        inherited = shipped.get(key)
        if key not in own and isinstance(inherited, list | tuple):
            entry[key] = [term for term in inherited if term in terms]
    return entry


def panel_digest(panel: Sequence[Diagnosis]) -> str:
    """Return the SHA-256 (hex) of the panel's content, for `run.json`; SNOMED codes, which no audit reads, left out."""
    content = [{key: value for key, value in asdict(one).items() if key != "snomed"} for one in panel]
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def find_terms(text: str, diagnosis: Diagnosis, kinds: Collection[TermKind]) -> list[TermMatch]:
    """Return the terms of the given kinds in `text`, by position; of one kind, none overlap."""
    lists, beside, not_meant = _lists_of(diagnosis)
    if not (held := _beginnings_in(text, len(_Terms.all))):
        return []
    asked = [(kind, terms) for kind, terms in lists.items() if terms in held and kind in kinds]
    found = [TermMatch(span, kind) for kind, terms in asked for span in terms.find(text)]
    if not found:
        return found
    if diagnosis.only_beside:
        needing = {form for term in diagnosis.only_beside for form in (term.lower(), f"{term.lower()}s")}
        found = [
            match
            for match in found
            if text[slice(*match.span)].lower() not in needing or _is_near(text, match.span, beside.find(text))
        ]
    if other := not_meant.find(text):
        starts = [span.start for span in other]
        within = (other[bisect.bisect_right(starts, span.start) - 1] for span, _ in found)
        found = [
            match
            for match, one in zip(found, within, strict=True)
            if not (one.start <= match.span.start and match.span.end <= one.end)
        ]
    # Without those inside a longer one ("manic" in "manic depression").
    kept: list[TermMatch] = []
    for match in sorted(found, key=lambda match: (match.span.start, -match.span.end, match.kind)):
        if not kept or match.span.end > kept[-1].span.end or match.span == kept[-1].span:
            kept.append(match)
    return kept


def _is_near(text: str, span: Span, others: Sequence[Span]) -> bool:
    """Whether one of `others` stands on the line of a span, near it or around it."""
    between = ((min(other.end, span.end), max(other.start, span.start)) for other in others)
    return any(start + _BESIDE_CHARS >= end and "\n" not in text[start:end] for start, end in between)


def refers_to(text: str, diagnosis: Diagnosis) -> bool:
    """Whether `text` holds a name, a code or a medication of the diagnosis (symptoms do not count)."""
    return bool(find_terms(text, diagnosis, _REFERRING_KINDS))


@lru_cache(maxsize=256)
def _lists_of(diagnosis: Diagnosis) -> "tuple[dict[TermKind, _Terms], _Terms, _Terms]":
    """Return the compiled terms by kind, the words beside some of them, and the phrases that mean something else."""
    lists = {
        TermKind.NAME: diagnosis.names,
        TermKind.MEDICATION: diagnosis.medications,
        TermKind.SYMPTOM: diagnosis.symptoms + diagnosis.own_words,
    }
    cased = frozenset(diagnosis.as_written)
    terms = {kind: _terms(own, cased.intersection(own)) for kind, own in lists.items()}
    terms[TermKind.ICD10] = _terms(diagnosis.icd10, None)
    beside, not_meant = (_terms(own, frozenset(), with_numbers=True) for own in (diagnosis.beside, diagnosis.not_meant))
    return terms, beside, not_meant


class _Terms:
    """Some terms of one kind, those that are `cased` as they are written; None: ICD-10 codes."""

    #: All that were made: one scan of a text finds where any of them may stand.
    all: ClassVar[list[Any]] = []

    def __init__(self, terms: Sequence[str], cased: frozenset[str] | None, *, with_numbers: bool = False) -> None:
        self._cased, self._with_numbers = cased, with_numbers
        #: The terms by how they begin, and what a text holds where one with a gap stands: a word after it.
        self.beginnings: dict[str, list[str]] = {}
        self._needed: dict[str, bytes] = {}
        for term in terms:
            for beginning in _beginnings(term):
                self.beginnings.setdefault(beginning, []).append(term)
            if ".." in term:
                self._needed[term] = max(
                    _small_words(term.partition("..")[2]).split(), key=len, default=b""
                ).removesuffix(b"y")
        #: By the terms that a place of a text may hold, compiled when a text first does: there are thousands.
        self._patterns: dict[tuple[str, ...], re.Pattern[str]] = {}
        self.all.append(self)

    @lru_cache(maxsize=_MOST_FOUND)  # noqa: B019 (they are kept anyway)
    def find(self, text: str) -> list[Span]:
        """Return where the terms stand in a text: looked for only where words begin as one of them does."""
        found, end, words = list[re.Match[str]](), 0, _small_words(text)
        for start, begun in sorted(_beginnings_in(text, len(self.all)).get(self, {}).items()):
            possible = (term for beginning in begun for term in self.beginnings[beginning])
            terms = tuple(term for term in possible if self._needed.get(term, b"") in words)
            if terms and start >= end and (match := self._pattern(terms).match(text, start)) is not None:
                found.append(match)
                end = match.end()
        return [Span(*match.span()) for match in found if self._cased is not None or _is_code(text, match)]

    def _pattern(self, terms: tuple[str, ...]) -> re.Pattern[str]:
        if terms not in self._patterns:
            cased = self._cased
            pattern = _compile_codes(terms) if cased is None else _compile_terms(terms, cased, self._with_numbers)
            self._patterns[terms] = pattern
        return self._patterns[terms]


#: Two diagnoses may share them.
_terms = cache(_Terms)
#: What a text may leave out or write otherwise between two words: a hyphen, and the end of a noun before "of".
_JOINT, _CUT = re.compile(r"(\s*-[\s-]*|\sof\b)"), re.compile("[.#]")
#: The longest word of a term that is looked for with its end, since many words begin as it does.
_SHORT_CHARS = 4


def _beginnings(term: str) -> Iterator[str]:
    """Yield how words begin where a term may stand, as `_small_words` has them, after a blank.

    Example: "self-harm" begins as " self harm" and " selfharm". Up to a gap, a number or the third joint.
    """
    if len(term) <= _SHORT_CHARS and term.isascii() and term.isalpha() and term[-1] not in "yY":
        yield from (f" {term.lower()}{ending} " for ending in ("", "s", "es"))
        return
    head, *cut = _CUT.split(term, maxsplit=1)
    parts = _JOINT.split(head)
    choices = [
        (part,) if at % 2 == 0 else (("", " ") if "-" in part else (" of", "s of")) for at, part in enumerate(parts[:5])
    ]
    is_whole = not cut and len(parts) == len(choices)
    for begun in map("".join, product(*choices)):
        words = " ".join(["", *_small_words(begun).decode().split()])
        # Of "allergy" the plural has another end.
        yield words.removesuffix("y") if is_whole else words + " " * begun.endswith(" ")


@lru_cache(maxsize=1)
def _scanner(lists: int) -> Any:
    """Return what finds the beginnings of so many lists of terms, each with the lists."""
    import ahocorasick

    scanner = ahocorasick.Automaton()
    for terms in _Terms.all[:lists]:
        for beginning in terms.beginnings:
            scanner.add_word(beginning, ((beginning,), [*scanner.get(beginning, (0, ()))[1], terms]))
    scanner.make_automaton()
    return scanner


#: The signs beyond ASCII that a pattern without regard to case takes for a letter of ASCII.
_LIKE_ASCII = {"\u017f": "s", "\u0130": "i", "\u0131": "i", "\u212a": "k"}
#: Whatever other letter stands beyond ASCII, and the sign that stands for it.
_BEYOND_ASCII, _ANY_LETTER = re.compile(r"[^\W\0-\x7f]"), "\x7f"
#: By code of ASCII: letters and figures in lower case, a blank for whatever else.
_SMALL_WORDS = bytes(
    ord(chr(code).lower()) if chr(code).isalnum() or chr(code) == _ANY_LETTER else ord(" ") for code in range(128)
).ljust(256)


@lru_cache(maxsize=_MOST_TEXTS)
def _small_words(text: str) -> bytes:
    """Return a text's letters and figures in lower case, one sign for each, and a blank for whatever else."""
    if not text.isascii():
        for sign, letter in _LIKE_ASCII.items():
            text = text.replace(sign, letter)
        text = _BEYOND_ASCII.sub(_ANY_LETTER, text)
    return text.encode("ascii", "replace").translate(_SMALL_WORDS)


@lru_cache(maxsize=_MOST_TEXTS)
def _beginnings_in(text: str, lists: int) -> dict[Any, dict[int, tuple[str, ...]]]:
    """Return where words of a text begin as terms do, in no order, and as which."""
    starts: dict[Any, dict[int, tuple[str, ...]]] = {}
    # One blank between two words, however many signs stand there; the last sign is the text's end.
    signs = np.frombuffer(b" %b \0" % _small_words(text), np.uint8)
    is_kept = signs != ord(" ")
    is_kept[1:] |= is_kept[:-1]
    is_kept[0] = True
    places = np.flatnonzero(is_kept)
    for last, (beginning, held) in _scanner(lists).iter(signs[places].tobytes().decode()):
        start = int(places[last - len(beginning[0]) + 2]) - 1
        for terms in held:
            begun = starts.setdefault(terms, {})
            begun[start] = begun.get(start, ()) + beginning
    return starts


# A word ends where letters and digits end; an underscore is no part of a word.
_WORD_START = r"(?<![^\W_])"
_WORD_END = r"(?![^\W_])"
_HYPHENS = "\\-\u2010\u2011\u2012\u2013"
# Bounded, so that a term does not reach over a page of blanks (and the search stays linear).
_SPACE = rf"[\s{_HYPHENS}]{{1,24}}"
_HYPHEN = rf"[\s{_HYPHENS}]{{0,24}}"
_SLASH = r"\s{0,8}/\s{0,8}"
# Up to three words, none of which denies.
_GAP = rf"(?:(?!(?:no|not|never|neither|nor|without){_WORD_END})[^\W_]+(?:['\u2019][^\W_]+)*{_SPACE}){{0,3}}"
# Of a dose: 5, 0.5, 1-2, 1/2, 7.5/325.
_NUMBER = r"\d{1,6}(?:\s?[.,/-]\s?\d{1,6}){0,3}"


def _compile_terms(terms: Sequence[str], cased: frozenset[str], with_numbers: bool) -> re.Pattern[str]:
    """Compile the terms into one pattern, longest first; `with_numbers`: `#` in a term stands for any number."""
    groups: dict[str, list[str]] = {}
    for term in sorted(set(terms), key=lambda term: (-len(term), term)):
        keep_case = term in cased
        first = term[0] if keep_case else "".join(sorted({term[0].lower(), term[0].upper()}))
        rest = _rest_pattern(term)
        if with_numbers:
            rest = rest.replace(r"\#", _NUMBER)
        groups.setdefault(first, []).append(rest if keep_case else f"(?i:{rest})")
    branches = (f"[{re.escape(first)}](?:{'|'.join(rests)})" for first, rests in groups.items())
    return re.compile(f"{_WORD_START}(?:{'|'.join(branches)})" if groups else "(?!)")


def _rest_pattern(term: str) -> str:
    """Return the pattern of a term after its first character, with its word end."""
    parts: list[str] = []
    pieces = [piece for piece in re.split(r"([\s/-]+)", term[1:]) if piece]
    for number, piece in enumerate(pieces):
        if piece == "..":
            parts.append(_GAP)
        elif piece.isspace() and parts[-1:] == [_GAP]:
            continue  # a gap takes the blank after each of its words
        elif "/" in piece:
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
    if len(term) > 3 and re.search(r"[^aeiou\W\d]y$", term):
        parts[-1] = parts[-1][:-1] + "(?:y|ies)"
    elif term[-1].isalpha() and term[-1] not in "sS":
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
    return match[0].isupper() or "." in match[0] or text[match.start() - 1 : match.start()] in ("(", "[")


def _read_entry(name: str, table: Mapping[str, object], problems: list[str]) -> Diagnosis:
    """Return one entry; adds to `problems` what is wrong with it (do not use it then)."""
    where = f"diagnosis {name!r}"
    if not _ID.fullmatch(name) or name in _RESERVED_IDS:
        problems.append(f"{where}: an id is lower-case letters, digits and _, and not {sorted(_RESERVED_IDS)}")
    known = ("display", *_LISTS)
    problems += [f"{where}, field {key!r}: unknown; known are {', '.join(known)}" for key in table if key not in known]
    display = table.get("display", name)
    if not isinstance(display, str) or not display.strip():
        problems.append(f"{where}, field 'display': must be text")
        display = name
    lists = {key: _read_terms(f"{where}, field {key!r}", table.get(key, ()), problems) for key in _LISTS}
    if not lists["names"]:
        problems.append(f"{where}, field 'names': needs at least one")
    terms = {term for key in _WRITTEN for term in lists[key]}
    rules: tuple[tuple[str, Callable[[str], object], str], ...] = (
        ("icd10", _ICD10_CODE.fullmatch, "is no ICD-10-CM code (capitals, as F41 or F43.1)"),
        ("snomed", _SNOMED_ID.fullmatch, "is no SNOMED CT id (6 to 18 digits, in quotes)"),
        *((key, terms.__contains__, "is none of its names, medications, symptoms or own words") for key in _OF_TERMS),
    )
    for key, holds, what in rules:
        problems += [f"{where}, field {key!r}: {term!r} {what}" for term in lists[key] if not holds(term)]
    return Diagnosis(name, display, **lists)


def _read_terms(where: str, value: object, problems: list[str]) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)):
        problems.append(f"{where}: must be a list of texts")
        return ()
    terms: dict[str, None] = {}
    for written in value:
        if isinstance(written, str) and _choices(written) > _MOST_CHOICES:
            problems.append(
                f"{where}: {written[:60]!r} stands for more than {_MOST_CHOICES:,} terms; write fewer choices"
            )
            continue
        spelled_out = (
            [*_spell_out(written)] if isinstance(written, str) and written == " ".join(written.split()) else [""]
        )
        if all(len(term) > 1 and term[0].isalnum() for term in spelled_out):
            terms |= dict.fromkeys(spelled_out)
        else:
            problems.append(
                f"{where}: {written!r} must be text of two characters or more that starts with a letter or digit, "
                "single blanks between words"
            )
    return tuple(terms)


_CHOICE = re.compile(r"\(([^()]*\|[^()]*)\)")


def _choices(term: str) -> int:
    """Return how many terms a term with choices stands for; beyond the most, some number beyond it."""
    count = 1
    while count <= _MOST_CHOICES and (choice := _CHOICE.search(term)) is not None:
        count *= choice[1].count("|") + 1
        term = f"{term[: choice.start()]}x{term[choice.end() :]}"
    return count


def _spell_out(term: str) -> Iterator[str]:
    """Yield a term with each of its choices: "(low|flat) mood" is two terms."""
    if (choice := _CHOICE.search(term)) is None:
        yield " ".join(term.split())
        return
    for words in choice[1].split("|"):
        yield from _spell_out(term[: choice.start()] + words + term[choice.end() :])


_DRUG_LISTS = ("drug_names.txt", "drug_brands.txt")
_WRITTEN_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")


@cache
def drug_words() -> frozenset[str]:
    """Return the words of drugs' names, in lower case."""
    texts = (Path(__file__).with_name(name).read_text(encoding="utf-8").lower() for name in _DRUG_LISTS)
    return frozenset(word for text in texts for line in text.splitlines() for word in line.partition("#")[0].split())


@lru_cache(maxsize=1 << 16)
def _names_drug(word: str) -> bool:
    return not drug_words().isdisjoint([word.lower(), *word.lower().split("-")])


class _Drugs:
    """The drugs' names, found by the same scan of a text as the terms of diagnoses."""

    def __init__(self) -> None:
        # A hyphen is a blank to the scan.
        self.beginnings = {f" {word.replace('-', ' ')} " for word in drug_words()}
        _Terms.all.append(self)

    def find(self, text: str) -> Iterator[Span]:
        """Yield the words of a text that name a drug, each with all that hyphens join to it."""
        last = 0
        for start in sorted(_beginnings_in(text, len(_Terms.all)).get(self, ())):
            while start > 1 and text[start - 1] == "-" and text[start - 2].isalnum():
                start -= 1
                while start and text[start - 1].isalnum():
                    start -= 1
            word = _WRITTEN_WORD.match(text, start)
            if word is not None and word.end() > last and _names_drug(word[0]):
                last = word.end()
                yield Span(*word.span())


_drugs = cache(_Drugs)


def clinical_terms(panel: Sequence[Diagnosis]) -> TermFinder:
    """Return what finds the panel's names, ICD-10 codes, medications and symptoms, and the list's drugs, in a text."""
    kinds = tuple(TermKind)

    def find(text: str) -> Iterator[Span]:
        for diagnosis in panel:
            for match in find_terms(text, diagnosis, kinds):
                yield match.span
        yield from _drugs().find(text)

    return find
