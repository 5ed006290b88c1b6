"""Which model, of which institution, audited when, for which use: given by the user and kept in `run.json`.

Owns what each field may hold. Nothing here comes from the clock or from a path: what nobody gave is null.
"""

import datetime
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Final

#: The field of `run.json`.
IDENTITY: Final = "identity"
#: Fits the head of a printed page.
MAX_IDENTITY_CHARS: Final = 120
#: Of the intended use: a sentence or two.
MAX_USE_CHARS: Final = 300
#: In place of a date where nothing audited is real.
INVENTED: Final = "invented data"
_ISO_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True, slots=True)
class Identity:
    """What a reader needs to know whose report this is; None: not given."""

    model_name: str | None = None
    institution: str | None = None
    #: ISO 8601, or `INVENTED`.
    date: str | None = None
    #: What the model is for, by whom and where: "Drafts visit notes for clinicians to edit".
    intended_use: str | None = None

    def as_record(self) -> dict[str, str | None]:
        """Return the record of `run.json`."""
        return asdict(self)

    def updated(self, given: "Identity") -> "Identity":
        """Return this identity with what was given now in place of what was given before."""
        return Identity(**{name: value or getattr(self, name) for name, value in given.as_record().items()})


IDENTITY_FIELDS: Final = tuple(field.name for field in fields(Identity))


def identity_problem(name: str, value: object) -> str | None:
    """Return what is wrong with the value of one field, or None; the words follow the name of the option."""
    if not isinstance(value, str):
        return "must be text"
    if name == "date":
        return None if _is_date(value) or value == INVENTED else f"must be a date such as 2026-11-22, or “{INVENTED}”"
    most = MAX_USE_CHARS if name == "intended_use" else MAX_IDENTITY_CHARS
    if not value.strip() or not value.isprintable() or len(value) > most:
        return f"must be one line of 1 to {most} printable characters"
    return None


def read_identity(provenance: Mapping[str, object]) -> Identity:
    """Return the identity in the content of a `run.json`; a field that it lacks, or that is not valid, is None."""
    record = provenance.get(IDENTITY)
    if not isinstance(record, Mapping):
        return Identity()
    found = {name: record.get(name) for name in IDENTITY_FIELDS}
    return Identity(**{name: value for name, value in found.items() if identity_problem(name, value) is None})


def _is_date(text: str) -> bool:
    if _ISO_DATE.fullmatch(text) is None:
        return False
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return True
