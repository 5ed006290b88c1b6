"""Prompts that are a fragment of one of a patient's notes (paper 3.1, Appendix A; docs/methods.md, section 1).

Owns where a fragment ends, what else it shows, and whether it is a beginning as the tier means it. Knows nothing of
diagnoses, budgets or the model.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from clinaudit.priors.facts import FollowingHeader, PatientFacts
from clinaudit.priors.renderings import Rendering
from clinaudit.priors.run_on import sections_run_into
from clinaudit.priors.tiers import BELOW_BANNER, HISTORY, Fact, Tier

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
class NoteFragment:
    """A prompt that is a fragment of a note."""

    prompt: str
    #: The note after the fragment, which the model is to continue.
    rest: str
    #: The prompt is the note as it begins, with every fact of the tier that the layout places in its banner. It tells
    #: nothing of the illness that the tier does not know: no section, and no stretch of text that may be one.
    unbroken: bool
    #: Facts of which the prompt holds the patient's own value; also such as the tier does not know.
    holds: frozenset[Fact]
    #: What the note's beginning shows beside the tier's facts, sorted.
    also_shows: tuple[str, ...] = ()
    #: Headers of sections that the tier does not know and the template does not find: the prompt holds their text.
    runs_on: tuple[str, ...] = ()


def quote_opening(facts: PatientFacts, tier: Tier) -> NoteFragment | str:
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
    end = _end_of_line(note, last)
    header = _following_header(facts, last)
    read_to = end
    if header is not None and header.span_chars.start - end <= _LONGEST_STRETCH:
        read_to, end = header.span_chars
    runs_on = sections_run_into(facts, tier, read_to)
    holds = frozenset(fact for fact, field in facts.in_note.items() if field.value_chars.end <= end) - facts.tagged
    also_shows = {str(fact) for fact in holds.difference(tier.facts)}
    if _RECORD_NUMBER.search(note, 0, end) is not None:
        also_shows.add(RECORD_NUMBER)
    return NoteFragment(
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


def list_facts(facts: PatientFacts, tier: Tier, labels: Mapping[Fact, str]) -> NoteFragment | str:
    """Return the tier's facts alone in the note's words and order, and the header that follows; or why not.

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
    runs_on = sections_run_into(facts, tier, max((stop for _, stop in held), default=0))
    is_beginning = facts.note.startswith(prompt) and is_complete(facts, tier) and not runs_on
    holds = frozenset(fact for fact in tier.facts if fact in facts.values or fact in own)
    rest = facts.note[header.span_chars.end :]
    return NoteFragment(prompt, rest, unbroken=is_beginning, holds=holds, runs_on=runs_on)


def rest_of_note(facts: PatientFacts, tier: Tier, rendering: Rendering) -> str:
    """Return the note after a fragment of it, which a perfect recitation goes on with; empty without a fragment."""
    fragment = _fragment(facts, tier, rendering)
    return "" if isinstance(fragment, str) else fragment.rest


def _fragment(facts: PatientFacts, tier: Tier, rendering: Rendering) -> NoteFragment | str:
    labels = {fact: fact.value for fact in Fact}
    if rendering == "opening":
        return quote_opening(facts, tier)
    return begin_note(facts, tier, labels) if rendering == "chat" else list_facts(facts, tier, labels)


def held_facts(facts: PatientFacts, tier: Tier, rendering: Rendering) -> frozenset[Fact]:
    """Return the facts of which a prompt in this form holds the patient's own value; none where there is no prompt."""
    if not tier.is_fragment:
        known = frozenset(fact for fact in tier.facts if facts.known(fact))
        return frozenset() if known.isdisjoint(tier.distinguishing) else known
    fragment = _fragment(facts, tier, rendering)
    return frozenset() if isinstance(fragment, str) else frozenset(filter(facts.at(tier).known, fragment.holds))


def begin_note(facts: PatientFacts, tier: Tier, labels: Mapping[Fact, str]) -> NoteFragment | str:
    """Return the note's opening, or where it does not have what the tier needs the facts alone; or why neither."""
    opening = quote_opening(facts, tier)
    return list_facts(facts, tier, labels) if isinstance(opening, str) else opening


def is_complete(facts: PatientFacts, tier: Tier) -> bool:
    """Return whether every fact of the tier that the layout places was found in the note, and none is doubtful.

    A section that this note does not have is no fault of the template: without the one that a tier is about there is no
    prompt, and without another it leaves its lines out.
    """
    facts = facts.at(tier)
    expected = facts.placed.intersection(tier.facts)
    found = facts.in_note.keys() | facts.in_prose.keys() | BELOW_BANNER
    return expected <= found and facts.doubtful.isdisjoint(expected)


def _following_header(facts: PatientFacts, end: int) -> FollowingHeader | None:
    return next((item for item in facts.headers if item.span_chars.start >= end), None)


def _end_of_line(note: str, start: int) -> int:
    """Return where the line ends, its break left out; `start` where the line goes on for a paragraph."""
    match = _LINE_REST.match(note, start)
    return start if match is None else match.end()


def _has_long_stretch(facts: PatientFacts, tier: Tier, last: int) -> bool:
    """Whether more text than a banner has stands before the last fact: between two, in one, or without a label."""
    banner = [field for fact, field in facts.in_note.items() if fact in tier.facts and fact not in BELOW_BANNER]
    if any(len(" ".join(field.value.split())) > _LONGEST_VALUE for field in banner):
        return True
    spans = sorted(
        field.span_chars for fact, field in facts.in_note.items() if fact in tier.facts or fact not in BELOW_BANNER
    )
    reached = unlabelled = 0
    for span in spans:
        if span.start >= last:
            break
        # White space sets a banner's columns apart.
        stretch = facts.note[reached : span.start]
        unlabelled += sum(len(" ".join(line.split())) for line in stretch.splitlines() if ":" not in line)
        if len(" ".join(stretch.split())) > _LONGEST_STRETCH or unlabelled > _LONGEST_STRETCH:
            return True
        reached = max(reached, span.end)
    return False
