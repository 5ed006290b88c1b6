"""The part of CSS that decides what a reader of a page sees: what is hidden, keeps its lines, or is a list or table.

Selectors are of elements, classes, ids and attributes, within or directly below one another; a condition is a medium,
such as print. What another selector, condition or value decides is refused where the page has such elements, and so is
text that a sheet writes.
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

_NOTHING: Final = re.compile(r"0*\.?0+[a-z%]*")
#: Beyond every window: a hanging indent of Word has three figures.
_FAR_AWAY: Final = re.compile(r"-(?:[0-9]{4,}|999).*|-[0-9]{3,}(?:\.[0-9]+)?(?:r?em|ex|ch|v[wh])")
#: By property: the values that put text out of sight that is laid out all the same.
_PUT_AWAY: Final[Mapping[str, re.Pattern[str]]] = {
    **dict.fromkeys(("left", "top", "text-indent"), _FAR_AWAY),
    **dict.fromkeys(("clip", "clip-path"), re.compile(r"(?:rect|inset|circle|ellipse|polygon|path)\(.*")),
    **dict.fromkeys(
        ("transform", "scale"), re.compile(r".*scale\w*\((?:.*,)?\s*0[,)].*|.*translate.*-[0-9]{4}.*|0|\S+ 0")
    ),
    "content-visibility": re.compile("hidden"),
}
#: Sizes that hide what may not flow over them.
_SIZES: Final = ("width", "max-width", "height", "max-height")
_A_DOT: Final = re.compile(rf"{_NOTHING.pattern}|1px")
_FONT_OF_SIGNS: Final = re.compile(r".*(?:symbol|dings|dingbats|marlett).*")
#: By property: the values that change what text is shown, of properties of which most values change nothing.
_CHANGES: Final = {**dict.fromkeys(("font-size", "opacity"), _NOTHING), "font-family": _FONT_OF_SIGNS, **_PUT_AWAY}
_DECIDE: Final = frozenset(
    ("display", "visibility", "white-space", "white-space-collapse", "float", "list-style-type", "text-transform")
) | {"vertical-align", "font-variant-position"}
_PROPERTIES: Final = _DECIDE | _CHANGES.keys() | {*_SIZES, "position", "bottom", "overflow", "overflow-x", "overflow-y"}
_WHITE_SPACES: Final = re.compile(
    "normal|nowrap|pre|pre-wrap|pre-line|break-spaces|initial|revert|revert-layer|.*var\\(.*"
)
_COMMENT: Final = re.compile(r"/\*.*?\*/|<!--|-->", re.DOTALL)
_STRING: Final = r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'"
_TOKEN: Final = re.compile(rf"{_STRING}|[{{}};]|[^{{}};\"']+|.", re.DOTALL)
_DECLARATION: Final = re.compile(rf"(?<![*\w-])([\w-]+)\s*:((?:{_STRING}|[^;])+)", re.DOTALL)
_URGENT: Final = re.compile(r"!(?=[\s\w-]*$)")
_FONT: Final = re.compile(
    r"(?:(?<![\d.])[\d.]+(?:pt|px|em|rem|%)|\b(?:xx?-)?(?:small|large)|\bmedium|\b(?:small|larg)er)(?:/\S+)?\s+(.+)"
)
#: Text that a sheet writes before or after an element, and content that is none.
_GENERATED: Final = re.compile(r"(.*?)::?(?:before|after|marker)$", re.DOTALL)
_NO_CONTENT: Final = re.compile(r"none|normal|no-(?:open|close)-quote|([\"'])(?:\s|\\0{0,4}(?:20|[aA]0))*\1")
_AT_RULES_WITHOUT_STYLES: Final = re.compile("font-.*|page|list|counter-style|namespace|charset|.*keyframes")
_TOO_MUCH: Final = "an HTML attachment has a style sheet that would take beyond measure to follow"
_NOT_READ: Final = "an HTML attachment has a style sheet that decides what is shown by a {} not read"
_COMPOUND: Final = re.compile(
    r"(\*|[a-z][\w:-]*)?((?:[.#][\w-]+|\[[\w-]+(?:=[\"']?[^\"'\]]*[\"']?)?\])*)", re.IGNORECASE
)
_PART: Final = re.compile(r"([.#])([\w-]+)|\[([\w-]+)(?:=[\"']?([^\"'\]]*)[\"']?)?\]")
#: What is left out of a selector that is not read, so that it is of more elements; and where nothing would be left.
_UNREAD: Final = re.compile(r":[\w-]+(?:\((?:[^()]|\([^()]*\))*\))?|\[[^\]]*\]|.*[+~]", re.DOTALL)
_BARE: Final = re.compile(r"(?<![^\s>+~])(?=[:\[])")
#: Of the mouse, or of what is not in the page.
_NOT_OF_TEXT: Final = re.compile(r"::|:(?:hover|focus|active|visited|target|first-letter|first-line)\b")
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
    rules = [rule for sheet in sheets for rule in _rules("".join(sheet.itertext()))]
    if len(rules) * sum(1 for _ in tree.iter()) > _MOST_STEPS:
        raise RecordError(_TOO_MUCH)
    for selector, declarations, applies in rules:
        said, generated = _declared(declarations), _GENERATED.fullmatch(selector)
        selector = (generated[1].rstrip() or "*") if generated else selector
        if _NOT_OF_TEXT.search(selector) or not (_writes(declarations) if generated else said):
            continue
        exact = _path(selector)
        path = exact or _path(_UNREAD.sub("", _BARE.sub("*", selector))) or ("//*", ())
        try:
            elements = tree.xpath(path[0])
        except (lxml.etree.XPathError, ValueError):  # names and values that XML does not have
            raise RecordError(_NOT_READ.format("selector")) from None
        if generated:
            if elements:
                raise RecordError("an HTML attachment has a style sheet that writes text, which is not read")
        elif exact is None or applies is None:
            if elements and any(_decides(*one) for _, part in said for one in part.items()):
                raise RecordError(_NOT_READ.format("selector" if exact is None else "condition"))
        else:
            found += [((urgent, path[1]), elements, part) for urgent, part in said]
    for element in tree.xpath("//*[@style]"):
        found += [((urgent, (1,)), [element], part) for urgent, part in _declared(element.get("style"))]
    styles: dict[HtmlElement, dict[str, str]] = {}
    for _, elements, part in sorted(found, key=lambda one: one[0]):
        for element in elements:
            styles.setdefault(element, {}).update(part)
    # Values that stand elsewhere, and another property for what `white-space` says.
    if any("var(" in style.get(name, "") for style in styles.values() for name in _DECIDE) or any(
        "white-space-collapse" in style for style in styles.values()
    ):
        raise RecordError(_NOT_READ.format("value"))
    return styles


def is_put_away(style: Mapping[str, str]) -> bool:
    """Whether a style puts text out of sight that is laid out: out of the window, cut, or as large as a dot."""
    is_cut = any(name.startswith("overflow") and re.search("hidden|clip", value) for name, value in style.items())
    return any(
        (name in _PUT_AWAY and _PUT_AWAY[name].fullmatch(value))
        or (is_cut and name in _SIZES and _A_DOT.fullmatch(value))
        for name, value in style.items()
    )


def is_nothing(size: str) -> bool:
    """Whether a size or a share is zero."""
    return _NOTHING.fullmatch(size) is not None


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
    if _AT_RULES_WITHOUT_STYLES.fullmatch(kind):
        return False
    if kind != "media":
        return None
    media = {one.strip().removeprefix("only ") for one in condition.lower().split(",")}
    if media & {"", "all", "screen"}:
        return True
    return False if all(map(str.isalpha, media)) else None


@lru_cache(maxsize=1000)
def _declared(declarations: str) -> _Said:
    by_urgency: dict[bool, dict[str, str]] = {False: {}, True: {}}
    for name, value, is_urgent in _values(declarations):
        if name == "font" and (shorthand := _FONT.search(value)):
            name, value = "font-family", shorthand[1]
        elif name == "list-style":
            name, value = "list-style-type", next((word for word in value.split() if "(" not in word), "")
        # A value that is none leaves the one before: `-moz-pre-wrap`.
        is_valid = name != "white-space" or _WHITE_SPACES.fullmatch(value)
        if name in _PROPERTIES and is_valid and value not in ("inherit", "unset"):
            by_urgency[is_urgent][name] = value
    return [(is_urgent, said) for is_urgent, said in by_urgency.items() if said]


def _values(declarations: str) -> Iterator[tuple[str, str, bool]]:
    """Yield each property, its value, and whether it is important; what is no CSS is left out."""
    for name, written in _DECLARATION.findall(declarations):
        value, *urgent = (part.strip() for part in _URGENT.split(written))
        if not urgent or urgent[0].lower() == "important":
            yield name.lower(), value.lower(), bool(urgent)


def _decides(name: str, value: str) -> bool:
    """Whether a property may change what text is shown, or how: a size does where it is nothing."""
    return name in _DECIDE or (name in _CHANGES and _CHANGES[name].fullmatch(value) is not None)


def _writes(declarations: str) -> bool:
    """Whether a sheet writes a text that is shown."""
    values = {name: value for name, value, _ in _values(declarations)}
    is_hidden = values.get("visibility") == "hidden" or values.get("display") == "none"
    return not is_hidden and _NO_CONTENT.fullmatch(values.get("content", "none")) is None


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
