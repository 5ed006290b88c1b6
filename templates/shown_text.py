"""A note as a reader sees it: one kind of blank, one kind of line break, and nothing that shows nothing.

Headers and facts are looked for in this text; spans, whose algebra stands here, are half-open and those of the note as
it stands. Owns also what stands in notes beside plain words (RTF and HTML, blanks of Unicode, tags of
de-identification), and what keeps even a reader from finding lines: breaks that are written out.
"""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

#: The option that reads them (docs/importing.md, "A CSV of your own").
HOW_TO_READ = (
    "plain_text = true in the column map of clinaudit import csv reads RTF, HTML and HL7 escapes as the text that they "
    "show; other forms must be decoded before an import"
)
#: Attributes as they are written, so that `p<a then q>b` is no tag: `class=x`, `width="5"`, and those without a value.
_ATTRIBUTES = (
    r"(?:\s+(?:[\w:.-]+\s*=\s*(?:\"[^\"<>]*\"|'[^'<>]*'|[^\s\"'<>]+)"
    r"|nowrap|noshade|border|compact|hidden|reversed|sortable))*\s*/?"
)
#: Browsers read a stray end of it as a line break, too.
BREAK = re.compile(rf"</?br{_ATTRIBUTES}>", re.IGNORECASE)
_SPAN = re.compile(rf"<span{_ATTRIBUTES}>", re.IGNORECASE)
#: Tags that say where lines begin and end, so that line breaks beside them mean nothing.
BLOCK_TAG: Final = re.compile(
    r"<!doctype html(?:\s[^<>]*)?>"
    rf"|<(?:html|head|body|div|p|table|t[rdh]|[uod]l|li|d[td]|h[1-6]|pre|section|blockquote){_ATTRIBUTES}>",
    re.IGNORECASE,
)
#: Tags that change how words look and not where they stand.
INLINE_TAG: Final = re.compile(
    rf"</?(?:b|i|u|s|em|strong|font|small|big|sup|sub|tt|code|a|img){_ATTRIBUTES}>", re.IGNORECASE
)
_ENTITY = re.compile(
    r"&(?:lt|gt|amp|nbsp|quot|apos|[lr][sd]quo|[nm]dash|bull|hellip|deg|[lg]e|#\d{1,6}|#x[0-9a-f]{1,5});"
)
#: Escapes of HL7 version 2 (chapter 2.7), as group 1: breaks and indents, separators, highlighting, bytes. Or a path of
#: Windows, whose folders are no escapes: `D:\S\note`.
HL7_ESCAPES: Final = re.compile(
    r"(?<!\S)(?:[A-Za-z]:\\|\\\\\w)(?:(?!\\\.br\\)\S)*|\\(\.(?:br|ce|fi|nf|(?:s[pk]|in|ti)[+ -]?\d{0,3})|[FSTREHN]"
    r"|X0D\\?\\?X?0A|X(?:[0-9A-F]{2})+)\\"
)
HL7_FORM: Final = r"HL7 escapes (\.br\)"
#: No note, but what a note is packed in (group 1): letters without a blank between them, with padding or without (RFC
#: 4648, also its letters for addresses). Before them may stand what a `data:` address or HL7's type ED writes.
BASE64: Final = re.compile(
    r"(?:data:[\w/+.;=-]{0,80};base64,|(?:[\w.-]*\^){2,4}Base64\^)?"
    r"((?:[A-Za-z0-9+/_-]{4}[\r\n]*){2,}(?:[A-Za-z0-9+/_-]{4}|[A-Za-z0-9+/_-]{3}=?|[A-Za-z0-9+/_-]{2}(?:==)?))",
    re.IGNORECASE,
)
_LEAST_PACKED_CHARS = 40
#: Least share of the letters of base64 that are letters and figures: a path or a row of dashes has more signs.
_FEWEST_SIGNS = 0.85


def _has_all_letters(packed: str) -> bool:
    kinds = [sum(map(kind, packed)) for kind in (str.isupper, str.islower, str.isdigit)]
    return 0 not in kinds and sum(kinds) >= _FEWEST_SIGNS * len(packed.split("base64,")[-1])


