"""Attachments: what they are and what they say, whatever they are called and packed in; hostile ones cost little."""

import base64
import gzip
import resource
import socket
from collections.abc import Callable

import pytest
from support.cases import read_rows

from clinaudit.priors.importers import attachments
from clinaudit.priors.importers.attachments import decode_base64, kind_of, plain_text_of, text_of, unpacked
from clinaudit.priors.importers.corpus_writer import RecordError
from clinaudit.templates.shown_text import form_of

CASES = read_rows("exports/import_rows.txt")


@pytest.mark.parametrize(("content", "encoding", "content_type", "expected"), CASES["documents_read"])
def test_a_document_is_read_as_what_it_is(content: str, encoding: str, content_type: str | None, expected: str) -> None:
    assert text_of(content.encode(encoding), content_type) == expected


@pytest.mark.parametrize(("content", "encoding", "content_type", "reason"), CASES["documents_refused"])
def test_what_cannot_be_read_as_text_is_refused(
    content: str, encoding: str, content_type: str | None, reason: str
) -> None:
    with pytest.raises(RecordError, match=reason):
        text_of(content.encode(encoding), content_type)


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
