"""Sixty hostile payloads, where a record takes free text, and how an output is read back."""

import unicodedata
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from itertools import count
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

PAYLOADS = (
    # Script, and the ways into it.
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<ScRiPt src=//x.example>",
    "<script\x00>alert(1)</script>",
    "<scr<script>ipt>alert(1)</scr</script>ipt>",
    "<img src=x onerror=alert(1)>",
    "<body onload=alert(1)>",
    "<iframe srcdoc='<script>alert(1)</script>'>",
    "<object data=data:text/html,x>",
    "<embed src=//x.example>",
    "<a href=javascript:alert(1)>x</a>",
    "<form action=//x.example><button>x",
    "<input autofocus onfocus=alert(1)>",
    "<details open ontoggle=alert(1)>",
    "<template><script>alert(1)</script></template>",
    "<meta http-equiv=refresh content=0;url=//x.example>",
    "<base href=//x.example>",
    "<link rel=stylesheet href=//x.example>",
    "<plaintext>",
    "<xmp><b>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<textarea><img title='</textarea><script>alert(1)</script>'>",
    # Out of an attribute, a comment, a title, a style.
    '"><script>alert(1)</script>',
    "'><script>alert(1)</script>",
    '" onmouseover="alert(1)',
    "' onmouseover='alert(1)",
    "` onmouseover=`alert(1)",
    "--><script>alert(1)</script><!--",
    "<!--",
    "]]><script>alert(1)</script>",
    "<![CDATA[x]]>",
    "</title><script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "<style>*{background:url(//x.example)}</style>",
    "}body{background:url(//x.example)}",
    "@import '//x.example';",
    # SVG and MathML.
    "<svg onload=alert(1)>",
    "</svg><script>alert(1)</script>",
    "<svg><use href=data:image/svg+xml,x>",
    "<svg><foreignObject><body onload=alert(1)>",
    "<math><mtext><script>alert(1)</script>",
    # Entities and encodings.
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;script&#62;",
    "&amp;amp;",
    "&nosuchentity;",
    "+ADw-script+AD4-alert(1)+ADw-/script+AD4-",
    "%3Cscript%3E",
    "\\u003cscript\\u003e",
    # Templates and links.
    "{{ 7*7 }}",
    "{% raw %}{% endraw %}{# #}",
    "${7*7} #{7*7} <%= 7*7 %>",
    "[x](javascript:alert(1)) ![x](//x.example)",
    # Spreadsheets.
    '=HYPERLINK("//x.example","x")',
    "+cmd|' /C calc'!A0",
    "@SUM(1+1)*cmd|' /C calc'!A0",
    # Bidirectional overrides, invisible characters, terminals.
    "\u202efdp.exe\u202c",
    "\u2066\u2067a\u2069\u200f\u061c",
    "a\u200b\u2060\ufeffb\u00adc",
    "\x1b[31mred\x1b[0m\x1b]0;title\x07\x1b[2J",
    "\x9b31m\x08\x08\x7f\r\x0c",
)
assert len(PAYLOADS) == 60
#: Payloads in one text: a page takes time, and ten at once hide nothing, since any element more would be seen.
GROUPS = [PAYLOADS[begin : begin + 10] for begin in range(0, len(PAYLOADS), 10)]

Model = TypeVar("Model", bound=BaseModel)
Document = dict[str, Any]
Place = tuple[str, ...]


def leaves(node: object, place: Place = ()) -> Iterator[Place]:
    """Yield the place of every string, and of every mapping's keys, with list indices and keys as they are."""
    if isinstance(node, dict):
        if node:
            yield (*place, "<keys>")
        for key, child in node.items():
            yield from leaves(child, (*place, key))
    elif isinstance(node, list):
        for index, child in enumerate(node):
            yield from leaves(child, (*place, str(index)))
    elif isinstance(node, str):
        yield place


def replaced(node: Any, place: Place, make: Callable[[str], str]) -> Any:
    """Return a document with another string, or other keys, at a place; what is not on the way to it is shared."""
    step, rest = place[0], place[1:]
    if step == "<keys>":
        return {make(key): child for key, child in node.items()}
    copied: Any = [*node] if isinstance(node, list) else {**node}
    at: Any = int(step) if isinstance(node, list) else step
    copied[at] = replaced(node[at], rest, make) if rest else make(node[at])
    return copied


def is_free(model: type[BaseModel], document: Document, place: Place) -> bool:
    """Whether the schema takes any text here."""
    try:
        model.model_validate(replaced(document, place, lambda text: f"anything {text}"))
    except ValidationError:
        return False
    return True


def find_free_places(model: type[BaseModel], document: Document) -> list[Place]:
    """Return the places of free text; keys come last and deepest first, so that places stay true as they change.

    One decision holds for all places of a shape.
    """
    verdicts: dict[tuple[object, ...], bool] = {}
    free = []
    for place in leaves(document):
        shape = tuple("*" if step.isdigit() else step for step in place)
        if shape not in verdicts:
            verdicts[shape] = is_free(model, document, place)
        if verdicts[shape]:
            free.append(place)
    return sorted(free, key=lambda place: (place[-1] == "<keys>", -len(place)))


def with_text(model: type[Model], document: Document, places: list[Place], text: str) -> Model:
    """The record with one text in every free place; keys stay distinct by a number before it."""
    changed = document
    for place in places:
        numbers = count()
        is_key = place[-1] == "<keys>"
        changed = replaced(changed, place, lambda _, n=numbers, k=is_key: f"{next(n)}{text}" if k else text)  # type: ignore[misc]
    return model.model_validate(changed)


class Tree(HTMLParser):
    """Elements with the names of their attributes, in order, and ends."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.shape: list[tuple[str, ...]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.shape.append((tag, *(name for name, _ in attrs)))

    def handle_endtag(self, tag: str) -> None:
        self.shape.append(("/" + tag,))

    def handle_comment(self, data: str) -> None:  # noqa: ARG002 (the parser's own signature)
        self.shape.append(("comment",))

    def handle_decl(self, decl: str) -> None:
        self.shape.append(("declaration", decl))

    def unknown_decl(self, data: str) -> None:
        self.shape.append(("declaration", data))


def steers(text: str) -> list[str]:
    """Return the characters of a text that would steer a terminal, or turn its reading about."""
    return [
        char for char in text if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"} and char not in "\n\u00ad"
    ]
