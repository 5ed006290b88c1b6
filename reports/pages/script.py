"""A page's own script and its data: how they stand in the page, and by which digest its policy lets the script run."""

import base64
import hashlib
import json
from typing import TYPE_CHECKING

from clinaudit.reports.pages.html import read_part

if TYPE_CHECKING:
    from markupsafe import Markup


def own_script(*names: str) -> "tuple[Markup, str]":
    """Return scripts of this folder as one, and the SHA-256 by which the page lets it run, and no other."""
    from markupsafe import Markup

    script = "\n".join(map(read_part, names))
    return Markup(script), base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")


def script_data(data: object) -> "Markup":
    """Return JSON that cannot end its element nor begin a comment, whatever the notes hold."""
    from markupsafe import Markup

    text = json.dumps(data, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))
