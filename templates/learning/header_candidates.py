"""What may be a header in a note, how it is set off, and which styles the notes use."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from clinaudit.templates.header_styles import STYLES, CandidateFinder, HeaderFinder
from clinaudit.templates.learning import MINIMUM_KNOWN, MOST
from clinaudit.templates.learning.labels import TITLE, fact_of_header, fact_of_label, known_words

#: Styles that a mark or a line of its own sets off from prose, the narrower first: of two that explain the same
#: headers the first is proposed.
_SET_OFF = (
    *("markdown", "brackets", "enclosed", "numbered", "bulleted", "capitals", "capitals_colon", "title_case"),
    *("colon", "dash"),
)
#: Styles that only known words tell from prose; looked for where the others explain nothing, in this order.
_UNMARKED = ("lead_in", "inline")
#: Styles whose unknown words are headers too: items of lists and lines with a colon are more often something else.
_STANDALONE = frozenset({"markdown", "brackets", "enclosed", "capitals", "title_case"})
#: Styles whose unknown words head a text where most notes have them.
_LISTED = frozenset({"numbered", "bulleted", "dash", "capitals_colon", "inline"})
#: An unknown line that fewer of the notes have is a matter of chance.
_USUAL = 0.2
#: Styles whose mark alone makes a header.
_MARKED = frozenset({"markdown", "brackets", "enclosed"})
#: Notes are of one family where they set headers off alike, but for the colon.
_FAMILY = {**{style: style for style in STYLES}, **dict.fromkeys(("capitals", "capitals_colon", "title_case"), "colon")}
#: A note with fewer known headers has none that a proposal could rest on.
_FEW = 2
_PERSON = re.compile(rf"\W*{TITLE}\b\.?[ ]", re.IGNORECASE)
#: What follows a name on its line where both are a result: a measurement, "negative".
_RESULT = re.compile(
    r"[ \t]*(?:[<>≤≥~=]?[ \t]*\d|(?:(?:not )?detected|negative|positive|normal|abnormal|trace|nil)\b[ \t.]*$)",
    re.IGNORECASE | re.MULTILINE,
)
#: Short words that lead prose too ("Plan was to wait").
_PROSE = frozenset({"plan", "exam", "labs", "meds", "ice"})
#: Abbreviations that lead their lines are headers where they are this share of those that are set off.
_LEADING = 0.25
#: Long words that lead their lines are headers where a note has more known ones than this.
_MANY = 2
#: Words of a header that no profile has.
_MOST_WORDS = 5
#: Letters of an abbreviation.
_SHORT = 4
#: A style must explain this share of the headers to be proposed beside another.
_BESIDE = 0.1
#: Of two styles the narrower is proposed where it explains this share of what the other does.
_AS_MUCH = 0.97


@dataclass(frozen=True, slots=True)
class HeaderUse:
    """The candidates of one note."""

    #: Header -> style -> where it first stands, in characters. Each candidate may fit several styles.
    places: Mapping[str, Mapping[str, int]]
    #: Where the first known header stands; None where the note has too few of them.
    sections_start: int | None


@cache
def _finders() -> tuple[tuple[str, CandidateFinder | HeaderFinder], ...]:
    generic = [(style, CandidateFinder(style)) for style in (*_SET_OFF, *_UNMARKED)]
    # "Plan rest": a word that only the known ones tell from prose.
    return (*generic, ("lead_in", HeaderFinder(known_words().anchors, ["lead_in"])))


def find_header_uses(text: str) -> HeaderUse:
    """Return the candidates of one note (line feeds only)."""
    places: dict[str, dict[str, int]] = {}
    anchors = frozenset(known_words().anchors)
    end = len(text.rstrip())
    for style, finder in _finders():
        for header, span in finder.find(text):
            # What nothing follows heads nothing: a signature.
            if span.end >= end:
                continue
            if header not in known_words().headers:
                # Words that no profile knows head a text where they are few, no sentence, and as the style has them.
                words = text[slice(*span)]
                parts = words.strip(" \t#*_[]:-–—•·▪◦").split()
                is_short = 0 < len(parts) <= _MOST_WORDS and not words.rstrip().endswith(".") and "," not in words
                is_title = style != "title_case" or all(part[0].isupper() or len(part) <= _SHORT for part in parts)
                if not (is_short and is_title) or _PERSON.match(words) or _RESULT.match(text, span.end):
                    continue
            places.setdefault(header, {}).setdefault(style, span.start)
    known = {header: frozenset(styles) for header, styles in places.items() if header in anchors}
    stage = _stage(known.items(), notes=1)
    within = {header: styles & {*stage} for header, styles in known.items() if styles & {*stage}}
    if len(within) < _FEW:
        return HeaderUse(places, None)
    counts = Counter(_FAMILY[style] for styles in within.values() for style in styles)
    # `lead_in` and `inline` explain what others do too; the first of equals counts.
    family = max(dict.fromkeys(_FAMILY[style] for style in stage), key=lambda name: counts[name])
    family = _FAMILY[stage[-1]] if stage != _SET_OFF else family
    starts = [places[header][style] for header, styles in within.items() for style in styles]
    # Words that hint at a fact, or that are marked as the known headers are, may stand before the first of these.
    starts += [
        at
        for header, styles in places.items()
        for style, at in styles.items()
        if _FAMILY[style] == family and fact_of_label(header) is None
        if family in _MARKED or fact_of_header(header) is not None
    ]
    return HeaderUse(places, min(starts))


def _stage(known: Iterable[tuple[str, frozenset[str]]], *, notes: int) -> tuple[str, ...]:
    """Return the styles that explain the known headers of notes: those that set them off, and one that others need."""
    held = list(known)
    set_off = sum(not styles.isdisjoint(_SET_OFF) for _, styles in held)
    for style in _UNMARKED:
        beside = [header for header, styles in held if style in styles and styles.isdisjoint(_SET_OFF)]
        if style == "lead_in":
            # Long words that lead a line are prose more often ("History repeats itself"), unless many do.
            short = sum(is_shorthand(header) and header not in _PROSE for header in beside)
            is_used = short > _LEADING * set_off or len(beside) > max(_MANY * notes, set_off)
        else:
            is_used = len(beside) > set_off
        if is_used:
            return (*_SET_OFF, style)
    return _SET_OFF


def is_shorthand(header: str) -> bool:
    """Whether a header is an abbreviation, as doctors write them: HPC, C/O."""
    return len(header) <= _SHORT or "/" in header


@dataclass(frozen=True, slots=True)
class ChosenHeaders:
    """The headers of some notes."""

    styles: tuple[str, ...]
    #: Header -> patients in whose note it stands in one of the styles, in the order in which they stand in notes.
    patients: Mapping[str, int]


def choose_headers(uses: Sequence[HeaderUse], banner_ends: Sequence[int], *, least: int) -> ChosenHeaders | None:
    """Return the headers that stand in the notes below their banners; None where nothing recurs.

    `least` is the number of patients that must have a header; of one that opens a section in a shipped
    profile fewer are enough.
    """
    known = known_words().headers.keys() | known_words().ambiguous
    anchors = frozenset(known_words().anchors)
    below = [
        {header: {style: at for style, at in styles.items() if at >= end} for header, styles in use.places.items()}
        for use, end in zip(uses, banner_ends, strict=True)
    ]
    styles = _choose_styles(below, anchors, least)
    recognized = bool(styles)
    if not styles:
        # Headers of another language: what recurs in most notes.
        common = _count(below, (*_SET_OFF,))
        frequent = frozenset(header for header, found in common.items() if found >= max(least, MOST * len(uses)))
        styles = _choose_styles(below, frequent, least)
    if not styles:
        return None
    counts = _count(below, styles)
    # Where `colon` stands for the capitals too, a line in capitals alone is no less a header.
    standing = _count(below, [style for style in styles if style in _STANDALONE])
    listed = counts if not recognized else _count(below, [style for style in styles if style in _LISTED])
    accepted: dict[str, int] = {}
    for header, found in counts.items():
        if found < (MINIMUM_KNOWN if header in anchors else least):
            continue
        # What stands alone on its line, or is numbered alike in most notes, heads a text; "Onset:" in prose does not.
        usual = (
            found >= _USUAL * len(uses) if standing[header] >= least else found > MOST * len(uses) and listed[header]
        )
        if header in known or fact_of_header(header) is not None or usual:
            accepted[header] = found
    # Where each header first stands in its notes, in characters.
    places: dict[str, list[int]] = {}
    for note in below:
        for header, by_style in note.items():
            if at := [at for style, at in by_style.items() if style in styles]:
                places.setdefault(header, []).append(min(at))
    order = {header: sum(found) / len(found) for header, found in places.items()}
    return ChosenHeaders(
        styles,
        {header: accepted[header] for header in sorted(accepted, key=lambda item: (order[item], item))},
    )


def _choose_styles(
    below: Sequence[Mapping[str, Mapping[str, int]]], wanted: frozenset[str], least: int
) -> tuple[str, ...]:
    """Return the fewest styles that explain where the wanted headers stand."""
    held = [
        (index, header, frozenset(styles))
        for index, note in enumerate(below)
        for header, styles in note.items()
        if header in wanted
    ]
    stage = _stage(((header, styles) for _, header, styles in held), notes=len(below))
    left = [(index, header, styles & {*stage}) for index, header, styles in held if styles & {*stage}]
    of_note = Counter(index for index, _, _ in left)
    if sum(found >= _FEW for found in of_note.values()) < max(least, MOST * len(below)):
        return ()
    chosen: list[str] = []
    total = len(left)
    while left:
        gain = Counter(style for _, _, styles in left for style in styles)
        # A narrow style that explains as much but for a few is the safer one: it takes less prose for headers.
        most = max(gain.values())
        best = next(style for style in stage if gain[style] >= _AS_MUCH * most)
        if gain[best] < max(least, _BESIDE * total):
            break
        chosen.append(best)
        left = [item for item in left if best not in item[2]]
    return tuple(style for style in STYLES if style in chosen)


def _count(below: Sequence[Mapping[str, Mapping[str, int]]], styles: Sequence[str]) -> Counter[str]:
    return Counter(header for note in below for header, places in note.items() if not places.keys().isdisjoint(styles))
