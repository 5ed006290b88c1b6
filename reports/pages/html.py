"""How every HTML page of the package is rendered: one environment, escaped, with nothing undefined.

Owns the settings of the template engine, where templates and styles lie, how a page's own script and its data stand
in it, and that no text of a run steers a viewer.
"""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import polars as pl

from clinaudit.reports.estimates.frame import COLUMNS, Estimates
from clinaudit.reports.schema.record import Record
from clinaudit.reports.schema.run_results import RunReport
from clinaudit.reports.wording.escaped_text import harmless_document, harmless_text

#: An option of the command line in a sentence: no line may end at one of its hyphens.
_OPTION = re.compile(r"(?<!\S)\(?--[a-z][a-z-]*")
_HERE = Path(__file__).parent
_TEXTS: Final = [name for name, kind in COLUMNS.items() if kind == pl.String()]
AnyRecord = TypeVar("AnyRecord", bound=Record)
if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


def render_html(template: str, *, style: tuple[str, ...], context: Mapping[str, object]) -> str:
    """Return the page of a template with its style sheets inside it, all of this folder; it ends in a line feed."""
    from markupsafe import Markup

    page = _environment().get_template(template).render(context, style=Markup("\n".join(map(read_part, style))))
    return page if page.endswith("\n") else page + "\n"


@cache
def _environment() -> "Environment":
    """Return the one environment: a template is compiled once, which takes longer than a page."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup, escape

    environment = Environment(
        loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["svg"] = Markup  # our own charts; their texts are escaped where they are drawn
    environment.filters["options"] = lambda text: Markup(
        _OPTION.sub(r'<span class="option">\g<0></span>', str(escape(text)))
    )
    environment.filters["css_string"] = lambda text: Markup(css_string(str(text)))
    return environment


def css_string(text: str) -> str:
    """Return a string of CSS, quoted: every sign but letters, digits and spaces is escaped, so that none can end it."""
    return '"' + re.sub(r"[^A-Za-z0-9 ]", lambda sign: f"\\{ord(sign[0]):06x} ", text) + '"'


def read_part(name: str) -> str:
    """Return the text of a style sheet or script of this folder."""
    return (_HERE / name).read_text(encoding="utf-8")


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


def harmless(record: AnyRecord) -> AnyRecord:
    """Return a record with every sign replaced that would steer a viewer."""
    return type(record).model_validate(harmless_document(record.model_dump(mode="json")))


def harmless_report(report: RunReport) -> RunReport:
    """Return the same with every sign replaced that would steer a viewer, in words, table and provenance."""
    frame = report.estimates.frame
    return RunReport(
        harmless(report.results),
        Estimates(
            frame.with_columns(
                pl.Series(name, [harmless_text(text) for text in frame[name]], dtype=pl.String()) for name in _TEXTS
            )
        ),
        harmless_document(report.provenance),
        is_exact=report.is_exact,
    )
