"""Checks the documentation site that `make docs` built: nothing in it is loaded from elsewhere, tables are whole.

Where links and anchors lead, `mkdocs build --strict` checks. Prints every problem and exits with 1 where there is one.
"""

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

#: Attributes whose address the browser fetches by itself, by element.
_FETCHED = {
    "script": ("src",), "img": ("src", "srcset"), "iframe": ("src",), "frame": ("src",), "embed": ("src",),
    "object": ("data",), "source": ("src", "srcset"), "video": ("src", "poster"), "audio": ("src",), "track": ("src",),
    "input": ("src",), "image": ("href", "xlink:href"), "use": ("href", "xlink:href"), "body": ("background",),
}  # fmt: skip
#: Kinds of <link> that load nothing.
_SILENT_LINKS = frozenset({"canonical", "prev", "next", "alternate", "author", "license", "search", "help"})
_CSS_ADDRESS = re.compile(r"""url\(\s*["']?([^"')]+)["']?\s*\)|@import\s+["']([^"']+)["']""")


class _Page(HTMLParser):
    """What one page loads, and the rows that became part of no table."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.fetched: list[str] = []
        self.stray_rows: list[str] = []
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect the addresses of one element."""
        values = {name: value or "" for name, value in attrs}
        if tag in {"style", "p", "code", "pre"}:
            self._inside = tag
        for name in _FETCHED.get(tag, ()):
            entries = values.get(name, "").split(",") if name == "srcset" else [values.get(name, "")]
            self.fetched.extend(entry.split()[0] for entry in entries if entry.strip())
        if tag == "link" and not set(values.get("rel", "").lower().split()) & _SILENT_LINKS and "href" in values:
            self.fetched.append(values["href"])
        self.fetched.extend(_css_addresses(values.get("style", "")))

    def handle_data(self, data: str) -> None:
        """Collect the addresses in a style sheet that stands in the page, and rows in a paragraph."""
        if self._inside == "style":
            self.fetched.extend(_css_addresses(data))
        if self._inside == "p":
            self.stray_rows.extend(line for line in data.splitlines() if line.startswith("| "))


def _css_addresses(text: str) -> list[str]:
    return [(first or second).strip() for first, second in _CSS_ADDRESS.findall(text)]


def problems(site: Path) -> Iterator[str]:
    """Yield what is wrong with the site, file by file."""
    pages = sorted(site.rglob("*.html"))
    if not pages:
        yield f"{site}: no pages"
    for path in (*pages, *sorted(site.rglob("*.css"))):
        text, page = path.read_text(encoding="utf-8"), _Page()
        if path.suffix == ".html":
            page.feed(text)
        for address in page.fetched if path.suffix == ".html" else _css_addresses(text):
            parts = urlsplit(address)
            if parts.netloc or parts.scheme not in {"", "data"}:
                yield f"{path.relative_to(site)}: loads from outside: {address}"
        for row in page.stray_rows:
            yield f"{path.relative_to(site)}: a row that became part of no table: {row}"


def main() -> int:
    """Print every problem; return the exit status."""
    site = Path(sys.argv[1])
    found = list(problems(site))
    for problem in found:
        print(problem)
    print(f"site: {len(list(site.rglob('*.html')))} pages, {len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
