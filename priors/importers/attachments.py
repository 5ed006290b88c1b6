"""From an attachment's bytes to the text of a note: base64, compression, formats by what they are, character sets."""

import base64
import binascii
import codecs
import html
import re
import zlib
from contextlib import suppress
from email.message import Message
from typing import Final, Literal

from clinaudit.priors.corpus.files import unmarked_utf16
from clinaudit.priors.corpus.records import CONTROLS, is_surely_utf8
from clinaudit.priors.importers.corpus_writer import RecordError
from clinaudit.priors.importers.html_text import text_of_html
from clinaudit.priors.importers.rtf_text import raised, text_of_rtf
from clinaudit.templates.shown_text import BASE64, BLOCK_TAG, BREAK, HL7_ESCAPES, HL7_FORM, INLINE_TAG, form_of

Kind = Literal["plain", "html", "rtf"]

#: Longest attachment in bytes; no note comes near it.
MAX_ATTACHMENT_BYTES = 32 << 20
_KINDS: Final[dict[str, Kind]] = {
    **dict.fromkeys(("text/plain", "text/markdown", "text/x-markdown"), "plain"),
    **dict.fromkeys(("text/html", "application/xhtml+xml", "text/xml", "application/xml"), "html"),
    **dict.fromkeys(("text/rtf", "application/rtf", "text/richtext", "application/x-rtf", "text/x-rtf"), "rtf"),
}
#: How files begin that are no text, whatever they are called: PDF, ZIP (Word's .docx), Word's .doc, pictures.
NO_TEXT: Final = (b"%PDF", b"PK\3\4", b"\xd0\xcf\x11\xe0", b"\x89PNG", b"\xff\xd8\xff", b"II*\0", b"MM\0*", b"GIF8")
_MARKS: Final = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_CHARSET: Final = re.compile(rb"<(?:meta\s[^>]*charset|\?xml\s[^>]*encoding)\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
_PAGE: Final = re.compile(r"<(?:!doctype\s+html|html|\?xml)[\s>]", re.IGNORECASE)
_SUPERSCRIPT: Final = re.compile(r"<sup>([^<>]*)</sup>", re.IGNORECASE)
_ANY_TAG: Final = re.compile(r"<[a-zA-Z!/?]")
#: Encodings that are called by the name of one that has fewer signs (WHATWG Encoding), and names that Python lacks.
_WITH_MORE_SIGNS: Final = {
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "shift_jis": "cp932",
    "gb2312": "gbk",
    "euc_kr": "cp949",
    "big5": "cp950",
}
_NAMES: Final = {
    "windows-874": "cp874",
    "x-mac-roman": "mac_roman",
    "x-sjis": "cp932",
    "windows-31j": "cp932",
    "x-gbk": "gbk",
}
#: From so many letters on base64 may lack its padding; below, words look like it.
_FEWEST_LETTERS: Final = 40
_FOR_ADDRESSES: Final = str.maketrans("+/", "-_")
_HL7_SIGNS: Final = {"F": "|", "S": "^", "T": "&", "R": "~", "E": "\\", "H": "", "N": ""}


def decode_base64(data: str) -> bytes:
    """Return the bytes; white space between lines is allowed, anything else that is no base64 is a `RecordError`."""
    try:
        content = base64.b64decode(data.encode("ascii").translate(None, b" \t\r\n"), validate=True)
    except (binascii.Error, ValueError):
        raise RecordError("an attachment is not base64") from None
    if len(content) > MAX_ATTACHMENT_BYTES:
        raise RecordError(f"an attachment has more than {MAX_ATTACHMENT_BYTES >> 20} MiB")
    return content


def unpacked(content: bytes, *, layers: int = 3) -> bytes:
    """Return what bytes hold that are compressed (gzip), or base64 once more; other bytes as they are."""
    if content.startswith(b"\x1f\x8b") and layers:
        inflate = zlib.decompressobj(wbits=31)
        try:
            content = inflate.decompress(content, MAX_ATTACHMENT_BYTES)
        except zlib.error:
            raise RecordError("an attachment is damaged gzip data") from None
        if not inflate.eof or inflate.unused_data.strip(b"\0 \t\r\n"):
            raise RecordError("an attachment is gzip data in several parts, that is cut off, or too large")
        return unpacked(content, layers=layers - 1)
    packed = BASE64.fullmatch(content.decode("latin-1").strip())
    if not layers or packed is None:
        return content
    letters = re.sub(r"[\r\n=]+", "", packed[1])
    is_strict = "=" in packed[1] or (len(letters) % 4 == 0 and not {"-", "_"} & set(letters))
    if not is_strict and len(letters) < _FEWEST_LETTERS:
        return content
    inner = base64.urlsafe_b64decode(letters.translate(_FOR_ADDRESSES) + "=" * (-len(letters) % 4))
    deepest = unpacked(inner, layers=layers - 1)
    # A long word may look like base64; what it decodes to is no text, and has no blanks.
    is_note = deepest != inner or inner.startswith(NO_TEXT) or (_is_utf8_text(inner) and re.search(rb"\s", inner))
    return deepest if is_note else content


def _is_utf8_text(content: bytes) -> bool:
    try:
        return all(char.isprintable() or char.isspace() for char in content.decode())
    except UnicodeDecodeError:
        return False


def kind_of(content: bytes, content_type: str | None) -> Kind | None:
    """Return what an attachment is, by how it begins, or else by its type; None for what is not read."""
    if content.startswith(NO_TEXT):
        return None
    mark = next((name for mark, name in _MARKS.items() if content.startswith(mark)), "utf-8")
    begin = content[:1000].decode(mark, "ignore").lstrip("\ufeff \t\r\n")
    if begin.startswith("{\\rtf"):
        return "rtf"
    kind = _KINDS.get((content_type or "").partition(";")[0].strip().lower())
    if _PAGE.match(begin) or (kind == "plain" and begin.startswith("<") and form_of(begin) == "HTML"):
        return "html"
    return kind


def text_of(content: bytes, content_type: str | None) -> str:
    """Return the text of an attachment; raises `RecordError` where it cannot be read whole."""
    kind = kind_of(content, content_type)
    if kind is None:
        raise RecordError(
            "no attachment is plain text, HTML or RTF" if content_type else "an attachment has no contentType"
        )
    if kind == "rtf":
        return text_of_rtf(content)
    text = _decoded(content, content_type or "", kind)
    if kind == "plain":
        if form_of(text) == "base64":
            raise RecordError("an attachment holds base64 of what is no text in UTF-8")
        return text
    # A browser would run the lines of a plain text together that is called a page.
    return text_of_html(text) if _ANY_TAG.search(text) else html.unescape(text).replace("\xa0", " ")


def plain_text_of(text: str) -> str:
    r"""Return what a cell shows, if it is RTF or HTML, or has some of its signs: `a<br>b &lt; 5`, HL7's `a\.br\b`.

    Raises `RecordError` where it cannot be read whole.
    """
    form = form_of(text)
    if form == "RTF":
        # RTF is ASCII: what a table has decoded is written as RTF writes it, in units of UTF-16.
        units = memoryview(text.lstrip("\ufeff \t\r\n").encode("utf-16-le", "surrogatepass")).cast("H")
        return text_of_rtf("".join(chr(unit) if unit < 128 else f"{{\\uc0\\u{unit}}}" for unit in units).encode())
    if form == "HTML":
        return text_of_html(text if BLOCK_TAG.search(text) else f"<div style='white-space:pre-wrap'>{text}</div>")
    if form == HL7_FORM:
        return HL7_ESCAPES.sub(lambda escape: _shown_by_hl7(escape[1]) if escape[1] else escape[0], text)
    if form in ("<br>", "HTML signs"):
        lines = BREAK.sub("\n", _SUPERSCRIPT.sub(lambda above: raised(html.unescape(above[1])), text))
        return html.unescape(INLINE_TAG.sub("", lines)).replace("\xa0", " ")
    return text


def _shown_by_hl7(escape: str) -> str:
    if escape in _HL7_SIGNS:
        return _HL7_SIGNS[escape]
    number = int("".join(filter(str.isdigit, escape)) or 1) if escape.startswith(".s") else 1
    match escape[:3]:
        case ".in" | ".ti" | ".fi" | ".nf":
            return ""
        case ".sk":
            return " " * number
        case ".br" | ".ce" | ".sp":
            return "\n" * number
    code = bytes.fromhex(re.sub(r"[X\\]", "", escape))
    text = code.decode("utf-8" if is_surely_utf8(code) else "latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _decoded(content: bytes, content_type: str, kind: Kind) -> str:
    header = Message()
    header["Content-Type"] = content_type.replace("\r", " ").replace("\n", " ")
    charset = str(header.get_content_charset() or "")
    if not charset and kind == "html" and (declared := _CHARSET.search(content[:4096])):
        charset = declared[1].decode("ascii")
        # A page that says so in ASCII is none (WHATWG HTML, "prescanning a byte stream"): .NET writes it above UTF-8.
        charset = "utf-8" if charset.lower().startswith("utf-16") else charset
    marked = next((name for mark, name in _MARKS.items() if content.startswith(mark)), unmarked_utf16(content))
    charset = marked or charset or "utf-8"
    charset = _NAMES.get(charset.lower(), charset)
    try:
        codec = codecs.lookup(charset)
        if not codec._is_text_encoding:
            raise LookupError
    except (LookupError, ValueError):
        raise RecordError("an attachment is in a character set that is not known") from None
    text = None
    for name in filter(None, (charset, _WITH_MORE_SIGNS.get(codec.name))):
        with suppress(UnicodeError, ValueError):
            text = content.decode(name)
            if not CONTROLS.search(text):
                break
    if text is None:
        raise RecordError("an attachment is not in the character set of its type (UTF-8 without one)")
    is_wide = codec.name.startswith(("utf-16", "utf-32"))
    if (is_wide and not marked and _is_utf8_text(content)) or (
        not codec.name.startswith("utf") and is_surely_utf8(content)
    ):
        raise RecordError("an attachment is UTF-8, and its type says another character set")
    if not codec.name.startswith("utf") and CONTROLS.search(text):
        raise RecordError("an attachment has control characters in the character set of its type: it is another")
    return text.removeprefix("\ufeff").rstrip("\0")
