"""The taxonomy of identifying text: 7 types, 55 categories (PII-Bench, Table 11), and the categories of clinical text.

Owns the table of categories and which of HIPAA's identifiers each is. Knows nothing of how any of them is found.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Final, Literal, get_args

from clinaudit.reports.schema.hipaa import HipaaIdentifier

PiiType = Literal["PER", "CODE", "LOC", "ORG", "DEM", "DATETIME", "QUANTITY"]
PII_TYPES: Final[tuple[PiiType, ...]] = get_args(PiiType)


@dataclass(frozen=True, slots=True)
class Category:
    """One category of the taxonomy."""

    id: str
    name: str
    type: PiiType
    #: The paragraph of 45 CFR 164.514(b)(2)(i) that lists it; None where none does.
    hipaa: HipaaIdentifier | None
    #: A direct identifier is always masked; a quasi-identifier is kept where a question needs it (PII-Bench, A.1).
    direct: bool
    #: What stands in its place in a masked text, without number and brackets.
    tag: str
    #: The kind of value that is compared (`values.normal_form`), where it is not that of the type.
    value: str | None = None


@cache
def categories() -> Mapping[str, Category]:
    """Return every category by id: the paper's 55 first, in the order of its table, then the clinical ones."""
    rows: dict[str, dict[str, Any]] = tomllib.loads(files(__package__).joinpath("taxonomy.toml").read_text("utf-8"))
    return MappingProxyType(
        {key: Category(**{"id": key, "hipaa": None, "direct": False, **row}) for key, row in rows.items()}
    )
