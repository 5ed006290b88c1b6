"""Attachments: what a document says is read whole or not at all, and a hostile one costs little."""

import resource
import socket
from collections.abc import Callable

import pytest
from support.exports.fhir import as_html, as_rtf
from support.exports.hospital import FIRST_TEXT

from clinaudit.priors.importers import attachments
from clinaudit.priors.importers.attachments import decode_base64, kind_of, text_of
from clinaudit.priors.importers.ledger import RecordError


@pytest.mark.parametrize(
    ("content", "content_type", "expected"),
    [
        ("naïve ½\r\n".encode(), "text/plain", "naïve ½\r\n"),
        ("naïve".encode("latin-1"), "text/plain; charset=ISO-8859-1", "naïve"),
        ("\ufeffa".encode("utf-16-le"), 'text/plain; charset="utf-16"', "a"),
        (b"\xef\xbb\xbfa", "TEXT/PLAIN", "a"),
        (as_rtf(FIRST_TEXT), "text/rtf", FIRST_TEXT),
        (rb"{\rtf1\ansi\ansicpg1252 M\'fcller}", "application/rtf", "Müller"),
        (b"{\\rtf1\\ansi\\ansicpg1252 M\xfcller}\r\n\0", "application/rtf", "Müller"),
        (rb"{\rtf1{\field{\*\fldinst INCLUDETEXT /etc/passwd}{\fldrslt }}x}", "text/rtf", "x"),
        (rb"{\rtf1{\object\objdata 00ff}{\pict 0102}x}", "text/rtf", "x"),
        # Binary data may hold any byte: braces, backslashes, and bytes that are no ASCII.
        (b"{\\rtf1{\\pict\\bin5 \xff\xfe}\\u}x\\b\\bin3 {{{a}", "text/rtf", "xa"),
        # What stands for a character in older readers: by default one; none; a code of two bytes; a group's end.
        (rb"{\rtf1 it\u8217's {\uc0 it\u8217s} {\uc2 it\u8217\'81\'66s} {it\u8217}s}", "text/rtf",
         "it\u2019s it\u2019s it\u2019s it\u2019s"),
        (b"<p>a &amp; b<br>c</p><p>d", "text/html", "a & b\nc\n\nd"),
        (b"<?xml version='1.0' encoding='utf-8'?><html xmlns='http://www.w3.org/1999/xhtml'><body><p>x</p></body></html>",
         "application/xhtml+xml", "x"),
        (b"<body><script>alert(1)</script><style>b{}</style><!-- c --><p>x</p><iframe src='http://e/'>f</iframe></body>",
         "text/html", "x"),
        (b"<p style='margin-top: 90000000em'>x</p><p style='DISPLAY : none'>y</p>", "text/html", "x"),
        (b"<pre>a\n   b</pre>", "text/html", "a\n   b"),
        (b"<table><tr><td>BP</td><td>120/80</td></tr></table>", "text/html", "BP  120/80"),
        (b"<ul><li>one<li>two</ul>", "text/html", "* one\n  * two"),
    ],
)  # fmt: skip
def test_the_text_of_a_document(content: bytes, content_type: str, expected: str) -> None:
    text = text_of(content, content_type)
    assert (text.strip() if "html" in content_type else text) == expected


