"""How every HTML page of the package is rendered: one environment, escaped, with nothing undefined.

Owns the settings of the template engine and where templates and styles lie. Knows nothing of what a page shows.
"""

from collections.abc import Mapping
from pathlib import Path

_HERE = Path(__file__).parent


def render_html(template: str, *, style: str, context: Mapping[str, object]) -> str:
    """Return the page of a template with a style sheet inside it, both files of this folder; it ends in a line feed."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["svg"] = Markup  # our own charts; their texts are escaped by the drawing library
    page = environment.get_template(template).render(context, style=Markup(read_part(style)))
    return page if page.endswith("\n") else page + "\n"


def read_part(name: str) -> str:
    """Return the text of a style sheet or script of this folder."""
    return (_HERE / name).read_text(encoding="utf-8")
