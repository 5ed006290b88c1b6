"""The part of CSS that decides what a reader of a page sees: what is hidden, keeps its lines, or is a list or table.

Selectors are of elements, classes, ids and attributes, within or directly below one another. A sheet that decides by
another selector, or by a condition or a value that is not read, is refused. Conditions are those of a screen that is
1280 pixels wide.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

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
        "font-variant-position",
        "top",
        "bottom",
    }
)
_COMMENT: Final = re.compile(r"/\*.*?\*/|<!--|-->", re.DOTALL)
_STRING: Final = r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'"
_TOKEN: Final = re.compile(rf"{_STRING}|[{{}};]|[^{{}};\"']+|.", re.DOTALL)
_DECLARATION: Final = re.compile(rf"(?<![*\w-])([\w-]+)\s*:((?:{_STRING}|[^;])+)", re.DOTALL)
_FONT: Final = re.compile(r"(?<![\d.])[\d.]+(?:pt|px|em|rem|%)(?:/\S+)?\s+(.+)")
#: Values of which others are no CSS, and count for nothing.
_VALUES: Final = {
    "display": re.compile(
        r"(?:(?:none|(?:inline-)?(?:block|flex|grid|table)|inline|flow(?:-root)?|contents|list-item|ruby|initial|revert"
        r"|revert-layer|table-(?:row|row-group|header-group|footer-group|cell|column|column-group|caption))\b ?)+"
    ),
    "visibility": re.compile("visible|hidden|collapse|initial|revert"),
}
#: Values that stand elsewhere: a refused note is better than one that shows what it should not.
_ELSEWHERE: Final = re.compile(r"\b(?:var|env|attr)\(")
_FREE: Final = ("font-size", "font-family", "top", "bottom")
_GENERATED: Final = re.compile(r"(.*?)::?(before|after|marker)$", re.DOTALL)
_CONTENT: Final = re.compile(rf"({_STRING})|([\w-]+\(?)|/")
_PRIVATE: Final = re.compile("[\ue000-\uf8ff]")
_QUOTES: Final = {"open-quote": "“", "close-quote": "”"}
_ESCAPE: Final = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(.))", re.DOTALL)
_FEATURE: Final = r"\([\w-]+ ?: ?[\w .%#-]+\)"
_SCREEN_PX: Final = 1280
_QUERY: Final = re.compile(r"(?:(not|only)\s+)?(?:(all|screen|print|\w+)(?:\s+and\s+|$))?(.*)")
_WIDTH: Final = re.compile(r"(min|max)-(?:device-)?width\s*:\s*([\d.]+)\s*(px|em|rem)")
_AT_RULES_WITHOUT_STYLES: Final = frozenset({"font-face", "page", "list", "counter-style", "namespace", "charset"})
_NOT_READ: Final = "an HTML attachment has a style sheet that decides what is shown by a {} not read"
_COMPOUND: Final = re.compile(
    r"(\*|[a-z][\w:-]*)?((?:[.#][\w-]+|\[[\w-]+(?:=[\"']?[^\"'\]]*[\"']?)?\])*)", re.IGNORECASE
)
_PART: Final = re.compile(r"([.#])([\w-]+)|\[([\w-]+)(?:=[\"']?([^\"'\]]*)[\"']?)?\]")
#: Of the mouse, or of what is not in the page.
_NOT_OF_TEXT: Final = re.compile(
    r"::|:(?:hover|focus|active|visited|target|first-letter|first-line|focus-within|focus-visible)\b"
)
#: Of a rule within another, which multiply.
_MOST_SELECTORS: Final = 100
_MOST_CHARS: Final = 1 << 20
#: Rules times elements: some seconds.
_MOST_STEPS: Final = 20_000_000


def computed_styles(tree: "HtmlElement") -> Styles:
    """Return what the sheets and attributes of a page say of its elements; what an element inherits is not added.

    Raises `RecordError` for a sheet that cannot be followed.
    """
    import lxml.etree

    #: Whether it is important, its layer, and how specific its selector is: what counts more comes later.
    found: list[tuple[tuple[bool, int, tuple[int, ...]], list[HtmlElement], Mapping[str, str]]] = []
    sheets = [sheet for sheet in tree.iter("style") if _is_css(sheet) and _applies("media", sheet.get("media", ""))]
    layers: dict[str, int] = {}
    rules = [rule for sheet in sheets for rule in _rules("".join(sheet.itertext()), layers)]
    if len(rules) * sum(1 for _ in tree.iter()) > _MOST_STEPS:
        raise RecordError("an HTML attachment has a style sheet that would take beyond measure to follow")
    for rule in rules:
        generated = _GENERATED.fullmatch(rule.selector)
        said = _generated(generated[2], rule.declarations) if generated else _declared(rule.declarations)
        if not said:
            continue
        path = _path((generated[1].rstrip() or "*") if generated else rule.selector)
        if path is None:
            is_blank = generated and not any(text.strip() for _, part in said for text in part.values())
            if is_blank or _NOT_OF_TEXT.search(rule.selector):
                continue
            raise RecordError(_NOT_READ.format("selector"))
        try:
            elements = tree.xpath(path[0])
        except (lxml.etree.XPathError, ValueError):  # names and values that XML does not have
            raise RecordError(_NOT_READ.format("selector")) from None
        if rule.applies is None and elements:
            raise RecordError(_NOT_READ.format("condition"))
        if elements:
            _check_values(said)
        # What is in no layer counts more than any; of what is important, the other way round.
        layer = len(layers) if rule.layer is None else layers[rule.layer]
        found += [((urgent, -layer if urgent else layer, path[1]), elements, part) for urgent, part in said]
    for element in tree.xpath("//*[@style]"):
        said = _declared(element.get("style"))
        _check_values(said)
        found += [((urgent, len(layers) + 1, (1,)), [element], part) for urgent, part in said]
    styles: dict[HtmlElement, dict[str, str]] = {}
    for _, elements, part in sorted(found, key=lambda one: one[0]):
        for element in elements:
            styles.setdefault(element, {}).update(part)
    return styles


#: The properties that matter, the important ones apart.
_Said = list[tuple[bool, dict[str, str]]]


class _Rule(NamedTuple):
    selector: str
    declarations: str
    #: None: a condition that is not read.
    applies: bool | None
    layer: str | None


class _Block(NamedTuple):
    """What an open brace began."""

    kind: str
    selectors: str = ""
    applies: bool | None = True
    layer: str | None = None


def _is_css(sheet: "HtmlElement") -> bool:
    return sheet.get("type", "").strip().lower() in ("", "text/css")


def _rules(sheet: str, layers: dict[str, int]) -> Iterator[_Rule]:
    """Yield the rules of a sheet, those within conditions and other rules too."""
    if len(sheet) > _MOST_CHARS:
        raise RecordError("an HTML attachment has a style sheet that would take beyond measure to follow")
    blocks, texts = [_Block("sheet")], [""]
    for token in (*_TOKEN.findall(_COMMENT.sub("", sheet)), "}"):  # the end of a sheet closes a rule
        around = blocks[-1]
        if token == "{":
            texts[-1], _, prelude = texts[-1].rpartition(";")
            blocks.append(_opened(prelude.strip(), around, layers))
            texts.append("")
        elif token == "}":
            # A brace that closes nothing makes the selector after it none.
            if around.kind == "rule" and around.applies is not False and "}" not in around.selectors:
                for selector in around.selectors.split(","):
                    yield _Rule(selector.strip(), texts[-1], around.applies, around.layer)
            if len(blocks) > 1:
                blocks.pop()
                texts.pop()
                texts[-1] += ";" * (blocks[-1].kind == "rule")
            else:
                texts[-1] += token
        elif token == ";" and around.kind != "rule":
            name, _, names = texts[-1].strip().partition(" ")
            for layer in names.split(",") if name.lower() == "@layer" else ():
                layers.setdefault(layer.strip(), len(layers))
            texts[-1] = ""
        else:
            texts[-1] += token


def _opened(prelude: str, around: _Block, layers: dict[str, int]) -> _Block:
    if around.kind == "none" or around.applies is False:
        return _Block("none", applies=False)
    if around.kind == "rule":
        pairs = [(outer.strip(), one.strip()) for outer in around.selectors.split(",") for one in prelude.split(",")]
        if (
            prelude.startswith("@")
            or len(pairs) > _MOST_SELECTORS
            or len(around.selectors) * len(prelude) > _MOST_CHARS  # each & holds all that is around it
        ):
            raise RecordError(_NOT_READ.format("selector"))
        within = [one.replace("&", outer) if "&" in one else f"{outer} {one}" for outer, one in pairs]
        return around._replace(selectors=",".join(within))
    if not prelude.startswith("@"):
        return around._replace(kind="rule", selectors=prelude)
    name, _, condition = prelude[1:].replace("(", " (", 1).partition(" ")
    name, condition = name.lower(), condition.strip()
    if name in _AT_RULES_WITHOUT_STYLES or name.startswith("font-") or name.endswith("keyframes"):
        return _Block("none", applies=False)
    if name == "layer":
        if around.layer is not None:
            return around._replace(kind="group", applies=None)
        layer = condition or f"layer {len(layers)}"
        layers.setdefault(layer, len(layers))
        return around._replace(kind="group", layer=layer)
    applies = _applies(name, condition)
    return around._replace(kind="group", applies=applies if around.applies or applies is False else None)


def _applies(kind: str, condition: str) -> bool | None:
    """Say whether what stands under a condition counts on a screen; None where the condition is not read."""
    condition = " ".join(condition.lower().split())
    if kind == "supports":
        plain = re.fullmatch(rf"(not )?{_FEATURE}(?: (?:and|or) {_FEATURE})*", condition)
        return None if plain is None else plain[1] is None
    if kind != "media":
        return None
    answers = [_is_for_screens(query.strip()) for query in condition.split(",")]
    return True if True in answers else None if None in answers else False


def _is_for_screens(query: str) -> bool | None:
    parts = _QUERY.fullmatch(query)
    if parts is None:
        return None
    modifier, medium, features = parts.groups()
    answers = [medium in (None, "all", "screen")]
    for feature in features.split(" and ") if features else ():
        inner = feature.strip().removeprefix("(").removesuffix(")").strip()
        width = _WIDTH.fullmatch(inner)
        if width is not None:
            pixels = float(width[2]) * (1 if width[3] == "px" else 16)
            answers.append(pixels <= _SCREEN_PX if width[1] == "min" else pixels >= _SCREEN_PX)
        elif inner.startswith("prefers-"):
            answers.append(inner.endswith((" light", ":light", "no-preference")))
        elif answers[0]:
            return None
    return all(answers) != (modifier == "not")


@lru_cache(maxsize=1000)
def _declared(declarations: str) -> _Said:
    by_urgency: dict[bool, dict[str, str]] = {False: {}, True: {}}
    for name, value, is_urgent in _values(declarations):
        if name == "font" and (shorthand := _FONT.search(value)):
            name, value = "font-family", shorthand[1]
        elif name in ("white-space", "white-space-collapse"):
            name, value = "white-space", {"preserve": "pre-wrap", "preserve-breaks": "pre-line"}.get(value, value)
        elif name == "list-style":
            name, value = "list-style-type", next((word for word in value.split() if "(" not in word), "")
        allowed = _VALUES.get(name)
        is_valid = allowed is None or allowed.fullmatch(value) or _ELSEWHERE.search(value)
        if name in _PROPERTIES and is_valid and value not in ("inherit", "unset"):
            by_urgency[is_urgent][name] = value
    return [(is_urgent, said) for is_urgent, said in by_urgency.items() if said]


def _values(declarations: str) -> Iterator[tuple[str, str, bool]]:
    """Yield each property, its value, and whether it is important; what is no CSS is left out."""
    for name, written in _DECLARATION.findall(declarations):
        value, mark, urgent = (part.strip() for part in written.partition("!"))
        if not mark or urgent.lower() == "important":
            yield name.lower(), value if name.lower() == "content" else value.lower(), bool(mark)


def _check_values(said: _Said) -> None:
    if any(_ELSEWHERE.search(value) for _, part in said for name, value in part.items() if name not in _FREE):
        raise RecordError(_NOT_READ.format("value"))


def _generated(place: str, declarations: str) -> _Said:
    """Return the text that a sheet puts before or after an element, as the property `before` or `after`."""
    values = list(_values(declarations))
    others = {name: value for name, value, _ in values}
    is_hidden = others.get("display") == "none" or others.get("visibility") == "hidden"
    is_inline = others.get("display", "inline") in ("inline", "inline-block", "none")
    said: _Said = []
    for name, value, is_urgent in values:
        if name == "content":
            text, is_read = "", True
            for quoted, word in _CONTENT.findall(value):
                if not quoted and not word:
                    break  # what is read aloud
                is_read &= not word.endswith("(") or word in ("url(", "image-set(")
                text += _ESCAPE.sub(_unescaped, quoted[1:-1]) if quoted else _QUOTES.get(word, "")
            # Others are refused where an element has them: counters, pictures as letters, lines of their own.
            is_plain = is_read and (not text.strip() or (place != "marker" and is_inline and not _PRIVATE.search(text)))
            said.append((is_urgent, {place: "" if is_hidden else text if is_plain else "var()"}))
    return said


def _unescaped(escape: re.Match[str]) -> str:
    code = int(escape[1] or "0", 16)
    return (escape[2] or "").strip("\n") if not escape[1] else chr(code) if code < 0x110000 else "\ufffd"


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
