"""The offline judge: lexicon terms, the layout of a note, persons and cues (docs/methods.md, section 5).

Owns the layout (`phrases.toml`): the clauses of a note (the scope of a negation ends with its clause), the sections
that change whom a mention is about, and the named rules that decide by a section, a family history, a box, an answer,
a test result or a query (paper, Appendix C). And how layout, cues and spelling are put together. Deterministic; no
model, no network. Logs nothing. All offsets are in characters.
"""

import hashlib
import json
import re
import tomllib
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

from clinaudit.audit.measures.judge.lexicon import cues
from clinaudit.audit.measures.judge.lexicon.cues import CUE_TABLES, Gender
from clinaudit.audit.measures.judge.verdict import PatientStatus, Verdict
from clinaudit.priors.diagnoses import Diagnosis, TermKind, find_terms, panel_digest
from clinaudit.priors.spelling import SPELLING_TABLE, Spelling
from clinaudit.templates.shown_text import Span

#: Raised whenever a change of the code (not of its tables) changes a verdict.
LEXICON_JUDGE_VERSION = "16"
#: A line at least this long without closing punctuation was wrapped by the editor, and its clause continues [choice]:
#: text wrapped at the usual 72 to 80 columns seldom breaks earlier, and an item of a list is seldom as long.
WRAPPED_LINE_CHARS = 60
#: Longer clauses are cut at a blank. No real clause is as long, and work stays linear in a text of one endless line.
MAX_CLAUSE_CHARS = 2000
#: How far around a mention the rules look, in characters [choice]: these limits bound the work, and no verdict on a
#: sentence of the tests.
BEFORE_CHARS, AFTER_CHARS = 300, 160
#: Texts whose sections and parts are kept: one is asked about several diagnoses. Parts whose clauses, and places whose
#: reading is kept: notes repeat their lines.
_MOST_TEXTS, _MOST_PARTS, _MOST_PLACES = 64, 1024, 20_000
#: Precedence among mentions that conflict: positive > negative > ambiguous (docs/methods.md, section 5, "Verdict").
_PRECEDENCE: tuple[PatientStatus, ...] = ("positive", "negative", "ambiguous")
_NO_MENTION: Final = Verdict(False)
_NAMES: Final = (TermKind.NAME, TermKind.ICD10)
#: What a cue makes of a mention, but for what is over: a diagnosis was the patient's then, and a symptom is denied.
_STATUS_OF_CUE: Final[dict[str, PatientStatus]] = {"denied": "negative", "stated": "positive", "changed": "positive"}
#: What the text after a mention makes of it, by the pattern: what is said of the patient himself, after somebody else
#: or nobody, that a name is taken back, and that a symptom has gone; by status and kind, the first that fits.
_AFTERWARDS: Final[dict[tuple[PatientStatus, TermKind], list[tuple[str, PatientStatus]]]] = {
    **{("ambiguous", kind): [("NOT_HIS", "negative"), ("HIS_TOO", "positive")] for kind in TermKind},
    **{("positive", kind): [("UNDONE", "negative")] for kind in _NAMES},
    ("positive", TermKind.SYMPTOM): [("GONE", "negative")],
}


class Mention(NamedTuple):
    """One term of a diagnosis in a text, its assertion status for the patient, and what decided."""

    span_chars: Span
    kind: TermKind
    text: str
    status: PatientStatus
    #: A rule of the layout, what a cue says, `another`, `afterwards`, `purpose` (of a drug), `question`, or `default`.
    rule: str