#: What other programs write for characters (RFC 2045, RFC 3986), where it stands more than once.
_ENCODED = {
    "quoted-printable": re.compile(r"=(?:3D|0D=0A|C[23]=[89AB][0-9A-F]|E2=80=)|=\r?\n"),
    "percent-encoded": re.compile(r"%(?:20|0A|0D|3A|2C|C[23]%|E2%)"),
    r"escapes of a program (\u00e9, _x000D_)": re.compile(
        r"\\u[0-9a-fA-F]{4}(?![0-9a-fA-F])|\\x[89a-f][0-9a-f]|_x00[01][0-9A-F]_"
    ),
}
#: What a text is as a whole, by the name that a message gives it.
_WHOLE: Mapping[str, re.Pattern[str]] = {
    name: re.compile(pattern, re.DOTALL)
    for name, pattern in {
        "XML": r"<!\[CDATA\[|<([\w.:-]+)(?:\s[^<>]*)?>.*</\1\s*>",
        "JSON": r'(?:\{\s*"|\[\s*\{\s*").*[\]}]',
        "bytes as Python writes them": r"b(['\"]).*\1",
        "hexadecimal": r"(?:0x|\\x)?(?:[0-9A-Fa-f]{2}[-\s]*){20,}",
        "an HL7 message": r"(?:MSH|FHS|BHS)\|\^~.*",
        "a MIME message": r"(?:MIME-Version|Content-(?:Type|Transfer-Encoding)): ?\S.*",
    }.items()
}
_RTF_WORDS = re.compile(r"\\(?:par|pard|plain|tab|cf\d+|fs\d+|b0|ulnone)\b")


def form_of(text: str) -> str | None:
    r"""Return what a text is that is not plain, or of what it holds signs; None where it is plain.

    `RTF`, `pieces of RTF`, `HTML` (blocks of text), `XML`, `base64`, `quoted-printable`, `percent-encoded`,
    `HL7 escapes (\.br\)`, `<br>`, `HTML signs` (`<b>`, `&lt;`), and others that nothing here reads.
    """
    begin = text.lstrip("\ufeff \t\r\n")
    if begin.startswith("{\\rtf"):
        return "RTF"
    if BLOCK_TAG.search(text) or _SPAN.search(text):
        return "HTML"
    if begin.startswith(("<?xml", "<ClinicalDocument")):
        return "XML"
    if len(_RTF_WORDS.findall(text)) > 1:
        return "pieces of RTF"
    if len(begin) >= _LEAST_PACKED_CHARS and _has_all_letters(begin) and BASE64.fullmatch(begin.rstrip()):
        return "base64"
    for name, signs in _ENCODED.items():
        if len(signs.findall(text)) > 1:
            return name
    if any(escape[1] for escape in HL7_ESCAPES.finditer(text)):
        return HL7_FORM
    if BREAK.search(text):
        return "<br>"
    if INLINE_TAG.search(text) or _ENTITY.search(text):
        return "HTML signs"
    return next((name for name, whole in _WHOLE.items() if whole.fullmatch(begin.rstrip())), None)


#: Unicode's space separators (Zs) besides U+0020: the no-break space of web forms, figure, thin and narrow spaces.
_SPACES = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")


def plain_blanks(text: str) -> str:
    """Return a text of the same length in which every space is U+0020; tabs and line breaks stay."""
    return text if text.isascii() else _SPACES.sub(" ", text)


#: What a tagger of named entities calls them, in capitals; lab flags such as <LOW> are none.
_KINDS: Final = (
    r"(?:(?:LAST|FIRST|FULL|PATIENT|DOCTOR|PROVIDER|HOSPITAL)[_ ]?)*"
    r"(?:NAME|PATIENT|PERSON|PER|DOCTOR|PROVIDER|HOSPITAL|ORGANIZATION|ORG|LOCATION|LOC|ADDRESS|CITY|DATE|DOB|AGE|PHONE"
    r"|EMAIL|MRN|ID|SSN|ZIP|REDACTED|REMOVED|DEIDENTIFIED|PHI)(?:[_: ]{0,2}[0-9]{1,6})?"
)
#: By style, as reports name it: how the tag is written.
STYLES: Final[Mapping[str, re.Pattern[str]]] = MappingProxyType(
    {
        # MIMIC-II and III, and the i2b2 challenges after them: [**Known lastname 123**], [**2118-6-2**].
        "[** **]": re.compile(r"\[\*\*[^\]\n]{0,80}?\*\*\]"),
        # MIMIC-IV-Note.
        "___": re.compile(r"(?<!\w)_{3,}(?!\w)"),
        "<NAME>": re.compile(rf"<{_KINDS}>"),
        "[NAME]": re.compile(rf"\[{_KINDS}\]"),
        # De-ID: **NAME[AAA, BBB], **DATE[Jan 1 2007].
        "**NAME[ ]": re.compile(r"\*\*[A-Z][A-Z-]{1,30}\[[^\]\n]{0,60}\]"),
        "XXXX": re.compile(r"(?<!\w)X{4,}(?!\w)"),
    }
)
_ANY: Final = re.compile("|".join(f"(?:{style.pattern})" for style in STYLES.values()))
_LABEL: Final = re.compile(r"\b[A-Za-z]\w*(?:[ \t]\w+){0,3}:")
#: What may stand beside a tag without telling anything.
_TITLES: Final = frozenset(
    {"mr", "mrs", "ms", "miss", "dr", "md", "do", "np", "pa", "rn", "jr", "sr", "of", "and", "at"}
)


