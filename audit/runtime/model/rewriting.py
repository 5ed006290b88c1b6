"""Signs that answers were changed after a model wrote them: by a server, a gateway, or whoever kept them in a file.

A note that is repeated is then not recognized, and the model seems to know nothing. No rule knows what is right:
answers are compared with the notes, which a model that repeats them writes as they are.
"""

import re
from collections.abc import Sequence
from typing import Final

from clinaudit.templates.note import normalize_newlines
from clinaudit.templates.shown_text import find_styles

#: What stands between words, and other marks: of other line ends, escapes, HTML, Markdown, tokenizers and typography.
_MARKS: Final = re.compile(r"\s+|\\[nrt]|&(?:#|amp;|lt;|gt;|quot;)|[*#]|[^\w\s\x20-\x7e]")
#: A larger share of answers than one of five.
_SOME: Final = 0.3
#: What notes hold much of, and a gateway takes out: line breaks and empty lines, blanks, columns, digits, letters.
_KINDS: Final = tuple(map(re.compile, ("\n", r"\n\s*\n", " ", "[ \t]{2,}", "[0-9]", "[A-Z]", "[a-z]")))
#: As many as answers would hold, were they notes: of so many hardly ever none is there.
_SEEN: Final = 5


def seem_rewritten(answers: Sequence[str], notes: Sequence[str]) -> bool:
    """Return whether answers hold marks or tags that hardly a note holds, or lack what notes are full of."""
    answers, notes = ([text.strip() for text in of] for of in (answers, notes))
    if not any(answers):
        return True
    # A note with carriage returns is matched with line feeds, too.
    held = (
        [_marks_in(text) for text in answers],
        [_marks_in(text) | _marks_in(normalize_newlines(text)) for text in notes],
    )
    for mark in set().union(*held[0]):
        in_answers, in_notes = (sum(mark in marks for marks in of) / max(1, len(of)) for of in held)
        if in_answers > max(_SOME, 2 * in_notes):
            return True
    # Banners, which prompts hold, have names and numbers that what follows may have none of.
    bodies = [text[len(text) // 2 :] for text in notes]
    written, known = (normalize_newlines("\0".join(of)) for of in (answers, bodies))
    share = sum(map(len, answers)) / max(1, len(known))
    return any(len(kind.findall(known)) * share >= _SEEN and not kind.search(written) for kind in _KINDS)


def _marks_in(text: str) -> set[str]:
    return {*_MARKS.findall(text), *find_styles(text)}
