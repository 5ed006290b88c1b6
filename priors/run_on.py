"""Sections that a fragment of a note runs on into, since the note template does not know their headers.

Owns what such a header looks like: lines that begin with a name that a shipped profile knows. Knows nothing of prompts.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from clinaudit.priors.facts import PatientFacts
from clinaudit.priors.tiers import Fact, Tier
from clinaudit.templates.learning.known_words import known_words
from clinaudit.templates.names import known_as
from clinaudit.templates.spans import Span

#: Characters of a chief complaint: with more of them it is no complaint alone.
LONGEST_COMPLAINT: Final = 200
#: What `check` calls it.
LONG_COMPLAINT: Final = f"chief complaint of more than {LONGEST_COMPLAINT} characters"
#: Names of measurements, which stand in prose too.
_MEASURED: Final = "Vitals"
#: Letters of an abbreviation.
_SHORT: Final = 4


@cache
def _finder() -> re.Pattern[str]:
    # A mark tells a header from prose, and so does a line of its own. Without either an abbreviation is one ("PMH
    # Asthma", "FHx, ..."), and several words are before a capital ("Past medical history None"); "Plan was to wait" is
    # prose.
    headers = [
        header
        for header, known in known_words().headers.items()
        if not known.is_leaf and len(header) > 1 and not (known.section == _MEASURED and len(header) < _SHORT)
    ]
    ordered = sorted(headers, key=lambda header: (-len(header), header))
    several = [header for header in ordered if " " in header]
    words = "|".join(map(re.escape, ordered))
    phrases = "|".join(map(re.escape, several))
    return re.compile(
        r"^[ \t]*(?:[#*_\[•=<~-]+[ \t]*|\d{1,2}[.)][ \t]+)?(?:"
        rf"(?P<marked>(?i:{words}))(?:[ \t]*[:;*_\]>]|[ \t]+[-–—=~](?=[ \t=~-]))"
        rf"|(?=[A-Z])(?P<alone>(?i:{words}))(?=[ \t]*$)"
        rf"|(?=[A-Z][A-Z/]|[A-Z][a-z]*hx\b)(?P<short>(?i:{words}))(?=[ \t.,])(?!\.\w)"
        rf"|(?=[A-Z])(?P<several>(?i:{phrases}))(?=[ \t]+[A-Z])"
        r")",
        re.MULTILINE,
    )


def find_known_headers(note: str, start: int = 0, end: int | None = None) -> Iterator[tuple[str, Span]]:
    """Yield the headers of shipped profiles with which lines of a note begin, and where: from the line's beginning."""
    # As many characters as before, and an end of the line where a line ends.
    plain = note.replace("\r\n", " \n")
    for match in _finder().finditer(plain, start, len(plain) if end is None else end):
        kind = match.lastgroup or ""
        yield known_as(match[kind], known_words().headers), Span(match.start(), match.end(kind))


def sections_run_into(facts: PatientFacts, tier: Tier, end: int) -> tuple[str, ...]:
    """Return what the note's beginning up to `end`, in characters, runs on into, sorted.

    Header names in lower case, of sections that the tier does not hold and the template does not find there; and
    `LONG_COMPLAINT`.
    """
    return tuple(sorted({*_unknown_headers(facts, tier, end), *_long_complaint(facts, tier)}))


def _long_complaint(facts: PatientFacts, tier: Tier) -> Iterator[str]:
    complaint = facts.in_note.get(Fact.CHIEF_COMPLAINT)
    if complaint is None or Fact.CHIEF_COMPLAINT not in tier.facts:
        return
    # White space sets columns and lines apart.
    if len(" ".join(complaint.value.split())) > LONGEST_COMPLAINT:
        yield LONG_COMPLAINT


def _unknown_headers(facts: PatientFacts, tier: Tier, end: int) -> Iterator[str]:
    found = [item.span_chars for item in facts.headers]
    found += [field.span_chars for fact, field in facts.in_note.items() if fact in tier.facts]
    starts = {span.start for span in found}
    for name, span in find_known_headers(facts.note, 0, end):
        fact = known_words().headers[name].fact
        # What the template finds as a header stands where the layout has it.
        if fact not in tier.facts and not any(span.start <= start < span.end for start in starts):
            yield name
