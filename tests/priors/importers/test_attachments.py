"""Attachments: what they are and what they say, whatever they are called and packed in; hostile ones cost little."""

import base64
import gzip
import resource
import socket
from collections.abc import Callable

import pytest
from support.cases import read_rows
from support.exports.fhir import as_rtf
from support.exports.hospital import FIRST_TEXT

from clinaudit.priors.importers import attachments
from clinaudit.priors.importers.attachments import decode_base64, kind_of, plain_text_of, text_of, unpacked
from clinaudit.priors.importers.corpus_writer import RecordError
from clinaudit.templates.shown_text import form_of

CASES = read_rows("exports/import_rows.txt")

_PAGE = b"<html><body><p>CC: cough</p></body></html>"
_RTF = rb"{\rtf1 CC: cough}"


@pytest.mark.parametrize(
    ("content", "content_type", "expected"),
    [
        ("naïve ½\r\n".encode(), "text/plain", "naïve ½\r\n"),
        ("naïve".encode("latin-1"), "text/plain; charset=ISO-8859-1", "naïve"),
        # Latin-1 in name: the characters of Windows, which Latin-1 does not have.
        ("it’s naïve".encode("cp1252"), "text/plain; charset=latin1", "it’s naïve"),
        ("\ufeffa".encode("utf-16-le"), 'text/plain; charset="utf-16"', "a"),
        (b"\xef\xbb\xbfa", "TEXT/PLAIN", "a"),
        *((text.encode(encoding), f"text/plain; charset={name}", text) for text, encoding, name in (
            ("“ok” ğ", "cp1254", "iso-8859-9"), ("①㈱高血圧", "cp932", "Shift_JIS"), ("①", "cp932", "windows-31j"),
            ("“ไทย”", "cp874", "windows-874"), ("é", "mac_roman", "x-mac-roman"), ("模型患者", "gbk", "gb2312"))),
        # Bytes that are UTF-8 by chance.
        ("IDENTITÉ\xa0: 5²".encode("latin-1"), "text/plain; charset=ISO-8859-1", "IDENTITÉ\xa0: 5²"),
        # A mark of the character set counts more than the type.
        ("\ufeffnaïve".encode("utf-16-be"), "text/plain; charset=utf-8", "naïve"),
        ("naïve".encode("utf-16-le"), "text/plain", "naïve"),
        ("<p>naïve".encode("utf-16-be"), "text/html", "naïve"),
        *(("naïve".encode("utf-16-be"), f"text/plain; charset={name}", "naïve") for name in ("utf-16", "latin1")),
        ("<?xml version='1.0' encoding='utf-16'?><html><body>naïve</body></html>".encode(), "text/html", "naïve"),
        (b"knee\0\0", "text/plain", "knee"),
        (as_rtf(FIRST_TEXT), "text/rtf", FIRST_TEXT),
        # By what it is, not by what it is called.
        *((_RTF, name, "CC: cough") for name in ("text/plain", "text/html", "application/msword", None)),
        *((_PAGE, name, "CC: cough") for name in ("text/plain", "text/rtf", "application/xhtml", "text/xml", "", None)),
        (b"<p>CC: cough</p><p>HPI</p>", "text/plain", "CC: cough\n\nHPI"),
        (b"CC: cough\nHPI: <3 days &lt;&nbsp;5", "text/html", "CC: cough\nHPI: <3 days < 5"),
        (b"\xef\xbb\xbf\r\n{\\rtf1 x}\0", "text/plain", "x"),
        (b"Na <130> & K\n<p> stands for phosphate", "text/plain", "Na <130> & K\n<p> stands for phosphate"),
        # The page's own word for its character set.
        ("<meta charset='windows-1252'><p>naïve".encode("cp1252"), "text/html", "naïve"),
        ("<?xml version='1.0' encoding='cp1250'?><html><p>5 €</p></html>".encode("cp1250"), "text/xml", "5 €"),
        ("<meta http-equiv=Content-Type content='text/html; charset=cp1251'><p>П".encode("cp1251"), "text/html", "П"),
    ],
)  # fmt: skip
def test_a_document_is_read_as_what_it_is(content: bytes, content_type: str | None, expected: str) -> None:
    assert text_of(content, content_type) == expected