class LexiconJudge:
    """A judge by terms and context alone; its identity holds the digest of `panel`."""

    name = "lexicon"

    def __init__(self, panel: Sequence[Diagnosis]) -> None:
        self._panel = tuple(panel)
        self._spelling = Spelling(panel)

    def identity(self) -> dict[str, str]:
        """Return the kind, and the digests of lexicon and tables."""
        limits = (WRAPPED_LINE_CHARS, MAX_CLAUSE_CHARS, BEFORE_CHARS, AFTER_CHARS)
        tables = json.dumps([PHRASE_TABLES, CUE_TABLES, SPELLING_TABLE, limits], sort_keys=True)
        return {
            "kind": "lexicon",
            "version": LEXICON_JUDGE_VERSION,
            "lexicon": panel_digest(self._panel),
            "rules": hashlib.sha256(tables.encode()).hexdigest(),
        }

    def judge_many(self, items: Sequence[tuple[str, Diagnosis]]) -> Iterator[Verdict]:
        """Yield one verdict for each (text, diagnosis), in order; equal texts in a row are read once."""
        for text, group in groupby(items, key=lambda item: item[0]):
            for mentions in self.read_mentions(text, [diagnosis for _, diagnosis in group]):
                if not mentions:
                    yield _NO_MENTION
                    continue
                status = next(of for of in _PRECEDENCE if any(one.status == of for one in mentions))
                names, symptoms, medications = (
                    tuple(dict.fromkeys(mention.text for mention in mentions if mention.kind in kinds))
                    for kinds in (_NAMES, (TermKind.SYMPTOM,), (TermKind.MEDICATION,))
                )
                named = [one for one in mentions if one.kind in _NAMES]
                is_queried = any(one.rule in ("query", "queried") for one in named)
                is_named = any(one.status == "positive" for one in named)
                yield Verdict(True, status, names, symptoms, medications, is_queried=is_queried, is_named=is_named)

    def read_mentions(self, text: str, diagnoses: Sequence[Diagnosis]) -> Iterator[list[Mention]]:
        """Yield for each diagnosis its mentions in `text`, by position, each with its status."""
        meant = self._spelling.mend(text)
        terms = [find_terms(meant.text, diagnosis, tuple(TermKind)) for diagnosis in diagnoses]
        gender = cues.gender_of_patient(meant.text) if any(terms) else ""
        for diagnosis, found in zip(diagnoses, terms, strict=True):
            is_infection = bool(found) and _is_infection(diagnosis.names)
            # End of the last mention, where it is somebody else's.
            mentions, another_end = [], 0
            for span, kind in found:
                clause = clause_around(meant.text, span)
                place = Span(span.start - clause.start, span.end - clause.start)
                section = section_at(meant.text, span.start)
                status, rule = _attribute(meant.text[slice(*clause)], place, kind, section, gender, is_infection)
                if rule == "default":
                    is_drug = kind is TermKind.MEDICATION
                    around = max(0, span.start - BEFORE_CHARS), span.end + AFTER_CHARS
                    if is_infection and _LAYOUT["GUARDING" if is_drug else "EXPOSED"].search(meant.text, *around):
                        status, rule = "ambiguous", "guarded"
                    elif is_drug and cues.is_also_for(meant.text, span):
                        status, rule = "ambiguous", "purpose"
                is_shared = another_end > 0 and _LAYOUT["GIVEN_FOR"].fullmatch(meant.text, another_end, span.start)
                if status == "positive" and is_shared:
                    status, rule = "ambiguous", "another"
                another_end = span.end if rule == "another" else 0
                for name, afterwards in _AFTERWARDS.get((status, kind), ()):
                    if _LAYOUT[name].match(meant.text, span.end):
                        status, rule = afterwards, "afterwards"
                        break
                written = meant.as_written(span)
                mentions.append(Mention(written, kind, text[slice(*written)], status, rule))
            yield mentions


@lru_cache(maxsize=_MOST_TEXTS)
def _is_infection(names: Sequence[str]) -> bool:
    return any("infection" in name or "virus" in name for name in names)


