"""HTML as the text that a browser shows: lines and blocks, tables, lists, and what style sheets hide or keep.

Read as `innerText` is (WHATWG HTML, "the innerText getter"), with the signs of lists, and with tables that only lay a
page out cell after cell. Inscriptis is not used: it writes columns side by side, and decodes entities twice. Nothing
that a page names is loaded.
"""

import html
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from clinaudit.priors.importers.corpus_writer import RecordError
from clinaudit.priors.importers.rtf_text import is_symbol_font, raised, shown_signs
from clinaudit.priors.importers.style_sheets import HIDES, Styles, computed_styles

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_DISPLAY: Final[Mapping[str, str]] = {
    tag: display
    for display, tags in tomllib.loads(Path(__file__).with_name("html.toml").read_text(encoding="utf-8")).items()
    for tag in tags
}
_SAME_DISPLAY: Final = {
    "table-header-group": "table-row-group",
    "table-footer-group": "table-row-group",
    "table-column-group": "table-column",
}
_INLINE: Final = ("inline", "inline-block", "inline-flex", "inline-grid", "inline-table", "contents", "ruby")
_WHITE_SPACE: Final = {"pre": "pre", "xmp": "pre", "listing": "pre", "plaintext": "pre", "textarea": "pre-wrap"}
#: Elements that look otherwise than the element around them, without a style of the page.
_LOOKS: Final = frozenset({*_WHITE_SPACE, "sup", "sub", "font", "ol", "ul", "li"})
_TRANSFORMS: Final[Mapping[str, Callable[[str], str]]] = {
    "uppercase": str.upper,
    "lowercase": str.lower,
    "capitalize": lambda text: re.sub(r"(?<![\w'’])\w", lambda letter: letter[0].upper(), text),
}
#: Boxes of a form, and formulas of which the text alone would be another value: `x2` for x².
_BOXES: Final = ("input", "textarea", "select", "button")
_FORMULAS: Final = frozenset(
    ("mfrac", "msup", "msub", "msubsup", "msqrt", "mroot", "mover", "munder", "munderover", "mmultiscripts", "mtable")
)
_UNSEEN_INPUTS: Final = ("hidden", "password", "submit", "button", "reset", "image", "file")
_LIST_TYPES: Final = {"1": "decimal", "a": "lower-alpha", "A": "upper-alpha", "i": "lower-roman", "I": "upper-roman"}
_NUMBERED: Final = frozenset({*_LIST_TYPES.values(), "lower-latin", "upper-latin", "decimal-leading-zero"})
_BULLETS: Final = ("disc", "circle", "square", "initial")
#: Figures of Roman numbers, and the letters of thousands, hundreds, tens and ones in place of i, v and x.
_ROMAN: Final = ("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix")
_ROMAN_PLACES: Final = ("m  ", "cdm", "xlc", "ivx")
#: Smaller than the text around.
_SMALL: Final = re.compile(r"smaller|0?\.\d+em|[1-8]?\d(?:\.\d+)?%")
_UPWARD: Final = re.compile(r"\+?0*\.?0*[1-9]")
_BLANKS: Final = re.compile(r"[ \t\n\f]+")
_XML_DECLARATION: Final = re.compile(r"<\?xml[^>]*\?>")
_XHTML: Final = re.compile(r"<html[^>]*\sxmlns\s*=")
_CDA: Final = re.compile(r"(?:\s|<!--.*?-->)*<(?:[\w.-]+:)?ClinicalDocument[\s>]", re.DOTALL)
_NO_PAGE: Final = "an attachment is XML and no page (a CDA document, for one): its text is not read"
_NAMED_ENTITY: Final = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);)[a-zA-Z]\w*;")
#: Tags; comments and elements that hold no tags are passed over as they are.
_ANY_TAG: Final = re.compile(
    r"<!--.*?(?:-->|\Z)|<(?P<raw>script|style|textarea|title|xmp)\b(?![^<>]*/>).*?(?:</(?P=raw)|\Z)"
    r"|<(?P<end>/?)(?P<name>[a-z][\w:-]*)(?:\"[^\"]*\"|'[^']*'|[^\"'<>])*+>",
    re.IGNORECASE | re.DOTALL,
)
#: Put after a page, and found again as an element only where the page is not cut off within something.
_END_ID: Final = "end-of-attachment"
_CUT_OFF: Final = "an HTML attachment ends within a tag, a comment, a title, a script or an object"
#: Lists are indented by their depth, up to this.
_MOST_INDENTED: Final = 8


