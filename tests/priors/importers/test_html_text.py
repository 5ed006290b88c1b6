"""HTML: the text of a page is what a browser shows of it, in lines and blocks; one that is not whole is refused."""

import random
import re

import lxml.html
import pytest
from support.cases import read_cases

from clinaudit.priors.importers.corpus_writer import RecordError
from clinaudit.priors.importers.html_text import text_of_html


@pytest.mark.parametrize(("page", "expected"), read_cases("exports/html_cases.txt")["pages"])
def test_the_text_of_a_page(page: str, expected: str | None) -> None:
    assert text_of_html(page) == expected


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        # The parser stops at 256 levels, and would leave out what is within.
        ("<div>" * 100_000 + "the whole note", "cannot be parsed to its end"),
        ("<div style=display:table>" * 250 + "x", "tables within tables"),
        # What follows an open comment, quote, title or script would be lost in silence.
        ("<p>Plan: rest</p><!-- open <p>the rest</p>", "ends within"),
        ('<p>Plan</p><a href="x>the rest</a><p>more</p>', "ends within"),
        ("<p>Plan</p><title>the rest<p>more</p>", "ends within"),
        ("<p>Plan</p><script>the rest<p>more</p>", "ends within"),
        ("<p>Plan</p><p", "ends within"),
        ("<p>A<![CDATA[the rest]]>B</p>", "XML that HTML does not have"),
        ('<!DOCTYPE x [<!ENTITY q "the rest">]><p>A &q; B</p>', "declares XML entities"),
        ('<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><p>&e;</p>', "declares XML entities"),
        ("<?xml version='1.0'?><ClinicalDocument xmlns='urn:hl7-org:v3'></ClinicalDocument>", "XML and no page"),
        (" <!-- c --><n:ClinicalDocument xmlns:n='urn:hl7-org:v3'><title>x</title></n:ClinicalDocument>", "XML and no"),
        ("", "blank"),
        ("<style>p:first-child{display:none}</style><p>x", "a selector not read"),
        *((f"<style>p:first-child{{{said}}}</style><p>x", "a selector not read")
          for said in ("font-size:0", "max-height:0;overflow:hidden", "text-indent:-9999px", "font-family:Wingdings")),
        ("<table><col style=visibility:collapse><tr><td>x<td>y</table>", "hides a column of a table"),
        ("<style>p ~ p{white-space:pre}</style><p>x", "a selector not read"),
        *((f"<style>{name}{{display:none}}</style><p>x", "a selector not read") for name in ("[1]", "[-x]", "a²")),
        ("<style>p[title='\x01']{display:none}</style><p>x", "a selector not read"),
        ("<style>.x{.y{display:none}}</style><p class=x>x", "a selector not read"),
        ("<style>@media print{.x{.y{color:red}} p{display:none}}</style><p>x", "a selector not read"),
        ("<style>p{display:var(--d)}</style><p>x", "a value not read"),
        ("<p style='visibility:var(--v)'>x", "a value not read"),
        ("<style>p:before{content:counter(n) '. '}</style><p>x", "a value not read"),
        ("<style>p::before{content:attr(data-x)}</style><p>x", "a value not read"),
        ("<style>p::after{content:'\\f00c'}</style><p>x", "a value not read"),
        ("<style>p::after{content:'\\d800'}</style><p>x", "a value not read"),
        ("<style>p::before{content:'Dose';display:block}</style><p>x", "a value not read"),
        ("<style>li::marker{content:'1) '}</style><li>x", "a value not read"),
        ("<style>p:first-child:before{content:'No '}</style><p>x", "a selector not read"),
        ("<style>p:first-child::before{content:'No '}</style><p>x", "a selector not read"),
        ("<style>p::after{content:','} p:last-child::after{content:''}</style><p>x<p>y", "a selector not read"),
        ("<style>.x > :first-child{display:none}</style><div class=x><p>x</div>", "a selector not read"),
        ("<style>p:is(.a, .b){display:none}</style><p>x", "a selector not read"),
        ("<style>p{@media print{display:none}}</style><p>x", "a selector not read"),
        ("<style>@container (width>1px){p{display:none}}</style><p>x", "a condition not read"),
        ("<style>@media (orientation:portrait){p{display:none}}</style><p>x", "a condition not read"),
        ("<style>@supports (display:grid) or (x:y){p{display:none}}</style><p>x", "a condition not read"),
        ("<style>@layer a{p{display:none}}</style><p>x", "a condition not read"),
        ("<style>" + "a{display:none}" * 10_000 + "</style>" + "<i></i>" * 10_000, "beyond measure"),
        ("<style>" + "@media x{" * 200_000, "ends within"),
        ("<style>" + "@media x{" * 200_000 + "</style>x", "beyond measure"),
    ],
)  # fmt: skip
def test_a_page_that_cannot_be_read_whole_is_rejected(page: str, reason: str) -> None:
    with pytest.raises(RecordError, match=reason):
        text_of_html(page)


_TAGS = re.findall(r"\w+", "p div table tr td th ol ul li b pre dl dd h2 caption tbody form")


def test_no_word_is_lost_or_moved_however_a_page_is_broken() -> None:
    rng = random.Random(0)
    for _ in range(500):
        parts = [rng.choice([f"w{at} ", f"w{at} ", "<br>", "<{}>", "</{}>"]) for at in range(rng.randrange(2, 40))]
        page = "w " + "".join(part.format(rng.choice(_TAGS)) for part in parts)
        # The twin: all text of the page as it was parsed, in order.
        twin = lxml.html.document_fromstring(page).text_content()
        assert re.findall(r"w\d+", text_of_html(page)) == re.findall(r"w\d+", twin)
