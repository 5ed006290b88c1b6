"""The part of CSS that decides what a reader of a page sees: what is hidden, keeps its lines, or is a list or table.

Selectors are of elements, classes, ids and attributes, within or directly below one another. A sheet that decides by
another selector (a nested rule), condition (`@layer`) or value, or that writes more than a plain text, is refused where
the page has such elements. Conditions are those of a screen that is 1280 pixels wide.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from clinaudit.priors.importers.corpus_writer import RecordError

if TYPE_CHECKING:
    from lxml.html import HtmlElement

#: Properties by element.
Styles = Mapping["HtmlElement", Mapping[str, str]]

_OVERFLOW: Final = ("overflow", "overflow-y", "overflow-x")
_PROPERTIES: Final = frozenset(
    (
        *("display", "float", "position", "visibility", "white-space", "opacity", "font-size", "font-family"),
        *("list-style-type", "text-transform", "vertical-align", "font-variant-position", "bottom"),
        *("top", "left", "text-indent", "width", "min-width", "height", "max-height", *_OVERFLOW),
        *("clip", "clip-path", "content-visibility", "transform", "scale"),
    )
)
_COMMENT: Final = re.compile(r"/\*.*?\*/|<!--|-->", re.DOTALL)
_STRING: Final = r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'"
_TOKEN: Final = re.compile(rf"{_STRING}|[{{}};]|[^{{}};\"']+|.", re.DOTALL)
_DECLARATION: Final = re.compile(rf"(?<![*\w-])([\w-]+)\s*:((?:{_STRING}|[^;])+)", re.DOTALL)
_URGENT: Final = re.compile(r"!(?=[\s\w-]*$)")
_FONT: Final = re.compile(
    r"(?:(?<![\d.])[\d.]+(?:pt|px|em|rem|%)|\b(?:xx?-)?(?:small|large)|\bmedium|\b(?:small|larg)er)(?:/\S+)?\s+(.+)"
)
#: Values of `white-space-collapse`, which stand in `white-space` too, as those that were there before.
_KEPT: Final = {"preserve": "pre-wrap", "preserve-breaks": "pre-line", "collapse": "normal"}
#: Values of which others are no CSS, and count for nothing.
_VALUES: Final = {
    "display": re.compile(
        r"(?:(?:none|(?:inline-)?(?:block|flex|grid|table)|inline|flow(?:-root)?|contents|list-item|ruby|initial|revert"
        r"|revert-layer|table-(?:row|row-group|header-group|footer-group|cell|column|column-group|caption))\b ?)+"
    ),
    "visibility": re.compile("visible|hidden|collapse|initial|revert"),
    "white-space": re.compile("normal|nowrap|pre|pre-wrap|pre-line|break-spaces|initial|revert|revert-layer"),
}
#: Values that stand elsewhere: a refused note is better than one that shows what it should not.
_ELSEWHERE: Final = re.compile(r"\b(?:var|env|attr)\(")
#: Beyond every window: a hanging indent of Word has three figures.
_FAR_AWAY: Final = re.compile(
    r"-(?:[0-9]{4,}|999)(?:\.[0-9]+)?(?:px|p[tc]|[cm]m|in|%)|-[0-9]{3,}(?:\.[0-9]+)?(?:r?em|ex|ch|v[wh])"
)
_NOTHING: Final = re.compile(r"0*\.?0+[a-z%]*")
_A_DOT: Final = re.compile(r"0*\.?0+[a-z%]*|1px")
_CUT: Final = re.compile(
    r"rect\(\s*+[01]?(?:px)?(?:[\s,]++[01]?(?:px)?){3}\s*+\)|inset\(\s*(?:50|100)%.*|(?:circle|ellipse)\(\s*0.*"
)
#: By property: the values that hide text, where the property is one of the element that has it.
HIDES: Final[Mapping[str, re.Pattern[str]]] = {
    **dict.fromkeys(("opacity", "font-size", "width"), _NOTHING),
    **dict.fromkeys(("height", "max-height"), _A_DOT),
    **dict.fromkeys(("left", "top", "text-indent"), _FAR_AWAY),
    **dict.fromkeys(("clip", "clip-path"), _CUT),
    "transform": re.compile(r".*(?:scale[xy]?\((?:[^)]*,)?\s*0\s*[,)]|translate(?:[xy]|3d)?\([^)]*-[0-9]{4,}).*"),
    "scale": re.compile(r"0(?: .*)?|\S+ 0"),
    "content-visibility": re.compile("hidden"),
}
#: What other values of these are, or where they stand, changes no text; nor does a font that is no font of signs.
_FREE: Final = (*HIDES, "font-family", "bottom", "min-width", *_OVERFLOW)
_NEVER: Final = re.compile(r"(?!)")
_FONT_OF_SIGNS: Final = re.compile(r".*(?:symbol|dings|dingbats|marlett).*")
#: By free property: the values that may change a text. A width of nothing hides only what may not flow over it.
_MAY_CHANGE: Final = {**HIDES, "width": _NEVER, "font-family": _FONT_OF_SIGNS}
#: Values that say how most text is set anyway.
_PLAIN_VALUES: Final = {
    "float": ("none",),
    "position": ("static", "relative"),
    "visibility": ("visible",),
    "white-space": ("normal", "nowrap"),
    "vertical-align": ("top", "middle", "bottom", "baseline"),
}
#: Of `list-style`, which may give a picture and a place, too.
_LIST_TYPE: Final = re.compile(r"(?!inside|outside)[^(]+")
#: Text that a sheet writes before or after an element: none, or a plain one.
_GENERATED: Final = re.compile(r"(.*?)::?(before|after|marker)$", re.DOTALL)
_NO_CONTENT: Final = re.compile(
    r"\s*(?:none|normal|no-(?:open|close)-quote|([\"'])(?:\s|\\0{0,4}(?:20|[aA]0)|\\200[bB])*\1)?\s*"
)
_PLAIN_CONTENT: Final = re.compile(rf"\s*({_STRING})\s*(?:/.*)?", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\([0-9a-fA-F]{1,6})\s?")
#: Escapes of other signs, halves of one, and signs of a font's own.
_NO_TEXT: Final = re.compile("[\\\\\ud800-\uf8ff]")
#: What every browser can lay out.
_SUPPORTS: Final = re.compile(r"(not )?\(display ?: ?(?:grid|flex)\)")
_SCREEN_PX: Final = 1280
_QUERY: Final = re.compile(r"(?:(not|only)\s+)?(?:(all|screen|print|\w+)(?:\s+and\s+|$))?(.*)")
_WIDTH: Final = re.compile(r"(min|max)-(?:device-)?width\s*:\s*([\d.]+)\s*(px|em|rem)")
_AT_RULES_WITHOUT_STYLES: Final = frozenset({"font-face", "page", "list", "counter-style", "namespace", "charset"})
_TOO_MUCH: Final = "an HTML attachment has a style sheet that would take beyond measure to follow"
_NOT_READ: Final = "an HTML attachment has a style sheet that decides what is shown by a {} not read"
_COMPOUND: Final = re.compile(
    r"(\*|[a-z][\w:-]*)?((?:[.#][\w-]+|\[[\w-]+(?:[*^]?=[\"']?[^\"'\]]*[\"']?)?\])*)", re.IGNORECASE
)
_PART: Final = re.compile(r"([.#])([\w-]+)|\[([\w-]+)(?:([*^]?)=[\"']?([^\"'\]]*)[\"']?)?\]")
_TESTS: Final = {"": "[@{}='{}']", "*": "[contains(@{},'{}')]", "^": "[starts-with(@{},'{}')]"}
#: What is left out of a selector that is not read, so that it is of more elements; and where nothing would be left.
_UNREAD: Final = re.compile(r":[\w-]+(?:\((?:[^()]|\([^()]*\))*\))?|\[[^\]]*\]|.*[+~]", re.DOTALL)
_BARE: Final = re.compile(r"(?<![^\s>+~])(?=[:\[])")
#: Of the mouse, or of what is not in the page.
_NOT_OF_TEXT: Final = re.compile(
    r"::|:(?:hover|focus|active|visited|target|first-letter|first-line|focus-within|focus-visible)\b"
)
_MOST_CHARS: Final = 1 << 20
#: Rules times elements: some seconds.
_MOST_STEPS: Final = 20_000_000


def computed_styles(tree: "HtmlElement") -> Styles:
    """Return what the sheets and attributes of a page say of its elements; what an element inherits is not added.

    Raises `RecordError` for a sheet that cannot be followed.
    """
    import lxml.etree

    #: Whether it is important, and how specific its selector is: what counts more comes later.
    found: list[tuple[tuple[bool, tuple[int, ...]], list[HtmlElement], Mapping[str, str]]] = []
    sheets = [
        sheet
        for sheet in tree.iter("style")
        if sheet.get("type", "").strip().lower() in ("", "text/css") and _applies("media", sheet.get("media", ""))
    ]
    #: Elements that may have no text before or after them after all.
    doubted: set[tuple[HtmlElement, str]] = set()
    rules = [rule for sheet in sheets for rule in _rules("".join(sheet.itertext()))]
    if len(rules) * sum(1 for _ in tree.iter()) > _MOST_STEPS:
        raise RecordError(_TOO_MUCH)
    for selector, declarations, applies in rules:
        generated = _GENERATED.fullmatch(selector)
        said = _generated(generated[2], declarations) if generated else _declared(declarations)
        selector = (generated[1].rstrip() or "*") if generated else selector
        if not said or _NOT_OF_TEXT.search(selector):
            continue
        exact = _path(selector)
        path = exact or _path(_UNREAD.sub("", _BARE.sub("*", selector))) or ("//*", ())
        try:
            elements = tree.xpath(path[0])
        except (lxml.etree.XPathError, ValueError):  # names and values that XML does not have
            raise RecordError(_NOT_READ.format("selector")) from None
        if exact is None or applies is None:
            if elements and any(_decides(*one) for _, part in said for one in part.items()):
                raise RecordError(_NOT_READ.format("selector" if exact is None else "condition"))
            doubted |= {(element, place) for element in elements for _, part in said for place in part}
            continue
        if elements:
            _check_values(said)
        found += [((urgent, path[1]), elements, part) for urgent, part in said]
    for element in tree.xpath("//*[@style]"):
        said = _declared(element.get("style"))
        _check_values(said)
        found += [((urgent, (1,)), [element], part) for urgent, part in said]
    styles: dict[HtmlElement, dict[str, str]] = {}
    for _, elements, part in sorted(found, key=lambda one: one[0]):
        for element in elements:
            styles.setdefault(element, {}).update(part)
    if any(styles.get(element, {}).get(place, "").strip() for element, place in doubted):
        raise RecordError(_NOT_READ.format("selector"))
    return styles


#: The properties that matter, the important ones apart.
_Said = list[tuple[bool, dict[str, str]]]


def _rules(sheet: str) -> Iterator[tuple[str, str, bool | None]]:
    """Yield each selector of a sheet with its declarations, and whether it counts on a screen (None: not read)."""
    if len(sheet) > _MOST_CHARS:
        raise RecordError(_TOO_MUCH)
    #: Of the at-rules around.
    conditions: list[bool | None] = []
    selectors, text = None, ""
    for token in (*_TOKEN.findall(_COMMENT.sub("", sheet)), "}"):  # the end of a sheet closes a rule
        if token == "{":
            prelude, text = text.rpartition(";")[2].strip(), ""
            if selectors is not None:
                raise RecordError(_NOT_READ.format("selector"))
            if prelude.startswith("@"):
                name, _, condition = prelude[1:].replace("(", " (", 1).partition(" ")
                conditions.append(_applies(name.lower(), condition))
            else:
                selectors = prelude
        elif token != "}":
            text += token
        elif selectors is not None:
            applies = False if False in conditions else None if None in conditions else True
            # A brace that closes nothing makes the selector after it none.
            for selector in selectors.split(",") if applies is not False and "}" not in selectors else ():
                yield selector.strip(), text, applies
            selectors, text = None, ""
        elif conditions:
            conditions.pop()
            text = ""
        else:
            text += token


def _applies(kind: str, condition: str) -> bool | None:
    """Say whether what stands under an at-rule counts on a screen; None where the rule is not read."""
    if kind in _AT_RULES_WITHOUT_STYLES or kind.startswith("font-") or kind.endswith("keyframes"):
        return False
    if kind == "supports":
        found = _SUPPORTS.fullmatch(" ".join(condition.lower().split()))
        return None if found is None else not found[1]
    if kind != "media":
        return None
    answers = [_is_for_screens(query.strip()) for query in " ".join(condition.lower().split()).split(",")]
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
        elif all(answers):
            return None
    return all(answers) != (modifier == "not")


@lru_cache(maxsize=1000)
def _declared(declarations: str) -> _Said:
    by_urgency: dict[bool, dict[str, str]] = {False: {}, True: {}}
    for name, value, is_urgent in _values(declarations):
        if name == "font" and (shorthand := _FONT.search(value)):
            name, value = "font-family", shorthand[1]
        elif name in ("white-space", "white-space-collapse"):
            name, value = "white-space", next((_KEPT[word] for word in value.split() if word in _KEPT), value)
        elif name == "list-style":
            name, value = "list-style-type", next(filter(_LIST_TYPE.fullmatch, value.split()), "disc")
        allowed = _VALUES.get(name)
        is_valid = allowed is None or allowed.fullmatch(value) or _ELSEWHERE.search(value)
        if name in _PROPERTIES and is_valid and value not in ("inherit", "unset"):
            by_urgency[is_urgent][name] = value
    return [(is_urgent, said) for is_urgent, said in by_urgency.items() if said]


def _values(declarations: str) -> Iterator[tuple[str, str, bool]]:
    """Yield each property, its value, and whether it is important; what is no CSS is left out."""
    for name, written in _DECLARATION.findall(declarations):
        value, *urgent = (part.strip() for part in _URGENT.split(written))
        if not urgent or urgent[0].lower() == "important":
            yield name.lower(), value if name.lower() == "content" else value.lower(), bool(urgent)


def _decides(name: str, value: str) -> bool:
    """Whether a property may change what text is shown, or how: a size does where it is nothing."""
    if name in _FREE:
        return _MAY_CHANGE.get(name, _NEVER).fullmatch(value) is not None
    return value.strip() not in ("", *_PLAIN_VALUES.get(name, ()))


def _check_values(said: _Said) -> None:
    if any(_ELSEWHERE.search(value) for _, part in said for name, value in part.items() if name not in _FREE):
        raise RecordError(_NOT_READ.format("value"))


def _generated(place: str, declarations: str) -> _Said:
    """Return the text that a sheet puts before or after an element, as the property `before` or `after`.

    It is `var()` where it is not read: counters, pictures as letters, lines of their own.
    """
    values = list(_values(declarations))
    others = {name: value for name, value, _ in values}
    shown = "none" if others.get("visibility") == "hidden" else others.get("display", "inline")
    said: _Said = []
    for name, value, is_urgent in values:
        if name == "content":
            plain = _PLAIN_CONTENT.fullmatch(value)
            text = _ESCAPE.sub(lambda code: chr(int(code[1], 16) % 0x110000), plain[1][1:-1]) if plain else "\\"
            if shown == "none" or _NO_CONTENT.fullmatch(value):
                text = ""
            elif (
                _NO_TEXT.search(text)
                or place == "marker"
                or shown not in ("inline", "inline-block")
                or any(HIDES[name].fullmatch(value) for name, value in others.items() if name in HIDES)
            ):
                text = "var()"
            said.append((is_urgent, {place: text}))
    return said


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
        for kind, name, attribute, test, value in _PART.findall(compound[2]):
            ids, classes = ids + (kind == "#"), classes + (kind != "#")
            if kind == "#":
                path += f"[@id='{name}']"
            elif kind:
                path += f"[contains(concat(' ', normalize-space(@class), ' '), ' {name} ')]"
            else:
                path += _TESTS[test].format(attribute, value) if value else f"[@{attribute}]"
        step = "//"
    return (path, (0, ids, classes, tags)) if path else None
