"""Regular expressions that a profile gives, matched in time linear in the note.

A site's own expression must not be able to hang an audit, so RE2 runs it: it never backtracks, and refuses what would
need to (look-around, back-references).
"""

import re

import re2

#: Longer expressions are mistakes, or lists that belong elsewhere.
MAX_LENGTH = 1000


class Pattern:
    """One expression; `^` and `$` stand for the ends of a line."""

    def __init__(self, source: str) -> None:
        """Raise `ValueError` saying what is wrong with the expression."""
        if len(source) > MAX_LENGTH:
            raise ValueError(f"is longer than {MAX_LENGTH} characters")
        options = re2.Options()
        options.log_errors = False
        try:
            self._compiled = re2.compile(f"(?m){source}", options)
        except re2.error as error:
            reason = error.args[0] if error.args else "invalid"
            reason = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
            hint = "; look-around is not read" if "(?=" in source or "(?!" in source or "(?<" in source else ""
            raise ValueError(f"is no valid regular expression ({reason.replace('(?m)', '')}{hint})") from None
        #: The names of its groups, in the order of the groups.
        self.groups: tuple[str, ...] = tuple(sorted(index := self._compiled.groupindex, key=index.__getitem__))

    def found_in(self, text: str) -> bool:
        """Whether the expression matches anywhere in `text`."""
        return self._compiled.search(text) is not None

    def spans(self, text: str) -> dict[str, tuple[int, int]]:
        """Return for the first match in `text` the span of each named group that took part in it, in characters."""
        match = self._compiled.search(text)
        if match is None:
            return {}
        index = self._compiled.groupindex
        return {name: span for name in self.groups if (span := match.span(index[name])) != (-1, -1)}


def literal(text: str) -> str:
    """Return the expression of a text that stands for itself, no more of it escaped than a reader needs."""
    return re.escape(text).replace(r"\ ", " ").replace(r"\-", "-")
