"""NegEx (Chapman et al. 2001): which mentions of a clause are denied.

Owns the algorithm, step by step that of negspacy 1.1 (`Negex.negex`), whose import takes seconds and loads torch by way
of spaCy. The phrases are negspacy's clinical term set, adjusted to notes (`phrases.toml`).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from negspacy.termsets import termset

from clinaudit.audit.measures.judge.lexicon.phrases import ADDED_NEGATIONS, NOT_NEGATIONS
from clinaudit.templates.spans import Span

_TOKEN: Final = re.compile(r"\w+|[^\w\s]")


class _Phrase(NamedTuple):
    """An occurrence of a phrase, as a half-open span of tokens."""

    start: int
    end: int


class Negation:
    """Finds denied mentions by four lists of phrases, in the form of negspacy's term sets."""

    def __init__(self, terms: Mapping[str, Sequence[str]]) -> None:
        #: First word -> the phrases that begin with it, as words, with the list that they stand in.
        self._phrases: dict[str, list[tuple[list[str], str]]] = {}
        #: First words of the phrases that deny.
        self._denying: set[str] = set()
        for name, phrases in terms.items():
            for phrase in phrases:
                words = _TOKEN.findall(phrase.lower())
                self._phrases.setdefault(words[0], []).append((words, name))
                if name in ("preceding_negations", "following_negations"):
                    self._denying.add(words[0])

    def find_negated(self, clause: str, mentions: Iterable[Span]) -> set[Span]:
        """Return those of the mentions, half-open spans of the clause's characters, that it denies.

        A preceding phrase denies what follows it, a following one what precedes it, as far as the next terminating
        phrase on either side. A phrase that begins within or right after a pseudo-negation ("not only") denies nothing.
        """
        if self._denying.isdisjoint(_TOKEN.findall(clause.lower())):
            return set()
        tokens = [match.span() for match in _TOKEN.finditer(clause)]
        found = self._find_phrases([clause[slice(*token)].lower() for token in tokens])
        pseudo = found["pseudo_negations"]

        def real(name: str) -> list[_Phrase]:
            return [
                phrase
                for phrase in found[name]
                if not any(pseudo_phrase.start <= phrase.start <= pseudo_phrase.end for pseudo_phrase in pseudo)
            ]

        preceding, following = real("preceding_negations"), real("following_negations")
        if not preceding and not following:
            return set()
        bounds = sorted([0, *(phrase.start for phrase in real("termination")), len(tokens)])
        negated = set()
        for span in mentions:
            inside = [number for number, (start, end) in enumerate(tokens) if start < span.end and end > span.start]
            if not inside:
                continue
            first, end = inside[0], inside[-1] + 1
            for low, high in pairwise(bounds):
                if not (low <= first < high and end <= high):
                    continue
                if any(low <= phrase.start < high and phrase.start < first for phrase in preceding) or any(
                    low <= phrase.start < high and phrase.end > end for phrase in following
                ):
                    negated.add(span)
        return negated

    def _find_phrases(self, words: Sequence[str]) -> dict[str, list[_Phrase]]:
        """Return every occurrence of every phrase, by its list."""
        found: dict[str, list[_Phrase]] = {
            name: [] for name in ("pseudo_negations", "preceding_negations", "following_negations", "termination")
        }
        for start, word in enumerate(words):
            for phrase, name in self._phrases.get(word, ()):
                if words[start : start + len(phrase)] == phrase:
                    found[name].append(_Phrase(start, start + len(phrase)))
        return found


def negation_terms() -> dict[str, list[str]]:
    """Return the four lists of phrases by negspacy's names.

    They are sorted, so that the judge's identity, a digest of them, stays the same.
    """
    terms = termset("en_clinical").get_patterns()  # type: ignore[no-untyped-call]
    return {
        key: sorted({*phrases, *ADDED_NEGATIONS.get(key, ())} - set(NOT_NEGATIONS.get(key, ())))
        for key, phrases in terms.items()
    }
