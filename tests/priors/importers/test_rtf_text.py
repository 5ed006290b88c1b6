"""RTF: what Word shows is read, and nothing else; a document that is not whole is refused."""

import random
import re

import pytest
from support.cases import read_cases

from clinaudit.priors.importers.corpus_writer import RecordError
from clinaudit.priors.importers.rtf_text import text_of_rtf

CASES = read_cases("exports/rtf_cases.txt", is_raw=True)
_FONTS = (
    rb"\ansicpg1252\deff0{\fonttbl{\f0\fnil Arial;}{\f1\fcharset204 Arial Cyr{\*\falt Helvetica};}"
    rb"{\f2\fcharset2 Symbol;}{\f3\fnil\fcharset2{\*\panose 05000000000000000000}Wingdings;}"
    rb"{\f4\fcharset128 MS Gothic;}{\f5\fcharset161 Arial;}{\f6\fcharset1 Arial;}{\f7 Symbol;}"
    rb"{\f9\fcharset0\cpg1251 Arial;}{\f8\fcharset2 Webdings;}{\f10 Wingdings 2;}{\f11 MT Extra;}}"
)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"\\ansi\\ansicpg1252 M\xfcller", "Müller"),
        # Signs by name, line ends, and hyphens that show only where a line breaks.
        (b"a\\~b\\-c\\_d\\{\\}\\\\\\lquote x\\rquote\\emdash\\bullet\\\ny\\line z\\tab q\\page r\\sect\r\ns",
         "a bc-d{}\\‘x’—•\ny\nz\tq\nr\ns"),
        # Binary data may hold any byte: braces, backslashes, and bytes that are no ASCII.
        (b"{\\pict\\bin5 \xff\xfe}\\u}x\\b\\bin3 {{{a", "xa"),
        *((text.encode(), shown) for text, shown in CASES["shown"]),
        *((_FONTS + text.encode(), shown) for text, shown in CASES["shown with fonts"]),
    ],
)  # fmt: skip
def test_the_text_of_a_document(body: bytes, expected: str) -> None:
    assert text_of_rtf(b"{\\rtf1" + (body if body.startswith(b"\\") else b" " + body) + b"}") == expected


def test_what_follows_a_document_may_show_nothing() -> None:
    assert text_of_rtf(b"{\\rtf1 x}}{\\*\\themedata 00}\r\n\0") == "x"
    assert text_of_rtf(b"{\\rtf1 x}ocf_blob\0") == "x"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        *((text.encode(), reason) for text, reason in CASES["refused"]),
        *((b"{\\rtf1%b%b}" % (_FONTS, text.encode()), reason) for text, reason in CASES["refused with fonts"]),
    ],
)
def test_a_document_that_cannot_be_read_whole_is_rejected(content: bytes, reason: str) -> None:
    with pytest.raises(RecordError, match=reason):
        text_of_rtf(content)


def test_a_large_document_is_read_in_one_pass() -> None:
    fields = rb"{\field{\*\fldinst{" * 20_000 + b"}}}" * 20_000
    fonts, groups = b"{\\fonttbl" + rb"\f1" * 100_000 + b"}", b"{" * 300_000 + b"x" + b"}" * 300_001
    assert text_of_rtf(b"{\\rtf1 " + fonts + fields + groups) == "x"


_WORDS = (rb"\par ", rb"\b ", rb"\intbl ", rb"\pard ", rb"\cell ", rb"\row ", rb"\itap2 ", rb"\nestcell ", rb"\trowd ")


def test_no_word_is_lost_or_moved_however_tables_are_broken() -> None:
    rng = random.Random(0)
    for _ in range(500):
        words = [rng.choice([b"w%d ", *_WORDS, b"{%d"]) for _ in range(rng.randrange(2, 40))]
        numbered = [word.replace(b"%d", b"%d" % at) for at, word in enumerate(words)]
        source = (
            b"{\\rtf1 " + b"".join(numbered).replace(b"{", b"{ w") + b"}" * (1 + sum(b"{" in word for word in words))
        )
        assert re.findall(r"w\d+", text_of_rtf(source)) == re.findall("w[0-9]+", source.decode())
