"""The named rules of a note's layout (paper, Appendix C; docs/methods.md, section 5); `phrases.toml` has them.

They decide by a section, a family history, a box, an answer, a test result or a query. A rule looks at the clause
before the mention, after it, or at its section. The first that applies decides.
"""

import re
from typing import Any, Final, NamedTuple

from clinaudit.audit.measures.judge.lexicon.context import SectionKind
from clinaudit.audit.measures.judge.lexicon.phrases import PHRASE_TABLES, expand
from clinaudit.audit.measures.judge.verdict import PatientStatus
from clinaudit.priors.diagnoses import TermKind

#: Name of the rule of a query ("?PTSD").
QUERY_RULE: Final = "query"


class Rule(NamedTuple):
    """One rule; it applies where every given part matches, and neither exception does."""

    name: str
    status: PatientStatus
    section: SectionKind | None
    kinds: tuple[TermKind, ...]
    #: Searched in the clause before the mention.
    before: re.Pattern[str] | None
    #: Matched from the end of the mention on.
    after: re.Pattern[str] | None
    #: Exceptions: found in the clause before the mention, or in the mention itself ("HIV+").
    unless_before: re.Pattern[str] | None
    unless_mention: re.Pattern[str] | None


def _rule(row: dict[str, Any]) -> Rule:
    patterns = (row.get(part) for part in Rule._fields[4:])
    return Rule(
        row["name"],
        row["status"],
        SectionKind(row["section"]) if "section" in row else None,
        tuple(map(TermKind, row.get("kinds", TermKind))),
        *(None if pattern is None else re.compile(expand(pattern), re.IGNORECASE) for pattern in patterns),
    )


#: In order; the first that applies decides.
RULES: Final = tuple(map(_rule, PHRASE_TABLES["rules"]))


def first_rule(before: str, mention: str, after: str, *, kind: TermKind, section: SectionKind) -> Rule | None:
    """Return the first rule that applies to a mention, with its clause before and after it; None where none does."""
    for rule in RULES:
        if (
            kind in rule.kinds
            and rule.section in (None, section)
            and (rule.before is None or rule.before.search(before))
            and (rule.after is None or rule.after.match(after))
            and not (rule.unless_before is not None and rule.unless_before.search(before))
            and not (rule.unless_mention is not None and rule.unless_mention.search(mention))
        ):
            return rule
    return None
