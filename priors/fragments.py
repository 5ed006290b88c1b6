"""Prompts that are a fragment of one of a patient's notes (paper 3.1, Appendix A; docs/methods.md, section 1).

Owns where a fragment ends, what else it shows, whether it is a beginning as the tier means it, and how many patients
its values fit (k-anonymity of a prompt; Sweeney 2002).
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from clinaudit.priors.facts import PatientFacts
from clinaudit.priors.tiers import BELOW_BANNER, HISTORY, Fact, Message, Tier
from clinaudit.templates.header_styles import known_as
from clinaudit.templates.learning.labels import known_words
from clinaudit.templates.note_fields import Heading
from clinaudit.templates.shown_text import Span, show_in_place

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
    plain = show_in_place(note.replace("\r\n", " \n").replace("\r", "\n"))
    for match in _finder().finditer(plain, start, len(plain) if end is None else end):
        kind = match.lastgroup or ""
        yield known_as(match[kind], known_words().headers), Span(match.start(), match.end(kind))


def _sections_run_into(facts: PatientFacts, tier: Tier, end: int) -> tuple[str, ...]:
    """Return into which sections the note's beginning up to `end` runs on, by headers in lower case, sorted.

    Those that the tier does not hold and the template does not find there; and `LONG_COMPLAINT`.
    """
    # What the template finds as a header stands where the layout has it.
    starts = {item.span_chars.start for item in facts.headers}
    starts |= {field.span_chars.start for fact, field in facts.in_note.items() if fact in tier.facts}
    found = {
        name
        for name, span in find_known_headers(facts.note, 0, end)
        if known_words().headers[name].fact not in tier.facts and starts.isdisjoint(range(*span))
    }
    complaint = facts.in_note.get(Fact.CHIEF_COMPLAINT)
    if complaint is not None and Fact.CHIEF_COMPLAINT in tier.facts and _length(complaint.value) > LONGEST_COMPLAINT:
        found.add(LONG_COMPLAINT)
    return tuple(sorted(found))


def _length(text: str) -> int:
    """Return the characters of a text but for the white space that sets columns and lines apart."""
    return len(" ".join(text.split()))


#: Characters of text before and between facts: with more of them a prompt holds what the tier does not know.
_LONGEST_STRETCH: Final = 200
#: Characters of a name, a practice or another value of a banner.
_LONGEST_VALUE: Final = 120
_LINE_REST: Final = re.compile(rf"[^\r\n]{{0,{_LONGEST_STRETCH}}}(?=[\r\n]|\Z)")
#: What else a banner shows that is no fact of any tier.
RECORD_NUMBER: Final = "record number"
_RECORD_NUMBER: Final = re.compile(
    r"\b(?:mrn\b|(?:medical[ \t]+|hospital[ \t]+|patient[ \t]+|nhs[ \t]+|unit[ \t]+|chart[ \t]+|record[ \t]+)+"
    r"(?:record[ \t]+)?(?:no\b|number\b|id\b|#)|mr[ \t]?#)[.:# \t]{0,9}[A-Z]{0,3}[- ]?\d",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Draft:
    """A prompt before its budget is known."""

    prompt: str
    #: Of a fragment: the note after it, which the model is to continue. None: it is no fragment of a note.
    rest: str | None = None
    #: Of a fragment: it is the note as it begins, with every fact of the tier that the layout places in its banner, and
    #: no section, nor a stretch of text that may be one, that the tier does not know. Of background facts: they are the
    #: patient's own (`PatientFacts.are_own`).
    unbroken: bool | None = None
    #: Facts of which the prompt holds the patient's own value; also such as the tier does not know.
    holds: frozenset[Fact] = frozenset()
    #: What the note's beginning shows beside the tier's facts, sorted.
    also_shows: tuple[str, ...] = ()
    #: Headers of sections that the tier does not know and the template does not find: the prompt holds their text.
    runs_on: tuple[str, ...] = ()
    #: In a chat: what is said, before the model's template.
    messages: tuple[Message, ...] = ()


def quote_opening(facts: PatientFacts, tier: Tier) -> Draft | str:
    """Return the note verbatim from its first character through the line of the tier's last field; or why not.

    Nothing is cut: who holds a banner sees all of it. Where a header begins soon after that line, the prompt runs on
    through it. A fact that a table alone holds is not put in.
    """
    facts = facts.at(tier)
    found = {fact for fact in tier.facts if facts.stands_in_opening(fact)}
    if (found - facts.tagged).isdisjoint(tier.distinguishing):
        return "no distinguishing fact in the note's opening"
    note = facts.note
    last = max(facts.in_note[fact].value_chars.end for fact in found)
    # Through the end of the line, its break left out; not where the line goes on for a paragraph.
    line = _LINE_REST.match(note, last)
    end = last if line is None else line.end()
    header = _following_header(facts, last)
    read_to = end
    if header is not None and header.span_chars.start - end <= _LONGEST_STRETCH:
        read_to, end = header.span_chars
    runs_on = _sections_run_into(facts, tier, read_to)
    holds = frozenset(fact for fact, field in facts.in_note.items() if field.value_chars.end <= end) - facts.tagged
    also_shows = {str(fact) for fact in holds.difference(tier.facts)}
    if _RECORD_NUMBER.search(note, 0, end) is not None:
        also_shows.add(RECORD_NUMBER)
    return Draft(
        note[:end],
        note[end:],
        unbroken=is_complete(facts, tier)
        and holds.isdisjoint(HISTORY.difference(tier.facts))
        and not _has_long_stretch(facts, tier, last)
        and not runs_on,
        holds=holds,
        also_shows=tuple(sorted(also_shows)),
        runs_on=runs_on,
    )


def list_facts(facts: PatientFacts, tier: Tier, labels: Mapping[Fact, str]) -> Draft | str:
    """Return the tier's facts in the note's words and order, and the header that follows; or why not.

    What a table alone holds comes first, under its label.
    """
    facts = facts.at(tier)
    own = facts.in_note.keys() - facts.tagged
    held = sorted(facts.in_note[fact].span_chars for fact in tier.facts if fact in own)
    header = _following_header(facts, max((span.end for span in held), default=0))
    if header is None:
        return "no header follows the last field"
    from_table = [
        f"{labels[fact]}: {facts.values[fact]}\n" for fact in tier.facts if fact in facts.values and fact not in own
    ]
    slices = [facts.note[start:stop] for start, stop in held]
    own_words = "".join(text if text.endswith(("\n", "\r")) else text + "\n" for text in slices)
    prompt = "".join(from_table) + own_words + facts.note[slice(*header.span_chars)]
    runs_on = _sections_run_into(facts, tier, max((stop for _, stop in held), default=0))
    holds = frozenset(fact for fact in tier.facts if fact in facts.values or fact in own)
    return Draft(prompt, facts.note[header.span_chars.end :], unbroken=False, holds=holds, runs_on=runs_on)


def begin_note(facts: PatientFacts, tier: Tier, labels: Mapping[Fact, str]) -> Draft | str:
    """Return the fragment of a tier: the note's opening, or where none can be placed its facts; or why neither."""
    opening = quote_opening(facts, tier)
    return list_facts(facts, tier, labels) if isinstance(opening, str) else opening


