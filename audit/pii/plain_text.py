"""A plain reading of a text for detectors: what a person or a model would read in it, with the way back.

Undone are look-alikes of other scripts, invisible marks, entities of HTML, percent-encoding, escapes, and breaks inside
numbers and words. Owns the way from each plain character back to the original. Knows nothing of identifiers.
"""

import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import unescape
from itertools import chain
from typing import Final, NamedTuple

from clinaudit.audit.pii.patterns import Patterns
from clinaudit.audit.pii.taxonomy import EntitySpan

_RE: Final = Patterns(__name__)

#: Letters of Cyrillic, Greek, Armenian and Cherokee that look like Latin ones (Unicode Technical Standard 39,
#: confusables; those in which both look alike in common typefaces).
_LOOK_ALIKES: Final = str.maketrans(
    "АВЕЅІЈКМНОРСТУХҮԌԚԜаеѕіјорсухѵһԁԛԝґкмтвнΑΒΕΖΗΙΚΜΝΟΡΤΥΧαορτυνιкγκӀӏοՕօՍսհոցգԱՏ",
    "ABESIJKMHOPCTYXYGQWaesijopcyxvhdqwrkmtbhABEZHIKMNOPTYXaoptuvikykIloOoSuhngqUS",
)
_HYPHENS: Final = frozenset("‐‑‒–—―⁃−﹘﹣－⸺⸻─")
#: Letters in boxes and circles, of flags, and the tags of Unicode, which show nothing and which a model reads.
_ENCLOSED: Final = {
    **{first + place: ord("A") + place for first in (0x1F150, 0x1F170, 0x1F1E6) for place in range(26)},
    **{0xE0000 + code: code for code in range(0x20, 0x7F)},
}
#: Marks that show nothing, or only turn the direction of what is shown.
_INVISIBLE: Final = frozenset("\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u2800\u3164\uffa0\ufeff\u2060")
#: Letters that stand for figures among figures. A bar is none: it stands between cells.
_FIGURES: Final = str.maketrans("OoQlI", "00011")
#: No leader is without one of them.
_SIGNS_OF_LEADERS: Final = ("..", "__", "    ", "\t", "…", "·", ". .")
#: How often an encoding within an encoding is undone.
_MOST_TIMES_ENCODED: Final = 3
#: How long the pieces are in which a text is read otherwise, and how much of it two neighbours share at least.
_PIECE_CHARS: Final = 4_000
_SHARED_CHARS: Final = 400


#: How far around a change a text is read again, and up to twice as far where no line or word ends.
_AROUND_CHARS: Final = 300
#: A stretch of a plain text, start to end, and what replaces it: characters, with the stretch that these stand for.
Edit = tuple[int, int, Sequence[tuple[str, int, int]]]


