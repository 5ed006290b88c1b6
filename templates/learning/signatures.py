"""What tells the notes of one layout from all others: a first line, a label or a header that they alone have.

Owns the choice. Knows nothing of facts.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from clinaudit.templates.patterns import MAX_LENGTH, Pattern, literal

#: At least this share of the layout's notes has its signature, and at most this share of the others.
_OWN = 0.98
_OTHERS = 0.005
_MARKS = r"[ \t#*_\[•-]*"


@dataclass(frozen=True, slots=True)
class Signature:
    """An expression that tells a layout."""

    regex: str
    #: Patients of the layout that have it, and of the others.
    own: int
    others: int


def choose_signature(
    texts: Sequence[str], members: Sequence[int], *, labels: Sequence[str], headers: Sequence[str]
) -> Signature | None:
    """Return what best tells the members from the other texts, the first of those as good; None where nothing does."""
    inside = frozenset(members)
    best: Signature | None = None
    for regex in _candidates([texts[at] for at in members], labels, headers):
        if len(regex) > MAX_LENGTH:
            continue
        pattern = Pattern(regex)
        found = [pattern.found_in(text) for text in texts]
        own = sum(found[at] for at in members)
        others = sum(found) - own
        if own < _OWN * len(inside) or others > _OTHERS * (len(texts) - len(inside)):
            continue
        if best is None or own - others > best.own - best.others:
            best = Signature(regex, own, others)
    return best


def _candidates(texts: Sequence[str], labels: Sequence[str], headers: Sequence[str]) -> Iterator[str]:
    first_lines = Counter(text.strip().partition("\n")[0].strip() for text in texts)
    line, found = first_lines.most_common(1)[0]
    if line and found >= _OWN * len(texts):
        yield f"^[ \\t]*{literal(line)}[ \\t]*$"
    for label in labels:
        yield f"^{_MARKS}(?i:{literal(label)})[ \\t*_]*:"
    # Case counts: "PLAN" and "Plan" are of two layouts.
    for header in headers:
        for written in dict.fromkeys((header.upper(), header.title(), header.capitalize(), header)):
            yield f"^{_MARKS}{literal(written)}\\b"
    for left, right in pairwise(labels):
        yield f"^{_MARKS}(?i:{literal(left)})[ \\t*_]*:[^\\n]*(?i:{literal(right)})[ \\t*_]*:"
