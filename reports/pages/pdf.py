"""The report, or its summary, as a PDF for paper: the page's HTML in, bytes out. WeasyPrint draws it (the extra `pdf`).

The same text gives the same bytes, on a machine with the same fonts. Nothing is fetched: what the page would ask for is
refused. Knows nothing of results.
"""

from typing import NoReturn

from clinaudit.errors import UsageError

_INSTALL = (
    "a PDF needs WeasyPrint and Debian's libpango-1.0-0, libpangoft2-1.0-0 and libharfbuzz-subset0; {missing}: install"
    ' it (`pip install "clinaudit[pdf]"`, `apt-get install libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0`), or'
    " print report.html from a browser"
)


def render_pdf(page: str) -> bytes:
    """Return the PDF of a page that holds all it needs; raises `UsageError` where what draws it is not installed."""
    try:
        from weasyprint import HTML
        from weasyprint.urls import FatalURLFetchingError, URLFetcher
    except ImportError:
        raise UsageError(_INSTALL.format(missing="WeasyPrint is missing")) from None
    except OSError:
        raise UsageError(_INSTALL.format(missing="Pango is missing")) from None

    class Refusal(URLFetcher):  # type: ignore[misc]  # the library ships no types
        def fetch(self, url: str, headers: object = None) -> NoReturn:  # noqa: ARG002 (the library's own signature)
            raise FatalURLFetchingError("the report asks for nothing from outside")

    pdf: bytes = HTML(string=page, base_url=None, url_fetcher=Refusal()).write_pdf()
    return pdf
