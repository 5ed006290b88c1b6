"""From an attachment's bytes to the text of a note: base64, character sets, plain text, HTML (lxml, inscriptis), RTF.

Nothing that a document names is loaded, scripts and styles are dropped, and a document that is damaged or would grow
beyond measure is refused rather than read in part. RTF is looked at before striprtf reads it: the document must be
whole, and nothing in it may take text away in silence (Rich Text Format Specification 1.9.1).
"""

import base64
import binascii
import codecs
import re
from email.message import Message
from typing import TYPE_CHECKING

from clinaudit.priors.importers.ledger import RecordError
from clinaudit.templates.markup import BREAK, form_of

if TYPE_CHECKING:
    from lxml.html import HtmlElement

#: Characters that striprtf's patterns may look at, over all their beginnings: about a second.
_MAX_STEPS = 500_000_000
#: Characters that may stand for one of Unicode in older readers (`\\uc`): a few bytes, or words such as "(TM)".
_MOST_STANDING_FOR_ONE = 8
_HIGH_BYTE = re.compile("[\x80-\xff]")
#: A control word with its number, a control symbol, a brace, or a line's end, which means nothing.
_TOKEN = re.compile(rb"\\(?P<word>[a-zA-Z]{1,32})(?P<number>-?\d{1,10})? ?|\\'[0-9a-fA-F]{2}|\\[^a-zA-Z]|[{}]|[\r\n]+")


def _text_of_rtf(content: bytes) -> str:
    """Return the text of an RTF document; raises `RecordError` where it cannot be read whole."""
    from striprtf.striprtf import font_table_group, rtf_to_text

    source = content.rstrip(b"\0 \t\r\n")
    if not source.startswith(b"{\\rtf"):
        raise RecordError("an RTF attachment is not RTF")
    # RTF is ASCII; a byte above it is of the code page that the document names, as \'xx would be.
    escaped = _HIGH_BYTE.sub(lambda byte: f"\\'{ord(byte[0]):02x}", _without_binary_data(source).decode("latin-1"))
    # Two patterns of striprtf look from each of their beginnings to the end of the line.
    fonts = font_table_group(escaped)
    longest = max(map(len, escaped.splitlines()), default=0)
    if fonts.count("\\f") * len(fonts) + escaped.count("\\fldinst") * longest > _MAX_STEPS:
        raise RecordError("an RTF attachment would take beyond measure to read")
    try:
        text = rtf_to_text(escaped, errors="strict")
        # A character beyond the first 65,536 is written as two halves.
        return str(text).encode("utf-16", "surrogatepass").decode("utf-16")
    except (UnicodeError, LookupError, ValueError, OverflowError, TypeError, IndexError):
        raise RecordError("an RTF attachment cannot be read whole") from None


def _without_binary_data(source: bytes) -> bytes:
    """Return a document without what `\\bin` counts; raises `RecordError` where text of it would be lost.

    That is: where its groups do not end with it, or where the data, or the characters to skip after one of Unicode, go
    on beyond its end or take more than they can mean.
    """
    kept: list[bytes] = []
    begin = at = 0
    #: Of each open group: how many characters stand for one of Unicode (`\\uc`).
    skips: list[int] = []
    skip = 1
    while (token := _TOKEN.search(source, at)) is not None:
        at = token.end()
        word = token["word"]
        number = int(token["number"] or 0)
        if token[0] == b"{":
            skips.append(skip)
        elif token[0] == b"}":
            skip = skips.pop()
            if not skips:
                break
        elif word == b"bin":
            # An empty group: without anything between them, a control word before and a letter after would be one word.
            kept += (source[begin : token.start()], b"{}")
            begin = at = at + max(number, 0)
        elif word == b"uc":
            skip = number
        elif word == b"u":
            at = _after_skipped(source, at, skip)
    if skips or at > len(source):
        raise RecordError("an RTF attachment is cut off, or says that it holds more than it does")
    if at < len(source):
        raise RecordError("an RTF attachment goes on after its end")
    return b"".join((*kept, source[begin:]))


def _after_skipped(source: bytes, at: int, skip: int) -> int:
    """Return where the characters end that stand for one of Unicode; a group's end and a control word end them."""
    if not 0 <= skip <= _MOST_STANDING_FOR_ONE:
        raise RecordError("an RTF attachment skips more text after a character than can stand for it")
    end = at
    for skipped in range(skip):
        token = _TOKEN.match(source, end)
        while token is not None and token[0][:1] in b"\r\n":
            end = token.end()
            token = _TOKEN.match(source, end)
        if token is not None and token[0][:2] != b"\\'":
            if skipped:
                raise RecordError("an RTF attachment ends within the text that stands for a character")
            break
        end = token.end() if token is not None else end + 1
    return end


#: Longest attachment in bytes; no note comes near it.
MAX_ATTACHMENT_BYTES = 32 << 20
#: Characters that the layout of an HTML page may grow to: a table's cells are padded to the longest of their column.
_MAX_LAYOUT_CHARS = 64 << 20
#: By which a list within a list is indented, its sign included.
_INDENT_CHARS = 8
_PLAIN, _HTML, _RTF = "plain", "html", "rtf"
#: In the order of preference, where one document comes in several kinds.
KINDS: dict[str, str] = {
    "text/plain": _PLAIN,
    "text/html": _HTML,
    "application/xhtml+xml": _HTML,
    "text/rtf": _RTF,
    "application/rtf": _RTF,
}
_XML_DECLARATION = re.compile(r"\s*<\?xml[^>]*\?>")
_WHITE = re.compile(r"[ \t\r\n]+")
#: Holds no part of the note: code, styles, other pages.
_DROPPED = ("head", "script", "style", "template", "iframe", "object", "embed", "svg", "math")


