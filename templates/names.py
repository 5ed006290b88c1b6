"""The names that profiles use: ids of facts, reserved names of sections and layouts, and how names are compared."""

import re
from collections.abc import Collection

#: Label of text before any header, and of a body-system header without a parent (docs/methods.md, section 2).
PREAMBLE = "preamble"
UNASSIGNED = "unassigned"
#: The layout of a note that fits none of its profile's layouts; it is read under the last one.
NO_LAYOUT = "no layout"
#: Facts that a profile must place or declare absent (priors/tiers.py uses these ids), with the label under which a
#: prompt writes one that only a table holds.
DEFAULT_LABELS = {
    "name": "patient",
    "dob": "dob",
    "age": "age",
    "sex": "sex",
    "visit_date": "visit date",
    "provider": "provider",
    "practice": "location",
    "chief_complaint": "cc",
    "hpi": "hpi",
    "marital_status": "marital status",
    "occupation": "occupation",
    "children": "children",
    "medications": "current medications",
}
FACTS = frozenset(DEFAULT_LABELS)
#: Facts that stand at the top of a note, who, when and where: their headers do not end the banner.
BANNER_FACTS = ("name", "dob", "age", "sex", "visit_date", "provider", "practice")

#: What ends a label, for RE2 and Python: a colon, or dots that lead to the value, with a colon or without.
LABEL_END = r"[ \t]*(?:\.{3,}[ \t]*:?|:)"


def bare(name: str) -> str:
    """Return a header or label as it is compared: lower-case, without the colon it may be written with."""
    return name.strip().removesuffix(":").rstrip().lower()


def named_layout(name: str) -> str:
    """Return a layout's name as a sentence has it: one that says that it is a layout ("layout 1") stands alone."""
    return name if "layout" in name.lower().split() else f"layout {name}"


def known_as(found: str, names: Collection[str]) -> str:
    """Return the one of `names`, lower-case, that a search without regard to case found as `found`.

    Lower case alone does not tell: such a search takes a dotless i for an i and a long s for an s, and ß is SS in
    capitals.
    """
    lower = found.lower()
    if lower in names:
        return lower
    return next(name for name in names if name.upper() == found or re.fullmatch(re.escape(name), found, re.IGNORECASE))
