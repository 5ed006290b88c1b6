"""Which rules can match where: one pass of RE2 over a text for all patterns, before any of them is tried exactly.

RE2 is linear in the text and knows neither looking around nor back references (Cox 2007). Of each pattern it is shown
what is left without these, which matches at least wherever the pattern itself does. Some patterns make one automaton.
"""

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

from clinaudit.audit.pii.plain_text import overlapping_pieces

#: How much of a text is looked at together, and how much of it two neighbours share at least.
_PIECE_CHARS: Final = 1_000
_SHARED_CHARS: Final = 200
#: A repeat of a group, and of a single character, that is counted further is any number: fewer states of the automaton,
#: for a pattern that matches more. How long a number is says most of it.
_MOST_COUNTED: Final = 3
_MOST_OF_ONE: Final = 16
#: Patterns of one automaton. Its states are combinations of theirs: with 70 it outgrew its memory every 2,000 texts or
#: so, and spent more time in making states anew than in reading.
_PATTERNS_TOGETHER: Final = 20
_MEMORY_BYTES: Final = 32 << 20
#: Stands for every character beyond ASCII, in texts and in patterns: what class it is of is not looked at.
_OTHER: Final = "\x80"
_BEYOND_ASCII: Final = re.compile(r"[^\x00-\x7f]")


class Screen:
    """Finds for some patterns the stretches of a text in which each can match."""

    def __init__(self, patterns: Sequence[re.Pattern[str]]) -> None:
        self._patterns = patterns

    def stretches(self, text: str) -> dict[int, list[tuple[int, int]]]:
        """Return the stretches to be searched, by start and apart, by the number of each pattern that has any."""
        # RE2 is shown a byte for a character: one for all beyond ASCII.
        data = _BEYOND_ASCII.sub(_OTHER, text).encode("latin-1")
        found: dict[int, list[tuple[int, int]]] = {}
        for begin, end in overlapping_pieces(text, chars=_PIECE_CHARS, shared=_SHARED_CHARS):
            for numbers, automaton in self._automata:
                # The first pattern of each matches everywhere: where not even that is said, it gave up, and every other
                # is tried.
                matched = automaton.Match(data[begin:end])
                for number in numbers if matched is None else [numbers[place - 1] for place in matched if place]:
                    own = found.setdefault(number, [])
                    if own and own[-1][1] >= begin:
                        own[-1] = (own[-1][0], end)
                    else:
                        own.append((begin, end))
        return found

    @cached_property
    def _automata(self) -> list[tuple[range, Any]]:
        numbers = range(len(self._patterns))
        together = [numbers[first:][:_PATTERNS_TOGETHER] for first in numbers[::_PATTERNS_TOGETHER]]
        return [(some, _automaton([self._patterns[number] for number in some])) for some in together]


def _automaton(patterns: Sequence[re.Pattern[str]]) -> Any:
    import re2

    options = re2.Options()
    options.max_mem = _MEMORY_BYTES
    options.encoding = re2.Options.Encoding.LATIN1
    options.dot_nl = options.never_capture = True
    automaton = re2.Set.SearchSet(options)
    for pattern in ("", *map(relaxed, patterns)):
        automaton.Add(pattern.encode("latin-1"))
    automaton.Compile()
    return automaton


#: The parts of a pattern. No rule asks whether a group matched, or ends a text ("\Z").
_PART: Final = re.compile(
    r"(?P<look>\(\?<?[=!])|(?P<back>\(\?P=\w+\)|\\[1-9])|(?P<open>\((?:\?(?:P<\w+>|>|[a-zA-Z-]*:))?)|(?P<close>\))"
    r"|(?P<repeat>(?:[*+?]|\{\d*(?:,\d*)?\})[?+]?)|(?P<set>\[\^?\]?(?:\\.|[^\]\\])*\])|(?P<edge>\\[bBZ]|[\^$])"
    r"|(?P<one>\\u[0-9a-f]{4}|\\.|.)",
    re.DOTALL,
)
#: A pattern that begins `(?<!x)`, x being of one character: that is matched, since most words begin after a blank.
_NOT_BEFORE: Final = re.compile(
    r"\A(?P<opens>(?:\(\?(?:P<\w+>|[a-z-]+:))*)\(\?<!(?:(?P<kind>\\\w)|\[(?P<no>\^?)(?P<of>(?:\\.|[^\]\\])*)\])\)"
)
_BEYOND_IN_SET: Final = re.compile(r"(?:\\u[0-9a-f]{4}|[^\x00-\x7f])(?:-(?:\\u[0-9a-f]{4}|[^\x00-\x7f]))?")


def relaxed(pattern: re.Pattern[str]) -> str:
    """Return a pattern of RE2 that matches in every text in which a pattern does, and in few others.

    The text is shown to it with one character in the place of all beyond ASCII. `(?<!\\w)MRN:(?! no)` becomes
    `(?:\\A|[^\\w])MRN:`.
    """

    def begin(not_before: "re.Match[str]") -> str:
        negated = "" if not_before["no"] else "^"
        return rf"{not_before['opens']}(?:\A|[{negated}{not_before['kind'] or not_before['of']}])"

    found: list[str] = []
    #: How many groups are open that are left out.
    left_out = 0
    before = ""
    for part in _PART.finditer(_NOT_BEFORE.sub(begin, pattern.pattern)):
        kind, given = part.lastgroup or "", part[0]
        if left_out or kind == "look":
            left_out += (kind in ("look", "open")) - (kind == "close")
        else:
            found.append(_relaxed_part(kind, given, of_one=before in ("set", "one")))
        before = kind
    return f"(?i:{''.join(found)})" if pattern.flags & re.IGNORECASE else "".join(found)


def _relaxed_part(kind: str, given: str, *, of_one: bool) -> str:
    """Return what matches a part of a pattern at least; `of_one`: a single character stands before it."""
    if kind == "close":
        return given
    if kind == "back":
        return ".*"
    if kind == "edge":
        return ""
    if kind == "open":
        return given if given.endswith(":") else "(?:"
    if kind == "repeat":
        if not given.startswith("{"):
            return given[0]
        least, _, most = given.rstrip("?+")[1:-1].partition(",")
        most = most if "," in given else least
        counted = _MOST_OF_ONE if of_one else _MOST_COUNTED
        is_counted = most and int(most) <= counted
        return f"{{{min(int(least or 0), counted)},{most if is_counted else ''}}}"
    if kind == "set":
        ascii_alone = _BEYOND_IN_SET.sub("", given)
        return _OTHER if ascii_alone == "[]" else f"(?:{ascii_alone}|{_OTHER})"
    if given.startswith("\\u") or given > "\x7f":
        return _OTHER
    # Without regard to case these are letters beyond ASCII too: the long s, the sign of Kelvin, the dotless i.
    return f"(?:{given}|{_OTHER})" if given in _SEVERAL else given


_SEVERAL: Final = frozenset((r"\w", r"\W", r"\d", r"\D", r"\s", r"\S", *"sSkKiI"))
