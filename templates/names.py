"""What profiles write: ids of facts, reserved names, how names are compared, and regular expressions of their own.

A site's own expression must not be able to hang an audit, so RE2 runs it: it never backtracks, matches in time linear
in the note, and refuses what would need to (look-around, back-references).
"""

import re
from collections.abc import Collection

import re2

#: Label of text before any header, and of a body-system header without a parent (docs/methods.md, section 2).
PREAMBLE = "preamble"
UNASSIGNED = "unassigned"
#: The layout of a note that fits none of its profile's layouts; it is read under the last one.
NO_LAYOUT = "no layout"
#: Facts that a profile must place or declare absent (priors/tiers.py uses these ids), with the label under which a
#: prompt writes one that only a table holds.
DEFAULT_LABELS = {
    "name": "patient",
    "dob": "dob",
    "age": "age",
    "sex": "sex",
    "visit_date": "visit date",
    "provider": "provider",
    "practice": "location",
    "chief_complaint": "cc",
    "hpi": "hpi",
    "marital_status": "marital status",
    "occupation": "occupation",
    "children": "children",
    "medications": "current medications",
}
FACTS = frozenset(DEFAULT_LABELS)
#: Facts that stand at the top of a note, who, when and where: their headers do not end the banner.
BANNER_FACTS = ("name", "dob", "age", "sex", "visit_date", "provider", "practice")

#: What ends a label, for RE2 and Python: a colon, or dots that lead to the value, with a colon or without.
LABEL_END = r"[ \t]*(?:\.{3,}[ \t]*:?|:)"


def bare(name: str) -> str:
    """Return a header or label as it is compared: lower-case, without the colon it may be written with."""
    return name.strip().removesuffix(":").rstrip().lower()


def named_layout(name: str) -> str:
    """Return a layout's name as a sentence has it: one that says that it is a layout ("layout 1") stands alone."""
    return name if "layout" in name.lower().split() else f"layout {name}"


def known_as(found: str, names: Collection[str]) -> str:
    """Return the one of `names`, lower-case, that a search without regard to case found as `found`.

    Lower case alone does not tell: such a search takes a dotless i for an i and a long s for an s, and ß is SS in
    capitals.
    """
    lower = found.lower()
    if lower in names:
        return lower
    return next(name for name in names if name.upper() == found or re.fullmatch(re.escape(name), found, re.IGNORECASE))


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