def is_tag(value: str) -> bool:
    """Whether a value holds a tag, and beside tags, titles and labels ("Unit No:") no word and no number.

    A fact that is a tag is known to nobody, so that no prompt may count on it. Surrogates that look like real values
    ("Ada Lund" for another name) cannot be distinguished from these, and are read as values.
    """
    rest, tags = _ANY.subn(" ", value)
    return tags > 0 and all(word in _TITLES for word in re.findall(r"\w+", _LABEL.sub(" ", rest).lower()))


def said_in(text: str) -> str:
    """Return the words and numbers of a text without its tags: two texts that differ in nothing else say the same."""
    return " ".join(re.findall(r"[^\W_]+", _ANY.sub(" ", text).casefold()))


def find_styles(text: str) -> set[str]:
    """Return the styles of which a tag stands in the text."""
    if _ANY.search(text) is None:
        return set()
    return {name for name, style in STYLES.items() if style.search(text) is not None}


#: Format characters of Unicode (Cf) that show nothing, joiners, fillers, variation selectors, tags, and control codes
#: but tab and breaks: the zero-width space of web forms, the mark of byte order, marks of direction, the soft hyphen.
#: And what stands for a picture, or is a sign of a font's own: Word's bullets.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e"
    "\u2060-\u2064\u2066-\u206f\u2800\u3164\ue000-\uf8ff\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffc\U000e0000-\U000e0fff]"
)
#: Line breaks beside the line feed, as Python's `str.splitlines` has them.
_BREAKS = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
#: Letters, digits and marks of the width of an ideograph; what they show stands 0xFEE0 before them.
_FULL_WIDTH = re.compile("[\uff01-\uff5e]")
#: As some editors write a colon: the sign of a ratio, a letter that looks like one, a small one.
_COLONS = re.compile("[\u2236\ua789\ufe55]")
_UNUSUAL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\xad\u034f\u0600-\uffff\U000e0000-\U000e0fff]")


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
    shown = _COLONS.sub(":", shown)
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
#: What stands before each line of a text that was quoted or numbered; and of how many lines, at least.
_BEFORE_LINES = re.compile(r"^[ \t]*(?:>|\||\d{1,4}[:.)|]?(?=\s))[^\n]*", re.MULTILINE)
_MOST_LINES = 0.9


def unbroken_form(text: str) -> str | None:
    """Return in what form a note has its lines, where no reader finds their beginnings; None where there are lines.

    "line breaks written as a literal \\n", "no line breaks", or "signs or numbers before its lines".
    """
    for name, written in _WRITTEN_BREAKS.items():
        if len(written.findall(text)) >= max(_MANY_BREAKS, text.count("\n")):
            return f"line breaks written as {name}"
    shown = show(text).text.strip()
    if len(shown) > _LONGEST_LINE and "\n" not in shown:
        return "no line breaks"
    lines = sum(bool(line.strip()) for line in shown.splitlines())
    is_marked = lines > _MANY_BREAKS and len(_BEFORE_LINES.findall(shown)) > _MOST_LINES * lines
    return "signs or numbers before its lines" if is_marked else None


class Span(NamedTuple):
    """Positions `start <= i < end`; the name that holds a span says the unit (characters or tokens)."""

    start: int
    end: int

    def overlaps(self, other: "Span") -> bool:
        """Whether both share at least one position (touching is not overlapping)."""
        return self.start < other.end and other.start < self.end

    def at(self, offsets: Sequence[int]) -> "Span":
        """Return this span in another text: position i of this one is `offsets[i]` there."""
        return Span(offsets[self.start], offsets[self.end])
