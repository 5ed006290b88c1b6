"""The form of a rule over a mention: where it looks, and the status it then gives (docs/methods.md, section 5).

Owns the two records, and the gap before an answer, which several rules share. Holds no rule.
"""

from dataclasses import dataclass
from typing import NamedTuple

from clinaudit.audit.measures.judge.lexicon.context import SectionKind
from clinaudit.audit.measures.judge.verdict import PatientStatus
from clinaudit.priors.diagnoses import TermKind

# What may stand between a mention and the answer beside it: "PTSD (post-traumatic stress disorder): not present".
ANSWERS = r"\s*(?:\([^()\n]{0,80}\)|\))?\s*(?:[:?=]+|\s[-–])\s*"


class Surroundings(NamedTuple):
    """What a rule may look at: the mention, its clause before and after it, and its section."""

    before: str
    mention: str
    after: str
    kind: TermKind
    section: SectionKind


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule; it applies where every given part matches and no exception stands before the mention."""

    name: str
    status: PatientStatus
    #: Searched in the clause before the mention.
    before: str | None = None
    #: Matched from the end of the mention on.
    after: str | None = None
    section: SectionKind | None = None
    #: An exception: where it is found in the clause before the mention, the rule does not apply.
    unless_before: str | None = None
    #: An exception that the mention itself makes ("HIV+").
    unless_mention: str | None = None
    kinds: tuple[TermKind, ...] = tuple(TermKind)