def text_of_html(text: str) -> str:
    """Return the text of a page: `<p>a &amp; b<br>c` is `a & b` and `c` on two lines.

    A no-break space is a blank. Raises `RecordError` where the page cannot be read whole, or shows nothing.
    """
    tree = _parsed(text.replace("\r\n", "\n").replace("\r", "\n"))
    page = _Page(computed_styles(tree))
    try:
        page.read(tree, _Look())
    except RecursionError:
        raise RecordError("an HTML attachment has tables within tables, too many to read") from None
    return page.text().replace("\xa0", " ").strip("\n")


def _parsed(text: str) -> "HtmlElement":
    import lxml.etree
    import lxml.html

    page, declared = _XML_DECLARATION.subn("", text, count=1)
    if not page.strip():
        raise RecordError("the text is blank")
    if re.search(r"<!DOCTYPE[^>]*\[", page, re.IGNORECASE):
        raise RecordError("an HTML attachment declares XML entities of its own")
    if declared or _XHTML.search(page):
        parser = lxml.etree.XMLParser(no_network=True, resolve_entities=False, remove_comments=True, remove_pis=True)
        try:
            xml = lxml.etree.fromstring(_NAMED_ENTITY.sub(lambda named: html.unescape(named[0]), page), parser=parser)
        except lxml.etree.XMLSyntaxError:
            pass  # a browser reads it as HTML when it is called so
        else:
            for element in xml.iter(lxml.etree.Element):
                element.tag = lxml.etree.QName(element).localname.lower()
            if xml.tag == "html":
                return xml
            raise RecordError(_NO_PAGE)
    if _CDA.match(page):  # as HTML, the titles of its sections would be those of pages, and hidden
        raise RecordError(_NO_PAGE)
    page = _with_stray_ends(page)
    if "<![CDATA[" in page and "<![CDATA[" in _ANY_TAG.sub("", page):  # in a script it is a comment
        raise RecordError("an HTML attachment holds XML that HTML does not have (CDATA)")
    parser = lxml.html.HTMLParser(no_network=True, huge_tree=False, remove_comments=True, remove_pis=True)
    try:
        tree = lxml.html.document_fromstring(f'{page}<i id="{_END_ID}"></i>', parser=parser)
    except (lxml.etree.LxmlError, ValueError):
        raise RecordError("an HTML attachment cannot be parsed") from None
    if any(entry.level_name == "FATAL" for entry in parser.error_log):
        # The parser stops at too deep a nesting, and would leave out the rest.
        raise RecordError("an HTML attachment cannot be parsed to its end")
    ends = tree.xpath(f"//i[@id='{_END_ID}']")
    if not ends:
        # An open comment, quote, title or script takes all that follows: the rest of the note would be lost.
        raise RecordError(_CUT_OFF)
    for end in ends:
        if any(_DISPLAY.get(around.tag) == "none" for around in end.iterancestors()):
            raise RecordError(_CUT_OFF)
        end.drop_tree()
    return tree


def _with_stray_ends(page: str) -> str:
    """Return a page in which `</br>` is a line break, and `</p>` without a beginning an empty paragraph, as in HTML.

    What follows `</html>` belongs to the page, too: the parser would leave it out of the tree that it gives.
    """
    is_open = False
    begun: set[str] = set()

    def written(tag: re.Match[str]) -> str:
        nonlocal is_open
        name, is_end = (tag["name"] or "").lower(), bool(tag["end"])
        if name == "br" and is_end:
            return "<br>"
        if name == "embed":  # the parser would take in all that follows
            return ""
        if name in ("html", "body") and (is_end or name in begun):
            return "<div></div>"
        begun.add(name)
        if name == "p":
            is_stray, is_open = is_end and not is_open, not is_end
            return "<p></p>" if is_stray else tag[0]
        # A block ends the paragraph that it stands in.
        is_open &= _DISPLAY.get(name, "inline") in ("inline", "none")
        return tag[0]

    return _ANY_TAG.sub(written, page)


@dataclass(frozen=True, slots=True)
class _Look:
    """How text looks, which an element takes over from the element around it."""

    white_space: str = "normal"
    is_visible: bool = True
    #: Of letters without a size.
    is_tiny: bool = False
    is_raised: bool = False
    #: The font where it is one of signs.
    symbol_font: str = ""
    list_style: str = ""
    transform: str = "none"


