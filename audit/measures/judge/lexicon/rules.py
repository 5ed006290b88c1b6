"""The named rules of a note's layout (paper, Appendix C; docs/methods.md, section 5); `phrases.toml` has them.

They decide by a section, a family history, a box, an answer, a test result or a query. A rule looks at the clause
before the mention, after it, or at its section. The first that applies decides.
"""

import re
from dataclasses import dataclass
from typing import Final, NamedTuple

from clinaudit.audit.measures.judge.lexicon.context import SectionKind
from clinaudit.audit.measures.judge.lexicon.phrases import RULE_ROWS, expand
from clinaudit.audit.measures.judge.verdict import PatientStatus
from clinaudit.priors.diagnoses import TermKind

#: Name of the rule of a query ("?PTSD").
QUERY_RULE: Final = "query"
_PATTERNS: Final = ("before", "after", "unless_before", "unless_mention")


class Surroundings(NamedTuple):
    """What a rule may look at: the mention, its clause before and after it, and its section."""

    before: str
    mention: str
    after: str
    kind: TermKind
    section: SectionKind


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule, its patterns as text; it applies where every given part matches, and neither exception does."""

    name: str
    status: PatientStatus
    #: Searched in the clause before the mention.
    before: str | None = None
    #: Matched from the end of the mention on.
    after: str | None = None
    section: SectionKind | None = None
    #: Exceptions: found in the clause before the mention, or in the mention itself ("HIV+").
    unless_before: str | None = None
    unless_mention: str | None = None
    kinds: tuple[TermKind, ...] = tuple(TermKind)


#: In order; the first that applies decides.
RULES: Final = tuple(
    Rule(
        row["name"],
        row["status"],
        section=SectionKind(row["section"]) if "section" in row else None,
        kinds=tuple(map(TermKind, row.get("kinds", TermKind))),
        **{part: expand(row[part]) for part in _PATTERNS if part in row},
    )
    for row in RULE_ROWS
)
_COMPILED: Final = tuple(
    (rule, [None if (text := getattr(rule, part)) is None else re.compile(text, re.IGNORECASE) for part in _PATTERNS])
    for rule in RULES
)


def first_rule(place: Surroundings) -> Rule | None:
    """Return the first rule that applies to a mention, or None."""
    for rule, (before, after, unless, unless_mention) in _COMPILED:
        if (
            place.kind in rule.kinds
            and rule.section in (None, place.section)
            and (before is None or before.search(place.before))
            and (after is None or after.match(place.after))
            and not (unless is not None and unless.search(place.before))
            and not (unless_mention is not None and unless_mention.search(place.mention))
        ):
            return rule
    return None
