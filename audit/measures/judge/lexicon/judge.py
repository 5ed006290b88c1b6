"""The offline judge: lexicon terms, the rules of a note's layout, persons and cues (docs/methods.md, section 5).

Owns how they are put together. Deterministic; no model, no network. Logs nothing.
"""

import bisect
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Final, NamedTuple

from clinaudit.audit.measures.judge.lexicon.context import (
    MAX_CLAUSE_CHARS,
    WRAPPED_LINE_CHARS,
    SectionKind,
    clauses_around,
    kind_at,
)
from clinaudit.audit.measures.judge.lexicon.cues import CUE_TABLES, Cue, asks, decide, guards, read_clause, token_span
from clinaudit.audit.measures.judge.lexicon.people import Gender, gender_of_patient, is_of_another
from clinaudit.audit.measures.judge.lexicon.phrases import PHRASE_TABLES
from clinaudit.audit.measures.judge.lexicon.purpose import is_given_for_another
from clinaudit.audit.measures.judge.lexicon.rules import QUERY_RULE, first_rule
from clinaudit.audit.measures.judge.lexicon.spelling import SPELLING_TABLE, Spelling
from clinaudit.audit.measures.judge.verdict import Judgement, PatientStatus, Verdict
from clinaudit.priors.diagnoses import Diagnosis, TermKind, TermMatch, find_terms, panel_digest
from clinaudit.templates.spans import Span

#: Raised whenever a change of the code (not of its tables) changes a verdict.
LEXICON_JUDGE_VERSION = "11"
#: How far around a mention the rules look, in characters [choice]: these limits bound the work, and no verdict on a
#: sentence of the tests.
BEFORE_CHARS = 300
AFTER_CHARS = 160
#: Places whose reading is kept: notes repeat their lines.
_MOST_KEPT: Final = 20_000
#: Precedence among mentions that conflict: positive > negative > ambiguous (docs/methods.md, section 5, "Verdict").
_PRECEDENCE: tuple[PatientStatus, ...] = ("positive", "negative", "ambiguous")
_NAMES: Final = (TermKind.NAME, TermKind.ICD10)
#: What a cue makes of a mention, but for what is over.
_STATUS_OF_CUE: Final[dict[str, PatientStatus]] = {
    "denied": "negative",
    "stated": "positive",
    "changed": "positive",
    "queried": "ambiguous",
    "asked": "ambiguous",
    "general": "ambiguous",
    "guarded": "ambiguous",
}


@dataclass(frozen=True, slots=True)
class Mention:
    """One term of a diagnosis in a text, its assertion status for the patient, and what decided."""

    span_chars: Span
    kind: TermKind
    text: str
    status: PatientStatus
    #: A name of `RULES`, what a cue says, `another` (a person), `purpose` (of a drug), `question`, or `default`.
    rule: str


class Place(NamedTuple):
    """By what a mention is read: its clause, where it stands there, its kind, its section, the patient's gender."""

    clause: str
    span: Span
    kind: TermKind
    section: SectionKind
    gender: Gender
    is_infection: bool


