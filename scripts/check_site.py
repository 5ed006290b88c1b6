"""Checks the built documentation site: links and anchors resolve, nothing is loaded from elsewhere.

Usage: scripts/check_site.py SITE. Prints every problem and exits with 1 where there is one. Looks at what was built and
not at the Markdown: a theme can bring in a font, or an anchor can be renamed, without a word of ours changing. Links
that a reader may follow outside (to a law, say) are not visited.
"""

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

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
    """What one page loads, where it links, and the anchors it has."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.fetched: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = {"", "top"}
        self.stray_rows: list[str] = []
        self._in_style = False
        self._in_paragraph = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect the addresses and anchors of one element."""
        values = {name: value or "" for name, value in attrs}
        self._in_style = tag == "style"
        if tag in {"p", "code", "pre"}:
            self._in_paragraph = tag == "p"
        self.anchors.update(values[name] for name in ("id", "name") if values.get(name))
        for name in _FETCHED.get(tag, ()):
            entries = values.get(name, "").split(",") if name == "srcset" else [values.get(name, "")]
            self.fetched.extend(entry.split()[0] for entry in entries if entry.strip())
        if tag == "link" and not set(values.get("rel", "").lower().split()) & _SILENT_LINKS and "href" in values:
            self.fetched.append(values["href"])
        if tag in {"a", "area"} and "href" in values:
            self.links.append(values["href"])
        if tag == "meta" and values.get("http-equiv", "").lower() == "refresh":
            self.links.append(values.get("content", "").partition("=")[2].strip())
        self.fetched.extend(_css_addresses(values.get("style", "")))

    def handle_data(self, data: str) -> None:
        """Collect the addresses in a style sheet that stands in the page."""
        if self._in_style:
            self.fetched.extend(_css_addresses(data))
        if self._in_paragraph:
            self.stray_rows.extend(line for line in data.splitlines() if line.startswith("| "))


def _css_addresses(text: str) -> list[str]:
    return [(first or second).strip() for first, second in _CSS_ADDRESS.findall(text)]


def _is_outside(address: str) -> bool:
    parts = urlsplit(address)
    return bool(parts.netloc) or parts.scheme not in {"", "data"}


def _target(site: Path, page: Path, address: str) -> Path:
    """Return the file that an address inside the site means."""
    path = unquote(urlsplit(address).path)
    if not path:
        return page
    target = site / path.lstrip("/") if path.startswith("/") else page.parent / path
    return target / "index.html" if target.is_dir() else target


def problems(site: Path) -> Iterator[str]:
    """Yield what is wrong with the site, page by page."""
    pages = {}
    for path in sorted(site.rglob("*.html")):
        pages[path.resolve()] = page = _Page()
        page.feed(path.read_text(encoding="utf-8"))
    if not pages:
        yield f"{site}: no pages"
    for path, page in pages.items():
        yield from _page_problems(site.resolve(), path, page, pages)
    for path in sorted(site.rglob("*.css")):
        for address in _css_addresses(path.read_text(encoding="utf-8")):
            yield from _fetched_problems(site.resolve(), path.resolve(), address)


def _page_problems(site: Path, path: Path, page: _Page, pages: dict[Path, _Page]) -> Iterator[str]:
    name = path.relative_to(site)
    for address in page.fetched:
        yield from _fetched_problems(site, path, address)
    for row in page.stray_rows:
        yield f"{name}: a row that became part of no table: {row}"
    for address in page.links:
        parts = urlsplit(address)
        if parts.scheme == "https" or parts.scheme == "mailto":
            continue
        if _is_outside(address):
            yield f"{name}: a link of a kind that is not allowed: {address}"
            continue
        target = _target(site, path, address).resolve()
        if not target.is_file() or not target.is_relative_to(site):
            yield f"{name}: a link leads nowhere: {address}"
        elif target in pages and unquote(parts.fragment) not in pages[target].anchors:
            yield f"{name}: a link leads to no such place on its page: {address}"


def _fetched_problems(site: Path, path: Path, address: str) -> Iterator[str]:
    name = path.relative_to(site)
    if _is_outside(address):
        yield f"{name}: loads from outside: {address}"
    elif not address.startswith(("data:", "#")) and not _target(site, path, address).is_file():
        yield f"{name}: loads what is not there: {address}"


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
