"""Which names of a record are one person's: told by their words, and apart by generations and titles.

"Lund" is Ada Lund where she is the only one; John Smith Jr. is not John Smith, nor Mrs. Lee Mr. Lee or Dr. Lee. Knows
nothing of tags.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

_TITLE: Final = r"(?<!\w)(?:(?P<he>mr|sir)|(?P<she>mrs|ms|miss|madam)|(?P<doctor>dr|doctor|prof|professor))\b\.?"
_BEFORE: Final = re.compile(rf"{_TITLE}\s*$", re.IGNORECASE)
_WITHIN: Final = re.compile(_TITLE, re.IGNORECASE)
#: "IV" is a way of giving drugs as well.
_GENERATION: Final = re.compile(r"(?<=\w)[ ,]{1,2}(jr|sr|junior|senior|iii?|iv(?![ ][a-z]))(?!\w)", re.IGNORECASE)
_CHARS: Final = 12
#: They are no doctors.
_NO_DOCTORS: Final = frozenset({"patient_name", "relative_name"})


class Mention(NamedTuple):
    """A name as it is mentioned: its folded words, and what tells its bearer from others of that name."""

    words: str
    #: `he`, `she` or `doctor`; empty without a title.
    title: str
    generation: str


def read_mention(text: str, start: int, end: int, words: str) -> Mention:
    """Return the mention of some folded words at characters `start` to `end` of a text."""
    title = _BEFORE.search(text[max(0, start - _CHARS) : start]) or _WITHIN.match(text, start, end)
    which = _GENERATION.search(text[start:end]) or _GENERATION.match(text[end - 1 : end + _CHARS], 1)
    generation = which[1].lower().replace("junior", "jr").replace("senior", "sr") if which else ""
    return Mention(words, (title and title.lastgroup) or "", generation)


def join_mentions(category_of: Mapping[Mention, str | None]) -> dict[Mention, Mention]:
    """Return by mention another one of the same person: the first of the same words, or a whole name that it is of."""
    alike: defaultdict[tuple[str, str], list[Mention]] = defaultdict(list)
    for one in category_of:
        alike[one.words, one.generation].append(one)
    first: dict[Mention, Mention] = {}
    titles: dict[Mention, str] = {}
    for group in alike.values():
        told = {one.title for one in group} - {""}
        # Without a title it is whoever of that name has one; of several, it can be anybody.
        first |= {one: group[0] if len(told) < 2 else one for one in group}
        titles |= {first[one]: next(iter(told), "") if len(told) < 2 else one.title for one in group}
    words = {one: frozenset(one.words.split()) for one in titles}
    longest = [one for one in words if not any(words[one] < other for other in words.values())]
    for one in words.keys() - set(longest):
        group = alike[one.words, one.generation]
        wholes = [
            other
            for other in longest
            if words[one] < words[other]
            and one.generation in ("", other.generation)
            and _may_be(titles[one], titles[other], category_of[other], group)
        ]
        if len(wholes) == 1:
            first |= {each: wholes[0] for each in group if first[each] == one}
    return {one: other for one, other in first.items() if one != other}


def _may_be(title: str, of_whole: str, category: str | None, alike: Collection[Mention]) -> bool:
    """Whether a part of a name with a title can be of somebody whose whole name has another, or none."""
    if title and of_whole:
        return title == of_whole
    # A doctor of a patient's last name is somebody else; of others any one title is that of the whole name.
    told = {one.title for one in alike} - {"", "doctor" if category in _NO_DOCTORS else ""}
    return not title or told == {title}
