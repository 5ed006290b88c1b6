"""RTF as the text that Word shows (Rich Text Format Specification 1.9.1): of the body, whole or not at all.

Striprtf gives the tables of the specification: which groups are no text, which character set a font names. Its reader
is not used: it carries a character set from one font to the next, shows deleted text, and reads Symbol as letters.
Owns, too, what the codes of fonts that are no alphabet show (Adobe's Symbol encoding; signs of Microsoft's Wingdings).
"""

import codecs
import re
import tomllib
from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from striprtf.striprtf import charset_map, destinations

from clinaudit.priors.corpus.records import is_surely_utf8
from clinaudit.priors.importers.corpus_writer import RecordError

_TABLES: Final = tomllib.loads(Path(__file__).with_name("rtf.toml").read_text(encoding="utf-8"))
_SHOWS, _SWITCHES = _TABLES["shows"], _TABLES["switches"]
_SYMBOL: Final = dict(zip((*range(0x20, 0x7F), *range(0xA0, 0xF0), *range(0xF1, 0xFF)), _TABLES["symbol"], strict=True))
_SIGNS: Final = {
    **dict.fromkeys(_TABLES["symbol_fonts"], _SYMBOL),
    **{
        font: {0x20 + place: sign for place, sign in enumerate(signs) if sign != "�"}
        for font, signs in _TABLES["signs"].items()
    },
}
#: Others whose letters are pictures, and where Word puts the codes of such a font in Unicode (its private area).
_UNREADABLE: Final = re.compile(
    r"(?:wing|web)dings.*|(?:itc )?(?:zapf)? ?dingbats.*|mt extra|marlett|monotype sorts|greekmathsymbols"
    r"|bookshelf symbol.*|wp (?:math|greek|typographic|iconic).*"
)
_PRIVATE: Final = 0xF000


def is_symbol_font(name: str) -> bool:
    """Whether the letters of a font are signs: `Symbol`, `Wingdings`."""
    return name.lower() in _SIGNS or _UNREADABLE.fullmatch(name.lower()) is not None


def shown_signs(text: str, font: str) -> str:
    """Return what the codes of a symbol font show: `5 m` in Symbol is `5 μ`.

    Characters beyond one byte are themselves. Raises `RecordError` for a sign that is not known.
    """
    signs = _SIGNS.get(font.lower(), {})
    shown = ""
    for char in text:
        code = ord(char) - (_PRIVATE if _PRIVATE <= ord(char) < _PRIVATE + 256 else 0)
        sign = char if code >= 256 or char in "\t\r\n\xa0" else signs.get(code, char if char == " " else None)
        if sign is None:
            raise RecordError("an attachment has a sign of a symbol font (Wingdings and the like) that is not known")
        shown += sign
    return shown


_RAISED: Final = str.maketrans("0123456789+-−–‑=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻⁻⁼⁽⁾ⁿ")


def raised(text: str) -> str:
    """Return superscript figures as Unicode has them, so that 10⁹ does not become 109: `^1.5` where it has none.

    Text without figures is as it is: 5th, x*.
    """
    if all(char.isspace() or ord(char) in _RAISED for char in text):
        return text.translate(_RAISED)
    return f"^{text}" if re.search(r"[0-9]", text) else text


