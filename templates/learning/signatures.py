"""What tells the notes of one layout from all others: a first line, a label or a header that they alone have.

Owns the choice. Knows nothing of facts.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clinaudit.templates.names import LABEL_END
from clinaudit.templates.patterns import MAX_LENGTH, Pattern, literal

#: At least this share of the notes of a layout has its signature, and at most this share of the others: some of these
#: may well be of the layout, and grouped with others by chance. What fewer others have is chosen.
_OWN = 0.98
_OTHERS = 0.05
_MARKS = r"[ \t#*_\[•=<~-]*"


@dataclass(frozen=True, slots=True)
class Signature:
    """An expression that tells a layout."""

    regex: str
    #: Patients of the layout that have it, and of the others.
    own: int
    others: int


def choose_signature(
    own_texts: Sequence[str],
    other_texts: Sequence[str],
    *,
    labels: Sequence[str],
    headers: Sequence[str],
    lines: Sequence[str],
) -> Signature | None:
    """Return what best tells the texts from the others, the first of those as good; None where nothing does."""
    best: Signature | None = None
    for regex in _candidates(own_texts, labels, headers, lines):
        if len(regex) > MAX_LENGTH:
            continue
        pattern = Pattern(regex)
        own = sum(map(pattern.found_in, own_texts))
        if own < _OWN * len(own_texts) or (best is not None and own <= best.own - best.others):
            continue
        others = sum(map(pattern.found_in, other_texts))
        if others <= _OTHERS * len(other_texts) and (best is None or own - others > best.own - best.others):
            best = Signature(regex, own, others)
    return best


def _candidates(
    texts: Sequence[str], labels: Sequence[str], headers: Sequence[str], lines: Sequence[str]
) -> Iterator[str]:
    counts = Counter(line for text in texts for line in dict.fromkeys(map(str.strip, text.split("\n"))))
    for line, found in counts.items():
        if line and found >= _OWN * len(texts):
            yield f"^[ \\t]*{literal(line)}[ \\t]*$"
    for label in labels:
        yield f"^{_MARKS}(?i:{literal(label)})[*_]*{LABEL_END}"
    # Case counts: "PLAN" and "Plan" are of two layouts.
    for header in headers:
        for written in dict.fromkeys((header.upper(), header.title(), header.capitalize(), header)):
            yield f"^{_MARKS}{literal(written)}\\b"
    # No group has a name: a line of a banner tells a layout here, and places no fact.
    yield from (re.sub(r"\(\?P<\w+>", "(?:", line) for line in lines)
