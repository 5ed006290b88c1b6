"""Which rules can match where: one pass of RE2 over a text for all patterns, before any of them is tried exactly.

RE2 is linear in the text and knows neither looking around nor back references (Cox 2007). Of each pattern it is shown
what is left without these, which matches at least wherever the pattern itself does. Some patterns make one automaton.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from re import _constants as codes  # type: ignore[attr-defined]  # the parser of `re`, which typeshed leaves out
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, Final

#: How much of a text is looked at together, and how far beyond its end a match that begins in it may reach.
_CHUNK_CHARS: Final = 800
_BEYOND_CHARS: Final = 200
#: Repeats beyond this number are any number: fewer states, for a pattern that matches more.
_MOST_COUNTED: Final = 3
#: Of one character more are counted: how long a number is says most of it.
_MOST_SIMPLE: Final = 16
#: Patterns of one automaton. Its states are combinations of theirs: all in one would spend their time in making them.
_PATTERNS_TOGETHER: Final = 25
_MEMORY_BYTES: Final = 32 << 20
_ASCII: Final = [chr(code) for code in range(128)]
_BEYOND_ASCII: Final = r"\x{80}-\x{10FFFF}"


class Screen:
    """Finds for some patterns the stretches of a text in which each can match."""

    def __init__(self, patterns: Sequence[re.Pattern[str]]) -> None:
        self._patterns = patterns

    def stretches(self, text: str) -> dict[int, list[tuple[int, int]]]:
        """Return the stretches to be searched, by start and apart, by the number of each pattern that has any."""
        found: dict[int, list[tuple[int, int]]] = {}
        for begin, end in _chunks(text):
            last = min(end + _BEYOND_CHARS, len(text))
            chunk = text[begin:last]
            # Half a character, which an escape may stand for, is no letter of any pattern.
            data = chunk.encode(errors="replace")
            for automaton in self._ascii if chunk.isascii() else self._unicode:
                for number in automaton.find(data):
                    own = found.setdefault(number, [])
                    if own and own[-1][1] >= begin:
                        own[-1] = (own[-1][0], last)
                    else:
                        own.append((begin, last))
        return found

    @cached_property
    def _ascii(self) -> "list[_Automaton]":
        return self._automata(ascii_alone=True)

    @cached_property
    def _unicode(self) -> "list[_Automaton]":
        return self._automata(ascii_alone=False)

    def _automata(self, *, ascii_alone: bool) -> "list[_Automaton]":
        numbered = list(enumerate(relaxed(pattern, ascii_alone=ascii_alone) for pattern in self._patterns))
        return [
            _Automaton(numbered[first : first + _PATTERNS_TOGETHER])
            for first in range(0, len(numbered), _PATTERNS_TOGETHER)
        ]


class _Automaton:
    """Some numbered patterns of RE2 as one automaton."""

    def __init__(self, patterns: Sequence[tuple[int, str]]) -> None:
        import re2

        options = re2.Options()
        options.max_mem = _MEMORY_BYTES
        options.dot_nl = True
        options.never_capture = True
        self._set = re2.Set.SearchSet(options)
        self._numbers = [number for number, _ in patterns]
        for _, pattern in patterns:
            self._set.Add(pattern)
        # Matches everywhere: where it is missing the automaton gave up, and every pattern is tried.
        self._set.Add("")
        self._set.Compile()

    def find(self, data: bytes) -> list[int]:
        """Return the numbers of the patterns that match in a stretch."""
        found = self._set.Match(data)
        if found is None:
            return self._numbers
        return [self._numbers[place] for place in found if place < len(self._numbers)]


def _chunks(text: str) -> Iterator[tuple[int, int]]:
    """Yield where stretches of a text begin and end, at ends of lines or else at blanks."""
    begin = 0
    while len(text) - begin > _CHUNK_CHARS + _BEYOND_CHARS:
        most = begin + _CHUNK_CHARS
        end = next((cut + 1 for mark in "\n " if (cut := text.rfind(mark, begin + 1, most)) >= 0), most)
        yield begin, end
        begin = end
    if text:
        yield begin, len(text)


def relaxed(pattern: re.Pattern[str], *, ascii_alone: bool) -> str:
    """Return a pattern of RE2 that matches in every text in which a pattern does, and in few others.

    `ascii_alone`: in texts of ASCII; word boundaries are kept there, which RE2 knows of no other letters.
    """
    tree = parser.parse(pattern.pattern, pattern.flags)
    return _Relaxing(ascii_alone).sequence(tree, bool(pattern.flags & re.IGNORECASE), is_first=True, is_last=True)


class _Relaxing:
    def __init__(self, ascii_alone: bool) -> None:
        self._ascii_alone = ascii_alone
        self._groups: dict[int, Any] = {}

    def sequence(self, items: Any, any_case: bool, *, is_first: bool = False, is_last: bool = False) -> str:
        """Return a sequence; at the beginning and at the end of the whole, what may stand beside it is part of it."""
        items = list(items)
        after = self._pop_after(items, any_case) if is_last else ""
        before = self._before(items, any_case) if is_first else ""
        written = [
            self._item(
                name, of, any_case, is_first=is_first and not number, is_last=is_last and number == len(items) - 1
            )
            for number, (name, of) in enumerate(items)
        ]
        return f"{before}{''.join(written)}{after}"

    def _before(self, items: list[Any], any_case: bool) -> str:
        """Return what may stand before a sequence that begins `(?<!x)` or `y(?<!x.)`."""
        for number, (operator, argument) in enumerate(items[:2]):
            if operator is codes.ASSERT_NOT and argument[0] < 0:
                beside = list(argument[1])[: len(argument[1]) - number]
                if len(argument[1]) == number + 1 and beside[0][0] in _ONE_CHARACTER:
                    return f"(?:^|{self._characters(_items(*beside[0]), any_case, negated=True)})"
        return ""

    def _pop_after(self, items: list[Any], any_case: bool) -> str:
        """Take what a sequence asks of what follows it off its end, and return it."""
        after = ""
        while items and items[-1][0] in (codes.ASSERT, codes.ASSERT_NOT) and items[-1][1][0] > 0:
            operator, (_, inner) = items.pop()
            if operator is codes.ASSERT:
                return self.sequence(inner, any_case, is_last=True)
            ways = list(inner)
            ways = ways[0][1][1] if len(ways) == 1 and ways[0][0] is codes.BRANCH else [ways]
            single = [way[0] for way in ways if len(way) == 1 and way[0][0] in _ONE_CHARACTER]
            if single:
                after = f"(?:$|{self._characters(_items(*single[0]), any_case, negated=True)})"
        return after

    def _item(self, operator: Any, argument: Any, any_case: bool, *, is_first: bool, is_last: bool) -> str:
        if operator is codes.LITERAL:
            return self._cased(_escaped(argument), any_case)
        if operator in (codes.IN, codes.NOT_LITERAL, codes.ANY):
            return self._characters(_items(operator, argument), any_case)
        if operator is codes.BRANCH:
            ways = (self.sequence(one, any_case, is_first=is_first, is_last=is_last) for one in argument[1])
            return f"(?:{'|'.join(ways)})"
        if operator is codes.SUBPATTERN:
            number, added, removed, inner = argument
            cased = (any_case or bool(added & re.IGNORECASE)) and not removed & re.IGNORECASE
            if number is not None:
                self._groups[number] = (inner, cased)
            return f"(?:{self.sequence(inner, cased, is_first=is_first, is_last=is_last)})"
        if operator in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            least, most, inner = argument
            is_simple = len(inner) == 1 and inner[0][0] in (*_ONE_CHARACTER, codes.LITERAL)
            counted = _MOST_SIMPLE if is_simple else _MOST_COUNTED
            return f"(?:{self.sequence(inner, any_case)}){_times(least, most, counted)}"
        if operator is codes.ATOMIC_GROUP:
            return f"(?:{self.sequence(argument, any_case)})"
        if operator is codes.GROUPREF:
            return f"(?:{self.sequence(*self._groups[argument])})"
        if operator is codes.AT and argument is codes.AT_BOUNDARY and self._ascii_alone:
            return r"\b"
        if operator in (codes.AT, codes.ASSERT, codes.ASSERT_NOT):
            return ""
        raise ValueError(f"a pattern with {operator} cannot be screened")

    def _cased(self, written: str, any_case: bool) -> str:
        if any_case and not self._ascii_alone and written in "iI":
            # For `re` these are letters of one kind, for RE2 they are not.
            return "[iIİı]"
        return f"(?i:{written})" if any_case else written

    def _characters(self, items: list[tuple[Any, Any]], any_case: bool, *, negated: bool = False) -> str:
        """Return a class of characters: of ASCII exactly, beyond it all where any can be meant."""
        exact = re.compile(_written(items), re.IGNORECASE if any_case else re.NOFLAG)
        found = "".join(_escaped(ord(one)) for one in _ASCII if bool(exact.fullmatch(one)) is not negated)
        if not self._ascii_alone:
            found += _BEYOND_ASCII
        # A class that no character of ASCII is of matches nothing there.
        return f"[{found}]" if found else r"[^\x00-\x{10FFFF}]"


def _items(operator: Any, argument: Any) -> list[tuple[Any, Any]]:
    return argument if operator is codes.IN else [(operator, argument)]


def _times(least: int, most: Any, counted: int) -> str:
    if most is codes.MAXREPEAT or most > _MOST_COUNTED:
        return f"{{{min(least, counted)},}}"
    return f"{{{least},{most}}}"


def _escaped(code: int) -> str:
    return chr(code) if chr(code).isalnum() and code < 128 else rf"\x{{{code:X}}}"


_ONE_CHARACTER: Final = (codes.IN, codes.LITERAL, codes.NOT_LITERAL, codes.ANY, codes.CATEGORY)
_CLASSES: Final = {
    codes.CATEGORY_DIGIT: r"\d",
    codes.CATEGORY_NOT_DIGIT: r"\D",
    codes.CATEGORY_SPACE: r"\s",
    codes.CATEGORY_NOT_SPACE: r"\S",
    codes.CATEGORY_WORD: r"\w",
    codes.CATEGORY_NOT_WORD: r"\W",
}


def _written(items: list[tuple[Any, Any]]) -> str:
    """Return a class of characters of the parser as a pattern of `re`."""
    written = ""
    for operator, argument in items:
        if operator is codes.ANY:
            return r"[^\n]"
        if operator in (codes.NEGATE, codes.NOT_LITERAL):
            written += "^"
        if operator in (codes.LITERAL, codes.NOT_LITERAL):
            written += f"\\U{argument:08x}"
        elif operator is codes.RANGE:
            written += f"\\U{argument[0]:08x}-\\U{argument[1]:08x}"
        elif operator is codes.CATEGORY:
            written += _CLASSES[argument]
    return f"[{written}]"
