"""Texts that are not plain: RTF, HTML, and those with line breaks of HTML. Owns how they are told; reads none."""

import re

#: The option that reads them (docs/importing.md, "A CSV of your own").
HOW_TO_READ = "plain_text = true in the column map of clinaudit import csv reads them as the text that they show"
BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_HTML = re.compile(
    r"<(?:!doctype html|html|head|body|div|p|span|table|tr|ul|ol|li|h[1-6])(?:\s[^<>]*)?>", re.IGNORECASE
)


def form_of(text: str) -> str | None:
    """Return what a text is: `RTF`, `HTML`, or `<br>` where it holds these alone; None where it is plain."""
    if text.lstrip("\ufeff \t\r\n").startswith("{\\rtf"):
        return "RTF"
    if _HTML.search(text):
        return "HTML"
    return "<br>" if BREAK.search(text) else None