def held_facts(facts: PatientFacts, tier: Tier) -> frozenset[Fact]:
    """Return the facts of which the tier's prompt holds the patient's own value; none where there is no prompt."""
    is_known = facts.at(tier).known
    if not any(map(is_known, tier.distinguishing)):
        return frozenset()
    if not tier.is_fragment:
        return frozenset(filter(is_known, tier.facts))
    fragment = begin_note(facts, tier, {fact: fact.value for fact in Fact})
    return frozenset() if isinstance(fragment, str) else frozenset(filter(is_known, fragment.holds))


def is_complete(facts: PatientFacts, tier: Tier) -> bool:
    """Return whether every fact of the tier that the layout places was found in the note, and none is doubtful.

    A section that this note does not have is no fault of the template: without the one that a tier is about there is no
    prompt, and without another it leaves its lines out.
    """
    facts = facts.at(tier)
    expected = facts.placed.intersection(tier.facts)
    found = facts.in_note.keys() | facts.in_prose.keys() | BELOW_BANNER
    return expected <= found and facts.doubtful.isdisjoint(expected)


def _following_header(facts: PatientFacts, end: int) -> Heading | None:
    return next((item for item in facts.headers if item.span_chars.start >= end), None)


def _has_long_stretch(facts: PatientFacts, tier: Tier, last: int) -> bool:
    """Whether more text than a banner has stands before the last fact: between two, in one, or without a label."""
    banner = [field for fact, field in facts.in_note.items() if fact in tier.facts and fact not in BELOW_BANNER]
    if any(_length(field.value) > _LONGEST_VALUE for field in banner):
        return True
    spans = sorted(
        field.span_chars for fact, field in facts.in_note.items() if fact in tier.facts or fact not in BELOW_BANNER
    )
    reached = unlabelled = 0
    for span in spans:
        if span.start >= last:
            break
        stretch = facts.note[reached : span.start]
        unlabelled += sum(_length(line) for line in stretch.splitlines() if ":" not in line)
        if _length(stretch) > _LONGEST_STRETCH or unlabelled > _LONGEST_STRETCH:
            return True
        reached = max(reached, span.end)
    return False


#: Share of a tier's prompts that are to be nobody else's: else most answers are about nobody in particular.
FEWEST_OWN_PROMPTS: Final = 0.5


def count_fitting(patients: Collection[PatientFacts], tier: Tier) -> dict[str, int]:
    """Return by patient id how many patients the values in this one's prompt fit, the patient included.

    They fit a patient of whom every one of these facts is known and the same, letters' case, blanks and the order of
    medications aside. A patient without a prompt at this tier has no entry.
    """
    own = {known.patient_id: known.at(tier) for known in patients}
    stated = {known.patient_id: held for known in patients if (held := held_facts(known, tier))}
    # Patients state different facts: those who state the same ones are counted together, among all who state these.
    tallies = {
        facts: Counter(_values(known, facts) for known in own.values() if all(map(known.known, facts)))
        for facts in set(stated.values())
    }
    return {patient_id: tallies[facts][_values(own[patient_id], facts)] for patient_id, facts in stated.items()}


def _values(known: PatientFacts, facts: Collection[Fact]) -> tuple[object, ...]:
    return tuple(
        frozenset(map(_plain, known.medications)) if fact is Fact.MEDICATIONS else _plain(known.values[fact])
        for fact in sorted(facts)
    )


def _plain(value: str) -> str:
    return " ".join(value.split()).casefold()


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many patients an audit of a corpus could ask about, before cohort matching."""

    #: Patients for whom a prompt can be made, by tier: in the training data, and outside it.
    tiers: Mapping[str, tuple[int, int]]
    #: The smallest of the four groups that a diagnosis' cohort is matched from; None without a table of diagnoses.
    smallest_groups: Mapping[str, int] | None
