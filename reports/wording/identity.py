"""Which model, whose, when, in one line: what stands in the head of every printed page.

Owns the wording. What was not given is a line to write on, to be filled in by hand.
"""

from collections.abc import Mapping
from typing import Final

from clinaudit.reports.schema.identity import Identity

_DIGEST_SHOWN: Final = 12
#: What was not given is a line to write on.
BLANK: Final = "________"


def model_digest(provenance: Mapping[str, object]) -> str | None:
    """Return the first characters of the digest of the model's files, with an ellipsis; None where there is none."""
    digests = provenance.get("digests")
    digest = digests.get("model") if isinstance(digests, Mapping) else None
    return f"{str(digest)[:_DIGEST_SHOWN]}…" if digest else None


def identity_line(identity: Identity, digest: str | None) -> str:
    """Return model, institution and date in one line."""
    model = identity.model_name or BLANK
    shown = f" ({digest})" if digest else ""
    return f"Model {model}{shown} · Institution {identity.institution or BLANK} · Date {identity.date or BLANK}"
