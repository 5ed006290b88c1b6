"""The ways in which notes set off a header, by name, and what else profiles write: ids of facts, names, patterns.

Owns the regular expressions of the styles, the names that are reserved, how names are compared, and how the regular
expressions of a site's own are run.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

import re2

from clinaudit.templates.shown_text import Span, plain_blanks

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
    """One expression; `^` and `$` stand for the ends of a line.

    A site's own expression must not be able to hang an audit, so RE2 runs it: it never backtracks, matches in time
    linear in the note, and refuses what would need to (look-around, back-references).
    """

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


# A header stands at the start of a line, blanks before it allowed; `inline` alone may stand further on. Group `mark`
# holds the header with what sets it off, group `header` its words. {any} is any header, {long} one of two letters or
# more: the single letters of vital signs need a colon or a mark, or prose would be full of headers. {capitals} is one
# of two letters or more, in capitals. All else is read without regard to case.
_END = r"(?=[ \t]*$)"
_CAPITAL = r"(?=[^\W\d_a-zß-öø-ÿ])"
_OPENING, _CLOSING = r"[=~-]{{2,}}|[*_]{{3,}}|<{{2,}}|«", r"[=~-]{{2,}}|[*_]{{3,}}|>{{2,}}|»"
_STYLES: dict[str, str] = {
    # "Plan:" or, as in French, "Plan :" and what follows
    "colon": r"^[ \t]*(?P<mark>(?P<header>(?i:{any}))[ \t]*:)",
    # "PLAN", "PLAN:" or "PLAN :", alone on its line
    "capitals": r"^[ \t]*(?P<mark>(?P<header>{capitals})(?:[ \t]*:)?)" + _END,
    # "PLAN: rest" or "PLAN : rest"; "Plan: rest" is none
    "capitals_colon": r"^[ \t]*(?P<mark>(?P<header>{capitals})[ \t]*:)",
    # "Past Medical History", alone on its line; the first letter decides, since "of" and "and" vary
    "title_case": rf"^[ \t]*(?P<mark>{_CAPITAL}(?P<header>(?i:{{long}}))(?:[ \t]*:)?)" + _END,
    # "Plan - rest"
    "dash": r"^[ \t]*(?P<mark>(?P<header>(?i:{any}))[ \t]*[-–—])(?=[ \t]|$)",
    # "## Plan", "**Plan:** rest", "__Plan__"
    "markdown": (
        r"^[ \t]*(?P<mark>(?:\#{{1,6}}[ \t]+[*_]{{0,2}}|[*_]{{2}})(?P<header>(?i:{any}))(?=[*_:\#]|[ \t]*\#*[ \t]*$)"
        r"[*_:]{{0,3}}(?:[ \t]*\#+)?)"
    ),
    # "[Plan]"
    "brackets": r"^[ \t]*(?P<mark>\[[ \t]*(?P<header>(?i:{any}))[ \t]*\]:?)",
    # "=== Plan ===", "--- PLAN ---", "*** Plan ***", "<<Plan>> rest"
    "enclosed": (
        rf"^[ \t]*(?P<mark>(?:{_OPENING})[ \t]*(?P<header>(?i:{{any}}))[ \t]*:?[ \t]*"
        rf"(?:{_CLOSING})(?:[ \t]*:)?)"
    ),
    # "3. Plan", "c) Plan: rest", "IV. PLAN"
    "numbered": (
        r"^[ \t]*(?P<mark>(?:\d{{1,2}}|[A-Za-z]|[IVX]{{1,5}})[.)][ \t]+(?P<header>(?i:{any}))(?::|" + _END + "))"
    ),
    # "- Plan: rest", "• PLAN"
    "bulleted": r"^[ \t]*(?P<mark>[-*•·▪◦][ \t]+(?P<header>(?i:{any}))(?::|" + _END + "))",
    # "HPC 3/7 cough", "Plan rest", "History : cough": the header leads its line; "Plan of care", "Ex smoker" are prose
    "lead_in": (
        rf"^[ \t]*(?P<mark>{_CAPITAL}(?P<header>(?i:{{long}}))(?:[ \t]*[:;–—-])?)(?=[ \t]|$)"
        r"(?![ \t]+(?:of|with|reviews?|smokers?|drinkers?)\b)"
    ),
    # "… since Monday. PLAN: rest", in the middle of dictated text; "BIRTH HISTORY:" holds no "HISTORY:"
    "inline": r"(?:^[ \t]*|(?<=[ \t.,;])(?<![A-Z&/][ \t]))(?P<mark>(?P<header>{capitals}):)",
}

#: Names of all styles.
STYLES: tuple[str, ...] = tuple(_STYLES)
#: The paper's notes: a header in any case and a colon; and, as in ACI-Bench, in capitals alone on its line.
DEFAULT_STYLES: tuple[str, ...] = ("colon", "capitals")


class HeaderFinder:
    """Finds headers, given in lower case, that are set off in some of the styles."""

    def __init__(self, headers: Iterable[str], styles: Sequence[str]) -> None:
        self._headers = dict.fromkeys(sorted(headers, key=lambda header: (-len(header), header)))
        long = [header for header in self._headers if len(header) > 1]
        words = {
            "any": alternatives(self._headers),
            "long": alternatives(long),
            "capitals": alternatives(header.upper() for header in long),
        }
        self._styles = [style for style in STYLES if style in styles]
        self._regex = re.compile(
            "|".join(
                _STYLES[style]
                .format(**words)
                .replace("?P<mark>", f"?P<{style}>")
                .replace("?P<header>", f"?P<{style}_header>")
                for style in self._styles
            ),
            re.MULTILINE,
        )

    def find(self, text: str) -> Iterator[tuple[str, Span]]:
        """Yield each header, as it was given, with the characters from its first mark through its last, in order."""
        for match in self._regex.finditer(plain_blanks(text)):
            # The group that was closed last is that of the style.
            style = str(match.lastgroup)
            yield known_as(match[f"{style}_header"], self._headers), Span(*match.span(style))


#: What is set off as headers in capitals are, whether a profile knows it: with a colon, or alone between blank lines.
#: The line breaks before it are sought, which is much the faster; the text is read behind as many.
_UNLISTED = {
    "capitals": re.compile(
        r"\n\n(?P<header>[ \t]*[A-Z](?:[A-Z/&'’()-]|[ ](?=[A-Z/&(])){2,59})" + _END,
        re.MULTILINE,
    ),
    "capitals_colon": re.compile(r"\n(?P<header>[ \t]*[A-Z](?:[A-Z0-9/&.,'’()-]|[ ](?=[A-Z0-9/&(])){1,59}[ \t]*:)"),
}


def find_unlisted(text: str, styles: Sequence[str]) -> Iterator[int]:
    """Yield where a header may begin that no profile lists, where one of `styles` sets headers off in capitals."""
    wanted = _UNLISTED.keys() & set(styles)
    behind_breaks = f"\n\n{plain_blanks(text)}" if wanted else ""
    for style in wanted:
        # A break of the text and one of those before it make no blank line.
        found = (
            match for match in _UNLISTED[style].finditer(behind_breaks) if style != "capitals" or match.start() != 1
        )
        yield from (match.start("header") - 2 for match in found)


class CandidateFinder:
    """Finds all that one style may set off as a header, whether a profile knows it or not."""

    #: Words of a header that no profile has: at most 60 characters, of one line.
    _ANY = r"[^\W\d_](?:[\w/&.,'’()-]|[ ](?=[^\s:])){1,59}?"
    _CAPITALS = r"[A-Z](?:[A-Z0-9/&.,'’()-]|[ ](?=[A-Z0-9/&(])){1,59}"
    #: What leads its line without a mark is told from prose by its form alone: "HPC", "C/O".
    _SHORT = r"(?-i:[A-Z](?:[A-Z]|/[A-Z]){1,4})"

    def __init__(self, style: str) -> None:
        words = {"any": self._ANY, "long": self._ANY, "capitals": self._CAPITALS}
        if style == "lead_in":
            words["long"] = self._SHORT
        self._regex = re.compile(_STYLES[style].format(**words), re.MULTILINE)

    def find(self, text: str) -> Iterator[tuple[str, Span]]:
        """Yield each candidate, in lower case, with the characters from its first mark through its last, in order."""
        for match in self._regex.finditer(plain_blanks(text)):
            yield match["header"].lower(), Span(*match.span("mark"))


def alternatives(texts: Iterable[str]) -> str:
    """Return a pattern of some texts, none of them empty. Example: `p(?:lan\\ of\\ care|lan)|r(?:os)`.

    The longest counts: "past medical history / …" before "past medical history".
    """
    by_letter: dict[str, list[str]] = {}
    for text in sorted(texts, key=lambda text: (-len(text), text)):
        by_letter.setdefault(text[0], []).append(re.escape(text[1:]))
    # By their first letter texts are searched for in half the time. Without any text none may match: an empty
    # alternative would match everywhere.
    return "|".join(f"{re.escape(first)}(?:{'|'.join(rests)})" for first, rests in by_letter.items()) or "(?!)"