_TOKEN: Final = re.compile(
    rb"\\(?P<word>[a-zA-Z]{1,32})(?P<number>-?\d{1,10})? ?|\\'(?P<hex>[0-9a-fA-F]{2})|\\(?P<symbol>[^a-zA-Z])"
    rb"|(?P<brace>[{}])|(?P<line>[\r\n]+)|(?P<text>[^\\{}\r\n]+)",
    re.DOTALL,
)
#: What stands in an older reader for one character of Unicode: a byte, as itself or escaped.
_STAND_IN: Final = re.compile(rb"[\r\n]*(?:\\'[0-9a-fA-F]{2}|\\[{}\\~_-]|[^\\{}\r\n])")
#: How many may stand for one (`\\uc`): a few bytes, or a word such as "(TM)".
_MOST_STAND_INS: Final = 8
_CUT_OFF: Final = "an RTF attachment is cut off, or says that it holds more than it does"
_NOT_WHOLE: Final = "an RTF attachment cannot be read whole"
#: A hyphen that shows only where a line breaks is nothing.
_SYMBOLS: Final = {b"\r": "\n", b"\n": "\n", b"{": "{", b"}": "}", b"\\": "\\", b"~": " ", b"_": "-"}
#: Groups that are no text. Word shows three that striprtf leaves out: numbers of lists, and how an object looks.
_NO_TEXT_GROUPS: Final = frozenset(destinations) - {"pntext", "object", "result"}
_SYMBOL_CHARSET: Final = 2
#: Tables within tables; deeper ones are read as if they stood at this depth.
_MOST_TABLES: Final = 16
#: Fields that Word computes, so that their result may be empty.
_COMPUTED: Final = re.compile(
    r"\s*(SYMBOL(?=\s+(0x[0-9a-f]{1,4}|\d{1,5})\b(.*))|FORM(?:CHECKBOX|DROPDOWN)|AUTONUM|LISTNUM|EQ\b)",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(slots=True)
class _Font:
    #: The number of its character set, None where it names none.
    charset: int | None = None
    #: Its code page, which counts more.
    code_page: str | None = None
    #: Its name as the table of fonts writes it, up to the semicolon.
    written: str = ""

    @property
    def name(self) -> str:
        return self.written.partition(";")[0].strip()

    @property
    def is_symbol(self) -> bool:
        return self.charset == _SYMBOL_CHARSET or is_symbol_font(self.name)


@dataclass(slots=True)
class _Field:
    """A field: the pieces of text before it, how many of all so far are not blank, and what it says that it is."""

    depth: int
    begin: int
    shown: int
    instruction: list[bytes] = field(default_factory=list)
    #: Of a check box: whether it is checked, and what counts where that is 25.
    choices: dict[str, int | None] = field(default_factory=dict)


@dataclass(slots=True)
class _State:
    """What a group takes over from the group around it, and loses at its end."""

    is_skipped: bool = False
    #: Whether what stands around a drawing or a text in two forms is, of which a part within is shown; None outside.
    is_skipped_around: bool | None = None
    is_hidden: bool = False
    is_deleted: bool = False
    is_raised: bool = False
    is_capitals: bool = False
    #: `fonttbl`, `fldinst`, `stylesheet`: groups whose text is read for something else.
    destination: str = ""
    font: int | None = None
    #: How many characters stand for one of Unicode.
    stand_ins: int = 1
    #: The number of the list, 0 outside; -1 is that of a paragraph that numbers itself.
    numbering: int = 0
    #: Tables around the paragraph.
    tables: int = 0

    @property
    def is_shown(self) -> bool:
        return not (self.is_skipped or self.is_hidden or self.is_deleted)


def text_of_rtf(content: bytes) -> str:
    r"""Return the text of a document: `{\rtf1 It\'92s}` is `It’s`.

    Raises `RecordError` where it cannot be read whole.
    Cells of a row stand beside each other, a tab between, and below each other where one of them has several lines.
    """
    # Cerner ends what it does not compress with a mark.
    source = content.removeprefix(codecs.BOM_UTF8).strip(b"\0 \t\r\n").removesuffix(b"ocf_blob").rstrip()
    if not source.startswith(b"{\\rtf"):
        raise RecordError("an RTF attachment is not RTF")
    try:
        # A character beyond the first 65,536 is written as two halves.
        return _Reader(source).read().encode("utf-16", "surrogatepass").decode("utf-16")
    except (UnicodeError, LookupError):
        raise RecordError(_NOT_WHOLE) from None


def _code_page(number: int | None) -> str:
    return "mac_roman" if number == 10000 else f"cp{number or 1252}"


class _Reader:
    def __init__(self, source: bytes) -> None:
        self._source = source
        self._state = _State()
        self._outer: list[_State] = []
        self._code_page = "cp1252"
        self._fonts: defaultdict[int, _Font] = defaultdict(_Font)
        self._default_font = 0
        #: Of texts around a text box: the depth of its group, their pieces and cells.
        self._boxes: list[tuple[int, list[str], defaultdict[int, list[str]], list[int]]] = []
        self._begin_text()
        #: Bytes of one font that are not decoded yet: a character may take two.
        self._bytes = bytearray()
        #: All that were decoded and are no ASCII, a blank between two fonts.
        self._beyond_ascii = bytearray()
        self._fields: list[_Field] = []
        self._shown = 0
        #: Whether the paragraph begins with its number or bullet; lists that do not write them, and those that do.
        self._is_numbered = False
        self._lists: dict[bool, set[int]] = {False: set(), True: set()}

    def read(self) -> str:
        at = 0
        #: Pieces at the end of the document, after which Word reads no further.
        ended: int | None = None
        while at < len(self._source):
            token = _TOKEN.match(self._source, at)
            if token is None:
                raise RecordError(_CUT_OFF)
            at = token.end()
            if token["text"] or token["hex"]:
                self._take_bytes(token["text"] or bytes.fromhex(token["hex"].decode()))
            elif token["word"]:
                number = None if token["number"] is None else int(token["number"])
                at = self._take_word(token["word"].decode(), number, at)
            elif token["brace"] == b"{":
                self._flush()
                self._outer.append(replace(self._state))
            elif token["brace"] == b"}" and self._outer:
                self._flush()
                if self._fields and self._fields[-1].depth == len(self._outer):
                    self._end_field(self._fields.pop())
                if self._boxes and self._boxes[-1][0] == len(self._outer):
                    self._end_box()
                self._state = self._outer.pop()
                if not self._outer and ended is None:
                    ended = len(self._pieces)
            elif token["symbol"] is not None:
                self._take_symbol(token["symbol"])
        self._flush()
        if self._outer or ended is None or at > len(self._source):
            raise RecordError(_CUT_OFF)
        if "".join(self._pieces[ended:]).strip():
            raise RecordError("an RTF attachment goes on after its end")
        if is_surely_utf8(bytes(self._beyond_ascii)):
            raise RecordError("an RTF attachment holds UTF-8, and says another character set")
        self._end_rows(1)
        if self._lists[False] - self._lists[True]:
            raise RecordError("an RTF attachment has lists and does not write their numbers or bullets")
        return "".join(self._pieces)

    def _begin_text(self) -> None:
        self._pieces: list[str] = []
        #: By level of tables: the finished cells of the row, and the piece with which the open cell begins.
        self._cells: defaultdict[int, list[str]] = defaultdict(list)
        self._cell_begins = [0] * _MOST_TABLES

    def _end_box(self) -> None:
        """Write the text of a box on lines of its own, where it is anchored: it may be in a cell."""
        self._end_rows(1)
        box = "".join(self._pieces).strip("\n")
        _, self._pieces, self._cells, self._cell_begins = self._boxes.pop()
        if box:
            is_at_begin = not self._pieces or self._pieces[-1].endswith("\n")
            self._pieces.append(f"{'' if is_at_begin else chr(10)}{box}\n")

    def _end_field(self, ended: _Field) -> None:
        """Write what a field shows that is computed: a box of a form, a sign by its number."""
        computed = _COMPUTED.match(b"".join(ended.instruction).decode("latin-1"))
        if not computed or not self._state.is_shown or self._shown > ended.shown:
            return
        self._shown += 1
        kind, number, rest = computed.groups()
        if kind.upper() == "FORMCHECKBOX":
            choice = ended.choices.get("ffres")
            is_checked = ended.choices.get("ffdefres") if choice in (None, 25) else choice
            self._pieces[ended.begin : ended.begin] = ["☒" if is_checked else "☐"]
        elif number is None:
            raise RecordError(
                "an RTF attachment holds a choice, number or formula as a field, of which only Word knows the text"
            )
        else:
            code = int(number, 16 if number[1:2] in ("x", "X") else 10)
            font = re.search(r'\\f\s+"?([^"\\]+)', rest)
            name = "" if font is None else font[1].strip()
            is_sign = is_symbol_font(name)
            char = chr(code) if is_sign or code > 255 else bytes([code]).decode(self._code_page)
            shown = shown_signs(char, name) if is_sign else char
            self._pieces.append(raised(shown) if self._state.is_raised else shown)

    def _take_bytes(self, given: bytes) -> None:
        if self._state.destination == "fonttbl" and not self._state.is_skipped:
            self._fonts[self._state.font or 0].written += given.decode("latin-1")
        elif self._state.destination == "fldinst" and self._fields:
            self._fields[-1].instruction.append(given)
        elif self._state.is_shown:
            self._bytes += given

    def _take_symbol(self, symbol: bytes) -> None:
        if symbol == b"*":
            self._state.is_skipped = True
        elif symbol == b"'":
            raise RecordError(_NOT_WHOLE)
        elif self._state.destination == "fldinst":
            self._take_bytes(symbol)
        elif symbol in _SYMBOLS:
            self._write(_SYMBOLS[symbol])

    def _take_word(self, word: str, number: int | None, at: int) -> int:
        """Take a control word that ends at `at`; return where what it counts ends."""
        state = self._state
        self._flush()
        match word:
            case "u":
                if number is None or not -0x8000 <= number <= 0xFFFF:
                    raise RecordError(_NOT_WHOLE)
                self._write(chr(number % 0x10000))
                return self._after_stand_ins(at)
            case "bin":
                return at + max(number or 0, 0)
            case "uc":
                state.stand_ins = 1 if number is None else number
            case "f":
                state.font = number
            case "fcharset":
                self._fonts[state.font or 0].charset = number
            case "cpg":
                self._fonts[state.font or 0].code_page = _code_page(number)
            case "deff":
                self._default_font = number or 0
            case "ansicpg":
                self._code_page = _code_page(number)
            case "ansi" | "mac" | "pc" | "pca":
                self._code_page = _TABLES["code_pages"][word]
            case _ if word in _SWITCHES:
                setattr(state, _SWITCHES[word], number != 0)
            case "sub" | "nosupersub" | "dn":
                state.is_raised = False
            case "plain":
                state.is_hidden = state.is_deleted = state.is_raised = state.is_capitals = False
                state.font = None
            case "pard" | "intbl" | "itap":
                tables = {"pard": 0, "intbl": max(state.tables, 1), "itap": number or 0}[word]
                state.tables = min(tables, _MOST_TABLES - 1)
                state.numbering *= word != "pard"
            case "ls":
                state.numbering = 1 if number is None else number
            case "cell" | "row":
                self._end_part_of_table(word, 1)
            case "nestcell" | "nestrow":
                self._end_part_of_table(word.removeprefix("nest"), min(max(state.tables, 2), _MOST_TABLES - 1))
            case "field":
                self._fields.append(_Field(len(self._outer), len(self._pieces), self._shown))
            case "pnlvlbody" | "pnlvlblt" if self._outer:  # a group within the paragraph that it numbers
                self._outer[-1].numbering = -1
            case "mmath" if self._outer and self._outer[-1].is_shown:
                raise RecordError("an RTF attachment holds a formula, which is not read")
            case "listtext" | "pntext":
                self._is_numbered, state.numbering = True, 0
            case "shp" | "shpgrp" | "do" | "upr":
                if state.is_skipped_around is None:
                    state.is_skipped_around = bool(self._outer) and self._outer[-1].is_skipped
                state.is_skipped = True
            case "ud":  # of the two forms that in Unicode
                state.is_skipped = state.is_skipped_around is not False
            case "shptxt" | "dptxbxtext":
                state.is_skipped = state.is_skipped_around is not False
                state.is_skipped_around, state.tables = None, 0
                self._boxes.append((len(self._outer), self._pieces, self._cells, self._cell_begins))
                self._begin_text()
            case "ffres" | "ffdefres" if self._fields:
                self._fields[-1].choices[word] = number
            case "fonttbl" | "fldinst" | "stylesheet":
                state.destination = word
                state.is_skipped = word != "fonttbl"
            case _ if word in _SHOWS:
                self._write(_SHOWS[word])
            case _ if word in _NO_TEXT_GROUPS:
                state.is_skipped = True
                if word != "shpinst":  # within it stands the text of the drawing
                    state.is_skipped_around = None
        return at

    def _after_stand_ins(self, at: int) -> int:
        """Return where the characters end that stand for one of Unicode; a group's end and a control word end them."""
        if not 0 <= self._state.stand_ins <= _MOST_STAND_INS:
            raise RecordError("an RTF attachment skips more text after a character than can stand for it")
        for skipped in range(self._state.stand_ins):
            one = _STAND_IN.match(self._source, at)
            if one is None:
                if skipped:
                    raise RecordError("an RTF attachment ends within the text that stands for a character")
                break
            at = one.end()
        return at

    def _flush(self) -> None:
        """Decode the bytes that stand in one font, and write what they show."""
        if self._bytes:
            font = self._font()
            # 1 is "the default", which is the document's.
            named = None if font.charset in (None, 1) else charset_map.get(font.charset)
            codec = "latin-1" if font.is_symbol else font.code_page or named or self._code_page
            text = self._bytes.decode("ascii" if self._bytes.isascii() else codec)
            if not self._bytes.isascii() and not font.is_symbol and codecs.lookup(codec).name != "utf-8":
                self._beyond_ascii += self._bytes + b" "
            self._bytes.clear()
            self._write(text)

    def _write(self, text: str) -> None:
        self._flush()
        if not self._state.is_shown or self._state.destination:
            return
        font = self._font()
        in_case = text.upper() if self._state.is_capitals else text
        shown = shown_signs(text, font.name) if font.is_symbol else in_case
        self._pieces.append(raised(shown) if self._state.is_raised else shown)
        self._shown += not shown.isspace()
        if self._state.numbering and not shown.isspace():
            self._lists[self._is_numbered].add(self._state.numbering)
        if text == "\n":
            self._is_numbered = False
            outer = self._state.tables + 1
            self._end_rows(outer)
            self._cell_begins[outer:] = [len(self._pieces)] * (_MOST_TABLES - outer)

    def _font(self) -> _Font:
        return self._fonts.get(self._default_font if self._state.font is None else self._state.font, _Font())

    def _end_part_of_table(self, part: str, level: int) -> None:
        self._is_numbered = False
        self._end_rows(level + 1)
        begin = self._cell_begins[level]
        text = "".join(self._pieces[begin:]).strip("\n")
        if text or part == "cell":
            self._cells[level].append(text)
            del self._pieces[begin:]
        if part == "row":
            self._end_rows(level)
        self._cell_begins[level:] = [len(self._pieces)] * (_MOST_TABLES - level)

    def _end_rows(self, level: int) -> None:
        """Put the finished cells of tables of this level, and of those within, where their rows stand."""
        for deeper in sorted((one for one in self._cells if one >= level), reverse=True):
            cells = self._cells.pop(deeper)
            has_lines = any("\n" in cell for cell in cells)
            row = "\n".join(filter(None, cells)) if has_lines else "\t".join(cells).rstrip("\t")
            self._pieces[self._cell_begins[deeper] : self._cell_begins[deeper]] = [row, "\n"]
