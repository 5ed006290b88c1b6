"""Fonts that are no alphabet: what their codes show (Adobe's Symbol encoding; signs of Microsoft's Wingdings)."""

import re
from typing import Final

from clinaudit.priors.importers.ledger import RecordError

#: Codes 0x20 to 0x7E, and 0xA0 to 0xFE. Two have no sign of Unicode: the euro's old place and the apple.
_SYMBOL: Final = dict(
    zip(
        (*range(0x20, 0x7F), *range(0xA0, 0xF0), *range(0xF1, 0xFF)),
        " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼"
        "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪"
        "〉∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭",
        strict=True,
    )
)
#: The signs that Word offers as bullets and boxes.
_WINGDINGS: Final = {
    0x20: " ", 0x4A: "☺", 0x6C: "●", 0x6E: "■", 0x6F: "□", 0x71: "❑", 0x75: "◆", 0x76: "❖", 0xA7: "▪", 0xA8: "◻",
    0xD8: "➢", 0xE0: "→", 0xFB: "✗", 0xFC: "✓", 0xFD: "☒", 0xFE: "☑",
}  # fmt: skip
_SIGNS: Final = {"symbol": _SYMBOL, "symbol mt": _SYMBOL, "wingdings": _WINGDINGS}
#: Others whose letters are pictures, and where Word puts the codes of such a font in Unicode (its private area).
_UNREADABLE: Final = ("wingdings 2", "wingdings 3", "webdings", "zapfdingbats", "zapf dingbats", "mt extra", "marlett")
_PRIVATE: Final = 0xF000


def is_symbol_font(name: str) -> bool:
    """Whether the letters of a font are signs: `Symbol`, `Wingdings`."""
    return name.lower() in _SIGNS or name.lower() in _UNREADABLE


def shown_signs(text: str, font: str) -> str:
    """Return what the codes of a symbol font show: `5 m` in Symbol is `5 μ`.

    Characters beyond one byte are themselves. Raises `RecordError` for a sign that is not known.
    """
    signs = _SIGNS.get(font.lower(), {})
    shown = []
    for char in text:
        code = ord(char) - (_PRIVATE if _PRIVATE <= ord(char) < _PRIVATE + 256 else 0)
        if code >= 256 or char in "\t\r\n\xa0":
            shown.append(char)
        elif code in signs:
            shown.append(signs[code])
        elif char == " ":
            shown.append(char)
        else:
            raise RecordError("an attachment has a sign of a symbol font (Wingdings and the like) that is not known")
    return "".join(shown)


_RAISED: Final = str.maketrans("0123456789+-−–‑=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻⁻⁼⁽⁾ⁿ")


def raised(text: str) -> str:
    """Return superscript figures as Unicode has them, so that 10⁹ does not become 109: `^1.5` where it has none.

    Text without figures is as it is: 5th, x*.
    """
    if all(char.isspace() or ord(char) in _RAISED for char in text):
        return text.translate(_RAISED)
    return f"^{text}" if re.search(r"[0-9]", text) else text
