"""The part of CSS that decides what a reader of a page sees: what is hidden, keeps its lines, or is a list or table.

Selectors are of elements, classes, ids and attributes, within or directly below one another. A sheet that decides by
another selector is refused.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from clinaudit.priors.importers.ledger import RecordError

if TYPE_CHECKING:
    from lxml.html import HtmlElement

#: Properties by element.
Styles = Mapping["HtmlElement", Mapping[str, str]]

_PROPERTIES: Final = frozenset(
    {
        "display",
        "float",
        "position",
        "visibility",
        "white-space",
        "opacity",
        "font-size",
        "font-family",
        "list-style-type",
        "text-transform",
        "vertical-align",
    }
)
_COMMENT: Final = re.compile(r"/\*.*?\*/|<!--|-->", re.DOTALL)
_CONDITIONAL: Final = re.compile(r"@(?:media|supports|layer|container)([^{}]*)\{((?:[^{}]*\{[^{}]*\})*[^{}]*)\}")
_RULE: Final = re.compile(r"([^{}]+)\{([^{}]*)\}")
_DECLARATION: Final = re.compile(r"([\w-]+)\s*:\s*([^;]+)")
_FONT: Final = re.compile(r"[\d.]+(?:pt|px|em|rem|%)(?:/\S+)?\s+(.+)")
_COMPOUND: Final = re.compile(
    r"(\*|[a-z][\w:-]*)?((?:[.#][\w-]+|\[[\w-]+(?:=[\"']?[^\"'\]]*[\"']?)?\])*)", re.IGNORECASE
)
_PART: Final = re.compile(r"([.#])([\w-]+)|\[([\w-]+)(?:=[\"']?([^\"'\]]*)[\"']?)?\]")
#: Of the mouse, or of what is not in the page.
_NOT_OF_TEXT: Final = re.compile(
    r"::|:(?:hover|focus|active|visited|target|before|after|first-letter|first-line|focus-within|focus-visible)\b"
)
_MOST_CHARS: Final = 1 << 20
#: Rules times elements: some seconds.
_MOST_STEPS: Final = 20_000_000


def computed_styles(tree: "HtmlElement") -> Styles:
    """Return what the sheets and attributes of a page say of its elements; what an element inherits is not added.

    Raises `RecordError` for a sheet that cannot be followed.
    """
    #: Whether it is important, and how specific its selector is: what counts more comes later.
    found: list[tuple[tuple[bool, tuple[int, ...]], list[HtmlElement], dict[str, str]]] = []
    sheets = [sheet for sheet in tree.iter("style") if _is_for_screens(sheet.get("media", ""))]
    rules = [rule for sheet in sheets for rule in _rules("".join(sheet.itertext()))]
    if len(rules) * sum(1 for _ in tree.iter()) > _MOST_STEPS:
        raise RecordError("an HTML attachment has a style sheet that would take beyond measure to follow")
    for selector, declarations in rules:
        path = _path(selector)
        if path is None:
            if _NOT_OF_TEXT.search(selector):
                continue
            raise RecordError("an HTML attachment has a style sheet that decides what is shown by a selector not read")
        found += [((urgent, path[1]), tree.xpath(path[0]), said) for urgent, said in declarations]
    for element in tree.xpath("//*[@style]"):
        found += [((urgent, (1,)), [element], said) for urgent, said in _declared(element.get("style"))]
    styles: dict[HtmlElement, dict[str, str]] = {}
    for _, elements, said in sorted(found, key=lambda one: one[0]):
        for element in elements:
            styles.setdefault(element, {}).update(said)
    return styles


def _is_for_screens(condition: str) -> bool:
    kinds = {kind.strip().lower() for kind in condition.split(",")}
    return not kinds.isdisjoint({"", "all", "screen", "only screen"})


def _rules(sheet: str) -> Iterator[tuple[str, list[tuple[bool, dict[str, str]]]]]:
    if len(sheet) > _MOST_CHARS:
        raise RecordError("an HTML attachment has a style sheet that would take beyond measure to follow")
    plain = _CONDITIONAL.sub(lambda part: part[2] if _is_for_screens(part[1]) else "", _COMMENT.sub("", sheet))
    for selectors, declarations in _RULE.findall(plain):
        said = _declared(declarations)
        if said:
            for selector in selectors.rpartition(";")[2].split(","):
                if not selector.strip().startswith("@"):
                    yield selector.strip(), said


@lru_cache(maxsize=1000)
def _declared(declarations: str) -> list[tuple[bool, dict[str, str]]]:
    """Return the properties that matter, the important ones apart."""
    by_urgency: dict[bool, dict[str, str]] = {False: {}, True: {}}
    for name, written in _DECLARATION.findall(declarations.lower()):
        value, _, urgent = (part.strip() for part in written.partition("!"))
        if name == "font" and (shorthand := _FONT.search(value)):
            name, value = "font-family", shorthand[1]
        elif name == "white-space-collapse":
            name, value = "white-space", {"preserve": "pre-wrap", "preserve-breaks": "pre-line"}.get(value, value)
        elif name == "list-style":
            name, value = "list-style-type", next((word for word in value.split() if "(" not in word), "")
        if name in _PROPERTIES and value not in ("inherit", "unset"):
            by_urgency[urgent == "important"][name] = value
    return [(urgent, said) for urgent, said in by_urgency.items() if said]


def _path(selector: str) -> tuple[str, tuple[int, ...]] | None:
    """Return an XPath for a selector, and how specific it is: ids, classes, elements; None if it is not read."""
    path, step = "", "//"
    ids = classes = tags = 0
    for word in selector.replace(">", " > ").replace(":root", "html").split():
        if word == ">":
            step = "/"
            continue
        compound = _COMPOUND.fullmatch(word)
        if compound is None or ":" in (compound[1] or ""):
            return None
        tag = (compound[1] or "*").lower()
        tags += tag != "*"
        path += f"{step}{tag}"
        for kind, name, attribute, value in _PART.findall(compound[2]):
            ids, classes = ids + (kind == "#"), classes + (kind != "#")
            if kind == "#":
                path += f"[@id='{name}']"
            elif kind:
                path += f"[contains(concat(' ', normalize-space(@class), ' '), ' {name} ')]"
            else:
                path += f"[@{attribute}='{value}']" if value else f"[@{attribute}]"
        step = "//"
    return (path, (0, ids, classes, tags)) if path else None