#: Put after a page, and found again as an element only where the page is not cut off within something.
_END_ID = "end-of-attachment"
_END = f'<i id="{_END_ID}"></i>'
_XML_ONLY = re.compile(r"<!\[CDATA\[|<!DOCTYPE[^>]*\[", re.IGNORECASE)


def kind_of(content_type: str) -> str | None:
    """Return the media type without its parameters where it can be read, None otherwise."""
    media_type = content_type.partition(";")[0].strip().lower()
    return media_type if media_type in KINDS else None


def decode_base64(data: str) -> bytes:
    """Return the bytes; white space between lines is allowed, anything else that is no base64 is a `RecordError`."""
    try:
        content = base64.b64decode(_WHITE.sub("", data), validate=True)
    except (binascii.Error, ValueError):
        raise RecordError("an attachment is not base64") from None
    if len(content) > MAX_ATTACHMENT_BYTES:
        raise RecordError(f"an attachment has more than {MAX_ATTACHMENT_BYTES >> 20} MiB")
    return content


def text_of(content: bytes, content_type: str) -> str:
    """Return the text of an attachment; raises `RecordError` where it cannot be read whole."""
    kind = KINDS.get(kind_of(content_type) or "")
    if kind == _RTF:
        return _text_of_rtf(content)
    text = _decoded(content, content_type)
    return _text_of_html(text) if kind == _HTML else text


def plain_text_of(text: str) -> str:
    """Return what a cell shows, if it is RTF or HTML; raises `RecordError` where it cannot be read whole."""
    form = form_of(text)
    if form == "RTF":
        # RTF is ASCII: what a table has decoded is written as RTF writes it.
        return _text_of_rtf(re.sub(r"[^\x00-\x7f]", lambda char: f"\\u{ord(char[0])}?", text).strip().encode())
    return _text_of_html(text) if form == "HTML" else BREAK.sub("\n", text)


def _decoded(content: bytes, content_type: str) -> str:
    header = Message()
    header["Content-Type"] = content_type.replace("\r", " ").replace("\n", " ")
    charset = header.get_content_charset("utf-8")
    try:
        if not codecs.lookup(charset)._is_text_encoding:
            raise LookupError
        text = content.decode(charset)
    except LookupError:
        raise RecordError("an attachment is in a character set that is not known") from None
    except (UnicodeError, ValueError):
        raise RecordError("an attachment is not in the character set of its type (UTF-8 without one)") from None
    return text.removeprefix("\ufeff")


def _text_of_html(text: str) -> str:
    import lxml.etree
    import lxml.html
    from inscriptis.css_profiles import CSS_PROFILES
    from inscriptis.html_engine import Inscriptis
    from inscriptis.model.config import ParserConfig

    page = _XML_DECLARATION.sub("", text, count=1)
    if not page.strip():
        raise RecordError("the text is blank")
    if _XML_ONLY.search(page):
        raise RecordError("an HTML attachment holds XML that HTML does not have (CDATA, or entities of its own)")
    parser = lxml.html.HTMLParser(no_network=True, huge_tree=False, remove_comments=True, remove_pis=True)
    try:
        tree = lxml.html.document_fromstring(page + _END, parser=parser)
    except (lxml.etree.LxmlError, ValueError):
        raise RecordError("an HTML attachment cannot be parsed") from None
    if any(entry.level_name == "FATAL" for entry in parser.error_log):
        # The parser stops at too deep a nesting, and would leave out the rest.
        raise RecordError("an HTML attachment cannot be parsed to its end")
    ends = tree.xpath(f"//i[@id='{_END_ID}']")
    if not ends:
        # An open comment, quote, title or script takes all that follows: the rest of the note would be lost.
        raise RecordError("an HTML attachment ends within a tag, a comment, a title or a script")
    for end in ends:
        end.drop_tree()
    lxml.etree.strip_elements(tree, *_DROPPED, with_tail=False)
    for element in tree.iter(lxml.etree.Element):
        style = element.attrib.pop("style", "")
        if "display:none" in _WHITE.sub("", style.lower()):
            element.set("style", "display: none")
    if _layout_chars(tree) > _MAX_LAYOUT_CHARS:
        raise RecordError("an HTML attachment would grow beyond measure when it is laid out")
    return str(Inscriptis(tree, ParserConfig(css=CSS_PROFILES["strict"].copy())).get_text())


def _layout_chars(tree: "HtmlElement") -> int:
    """Return an upper bound of the characters that padding and indentation make of a page."""
    import lxml.etree

    chars = cells = longest = elements = depth = deepest = 0
    begins: list[int] = []
    for event, element in lxml.etree.iterwalk(tree, events=("start", "end")):
        step = 1 if event == "start" else -1
        if element.tag in ("ul", "ol"):
            depth += step
            deepest = max(deepest, depth)
        if event == "start":
            elements += 1
            begins.append(chars)
            chars += len(element.text or "")
            continue
        begin = begins.pop()
        if element.tag in ("td", "th"):
            cells += 1
            longest = max(longest, chars - begin)
        chars += len(element.tail or "")
    return cells * longest + elements * _INDENT_CHARS * deepest
