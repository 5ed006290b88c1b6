"""The offline judge: lexicon terms, the rules of a note's layout, persons and cues (docs/methods.md, section 5).

Owns how they are put together. Deterministic; no model, no network. Logs nothing.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Final, NamedTuple

from clinaudit.audit.measures.judge.lexicon import cues
from clinaudit.audit.measures.judge.lexicon.cues import CUE_TABLES, Gender
from clinaudit.audit.measures.judge.lexicon.layout import (
    MAX_CLAUSE_CHARS,
    PHRASE_TABLES,
    QUERY_RULE,
    WRAPPED_LINE_CHARS,
    clause_around,
    first_rule,
    section_at,
)
from clinaudit.audit.measures.judge.lexicon.spelling import SPELLING_TABLE, Spelling
from clinaudit.audit.measures.judge.verdict import Judgement, PatientStatus, Verdict
from clinaudit.priors.diagnoses import Diagnosis, TermKind, find_terms, panel_digest
from clinaudit.templates.shown_text import Span

#: Raised whenever a change of the code (not of its tables) changes a verdict.
LEXICON_JUDGE_VERSION = "12"
#: How far around a mention the rules look, in characters [choice]: these limits bound the work, and no verdict on a
#: sentence of the tests.
BEFORE_CHARS, AFTER_CHARS = 300, 160
#: Places whose reading is kept: notes repeat their lines.
_MOST_KEPT: Final = 20_000
#: Precedence among mentions that conflict: positive > negative > ambiguous (docs/methods.md, section 5, "Verdict").
_PRECEDENCE: tuple[PatientStatus, ...] = ("positive", "negative", "ambiguous")
#: Words that say nothing but that a drug keeps from an infection, wherever they stand around it.
_GUARDING: Final = re.compile(r"\b(?:n?pepse?|prep|post-? ?exposure|pre-? ?exposure|needle-? ?stick)\b", re.IGNORECASE)
_ALL_KINDS: Final = tuple(TermKind)
_NAMES: Final = (TermKind.NAME, TermKind.ICD10)
#: What a cue makes of a mention, but for what is over: a diagnosis was the patient's then, and a symptom is denied.
_STATUS_OF_CUE: Final[dict[str, PatientStatus]] = {"denied": "negative", "stated": "positive", "changed": "positive"}


class Mention(NamedTuple):
    """One term of a diagnosis in a text, its assertion status for the patient, and what decided."""

    span_chars: Span
    kind: TermKind
    text: str
    status: PatientStatus
    #: A rule of the layout, what a cue says, `another` (a person), `purpose` (of a drug), `question`, or `default`.
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

    def judge_many(self, items: Sequence[tuple[str, Diagnosis]]) -> Iterator[Judgement]:
        """Yield one judgement for each (text, diagnosis), in order; equal texts in a row are read once."""
        for text, group in groupby(items, key=lambda item: item[0]):
            for mentions in self.read_mentions(text, [diagnosis for _, diagnosis in group]):
                names = [mention for mention in mentions if mention.kind in _NAMES]
                yield Judgement(
                    _verdict(mentions),
                    self.name,
                    attempts=1,
                    invalid_reason=None,
                    is_queried=any(mention.rule in (QUERY_RULE, "queried") for mention in names),
                    is_named=any(mention.status == "positive" for mention in names),
                )

    def read_mentions(self, text: str, diagnoses: Sequence[Diagnosis]) -> Iterator[list[Mention]]:
        """Yield for each diagnosis its mentions in `text`, by position, each with its status."""
        meant = self._spelling.mend(text)
        terms = [find_terms(meant.text, diagnosis, _ALL_KINDS) for diagnosis in diagnoses]
        gender = cues.gender_of_patient(meant.text) if any(terms) else ""
        for diagnosis, found in zip(diagnoses, terms, strict=True):
            is_infection = bool(found) and any("infection" in name or "virus" in name for name in diagnosis.names)
            mentions = []
            for span, kind in found:
                clause = clause_around(meant.text, span)
                place = Span(span.start - clause.start, span.end - clause.start)
                section = section_at(meant.text, span.start)
                status, rule = _attribute(meant.text[slice(*clause)], place, kind, section, gender, is_infection)
                if is_infection and kind is TermKind.MEDICATION and rule == "default":
                    around = meant.text[max(0, span.start - BEFORE_CHARS) : span.end + AFTER_CHARS]
                    status, rule = ("ambiguous", "guarded") if _GUARDING.search(around) else (status, rule)
                written = meant.as_written(span)
                mentions.append(Mention(written, kind, text[slice(*written)], status, rule))
            yield mentions


@lru_cache(maxsize=_MOST_KEPT)
def _attribute(
    clause: str, span: Span, kind: TermKind, section: str, gender: Gender, is_infection: bool
) -> tuple[PatientStatus, str]:
    """Return the status of one mention, which stands at `span` in its clause, and what decided it."""
    read = cues.read_clause(clause)
    tokens = cues.token_span(read, span)
    if cues.is_of_another(read, tokens.start, gender):
        return "ambiguous", "another"
    before, after = clause[max(0, span.start - BEFORE_CHARS) : span.start], clause[span.end : span.end + AFTER_CHARS]
    rule = first_rule(before, clause[slice(*span)], after, kind=kind, section=section)
    if rule is not None:
        return rule
    cue = cues.decide(read, tokens, kind, is_infection=is_infection)
    may_be_for_another = kind is TermKind.MEDICATION and (cue is None or cue.says == "stated")
    if may_be_for_another and cues.is_given_for_another(read, tokens, only_listed=cue is not None):
        return "ambiguous", "purpose"
    if cue is None:
        return ("ambiguous", "question") if cues.asks(read, tokens) else ("positive", "default")
    if cue.says == "over":
        return "negative" if kind is TermKind.SYMPTOM else "positive", cue.says
    return _STATUS_OF_CUE.get(cue.says, "ambiguous"), cue.says


def _verdict(mentions: Sequence[Mention]) -> Verdict:
    if not mentions:
        return Verdict(False, None)
    found = {mention.status for mention in mentions}
    spans = [
        tuple(dict.fromkeys(mention.text for mention in mentions if mention.kind in kinds))
        for kinds in (_NAMES, (TermKind.SYMPTOM,), (TermKind.MEDICATION,))
    ]
    return Verdict(True, next(status for status in _PRECEDENCE if status in found), *spans)