@lru_cache(maxsize=_MOST_PLACES)
def _attribute(
    clause: str, span: Span, kind: TermKind, section: str, gender: Gender, is_infection: bool
) -> tuple[PatientStatus, str]:
    """Return the status of one mention, which stands at `span` in its clause, and what decided it."""
    read = cues.read_clause(clause)
    mention = cues.locate(read, span)
    if cues.is_of_another(read, mention.start, gender):
        return "ambiguous", "another"
    before, after = clause[max(0, span.start - BEFORE_CHARS) : span.start], clause[span.end : span.end + AFTER_CHARS]
    for status, name, within, leads, follows, unless, exception in _RULES[kind]:
        if (
            (within is None or within == section)
            and (follows is None or follows.match(after))  # first, as a match is sooner refused than a search
            and (leads is None or leads.search(before))
            and (unless is None or not unless.search(before))
            and (exception is None or not exception.search(clause[slice(*span)]))
        ):
            return status, name
    cue = cues.decide(read, mention, kind, is_infection=is_infection)
    may_be_for_another = kind is TermKind.MEDICATION and (cue is None or cue.says == "stated")
    if may_be_for_another and cues.is_given_for_another(read, mention, only_listed=cue is not None):
        return "ambiguous", "purpose"
    if cue is None:
        return ("ambiguous", "question") if cues.asks(read, mention) else ("positive", "default")
    if cue.says == "over":
        return "negative" if kind is TermKind.SYMPTOM else "positive", cue.says
    return _STATUS_OF_CUE.get(cue.says, "ambiguous"), cue.says


# The layout of a note -------------------------------------------------------------------------------------------------

PHRASE_TABLES: Final = tomllib.loads(Path(__file__).with_name("phrases.toml").read_text(encoding="utf-8"))


def _expand(pattern: str | Sequence[str]) -> str:
    """Return a pattern as a regular expression, its parts joined and what it names filled in."""
    pieces = PHRASE_TABLES["fragments"] | PHRASE_TABLES["layout"]
    return re.sub(r"@(\w+)@", lambda name: _expand(pieces[name[1]]), "".join(pattern))


class _Lazy:
    """A pattern of the layout, compiled when a text is first read by it: few texts ask for all."""

    def __init__(self, written: str | Sequence[str]) -> None:
        self._written = written

    def __getattr__(self, name: str) -> Any:
        # Asked once: the methods of the compiled pattern become its own.
        compiled = re.compile(_expand(self._written), re.IGNORECASE)
        self.match, self.search, self.fullmatch = compiled.match, compiled.search, compiled.fullmatch
        self.finditer, self.pattern = compiled.finditer, compiled.pattern
        return getattr(compiled, name)


_PARTS: Final = ("before", "after", "unless_before", "unless_mention")
#: A part that a rule does not give is None.
_ROWS: Final = [
    (
        row,
        (row["status"], row["name"], row.get("section"), *(_Lazy(row[one]) if one in row else None for one in _PARTS)),
    )
    for row in PHRASE_TABLES["rules"]
]
_RULES: Final = {kind: [rule for row, rule in _ROWS if kind in row.get("kinds", TermKind)] for kind in TermKind}
_LAYOUT: Final = {name: _Lazy(row) for name, row in PHRASE_TABLES["layout"].items()}


def section_at(text: str, position: int) -> str:
    """Return the kind of the section around `position`: family, allergies, education, or other."""
    return next((kind for span, kind in _sections(text) if span.start <= position < span.end), "other")


@lru_cache(maxsize=_MOST_TEXTS)
def _sections(text: str) -> list[tuple[Span, str]]:
    """Return the sections of a text whose kind is not other, in order: each up to the end of the next header."""
    # So that the text's first line begins as the others do.
    lined = f"\n{text}"
    found = list[tuple[Span, str]]()
    for telling in _LAYOUT["TELLING"].finditer(lined):
        header = _LAYOUT["HEADER"].match(lined, telling.start())
        if header is None or not _opens(header):
            continue
        following = filter(_opens, _LAYOUT["HEADER"].finditer(lined, header.end()))
        start, end = header.end(), next((other.end() for other in following), len(lined))
        if header["family"]:
            end = _family_end(lined, start, end, is_after_sign=header["sign"] is not None)
        found += [(Span(start - 1, end - 1), kind) for kind in ("family", "allergies", "education") if header[kind]]
    return found


