"""A site's own rows beside the table of rules: numbers and names of a shape that only this site gives (docs/mask.md).

Owns their file, and what a row of it may hold. Patterns are RE2's: no text makes one of them slow.
"""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Final

from annotated_types import MinLen
from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from clinaudit.audit.pii.detectors.rules import Rule, RuleRow, read_group
from clinaudit.audit.pii.taxonomy import EntitySpan, resolve_overlaps
from clinaudit.errors import BadInputError
from clinaudit.templates.text_file import SAID, Listed, TomlTable, parse_toml, read_table, read_text_file

_MOST_CHARS: Final = 2_000


class SiteRow(RuleRow):
    """One row of a site."""

    @field_validator("pattern")
    @classmethod
    def _is_of_re2(cls, pattern: str) -> str:
        compiled = _compile(pattern, any_case=False)
        # A word's edge is matched by no characters within a text alone.
        if any(match.end() == match.start() for text in ("", "a 1") for match in compiled.finditer(text)):
            raise PydanticCustomError(SAID, "the pattern matches a text of no characters")
        if compiled.groupindex.keys() - {"value"}:
            raise PydanticCustomError(SAID, "a named group is value, or none is named")
        return pattern

    @field_validator("check_digit")
    @classmethod
    def _is_known_to_stdnum(cls, module: str | None) -> str | None:
        try:
            if module is None or (find_spec(name := f"stdnum.{module}") and hasattr(import_module(name), "is_valid")):
                return module
        except (ImportError, ValueError):
            pass
        raise PydanticCustomError(SAID, "python-stdnum has no such number")


class _SiteTable(TomlTable):
    rule: Annotated[Listed[SiteRow], MinLen(1)] = Field(
        (), validate_default=True, description="[[rule]] tables are needed, one at least"
    )


class SiteRules:
    """Finds what the rows of a site do."""

    name = "the site's own rules"

    def __init__(self, rows: Sequence[SiteRow], digest: str) -> None:
        self.rows = tuple(rows)
        #: The hexadecimal SHA-256 of the file.
        self.digest = digest
        self._rules = [
            Rule(row.kind, self.name, _compile(row.pattern, any_case=row.any_case), tuple(row.checks), read_group)
            for row in rows
        ]

    def __reduce__(self) -> tuple[type["SiteRules"], tuple[Sequence[SiteRow], str]]:
        return SiteRules, (self.rows, self.digest)

    def of(self, kinds: Collection[str]) -> "SiteRules":
        """Return the rules of some categories of the taxonomy alone."""
        return SiteRules([row for row in self.rows if row.kind in kinds], self.digest)

    def detect(self, text: str) -> list[EntitySpan]:
        """Return the spans of a text by start, none of them overlapping another; the longer one stands."""
        return resolve_overlaps(
            span for rule in self._rules for match in rule.regex.finditer(text) for span in rule.spans_of(match)
        )


def read_site_rules(path: Path) -> SiteRules:
    """Read a file of `[[rule]]` rows; raises `BadInputError` that names every wrong entry by its rule."""
    text = read_text_file(path, role="the identifier rules")
    read = read_table(_SiteTable, parse_toml(text, f"the identifier rules {path.name}"))
    if isinstance(read, list):
        # Of an unknown key not even the name is repeated: in a broken file anything may stand there.
        known = {"rule", *SiteRow.model_fields}
        shown = [
            replace(one, path=tuple(key for key in one.path if isinstance(key, int) or key in known)) for one in read
        ]
        raise BadInputError(
            f"identifier rules {path.name} are not valid; mend what is listed", [*dict.fromkeys(map(str, shown))]
        )
    return SiteRules(read.rule, hashlib.sha256(text.encode()).hexdigest())


def _compile(pattern: str, *, any_case: bool) -> Any:
    import re2

    if len(pattern) > _MOST_CHARS:
        raise PydanticCustomError(SAID, "the pattern has more than 2,000 characters")
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = not any_case
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        # What RE2 says quotes the pattern, which may hold a name.
        said = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error.args[0])
        reason = said.partition(":")[0]
        said = f"no pattern of RE2 (github.com/google/re2/wiki/Syntax): {reason}"
        raise PydanticCustomError(SAID, "{said}", {"said": said}) from None
