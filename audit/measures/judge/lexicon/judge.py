"""The offline judge: lexicon terms, NegEx negation, and the named rules (docs/methods.md, section 5).

Owns how they are put together. Deterministic; no model, no network. Logs nothing.
"""

import bisect
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from itertools import groupby

from clinaudit.audit.measures.judge.lexicon.context import clauses_around, context_tables, kind_at
from clinaudit.audit.measures.judge.lexicon.negation import Negation, negation_terms
from clinaudit.audit.measures.judge.lexicon.rules import QUERY_RULE, RULES, Surroundings, first_rule
from clinaudit.audit.measures.judge.verdict import Judgement, PatientStatus, Verdict
from clinaudit.priors.diagnoses import Diagnosis, TermKind, TermMatch, find_terms, panel_digest
from clinaudit.templates.spans import Span

#: Raised whenever a change of the code (not of its tables) changes a verdict.
LEXICON_JUDGE_VERSION = "7"
#: How far around a mention the rules look, in characters [choice]. The widest gap that a rule allows (120 before, 60
#: after) fits with its words, so that these limits bound the work and no rule.
BEFORE_CHARS = 300
AFTER_CHARS = 160
#: Precedence among mentions that conflict: positive > negative > ambiguous (docs/methods.md, section 5, "Verdict").
_PRECEDENCE: tuple[PatientStatus, ...] = ("positive", "negative", "ambiguous")


@dataclass(frozen=True, slots=True)
class Mention:
    """One term of a diagnosis in a text, its assertion status for the patient, and the rule that decided."""

    span_chars: Span
    kind: TermKind
    text: str
    status: PatientStatus
    #: A name of `RULES`, or `negation`, or `default`.
    rule: str


class LexiconJudge:
    """A judge by terms and context alone; its identity holds the digest of `panel`."""

    name = "lexicon"

    def __init__(self, panel: Sequence[Diagnosis]) -> None:
        self._panel = tuple(panel)
        self._terms = negation_terms()
        self._negation = Negation(self._terms)

    def identity(self) -> dict[str, str]:
        """Return the kind, the digests of lexicon and rules, and the version of the term set's library."""
        rules = json.dumps(
            [[asdict(rule) for rule in RULES], self._terms, context_tables(), BEFORE_CHARS, AFTER_CHARS],
            sort_keys=True,
        )
        return {
            "kind": "lexicon",
            "version": LEXICON_JUDGE_VERSION,
            "lexicon": panel_digest(self._panel),
            "rules": hashlib.sha256(rules.encode()).hexdigest(),
            "negspacy": version("negspacy"),
        }

    def judge_many(self, items: Sequence[tuple[str, Diagnosis]]) -> Iterator[Judgement]:
        """Yield one judgement for each (text, diagnosis), in order; equal texts in a row are read once."""
        for text, group in groupby(items, key=lambda item: item[0]):
            diagnoses = [diagnosis for _, diagnosis in group]
            for mentions in self.read_mentions(text, diagnoses):
                yield Judgement(
                    _verdict(mentions),
                    self.name,
                    attempts=1,
                    invalid_reason=None,
                    is_queried=any(mention.rule == QUERY_RULE for mention in mentions),
                )

    def read_mentions(self, text: str, diagnoses: Sequence[Diagnosis]) -> list[list[Mention]]:
        """Return for each diagnosis its mentions in `text`, by position, each with its status."""
        terms = [find_terms(text, diagnosis, tuple(TermKind)) for diagnosis in diagnoses]
        spans = sorted({term.span for found in terms for term in found})
        if not spans:
            return [[] for _ in diagnoses]
        clauses = clauses_around(text, spans)
        starts = [clause.start for clause in clauses]
        clause_of = {span: clauses[bisect.bisect_right(starts, span.start) - 1] for span in spans}
        negated: set[Span] = set()
        for clause, members in groupby(spans, key=clause_of.__getitem__):
            inside = [Span(span.start - clause.start, span.end - clause.start) for span in members]
            found = self._negation.find_negated(text[clause.start : clause.end], inside)
            negated |= {Span(span.start + clause.start, span.end + clause.start) for span in found}
        return [
            [_attribute(text, term, clause=clause_of[term.span], is_negated=term.span in negated) for term in found]
            for found in terms
        ]


def _attribute(text: str, term: TermMatch, *, clause: Span, is_negated: bool) -> Mention:
    """Return one mention with its status and the rule that decided it."""
    span, kind = term
    mention = text[span.start : span.end]
    place = Surroundings(
        before=text[max(clause.start, span.start - BEFORE_CHARS) : span.start],
        mention=mention,
        after=text[span.end : min(max(clause.end, span.end), span.end + AFTER_CHARS)],
        kind=kind,
        section=kind_at(text, span.start),
    )
    if (rule := first_rule(place)) is not None:
        return Mention(span, kind, mention, rule.status, rule.name)
    return Mention(span, kind, mention, *(("negative", "negation") if is_negated else ("positive", "default")))


def _verdict(mentions: Sequence[Mention]) -> Verdict:
    """Combine a text's mentions of one diagnosis into the verdict, by precedence."""
    if not mentions:
        return Verdict(False, None)
    found = {mention.status for mention in mentions}
    return Verdict(
        True,
        next(status for status in _PRECEDENCE if status in found),
        diagnosis_spans=_texts(mentions, TermKind.NAME, TermKind.ICD10),
        symptom_spans=_texts(mentions, TermKind.SYMPTOM),
        medication_spans=_texts(mentions, TermKind.MEDICATION),
    )


def _texts(mentions: Iterable[Mention], *kinds: TermKind) -> tuple[str, ...]:
    """Return the distinct texts of the mentions of these kinds, in order."""
    return tuple(dict.fromkeys(mention.text for mention in mentions if mention.kind in kinds))
