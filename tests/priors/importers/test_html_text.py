"""HTML: the text of a page is what a browser shows of it, in lines and blocks; one that is not whole is refused."""

import random
import re

import lxml.html
import pytest
from support.cases import read_cases

from clinaudit.priors.importers.corpus_writer import RecordError
from clinaudit.priors.importers.html_text import text_of_html

CASES = read_cases("exports/html_cases.txt")


@pytest.mark.parametrize(("page", "expected"), CASES["pages"])
def test_the_text_of_a_page(page: str, expected: str | None) -> None:
    assert text_of_html(page) == expected


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        # The parser stops at 256 levels, and would leave out what is within.
        ("<div>" * 100_000 + "the whole note", "cannot be parsed to its end"),
        ("<div style=display:table>" * 250 + "x", "tables within tables"),
        ("<style>" + "a{display:none}" * 10_000 + "</style>" + "<i></i>" * 10_000, "beyond measure"),
        ("<style>" + "@media x{" * 200_000, "ends within"),
        ("<style>" + "@media x{" * 200_000 + "</style>x", "beyond measure"),
        *CASES["refused"],
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
