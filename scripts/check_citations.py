"""Checks that what code and docs cite is in the repository: a document, a section of a page, a file.

Run by `scripts/check`. Prints every problem and exits with 1 where there is one. Looks at the text of every file that
people write; a citation may go over a line break.
"""

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: Files that people write: by suffix, or (of scripts) by having none.
WRITTEN = frozenset({".py", ".md", ".toml", ".yml", ".j2", ".js", ".mjs", ".css", ".json", ""})
#: Licence, locks and schemas are not ours; the test of this module plants what it refuses.
LEFT_OUT = (
    "LICENSE",
    "requirements/",
    "tests/browser/package-lock.json",
    "tests/repository/test_citations.py",
    "tests/schemas/",
)
#: Documents that are cited although no reader has them.
_ABSENT = re.compile(r"[Cc]ontract(?:'s)?,? (?:sections?|§|\d)|\b[Tt]he contract(?:'s)?\b")
#: Folders that the package links to.
_LINKED = ("audit", "priors", "reports", "templates")
_FOLDERS = "audit|benchmarks|clinaudit|docs|priors|reports|requirements|scripts|templates|tests"
#: A path from the root; one that goes on with a placeholder (`*`, `{`, `<`) names no file.
_PATH = re.compile(rf"(?<![\w./-])(?:{_FOLDERS})(?:/[\w.-]*\w)+(?![\w*{{<]|/[*{{<])")
#: A page in any folder, those of ours or not.
_PAGE_PATH = re.compile(r"(?<![\w./:-])[\w-]+(?:/[\w-]+)+\.md\b")
#: A module by its file name alone.
_MODULE = re.compile(r"(?<![\w./{}*-])[a-z]\w*\.py\b")
#: A page, then sections by number (docs/methods.md, sections 1 and 2a), words (README.md, "More"), or both.
_PLACE = re.compile(
    r"(?P<page>[\w./-]+\.md)\)?, (?:sections? (?P<numbers>\d+[a-z]?(?:(?:,| and|, and| to) \d+[a-z]?)*)(?:, )?)?"
    r"(?:\"(?P<words>[^\"]+)\")?"
)
#: A line break, with the sign of a comment that goes on after it.
_BREAK = re.compile(r"[ \t]*\n[ \t]*(?:(?:#:?|//)[ \t])?[ \t]*")


class Page:
    """The sections of a Markdown page: their numbers, and the words that a citation may name them by."""

    def __init__(self, text: str) -> None:
        prose = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
        numbered = re.split(r"^(?=## \d+[a-z]?\. )", prose, flags=re.M)[1:]
        #: By number; the whole page under None.
        self._parts: dict[str | None, str] = {part[3:].partition(".")[0]: part for part in numbered} | {None: prose}

    def problem(self, numbers: str | None, words: str | None) -> str | None:
        """Return what a citation of these sections, or of words in one of them, asks for and the page lacks."""
        cited = re.findall(r"\d+[a-z]?", numbers or "")
        lacking = [number for number in cited if number not in self._parts]
        if lacking:
            return f"section: {lacking[0]}"
        if words and not any(words in _names(self._parts[number]) for number in cited or [None]):
            return f"heading: {words}"
        return None


def _names(text: str) -> set[str]:
    """Return headings, whole and without what stands in brackets after them, and what opens a paragraph in bold."""
    headings = re.findall(r"^#+ (?:\d+[a-z]?\. )?(.+)$", text, flags=re.M)
    bold = re.findall(r"^\*\*(.+?)(?: \[choice\])?\.?\*\*", text, flags=re.M)
    named = [re.sub(r"[`*]", "", name).strip() for name in [*headings, *bold]]
    return {*named, *(name.partition(" (")[0] for name in named)}


class Repository:
    """The files of a repository, and what may be cited of them."""

    def __init__(self, texts: Mapping[str, str | None]) -> None:
        #: Text by path from the root; None where a file is not read (a picture).
        self._texts = texts
        self._places = {*texts, *(str(folder) for name in texts for folder in Path(name).parents)}

    def problems(self) -> Iterator[str]:
        """Yield every citation of what is not there."""
        for name, text in self._texts.items():
            if text is not None and not name.startswith(LEFT_OUT):
                joined = _BREAK.sub(" ", text)
                for found in (
                    self._absent_documents(joined),
                    self._absent_places(name, joined),
                    self._absent_paths(name, joined),
                ):
                    yield from (f"{name}: {problem}" for problem in dict.fromkeys(found))

    def _absent_documents(self, text: str) -> Iterator[str]:
        for match in _ABSENT.finditer(text):
            yield f"cites a document that is not in the repository: {match[0]}"

    def _absent_places(self, name: str, text: str) -> Iterator[str]:
        for match in _PLACE.finditer(text):
            if not match["numbers"] and not match["words"]:
                continue
            beside = str(Path(name).parent / match["page"])
            page = self._texts.get(match["page"]) or (self._texts.get(beside) if name.endswith(".md") else None)
            lacking = "page" if page is None else Page(page).problem(match["numbers"], match["words"])
            if lacking:
                yield f"{match['page']}: there is no such {lacking}"

    def _absent_paths(self, name: str, text: str) -> Iterator[str]:
        for match in [*_PATH.finditer(text), *_PAGE_PATH.finditer(text)]:
            path = re.sub(rf"^clinaudit/(?=(?:{'|'.join(_LINKED)})\b)", "", match[0])
            if not {path, f"docs/{path}", str(Path(name).parent / path)} & self._places:
                yield f"no such file: {match[0]}"
        for match in _MODULE.finditer(text):
            bearers = [path for path in self._texts if Path(path).name == match[0]]
            if not bearers:
                yield f"no such module: {match[0]}"
            # On a page the words around it, or the tree that it stands in, say which one is meant.
            elif len(bearers) > 1 and not name.endswith(".md") and str(Path(name).parent / match[0]) not in bearers:
                yield f"several modules are called {match[0]}, none of them beside this file"


def read_repository(root: Path) -> Repository:
    """Read the files that git tracks, or would take in."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(listing, cwd=root, check=True, capture_output=True, text=True).stdout
    texts: dict[str, str | None] = {}
    for name in sorted(set(listed.splitlines())):
        path = root / name
        if path.is_symlink() or path.suffix not in WRITTEN:
            texts[name] = None
        elif path.is_file():
            texts[name] = path.read_text(encoding="utf-8")
    return Repository(texts)


def main() -> int:
    """Print every problem; return the exit status."""
    found = list(read_repository(ROOT).problems())
    for problem in found:
        print(problem)
    print(f"citations: {len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
