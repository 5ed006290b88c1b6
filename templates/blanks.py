"""The blanks of notes: the spaces of Unicode that stand where a typist would type one.

Owns which characters they are. Offsets stay as they are: one character stands for one.
"""

import re

#: Unicode's space separators (Zs) besides U+0020: the no-break space of web forms, figure, thin and narrow spaces.
_SPACES = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")


def plain_blanks(text: str) -> str:
    """Return a text of the same length in which every space is U+0020; tabs and line breaks stay."""
    return text if text.isascii() else _SPACES.sub(" ", text)