@pytest.mark.parametrize(
    ("content", "content_type", "reason"),
    [
        (b"\xff", "text/plain", "is not in the character set of its type"),
        (b"abc", "text/plain; charset=rot13", "a character set that is not known"),
        (b"abc", "text/plain; charset=\r\nx", "a character set that is not known"),
        (b"a", "text/plain; charset=utf-16", "is not in the character set of its type"),
        (b"hello", "text/rtf", "is not RTF"),
        (rb"{\rtf1 The patient was", "text/rtf", "is cut off"),
        (rb"{\rtf1 The {\b patient}", "text/rtf", "is cut off"),
        (rb"{\rtf1 The patient} was here}", "text/rtf", "goes on after its end"),
        (rb"{\rtf1 The \bin999999999 patient was}", "text/rtf", "holds more than it does"),
        (rb"{\rtf1 The \bin12 patient was}", "text/rtf", "holds more than it does"),
        (rb"{\rtf1\uc999 The\u8217 patient was}", "text/rtf", "skips more text"),
        (rb"{\rtf1\uc-1 The\u8217 patient was}", "text/rtf", "skips more text"),
        (rb"{\rtf1\uc8 The\u8217 patient}", "text/rtf", "ends within the text"),
        (rb"{\rtf1 The\u8217", "text/rtf", "is cut off"),
        (rb"{\rtf1 \u55357? x}", "text/rtf", "cannot be read whole"),  # half a character
        (rb"{\rtf1\ansicpg99999 \'fc x}", "text/rtf", "cannot be read whole"),
        (rb"{\rtf1 \u9999999999? x}", "text/rtf", "cannot be read whole"),
        (b"{\\rtf1 " + rb"{\field{\*\fldinst{" * 20_000 + b"}}}" * 20_000 + b"}", "text/rtf", "beyond measure"),
        (b"{\\rtf1 {\\fonttbl" + rb"\f1" * 100_000 + b"}}", "text/rtf", "beyond measure"),
        # The parser stops at 256 levels, and would leave out what is within.
        (b"<div>" * 100_000 + b"the whole note", "text/html", "cannot be parsed to its end"),
        # What follows an open comment, quote, title or script would be lost in silence.
        (b"<p>Plan: rest</p><!-- open <p>the rest</p>", "text/html", "ends within"),
        (b'<p>Plan</p><a href="x>the rest</a><p>more</p>', "text/html", "ends within"),
        (b"<p>Plan</p><title>the rest<p>more</p>", "text/html", "ends within"),
        (b"<p>Plan</p><script>the rest<p>more</p>", "text/html", "ends within"),
        (b"<p>Plan</p><p", "text/html", "ends within"),
        (b"<html>A<![CDATA[the rest]]>B</html>", "application/xhtml+xml", "XML that HTML does not have"),
        (b'<!DOCTYPE x [<!ENTITY q "the rest">]><p>A &q; B</p>', "application/xhtml+xml", "XML that HTML does not"),
        (b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><p>&e;</p>', "text/html", "XML that HTML does not"),
        (b"", "text/html", "blank"),
        # A table's cells are padded to the longest of their column.
        (b"<table><tr><td>" + b"x" * 1_000_000 + b"<tr><td>b</td></tr>" * 2000, "text/html", "grow beyond"),
        (b"<ul><li>" * 120 + b"<li>x" * 100_000, "text/html", "grow beyond"),
    ],
)  # fmt: skip
def test_a_document_that_cannot_be_read_whole_is_rejected(content: bytes, content_type: str, reason: str) -> None:
    with pytest.raises(RecordError, match=reason):
        text_of(content, content_type)


@pytest.mark.parametrize(
    "bomb",
    [
        lambda: text_of(b"{\\rtf1 " + b"{" * 300_000 + b"x" + b"}" * 300_000 + b"}", "text/rtf"),
        lambda: text_of(b"<table><tr><td colspan=999999999 rowspan=999999999>a</td></tr></table>", "text/html"),
        lambda: text_of(
            b'<link rel=stylesheet href="http://127.0.0.1:9/"><img src="http://127.0.0.1:9/"><p>a', "text/html"
        ),
    ],
)
def test_a_hostile_document_grows_nothing_and_fetches_nothing(
    bomb: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("an attachment opened a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    text = bomb()
    assert "root:" not in text
    assert len(text) < 1_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kilobytes


def test_html_lines_stand_as_blocks() -> None:
    assert text_of(as_html("CC: cough\nHPI: two days").encode(), "text/html").split("\n") == [
        "CC: cough",
        "HPI: two days",
    ]


@pytest.mark.parametrize("data", ["eA", "eA==eA==", "e$A=", "é", "eA==\0"])
def test_what_is_no_base64_is_rejected(data: str) -> None:
    with pytest.raises(RecordError, match="is not base64"):
        decode_base64(data)


def test_base64_may_have_line_breaks_and_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    assert decode_base64("aGVs\r\n bG8=\n") == b"hello"
    monkeypatch.setattr(attachments, "MAX_ATTACHMENT_BYTES", 8)
    with pytest.raises(RecordError, match="an attachment has more than"):
        decode_base64("AAAA" * 3)


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        ("Text/HTML ; charset=x", "text/html"),
        ("application/pdf", None),
        ("text/html2", None),
        ("", None),
        ("text", None),
    ],
)
def test_which_types_are_read(content_type: str, expected: str | None) -> None:
    assert kind_of(content_type) == expected