def _opens(header: re.Match[str]) -> bool:
    """Whether a header opens a section: alone on its line it is in capitals, or has one and several words."""
    name = header["name"]  # "Drug History"; one such word ("Alcohol") may be an item of a list
    return bool(header["bare"] is None or name.isupper() or (name[0].isupper() and (" " in name or header["family"])))


def _family_end(text: str, start: int, end: int, *, is_after_sign: bool) -> int:
    """Return where a family section that begins at `start` ends, at `end` at the latest.

    It ends after a statement that there is no family history. Notes with "Fhx -" alone on its line name few other
    sections. So after such a header (`is_after_sign`) it also ends at a blank line, at another header, at a line that
    begins as an assessment does, or at a list item that follows a line that is not one.
    """
    if said_none := _LAYOUT["NO_FAMILY"].match(text, start, end):
        return said_none.end()
    first, *lines = text[start:end].splitlines(keepends=True) if is_after_sign else [text[start:end]]
    position, was_item = start + len(first), True
    for line in lines:
        is_item = _LAYOUT["BULLET"].match(line) is not None
        if not line.strip() or _LAYOUT["ENDS_FAMILY"].match(line) or (is_item and not was_item):
            break
        position, was_item = position + len(line), is_item
    return position


def clause_around(text: str, span: Span) -> Span:
    """Return the clause that holds a span; several, where it goes from one into the next.

    A clause ends at a full stop, a semicolon, or the end of a line that is not merely wrapped.
    """
    part = _around(span, _part_ends(text))
    return _around(span, _clause_ends(text[slice(*part)]), part.start)


def _around(span: Span, bounds: Sequence[int], base: int = 0) -> Span:
    start, end = bisect_right(bounds, span.start - base) - 1, bisect_left(bounds, span.end - base)
    return Span(base + bounds[start], base + bounds[end])


@lru_cache(maxsize=_MOST_TEXTS)
def _part_ends(text: str) -> list[int]:
    return [0, *(match.end() for match in _LAYOUT["PART_END"].finditer(text)), len(text)]


@lru_cache(maxsize=_MOST_PARTS)
def _clause_ends(text: str) -> list[int]:
    """Return the bounds of the clauses of a part, its own among them; notes repeat their parts."""
    bounds = {0, len(text), *_line_cuts(text)}
    for sign in _LAYOUT["CLAUSE_END"].finditer(text):
        # The question mark of a query asks for what follows it.
        start = sign.start()
        is_query = text[start] == "?" and (
            _LAYOUT["ASKS"].search(text, max(0, start - 30), start)
            or (text[start - 1].isspace() and _LAYOUT["ASKS_FOR_A_CAUSE"].match(text, start))
        )
        if not is_query:
            bounds.add(sign.end())
    for start, end in pairwise(sorted(bounds)):
        while end - start > MAX_CLAUSE_CHARS:
            start = text.rfind(" ", start + 1, start + MAX_CLAUSE_CHARS) + 1 or start + MAX_CLAUSE_CHARS
            bounds.add(start)
    return sorted(bounds)


def _line_cuts(text: str) -> Iterator[int]:
    """Yield the ends of lines but the last that end a clause: not in a denied list, nor where merely wrapped."""
    is_bullet, is_header = _LAYOUT["BULLET"].match, _LAYOUT["HEADER_LIKE"].match
    end, in_negated_list = 0, False
    for line, following in pairwise(text.splitlines(keepends=True)):
        end, bare = end + len(line), line.rstrip()
        if bare.endswith(":") and _LAYOUT["NEGATED_LIST"].search(line):
            in_negated_list = True
        elif in_negated_list:
            in_negated_list = is_bullet(line) is not None
        if is_bullet(following):
            goes_on = in_negated_list
        else:
            is_wrapped = len(bare) >= WRAPPED_LINE_CHARS and bare[-1] not in ".;:!?"
            goes_on = bool(bare and following.strip()) and not is_header(following)
            goes_on = goes_on and (is_wrapped or _LAYOUT["GOES_ON"].search(bare[-12:]) is not None)
        if not goes_on:
            yield end