@pytest.mark.parametrize(
    ("content", "content_type", "reason"),
    [
        (b"\xff", "text/plain", "is not in the character set of its type"),
        (b"abc", "text/plain; charset=rot13", "a character set that is not known"),
        (b"abc", "text/plain; charset=\r\nx", "a character set that is not known"),
        ("naïve".encode(), "text/plain; charset=utf-16", "is UTF-8, and its type says another"),
        (b"a", "text/plain; charset=utf-16", "is not in the character set of its type"),
        (b"caf\xe9", "text/plain; charset=us-ascii", "is not in the character set of its type"),
        *(("café 38°".encode(), f"text/plain; charset={name}", "is UTF-8, and its type says another")
          for name in ("latin-1", "windows-1250", "windows-1251", "iso-8859-15", "macintosh", "cp850", "gb18030")),
        *(("“ok” –".encode("cp1252"), f"text/plain; charset={name}", "control characters in the character set")
          for name in ("iso-8859-2", "iso-8859-15")),
        (rb"{\rtf1\ansi\ansicpg1252 caf\'c3\'a9}", "text/rtf", "holds UTF-8, and says another character set"),
        ("{\\rtf1\\ansi\\ansicpg1250 café}".encode(), "text/rtf", "holds UTF-8, and says another character set"),
        ("Пациент\xad\u200b".encode(), "text/plain; charset=windows-1251", "is UTF-8, and its type says another"),
        (base64.b64encode("Größe 1,80 m, Gewicht 80 kg, Übergewicht".encode("cp1252")), "text/plain", "holds base64"),
        (b"hello", "text/rtf", "is not RTF"),
        (b"hello", None, "has no contentType"),
        (b"hello", "application/octet-stream", "no attachment is plain text, HTML or RTF"),
        (b"%PDF-1.7 text", "text/plain", "no attachment is plain text, HTML or RTF"),
        (b"PK\3\4 Word's own format", "text/rtf", "no attachment is plain text, HTML or RTF"),
        (b"<?xml version='1.0'?><ClinicalDocument xmlns='urn:hl7-org:v3'><text>x</text></ClinicalDocument>",
         "text/xml", "XML and no page"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_as_text_is_refused(content: bytes, content_type: str | None, reason: str) -> None:
    with pytest.raises(RecordError, match=reason):
        text_of(content, content_type)


_TEXT = b"CC: cough\nPlan: rest, review in two weeks"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (_TEXT, _TEXT),
        (gzip.compress(_TEXT, mtime=0), _TEXT),
        (base64.b64encode(_TEXT), _TEXT),
        (base64.encodebytes(_TEXT * 5), _TEXT * 5),
        (base64.b64encode(base64.b64encode(_TEXT)), _TEXT),
        # As addresses have it, without padding, and with what stands before it in a data address and in HL7's ED.
        (base64.urlsafe_b64encode("¿CC? cough ≥ 2 days\n".encode() * 3), "¿CC? cough ≥ 2 days\n".encode() * 3),
        (base64.b64encode(_TEXT).rstrip(b"="), _TEXT),
        *((before + base64.b64encode(_TEXT), _TEXT)
          for before in (b"data:text/plain;charset=utf-8;base64,", b"^TEXT^RTF^Base64^", b"L^a^rtf^Base64^")),
        (base64.b64encode(gzip.compress(_TEXT, mtime=0)), _TEXT),
        (base64.b64encode(b"%PDF-1.7"), b"%PDF-1.7"),
        # Words that look like base64, and base64 of no text.
        *((word, word) for word in (b"LEFLUNOMIDE", b"SUFENTANIL", b"bictegravir", b"co-trimoxazole")),
        *((word, word) for word in (b"cardiomegaly", b"UNREMARKABLE", b"test", b"normal12", b"")),
        (base64.b64encode(bytes(30)), base64.b64encode(bytes(30))),
    ],
)  # fmt: skip
def test_what_is_packed_twice_is_unpacked(content: bytes, expected: bytes) -> None:
    assert unpacked(content) == expected


def test_damaged_and_blown_up_gzip_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RecordError, match="damaged gzip"):
        unpacked(b"\x1f\x8bnothing")
    with pytest.raises(RecordError, match="cut off, or too large"):
        unpacked(gzip.compress(_TEXT)[:-9])
    # A second part, as logs have that grow: it would be lost in silence.
    with pytest.raises(RecordError, match="in several parts"):
        unpacked(gzip.compress(_TEXT) * 2)
    assert unpacked(gzip.compress(_TEXT) + b"\0\0") == _TEXT
    monkeypatch.setattr(attachments, "MAX_ATTACHMENT_BYTES", 1000)
    with pytest.raises(RecordError, match="cut off, or too large"):
        unpacked(gzip.compress(bytes(100_000)))


@pytest.mark.parametrize(("text", "form", "shown"), CASES["forms"])
def test_what_stands_in_a_text_beside_plain_words_is_named_and_read(
    text: str, form: str | None, shown: str | None
) -> None:
    assert form_of(text) == form
    assert plain_text_of(text) == (text if shown is None else shown)


def test_half_a_character_in_rtf_is_refused() -> None:
    with pytest.raises(RecordError, match="cannot be read whole"):
        plain_text_of("{\\rtf1 a\ud83d b}")


@pytest.mark.parametrize(
    "bomb",
    [
        lambda: text_of(b"{\\rtf1 " + b"{" * 300_000 + b"x" + b"}" * 300_000 + b"}", "text/rtf"),
        lambda: text_of(
            b"<style>"
            + b"a b c{display:none}" * 1000
            + b"</style><table><tr><td colspan=999999999 rowspan=999999999>a</td></tr></table>",
            "text/html",
        ),
        lambda: text_of(b"<p style='font:" + b"1" * 300_000 + b"'>" + b" " * 1_000_000 + b"x", "text/html"),
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
        ("Text/HTML ; charset=x", "html"),
        ("application/x-rtf", "rtf"),
        ("application/pdf", None),
        ("text/html2", None),
        ("", None),
        (None, None),
        ("text", None),
    ],
)
def test_which_types_are_read(content_type: str | None, expected: str | None) -> None:
    assert kind_of(b"<b>x</b>", content_type) == expected