def _is_raised(style: Mapping[str, str]) -> bool:
    """Whether text stands above the line: `super`, a length, small text at the top, or moved up."""
    align, is_small = style.get("vertical-align", ""), _SMALL.fullmatch(style.get("font-size", "")) is not None
    moved_up = style.get("top", "").startswith("-") or _UPWARD.match(style.get("bottom", ""))
    return (
        "super" in (align, style.get("font-variant-position"))
        or _UPWARD.match(align) is not None
        or (align in ("top", "text-top") and is_small)
        or (style.get("position") == "relative" and bool(moved_up))
    )


def _is_out_of_sight(style: Mapping[str, str], display: str) -> bool:
    """Whether a style hides an element's text though it is laid out: for screen readers alone, or a preview."""

    def hides(*names: str) -> bool:
        return any(HIDES[name].fullmatch(style.get(name, "")) for name in names)

    position = style.get("position", "static")
    if hides("opacity", "clip-path") or (position in ("absolute", "fixed") and hides("clip")):
        return True
    if position in ("absolute", "fixed", "relative") and hides("left", "top"):
        return True
    if display in ("inline", "contents"):
        return False  # the rest is of boxes
    overflow = {word for name, value in style.items() if name.startswith("overflow") for word in value.split()}
    # A cell of a table is at least as high and wide as its text.
    is_thin = hides("width") and "min-width" not in style
    is_small = not display.startswith("table") and (is_thin or hides("height", "max-height"))
    return hides("text-indent", "transform", "scale", "content-visibility") or (
        is_small and not overflow.isdisjoint(("hidden", "clip"))
    )


class _List:
    """A list: the number of its next item, and the step to the one after it; unordered ones have none."""

    def __init__(self, element: "HtmlElement") -> None:
        self.is_ordered = element.tag == "ol"
        self.step = -1 if "reversed" in element.attrib else 1
        first = sum(child.tag == "li" for child in element) if self.step < 0 else 1
        self.number = _whole(element.get("start"), first)

    def next_sign(self, item: "HtmlElement", style: str) -> str:
        number = self.number = _whole(item.get("value"), self.number)
        self.number += self.step
        if style == "none":
            return ""
        if style not in _NUMBERED and (style in _BULLETS or not self.is_ordered):
            return "* "
        numeral = str(number)
        if style.endswith(("alpha", "latin")) and number > 0:
            numeral = ""
            while number:
                number, place = divmod(number - 1, 26)
                numeral = chr(ord("a") + place) + numeral
        elif style.endswith("roman") and 0 < number < 4000:
            figures = zip(f"{number:04}", _ROMAN_PLACES, strict=True)
            numeral = "".join(_ROMAN[int(figure)].translate(str.maketrans("ivx", place)) for figure, place in figures)
        return f"{numeral.upper() if style.startswith('upper') else numeral}. "


def _whole(text: str | None, default: int) -> int:
    return int(text) if text is not None and re.fullmatch(r"\s*-?[0-9]{1,9}\s*", text) else default


#: Elements with the texts that they show.
_Cells = list[tuple["HtmlElement", str]]


