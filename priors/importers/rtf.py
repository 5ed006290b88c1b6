"""From the bytes of an RTF document to its text, by striprtf.

Owns what is looked at before: that the document is whole, and that nothing in it takes text away in silence. Its
grammar is that of the Rich Text Format Specification 1.9.1.
"""

import re

from clinaudit.priors.importers.ledger import RecordError

#: Characters that striprtf's patterns may look at, over all their beginnings: about a second.
_MAX_STEPS = 500_000_000
#: Characters that may stand for one of Unicode in older readers (`\\uc`): a few bytes, or words such as "(TM)".
_MOST_STANDING_FOR_ONE = 8
_HIGH_BYTE = re.compile("[\x80-\xff]")
#: A control word with its number, a control symbol, a brace, or a line's end, which means nothing.
_TOKEN = re.compile(rb"\\(?P<word>[a-zA-Z]{1,32})(?P<number>-?\d{1,10})? ?|\\'[0-9a-fA-F]{2}|\\[^a-zA-Z]|[{}]|[\r\n]+")


def text_of_rtf(content: bytes) -> str:
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
