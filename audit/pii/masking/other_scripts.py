"""Words in scripts that the other detectors cannot read: masked, since nobody here can tell what they say.

A single letter is a symbol of medicine or of a unit ("α-blocker", "μg"). Knows nothing of languages.
"""

import re
from typing import Final

from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.pii.plain_text import read_plainly

#: Letters beyond Latin: Greek to Georgian and on, the scripts of East Asia, Braille, and those of the higher planes.
_LETTER: Final = (
    "[\u0370-\u03ff\u0400-\u1cff\u1d00-\u1dbf\u1f00-\u1fff\u2800-\u28ff\u2c00-\u2c5f\u2c80-\u2dff\u3005-\u3007"
    "\u3040-\ua4cf\ua4d0-\ua71f\ua800-\uabff\uac00-\ud7ff\uf900-\ufaff\ufb13-\ufdff\ufe70-\ufefe"
    "\U00010000-\U0001d3ff\U0001e000-\U0001efff\U00020000-\U0003ffff]"
)
_WORDS: Final = re.compile(rf"{_LETTER}{{2,}}(?:[ \t.,'’·・-]{{0,2}}{_LETTER}+)*")
#: Marks that change how a sign is shown, several in a row: they can carry a text that nobody sees.
_SELECTORS: Final = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{3,}")


class OtherScripts:
    """Finds words of other scripts."""

    name = "other scripts"

    def detect(self, text: str) -> list[EntitySpan]:
        """Return the spans of a text by start; they may overlap."""
        if text.isascii():
            return []
        plain = read_plainly(text)
        found = {
            plain.original_span(EntitySpan(*match.span(), "full_name", self.name))
            for match in _WORDS.finditer(plain.text)
        }
        # A word of look-alikes throughout is a word of that script as well; one letter of it among Latin ones is not.
        found |= {
            EntitySpan(*match.span(), "full_name", self.name)
            for match in _WORDS.finditer(text)
            if not _adjoins_latin(text, *match.span())
        }
        found |= {EntitySpan(*match.span(), "other_code", self.name) for match in _SELECTORS.finditer(text)}
        return sorted(found)


def _adjoins_latin(text: str, start: int, end: int) -> bool:
    before, after = text[max(0, start - 1) : start], text[end : end + 1]
    return (before.isascii() and before.isalpha()) or (after.isascii() and after.isalpha())