class _Page:
    """The text of a page, or of a cell of it, as it grows."""

    def __init__(self, styles: Styles) -> None:
        self._styles = styles
        self._pieces: list[str] = []
        #: Line breaks before the next text; the sign of a list that stands before it.
        self._breaks = 0
        self._sign = ""
        self._ends_in_blank = False
        self._lists: list[_List] = []

    def text(self) -> str:
        return "".join(self._pieces).rstrip(" ") if self._ends_in_blank else "".join(self._pieces)

    def read(self, element: "HtmlElement", around: _Look) -> None:
        """Add what an element shows."""
        look, display = self._look(element, around), self._display(element)
        if look is None:
            return
        tag, is_block = element.tag, display not in _INLINE
        margin = int(is_block) * (2 if tag == "p" else 1)
        if tag in _FORMULAS:
            raise RecordError("an HTML attachment holds a formula, which is not read")
        # Boxes of a width stand apart, as columns do, and those of a form.
        has_width = display == "inline-block" and "width" in self._styles.get(element, {})
        apart = " " if has_width or (tag in _BOXES and element.get("type", "text") not in _UNSEEN_INPUTS) else ""
        self._add(apart, around)
        self._break(margin)
        if tag in ("ol", "ul", "menu", "dir"):
            self._lists.append(_List(element))
        if display == "list-item":
            items = self._lists[-1] if self._lists else _List(element)
            indent = "  " * min(len(self._lists) - 1, _MOST_INDENTED)
            self._sign = f"{indent}{items.next_sign(element, look.list_style)}"
        if tag == "br":
            self._breaks += 1
        elif tag == "input":
            kind = element.get("type", "text").lower()
            shown = "" if kind in _UNSEEN_INPUTS else element.get("value", "")
            is_box = kind in ("checkbox", "radio")
            self._add(("☒" if "checked" in element.attrib else "☐") if is_box else shown, look)
        elif display in ("table", "inline-table"):
            self._read_table(element, look)
        else:
            first = (element.text or "").removeprefix("\n") if tag in _WHITE_SPACE else element.text or ""
            style = self._styles.get(element, {})
            self._add(style.get("before", "“" if tag == "q" else ""), look)
            self._add(first, look)
            is_boxes = display.endswith(("flex", "grid")) or (tag == "select" and "multiple" in element.attrib)
            children = list(element.iter("option") if tag == "select" else element)
            if tag == "select" and "multiple" not in element.attrib:
                children = [option for option in children if "selected" in option.attrib][-1:] or children[:1]
            for child in children:
                # Flexible boxes and grids lay out each of their elements as a block.
                gap = int(is_boxes and self._display(child) != "none")
                self._break(gap)
                self.read(child, look)
                self._break(gap)
                self._add(child.tail or "", look)
            self._add(style.get("after", "”" if tag == "q" else ""), look)
        if display == "list-item" and self._sign.strip():
            self._sign = self._sign.rstrip()
            self._write("")
        if tag in ("ol", "ul", "menu", "dir"):
            self._lists.pop()
        self._add(apart, around)
        self._break(margin)

    def _display(self, element: "HtmlElement") -> str:
        is_closed = element.tag == "dialog" and "open" not in element.attrib
        is_hidden = is_closed or not {"hidden", "popover"}.isdisjoint(element.attrib)
        default = "none" if is_hidden else _DISPLAY.get(element.tag, "inline")
        style = self._styles.get(element)
        if style is None:
            return default
        display = _SAME_DISPLAY.get(style.get("display", default), style.get("display", default))
        apart = style.get("float", "none") != "none" or style.get("position") in ("absolute", "fixed")
        return "block" if apart and display == "inline" else display

    def _look(self, element: "HtmlElement", around: _Look) -> _Look | None:
        """Return how an element looks, None where nothing of it is shown."""
        style, tag = self._styles.get(element, {}), element.tag
        if not style and tag not in _LOOKS:
            return None if self._display(element) == "none" else around
        display = self._display(element)
        if display == "none" or _is_out_of_sight(style, display):
            return None
        changes: dict[str, Any] = {"white_space": style.get("white-space", "revert")}
        if changes["white_space"].startswith("revert"):  # as without a sheet
            changes["white_space"] = _WHITE_SPACE.get(tag, around.white_space)
        if size := style.get("font-size"):  # what stands within may be larger again, but for a share of nothing
            is_share = around.is_tiny and size.endswith(("em", "%")) and not size.endswith("rem")
            changes["is_tiny"] = is_share or HIDES["font-size"].fullmatch(size) is not None
        if "visibility" in style:
            changes["is_visible"] = style["visibility"] not in ("hidden", "collapse")
        if tag == "sup" or (display in _INLINE and _is_raised(style)):
            changes["is_raised"] = True
        elif tag == "sub" or style.get("vertical-align", "").startswith(("sub", "-")):
            changes["is_raised"] = False
        if "text-transform" in style:
            changes["transform"] = style["text-transform"]
        family = style.get("font-family", element.get("face") if tag == "font" else None)
        if family is not None:
            name = family.partition(",")[0].strip(" \"'")
            changes["symbol_font"] = name if is_symbol_font(name) else ""
        if tag in ("ol", "ul", "li") or "list-style-type" in style:
            given = _LIST_TYPES.get(element.get("type", ""), around.list_style if tag == "li" else "")
            changes["list_style"] = style.get("list-style-type", given)
        return replace(around, **changes)

    def _add(self, text: str, look: _Look) -> None:
        """Add text of an element, with its blanks as its style has them."""
        if not text or not look.is_visible or look.is_tiny:
            return
        text = text.replace("\r\n", "\n").replace("\r", " ")  # written as &#13;
        if look.symbol_font:
            text = shown_signs(text, look.symbol_font)
        if look.is_raised:
            text = raised(text)
        change = _TRANSFORMS.get(look.transform)
        text = text if change is None else change(text)
        keeps_blanks = look.white_space in ("pre", "pre-wrap", "break-spaces")
        lines = text.split("\n") if keeps_blanks or look.white_space == "pre-line" else [text]
        for place, line in enumerate(lines):
            if place:
                self._breaks += 1
            if not keeps_blanks:
                shown = _BLANKS.sub(" ", line)
                if self._breaks or not self._pieces or self._ends_in_blank:
                    shown = shown.lstrip(" ")
                if shown:
                    self._write(shown)
                    self._ends_in_blank = shown.endswith(" ")
            elif line:
                self._write(line)

    def _write(self, text: str) -> None:
        if self._breaks and self._pieces:
            if self._ends_in_blank:
                self._pieces[-1] = self._pieces[-1].rstrip(" ")
            self._pieces.append("\n" * self._breaks)
        self._pieces.append(f"{self._sign}{text}")
        self._breaks, self._sign, self._ends_in_blank = 0, "", False

    def _break(self, number: int) -> None:
        self._breaks = max(self._breaks, number)

    def _read_table(self, table: "HtmlElement", look: _Look) -> None:
        rows = [[cell for cell in row if cell[1].strip() or len(row) > 1] for row in self._rows(table, look)]
        columns = [row for row in rows if sum(text.strip() != "" for _, text in row) > 1]
        is_data = any(element.tag == "th" for row in rows for element, _ in row)
        is_layout = not is_data and any(self._is_laid_out(*cell) for row in columns for cell in row)
        for row in rows:
            texts = [text for _, text in row]
            spread = is_layout or any("\n" in text for text in texts)
            for text in texts if spread else ["\t".join(texts).rstrip()]:
                self._break(1)
                if text.strip():
                    self._write(text)
        self._break(1)

    def _rows(self, part: "HtmlElement", look: _Look) -> Iterator[_Cells]:
        """Yield the cells of each row of a table or a part of one, and their texts; what stands beside, as a row."""
        if loose := self._loose(part, part.text, look):
            yield loose
        # A head stands before the first row, and a foot at the end.
        rest = [child for child in part if child.tag not in ("thead", "tfoot")]
        rows = (at for at, child in enumerate(rest) if self._display(child) in ("table-row", "table-row-group"))
        first = next(rows, len(rest))
        for child in [*rest[:first], *part.iterchildren("thead"), *rest[first:], *part.iterchildren("tfoot")]:
            inner, display = self._look(child, look), self._display(child)
            if inner is not None and (display == "table-row-group" or child.tag == "form"):
                yield from self._rows(child, inner)
            elif inner is not None and display == "table-row":
                row = self._loose(child, child.text, inner)
                for cell in child:
                    if self._look(cell, inner) is not None:
                        row.append((cell, self._text_of(cell, inner)))
                    row += self._loose(cell, cell.tail, inner)
                yield row
            elif display == "table-column":
                if any(self._styles.get(column, {}).get("visibility") == "collapse" for column in child.iter()):
                    raise RecordError("an HTML attachment hides a column of a table, which is not followed")
            elif inner is not None:
                yield [(child, self._text_of(child, look))]
            if loose := self._loose(child, child.tail, look):
                yield loose

    def _loose(self, beside: "HtmlElement", text: str | None, look: _Look) -> _Cells:
        """Return text that stands in a table outside of its cells."""
        shown = _BLANKS.sub(" ", text or "").strip() if look.is_visible and not look.is_tiny else ""
        return [(beside, shown)] if shown else []

    def _text_of(self, cell: "HtmlElement", look: _Look) -> str:
        page = _Page(self._styles)
        page.read(cell, look)
        return page.text().strip("\n")

    def _is_laid_out(self, cell: "HtmlElement", text: str) -> bool:
        """Whether a cell holds a part of a page rather than a value: several lines, or blocks but `p` and `div`."""
        is_value = text and self._display(cell) == "table-cell"
        inner = (one for one in cell.iterdescendants() if one.tag not in ("p", "div")) if is_value else ()
        return "\n" in text or any(self._display(one) not in (*_INLINE, "none") for one in inner)
