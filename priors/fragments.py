"""Prompts that are a fragment of a patient's latest note (paper 3.1, Appendix A; docs/methods.md, section 1).

Owns where a fragment ends, what is cut from it, and whether it is the note's own beginning. Knows nothing of diagnoses,
budgets or the model.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from clinaudit.priors.facts import FollowingHeader, PatientFacts
from clinaudit.priors.renderings import Rendering
from clinaudit.priors.tiers import Fact, Tier
from clinaudit.templates.spans import Span

_NO_HEADER = "no header follows the last field"
#: Facts that stand below the banner of a note.
_BELOW_BANNER = frozenset({Fact.CHIEF_COMPLAINT, Fact.HPI})


@dataclass(frozen=True, slots=True)
class NoteFragment:
    """A prompt that is a fragment of a note."""

    prompt: str
    #: The note after the fragment, which the model is to continue.
    rest: str
    #: Every fact of the tier that the layout places was found, and the prompt is the note as it begins but for `cuts`.
    unbroken: bool
    #: Values that the tier may not know, cut out of the note.
    cuts: int


def quote_opening(facts: PatientFacts, tier: Tier) -> NoteFragment | str:
    """Return the note verbatim through the tier's last field and the header that follows; or why there is none.

    Values of facts that the tier may not know are cut. A fact that a table alone holds is not put in.
    """
    found = {fact for fact in tier.facts if _stands_in_opening(facts, fact)}
    if (found - facts.tagged).isdisjoint(tier.distinguishing):
        return "no distinguishing fact in the note's opening"
    header = _following_header(facts, [facts.in_note[fact].span_chars for fact in found])
    if header is None:
        return _NO_HEADER
    note, end = facts.note, header.span_chars.end
    cuts = _merge(
        field.span_chars if field.cut_label else field.value_chars
        for fact, field in facts.in_note.items()
        if fact not in tier.facts and field.value_chars.end <= end
    )
    kept = [0, *(edge for cut in cuts for edge in cut), end]
    prompt = "".join(note[start:stop] for start, stop in zip(kept[::2], kept[1::2], strict=True))
    return NoteFragment(prompt, note[end:], unbroken=is_complete(facts, tier), cuts=len(cuts))


def list_facts(facts: PatientFacts, tier: Tier, labels: Mapping[Fact, str]) -> NoteFragment | str:
    """Return the tier's facts alone in the note's words and order, and the header that follows; or why not.

    What a table alone holds comes first, under its label.
    """
    own = facts.in_note.keys() - facts.tagged
    held = sorted(facts.in_note[fact].span_chars for fact in tier.facts if fact in own)
    header = _following_header(facts, held)
    if header is None:
        return _NO_HEADER
    from_table = [
        f"{labels[fact]}: {facts.values[fact]}\n" for fact in tier.facts if fact in facts.values and fact not in own
    ]
    slices = [facts.note[start:stop] for start, stop in held]
    own_words = "".join(text if text.endswith(("\n", "\r")) else text + "\n" for text in slices)
    prompt = "".join(from_table) + own_words + facts.note[slice(*header.span_chars)]
    is_beginning = facts.note.startswith(prompt) and is_complete(facts, tier)
    return NoteFragment(prompt, facts.note[header.span_chars.end :], unbroken=is_beginning, cuts=0)


def rest_of_note(facts: PatientFacts, tier: Tier, rendering: Rendering) -> str:
    """Return the note after a fragment of it, which a perfect recitation goes on with; empty without a fragment."""
    labels = {fact: fact.value for fact in Fact}
    if rendering == "opening":
        fragment = quote_opening(facts, tier)
    elif rendering == "chat":
        fragment = begin_note(facts, tier, labels)
    else:
        fragment = list_facts(facts, tier, labels)
    return "" if isinstance(fragment, str) else fragment.rest


def begin_note(facts: PatientFacts, tier: Tier, labels: Mapping[Fact, str]) -> NoteFragment | str:
    """Return the note's opening, or where it does not have what the tier needs the facts alone; or why neither."""
    opening = quote_opening(facts, tier)
    return list_facts(facts, tier, labels) if isinstance(opening, str) else opening


def _stands_in_opening(facts: PatientFacts, fact: Fact) -> bool:
    """Whether the note holds a fact where a note begins: a provider who signs at its end is not in the opening."""
    field = facts.in_note.get(fact)
    return field is not None and (fact in _BELOW_BANNER or field.span_chars.start < facts.banner_end)


def is_complete(facts: PatientFacts, tier: Tier) -> bool:
    """Return whether every fact of the tier that the layout places was found in the note, and none is doubtful."""
    expected = facts.placed.intersection(tier.facts)
    return expected <= facts.in_note.keys() | facts.in_prose.keys() and facts.doubtful.isdisjoint(expected)


def _following_header(facts: PatientFacts, held: Sequence[Span]) -> FollowingHeader | None:
    end = max((span.end for span in held), default=0)
    return next((item for item in facts.headers if item.span_chars.start >= end), None)


def _merge(spans: Iterable[Span]) -> list[Span]:
    """Return the spans in order, overlapping ones as one."""
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and span.start < merged[-1].end:
            merged[-1] = Span(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return merged