@dataclass(frozen=True, slots=True)
class PlainText:
    """A plain reading; character i of `text` stands for characters `starts[i]` to `ends[i]` of the original."""

    text: str
    starts: Sequence[int]
    ends: Sequence[int]

    def original_span(self, span: EntitySpan) -> EntitySpan:
        """Return a span of the plain text as one of the original, with all that was dropped inside it."""
        if isinstance(self.starts, range):
            # As given, character by character: the span is that of the original, moved by where this piece begins.
            begin = self.starts.start
            return EntitySpan(span.start + begin, span.end + begin, span.category, span.found_by) if begin else span
        return EntitySpan(self.starts[span.start], self.ends[span.end - 1], span.category, span.found_by)

    def pieces(self) -> "Iterator[PlainText]":
        """Yield the text in pieces that overlap: what a reading changes is looked at again, and not the whole text."""
        for begin, end in overlapping_pieces(self.text, chars=_PIECE_CHARS, shared=_SHARED_CHARS):
            yield PlainText(self.text[begin:end], self.starts[begin:end], self.ends[begin:end])

    def around(self, edits: Iterable[Edit]) -> "Iterator[PlainText]":
        """Yield the text with other characters in the place of some stretches, as far as their surroundings go."""
        group: list[Edit] = []
        begin = last = 0
        for edit in edits:
            first = _cut_before(self.text, max(0, edit[0] - 2 * _AROUND_CHARS), max(0, edit[0] - _AROUND_CHARS))
            if group and first > last:
                yield self._part(begin, last, group)
                group = []
            begin = begin if group else first
            last = min(_cut_before(self.text, edit[1] + _AROUND_CHARS, edit[1] + 2 * _AROUND_CHARS), len(self.text))
            group.append(edit)
        if group:
            yield self._part(begin, last, group)

    def _part(self, begin: int, last: int, edits: Sequence[Edit]) -> "PlainText":
        part = PlainText(self.text[begin:last], self.starts[begin:last], self.ends[begin:last])
        return part.replaced(
            (start - begin, end - begin, [(written, first - begin, after - begin) for written, first, after in pieces])
            for start, end, pieces in edits
        )

    def replaced(self, edits: Iterable[Edit]) -> "PlainText":
        """Return the text with other characters in the place of some stretches, which are in order and apart."""
        texts: list[str] = []
        starts: list[Sequence[int]] = []
        ends: list[Sequence[int]] = []
        place = 0
        for start, end, pieces in edits:
            texts += [self.text[place:start], *(written for written, _, _ in pieces)]
            starts += [self.starts[place:start], *([self.starts[first]] * len(written) for written, first, _ in pieces)]
            ends += [self.ends[place:start], *([self.ends[after - 1]] * len(written) for written, _, after in pieces)]
            place = end
        if not texts:
            return self
        return PlainText(
            "".join((*texts, self.text[place:])),
            tuple(chain.from_iterable((*starts, self.starts[place:]))),
            tuple(chain.from_iterable((*ends, self.ends[place:]))),
        )


class Encoded(NamedTuple):
    """A stretch of the original that is base64 or hexadecimal of a printable text."""

    start: int
    end: int
    text: str


def as_given(text: str) -> PlainText:
    """Return a text as the reading that it is of itself."""
    return PlainText(text, range(len(text)), range(1, len(text) + 1))


def normalize_text(text: str) -> PlainText:
    """Return a text as it is read: look-alikes as Latin letters, figures as 0 to 9, nothing invisible or encoded."""
    plain = _read_once(text)
    for _ in range(_MOST_TIMES_ENCODED - 1):
        # What was decoded may be encoded once more: "%254D", "&amp;#45;".
        if plain.text == text or not _RE.encoded.search(plain.text):
            break
        again = _read_once(plain.text)
        if again.text == plain.text:
            break
        plain = PlainText(
            again.text,
            tuple(plain.starts[start] for start in again.starts),
            tuple(plain.ends[end - 1] for end in again.ends),
        )
    figures = _RE.among_figures.sub(lambda match: match[0].translate(_FIGURES), plain.text)
    return PlainText(figures, plain.starts, plain.ends)


def _read_once(text: str) -> PlainText:
    """Return a text with each of its characters read plainly and each encoded stretch decoded, once."""
    read = {ord(character): _plain_character(character) for character in set(text)}
    if all(len(plain) == 1 for plain in read.values()) and not _RE.encoded.search(text):
        # Of nearly every text, and of a long one a hundred times as fast as going by characters.
        return as_given(text.translate(read))
    read_all = [(char, *place) for written, *place in _decoded(text) for char in _plain_character(written)]
    characters, starts, ends = zip(*read_all, strict=True) if read_all else ((), (), ())
    return PlainText("".join(characters), starts, ends)


