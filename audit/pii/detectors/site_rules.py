"""A site's own rows beside the table of rules: numbers and names of a shape that only this site gives (docs/mask.md).

Owns their file, and what a row of it may hold. Patterns are RE2's: no text makes one of them slow.
"""

import hashlib
from collections.abc import Collection, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError, field_validator

from clinaudit.audit.pii.detectors.rules import Rule, RuleRow, read_group
from clinaudit.audit.pii.taxonomy import EntitySpan, resolve_overlaps
from clinaudit.errors import BadInputError
from clinaudit.templates.text_file import parse_toml, read_text_file

#: By pydantic's name of a fault, as far as its own words are none for a reader of the file.
_FAULTS: Final = {
    "missing": "is missing",
    "extra_forbidden": f"is none of a rule's: {', '.join(RuleRow.model_fields)}",
    "model_type": "is not a table",
    "model_attributes_type": "is not a table",
}


class SiteRow(RuleRow):
    """One row of a site."""

    @field_validator("pattern")
    @classmethod
    def _is_of_re2(cls, pattern: str | list[str]) -> str | list[str]:
        compiled = _compile("".join(pattern), any_case=False)
        # A word's edge is matched by no characters within a text alone.
        if any(match.end() == match.start() for text in ("", "a 1") for match in compiled.finditer(text)):
            raise ValueError("the pattern matches a text of no characters")
        if compiled.groupindex.keys() - {"value"}:
            raise ValueError("a named group is value, or none is named")
        return pattern

    @field_validator("cues")
    @classmethod
    def _are_words(cls, cues: list[str]) -> list[str]:
        if not all(cue.strip() for cue in cues):
            raise ValueError("a cue is empty")
        return cues

    @field_validator("check_digit")
    @classmethod
    def _is_known_to_stdnum(cls, module: str | None) -> str | None:
        try:
            if module is None or (find_spec(name := f"stdnum.{module}") and hasattr(import_module(name), "is_valid")):
                return module
        except (ImportError, ValueError):
            pass
        raise ValueError("python-stdnum has no such number")


class SiteRules:
    """Finds what the rows of a site do."""

    name = "the site's own rules"

    def __init__(self, rows: Sequence[SiteRow], digest: str) -> None:
        self.rows = tuple(rows)
        #: The hexadecimal SHA-256 of the file.
        self.digest = digest
        self._rules = [
            Rule(row.kind, self.name, compiled, tuple(row.checks), read_group)
            for row in rows
            for compiled in [_compile("".join(row.pattern), any_case=row.any_case)]
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
    document = parse_toml(text, f"the identifier rules {path.name}")
    problems, rows = [], []
    given: Any = document.get("rule")
    if set(document) != {"rule"} or not isinstance(given, list) or not given:
        problems.append((0, "has [[rule]] tables and nothing else; one at least"))
        given = []
    for number, row in enumerate(given, start=1):
        try:
            rows.append(SiteRow.model_validate(row))
        except ValidationError as error:
            for one in error.errors(include_url=False, include_input=False):
                key = str(one["loc"][0]) if one["loc"] else ""
                # Of an unknown key not even the name is repeated: in a broken file anything may stand there.
                name = "an entry" if one["type"] == "extra_forbidden" else key or "the row"
                said = _FAULTS.get(one["type"]) or one["msg"].removeprefix("Value error, ")
                problems.append((number, f"rule {number}, {name}: {said}"))
    if problems:
        listed = [problem for _, problem in sorted(set(problems))]
        raise BadInputError(f"identifier rules {path.name} are not valid; mend what is listed", listed)
    return SiteRules(rows, hashlib.sha256(text.encode()).hexdigest())


def _compile(pattern: str, *, any_case: bool) -> Any:
    import re2

    if len(pattern) > 2_000:
        raise ValueError("the pattern has more than 2,000 characters")
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = not any_case
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        # What RE2 says quotes the pattern, which may hold a name.
        said = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error.args[0])
        reason = said.partition(":")[0]
        raise ValueError(f"no pattern of RE2 (github.com/google/re2/wiki/Syntax): {reason}") from None
