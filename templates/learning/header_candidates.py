"""What may be a header in a note, and how it is set off.

Owns the search in every style, and the choice of the styles that a group of notes uses. Knows nothing of banners.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from clinaudit.templates.header_styles import STYLES, CandidateFinder, HeaderFinder
from clinaudit.templates.learning.known_words import known_words
from clinaudit.templates.learning.sample import MOST

#: Styles that a mark or a line of its own sets off from prose, the narrower first: of two that explain the same
#: headers the first is proposed.
_SET_OFF = (
    *("markdown", "brackets", "numbered", "bulleted", "capitals", "capitals_colon", "title_case"),
    *("colon", "dash"),
)
#: Styles that only known words tell from prose; looked for where the others explain nothing, in this order.
_UNMARKED = ("lead_in", "inline")
#: Styles whose unknown words are headers too: items of lists and lines with a colon are more often something else.
_STANDALONE = frozenset({"markdown", "brackets", "capitals", "title_case"})
#: Notes are of one family where they set headers off alike, but for the colon.
_FAMILY = {**{style: style for style in STYLES}, **dict.fromkeys(("capitals", "capitals_colon", "title_case"), "colon")}
#: A note with fewer known headers has none that a proposal could rest on.
_FEW = 2
#: A style must explain this share of a group's headers to be proposed beside another.
_BESIDE = 0.1
#: Of two styles the narrower is proposed where it explains this share of what the other does.
_AS_MUCH = 0.97


@dataclass(frozen=True, slots=True)
class HeaderUse:
    """The candidates of one note."""

    #: Header -> style -> where it first stands, in characters. Each candidate may fit several styles.
    places: Mapping[str, Mapping[str, int]]
    #: How the note sets off known headers; None where it has too few of them.
    family: str | None
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
    for style, finder in _finders():
        for header, span in finder.find(text):
            places.setdefault(header, {}).setdefault(style, span.start)
    anchors = frozenset(known_words().anchors)
    known = {header: styles for header, styles in places.items() if header in anchors}
    for stage in (_SET_OFF, _UNMARKED[:1], _UNMARKED[1:]):
        counts = Counter(_FAMILY[style] for styles in known.values() for style in {*stage} & styles.keys())
        within = {header: styles for header, styles in known.items() if not styles.keys().isdisjoint(stage)}
        if len(within) >= _FEW:
            # Every header in capitals fits `colon` too where a colon follows it, so that ties are rare; the first wins.
            family = max(dict.fromkeys(_FAMILY[style] for style in stage), key=lambda name: counts[name])
            start = min(at for styles in within.values() for style, at in styles.items() if style in stage)
            return HeaderUse(places, family, start)
    return HeaderUse(places, None, None)


@dataclass(frozen=True, slots=True)
class ChosenHeaders:
    """The headers of a group of notes."""

    styles: tuple[str, ...]
    #: Header -> patients in whose note it stands in one of the styles, in the order in which they stand in notes.
    patients: Mapping[str, int]
    #: Candidates in these styles that no profile knows and that may be something else -> patients.
    doubtful: Mapping[str, int]


def choose_headers(uses: Sequence[HeaderUse], banner_ends: Sequence[int], *, least: int) -> ChosenHeaders | None:
    """Return the headers that stand in the notes of a group below their banners; None where nothing recurs.

    `least` is the number of patients of the corpus that must have a header.
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
    accepted: dict[str, int] = {}
    doubtful: dict[str, int] = {}
    for header, found in counts.items():
        if found < least:
            continue
        usual = MOST if not recognized else 0.2
        if header in known or (
            (not recognized or standing.get(header, 0) >= least) and found >= max(least, usual * len(uses))
        ):
            accepted[header] = found
        else:
            doubtful[header] = found
    order = _order(below, styles)
    return ChosenHeaders(
        styles, {header: accepted[header] for header in sorted(accepted, key=lambda item: (order[item], item))}, doubtful
    )


def _choose_styles(
    below: Sequence[Mapping[str, Mapping[str, int]]], wanted: frozenset[str], least: int
) -> tuple[str, ...]:
    """Return the fewest styles that explain where the wanted headers stand."""
    for stage in (_SET_OFF, _UNMARKED[:1], _UNMARKED[1:]):
        pairs = {
            (index, header): styles.keys() & set(stage)
            for index, note in enumerate(below)
            for header, styles in note.items()
            if header in wanted and not styles.keys().isdisjoint(stage)
        }
        of_note = Counter(index for index, _ in pairs)
        if sum(found >= _FEW for found in of_note.values()) < max(least, MOST * len(below)):
            continue
        chosen: list[str] = []
        left = dict(pairs)
        while left:
            gain = Counter(style for styles in left.values() for style in styles)
            # A narrow style that explains as much but for a few is the safer one: it takes less prose for headers.
            most = max(gain.values())
            best = next(style for style in stage if gain[style] >= _AS_MUCH * most)
            if gain[best] < max(least, _BESIDE * len(pairs)):
                break
            chosen.append(best)
            left = {pair: styles for pair, styles in left.items() if best not in styles}
        if chosen:
            return tuple(style for style in STYLES if style in chosen)
    return ()


def _count(below: Sequence[Mapping[str, Mapping[str, int]]], styles: Sequence[str]) -> Counter[str]:
    return Counter(header for note in below for header, places in note.items() if not places.keys().isdisjoint(styles))


def _order(below: Sequence[Mapping[str, Mapping[str, int]]], styles: Sequence[str]) -> dict[str, float]:
    """Return the mean rank of each header among the headers of its notes."""
    ranks: dict[str, list[int]] = {}
    for note in below:
        firsts = {
            header: min(at for style, at in places.items() if style in styles)
            for header, places in note.items()
            if not places.keys().isdisjoint(styles)
        }
        for rank, header in enumerate(sorted(firsts, key=lambda item: (firsts[item], item))):
            ranks.setdefault(header, []).append(rank)
    return {header: sum(places) / len(places) for header, places in ranks.items()}