def overlapping_pieces(text: str, *, chars: int, shared: int) -> Iterator[tuple[int, int]]:
    """Yield where pieces of at most `chars` begin and end, at lines or blanks; neighbours share `shared` or more."""
    begin = 0
    while len(text) - begin > chars:
        end = _cut_before(text, begin + chars // 2, begin + chars)
        yield begin, end
        begin = _cut_before(text, max(begin, end - 2 * shared), end - shared)
    yield begin, len(text)


def _cut_before(text: str, least: int, most: int) -> int:
    return next((place + 1 for mark in "\n " if (place := text.rfind(mark, least, most)) >= 0), most)


def joins(text: str) -> Iterator[Edit]:
    """Yield the breaks inside numbers and words, which a second reading leaves out: it may join two values."""
    return without(_RE.breaks.finditer(text))


def without(places: Iterable[re.Match[str]]) -> Iterator[Edit]:
    """Yield the characters of some matches, to be left out."""
    return ((*match.span(), ()) for match in places)


def leaders(text: str) -> Iterator[Edit]:
    """Yield dots and the like between a label and its value, to be a colon and a blank; a wide gap is a blank."""
    for match in _RE.leaders.finditer(text) if any(sign in text for sign in _SIGNS_OF_LEADERS) else ():
        start, end = match.span()
        blank = (" ", end - 1, end)
        yield start, end, [blank] if match[0].isspace() else [(":", start, start + 1), blank]


def decoded_stretches(text: str) -> Iterator[Encoded]:
    """Yield the stretches of a text that hide another text, with what they hide."""
    from base64 import b64decode

    for match in (*_RE.base64.finditer(text), *_RE.base64_lines.finditer(text)):
        padded = _RE.white.sub("", match[0]).rstrip("=")
        if not (any(map(str.isupper, padded)) or any(map(str.isdigit, padded))):
            continue
        try:
            content = b64decode(padded + "=" * (-len(padded) % 4), altchars=b"-_" if set(padded) & set("-_") else None)
        except ValueError:
            continue
        hidden = _printable(content)
        if hidden is not None:
            yield Encoded(*match.span(), hidden)
    for match in _RE.hex.finditer(text):
        hidden = _printable(bytes.fromhex(match[0].removeprefix("0x")))
        if hidden is not None:
            yield Encoded(*match.span(), hidden)


def _printable(content: bytes) -> str | None:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return text if text and all(character.isprintable() or character in "\n\r\t" for character in text) else None


def _decoded(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield each character or encoded stretch of a text, decoded, with its place."""
    place = 0
    for match in (*_RE.encoded.finditer(text), None):
        begin, end = match.span() if match else (len(text), len(text))
        yield from ((text[at], at, at + 1) for at in range(place, begin))
        if match:
            yield _decode(match[0]), begin, end
        place = end


def _decode(written: str) -> str:
    from urllib.parse import unquote

    if written.startswith("%"):
        decoded = unquote(written, errors="replace")
        return written if "\ufffd" in decoded else decoded
    if written.startswith("="):
        # Quoted-printable; "a=20" of a formula reads as a blank, which does no harm.
        return _decode(written.replace("=", "%"))
    if written.startswith(("\\", "U+")):
        code = int(written[2:].strip("{}"), 16)
        return chr(code) if code <= sys.maxunicode else written
    # Twice: "&amp;#45;" is a hyphen to whoever shows it.
    return unescape(written)


@lru_cache(maxsize=10_000)
def _plain_character(written: str) -> str:
    """Return what a character, or a short decoded stretch, reads as; empty for what shows nothing."""
    plain = ""
    for character in unicodedata.normalize("NFKC", written).translate(_ENCLOSED):
        category = unicodedata.category(character)
        if character in _HYPHENS:
            plain += "-"
        elif character.isdigit():
            plain += str(unicodedata.digit(character))
        elif category == "Zs" or character in "\x1c\x1d\x1e\x1f":
            # The separators of ASCII part the fields of an export.
            plain += " "
        elif category in ("Zl", "Zp") or character in "\v\f\x85":
            plain += "\n"
        elif (
            category not in ("Cf", "Mn", "Me", "Cn", "Co", "Cc") or character in "\t\n\r"
        ) and character not in _INVISIBLE:
            plain += character
    return plain.translate(_LOOK_ALIKES)
