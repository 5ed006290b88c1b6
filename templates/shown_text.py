"""A note as a reader sees it: one kind of blank, one kind of line break, and nothing that shows nothing.

Headers and facts are looked for in this text; spans are those of the note as it stands. Owns also what keeps even a
reader of it from finding lines: breaks that are written out.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from clinaudit.templates.markup import plain_blanks

#: Format characters of Unicode (Cf) that show nothing, variation selectors, and control codes but tab and breaks: the
#: zero-width space of web forms, the mark of byte order, marks of direction, the soft hyphen.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f"
    "\ufe00-\ufe0f\ufeff]"
)
#: Line breaks beside the line feed, as Python's `str.splitlines` has them.
_BREAKS = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
#: Letters, digits and marks of the width of an ideograph; what they show stands 0xFEE0 before them.
_FULL_WIDTH = re.compile("[\uff01-\uff5e]")
_UNUSUAL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\xad\u0600-\uffff]")


class ShownText(NamedTuple):
    """What is seen of a text."""

    text: str
    #: For each character of it, and for its end, where it stands in the text given; None where it is the same place.
    offsets: Sequence[int] | None


def show(text: str) -> ShownText:
    r"""Return what is seen of a text with line feeds only: "\u200bDate\u00a0of visit:" shows "Date of visit:"."""
    if _UNUSUAL.search(text) is None:
        return ShownText(text, None)
    shown = _FULL_WIDTH.sub(lambda char: chr(ord(char[0]) - 0xFEE0), plain_blanks(_BREAKS.sub("\n", text)))
    if _INVISIBLE.search(shown) is None:
        return ShownText(shown, None)
    offsets = [at for at, char in enumerate(shown) if _INVISIBLE.match(char) is None]
    return ShownText("".join(shown[at] for at in offsets), [*offsets, len(text)])


def show_in_place(text: str) -> str:
    """Return what is seen of a text in as many characters: a blank stands for each that shows nothing."""
    return text if _UNUSUAL.search(text) is None else plain_blanks(_INVISIBLE.sub(" ", _BREAKS.sub("\n", text)))


#: How programs write a line break where none can stand, by the name that a message gives it.
_WRITTEN_BREAKS = {
    r"HL7 escapes (\.br\)": re.compile(r"\\(?:\.(?:br|sp|ce|in|ti)[+\d-]*|X(?:0D)?0A|X0D)\\", re.IGNORECASE),
    r"a literal \n": re.compile(r"\\r\\n|\\n|\\r|\\0?1[25]\b"),
    "character references (&#10;)": re.compile(r"&#(?:1[03]|x0?[ad]);", re.IGNORECASE),
}
#: What to do about it.
HOW_TO_BREAK = (
    "headers and labels are looked for at the start of a line: export the notes with their line breaks, if the model "
    "was trained on them so"
)
#: A note of one line that is longer than this, in characters, has lost its line breaks; so has one with so many written
#: breaks.
_LONGEST_LINE = 200
_MANY_BREAKS = 3


def unbroken_form(text: str) -> str | None:
    """Return in what form a note has its line breaks, where a reader of lines finds none; None where it has lines.

    "HL7 escapes", "a literal \\n", "character references", or "no line breaks".
    """
    for name, written in _WRITTEN_BREAKS.items():
        if len(written.findall(text)) >= max(_MANY_BREAKS, text.count("\n")):
            return f"line breaks written as {name}"
    shown = show(text).text.strip()
    return "no line breaks" if len(shown) > _LONGEST_LINE and "\n" not in shown else None