class LexiconJudge:
    """A judge by terms and context alone; its identity holds the digest of `panel`."""

    name = "lexicon"

    def __init__(self, panel: Sequence[Diagnosis]) -> None:
        self._panel = tuple(panel)
        self._spelling = Spelling(panel)

    def identity(self) -> dict[str, str]:
        """Return the kind, and the digests of lexicon and tables."""
        tables = [
            PHRASE_TABLES,
            CUE_TABLES,
            SPELLING_TABLE,
            WRAPPED_LINE_CHARS,
            MAX_CLAUSE_CHARS,
            BEFORE_CHARS,
            AFTER_CHARS,
        ]
        digest = hashlib.sha256(json.dumps(tables, sort_keys=True).encode()).hexdigest()
        return {
            "kind": "lexicon",
            "version": LEXICON_JUDGE_VERSION,
            "lexicon": panel_digest(self._panel),
            "rules": digest,
        }

    def judge_many(self, items: Sequence[tuple[str, Diagnosis]]) -> Iterator[Judgement]:
        """Yield one judgement for each (text, diagnosis), in order; equal texts in a row are read once."""
        for text, group in groupby(items, key=lambda item: item[0]):
            diagnoses = [diagnosis for _, diagnosis in group]
            for mentions in self.read_mentions(text, diagnoses):
                names = [mention for mention in mentions if mention.kind in _NAMES]
                yield Judgement(
                    _verdict(mentions),
                    self.name,
                    attempts=1,
                    invalid_reason=None,
                    is_queried=any(mention.rule in (QUERY_RULE, "queried") for mention in names),
                    is_named=any(mention.status == "positive" for mention in names),
                )

    def read_mentions(self, text: str, diagnoses: Sequence[Diagnosis]) -> list[list[Mention]]:
        """Return for each diagnosis its mentions in `text`, by position, each with its status."""
        meant = self._spelling.mend(text)
        terms = [find_terms(meant.text, diagnosis, tuple(TermKind)) for diagnosis in diagnoses]
        spans = sorted({term.span for found in terms for term in found})
        if not spans:
            return [[] for _ in diagnoses]
        clauses = clauses_around(meant.text, spans)
        starts = [clause.start for clause in clauses]
        texts = [meant.text[slice(*span)] for span in clauses]
        gender = gender_of_patient(meant.text)

        def mention(term: TermMatch, *, is_infection: bool) -> Mention:
            of = bisect.bisect_right(starts, term.span.start) - 1
            span = Span(term.span.start - starts[of], term.span.end - starts[of])
            place = Place(texts[of], span, term.kind, kind_at(meant.text, term.span.start), gender, is_infection)
            status, rule = _attribute(place)
            if is_infection and term.kind is TermKind.MEDICATION and rule == "default":
                around = meant.text[max(0, term.span.start - BEFORE_CHARS) : term.span.end + AFTER_CHARS]
                status, rule = ("ambiguous", "guarded") if guards(around) else (status, rule)
            span = meant.as_written(term.span)
            return Mention(span, term.kind, text[span.start : span.end], status, rule)

        return [
            [mention(term, is_infection=is_infection) for term in found]
            for is_infection, found in zip(map(_is_infection, diagnoses), terms, strict=True)
        ]


@lru_cache(maxsize=256)
def _is_infection(diagnosis: Diagnosis) -> bool:
    return any("infection" in name or "virus" in name for name in diagnosis.names)


@lru_cache(maxsize=_MOST_KEPT)
def _attribute(place: Place) -> tuple[PatientStatus, str]:
    """Return the status of one mention, and what decided it."""
    clause, span, kind = place.clause, place.span, place.kind
    read = read_clause(clause)
    tokens = token_span(read, span)
    if is_of_another(read.words, tokens.start, place.gender):
        return "ambiguous", "another"
    before, after = clause[max(0, span.start - BEFORE_CHARS) : span.start], clause[span.end : span.end + AFTER_CHARS]
    rule = first_rule(before, clause[slice(*span)], after, kind=kind, section=place.section)
    if rule is not None:
        return rule.status, rule.name
    cue = decide(read, tokens, kind, is_infection=place.is_infection)
    may_be_for_another = kind is TermKind.MEDICATION and (cue is None or cue.says == "stated")
    if may_be_for_another and is_given_for_another(read, tokens, only_listed=cue is not None):
        return "ambiguous", "purpose"
    if cue is not None:
        return _status_of(cue, kind), cue.says
    return ("ambiguous", "question") if asks(read, tokens) else ("positive", "default")


def _status_of(cue: Cue, kind: TermKind) -> PatientStatus:
    if cue.says == "over":
        # A diagnosis that is over was the patient's; a symptom that is over is denied.
        return "negative" if kind is TermKind.SYMPTOM else "positive"
    return _STATUS_OF_CUE[cue.says]


def _verdict(mentions: Sequence[Mention]) -> Verdict:
    """Combine a text's mentions of one diagnosis into the verdict, by precedence."""
    if not mentions:
        return Verdict(False, None)
    found = {mention.status for mention in mentions}
    return Verdict(
        True,
        next(status for status in _PRECEDENCE if status in found),
        diagnosis_spans=_texts(mentions, *_NAMES),
        symptom_spans=_texts(mentions, TermKind.SYMPTOM),
        medication_spans=_texts(mentions, TermKind.MEDICATION),
    )


def _texts(mentions: Iterable[Mention], *kinds: TermKind) -> tuple[str, ...]:
    """Return the distinct texts of the mentions of these kinds, in order."""
    return tuple(dict.fromkeys(mention.text for mention in mentions if mention.kind in kinds))
