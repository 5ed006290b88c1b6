"""The sign-off sheet, and what the audit says of the factors of a breach assessment: facts, no legal advice."""

from collections.abc import Sequence
from typing import Final

from clinaudit.reports.schema.identity import Identity
from clinaudit.reports.tables.table import Table

_ROLES: Final = (
    "Prepared by",
    "Privacy or compliance officer",
    "Information security officer",
    "IRB chair or reviewer",
)


def breach_factors_table(found: Sequence[str]) -> Table:
    """Return the four factors of 45 CFR 164.402(2), and where this audit bears on each; `found`: what comes out."""
    rows = (
        (
            "Nature and extent; can people be re-identified",
            f"{' '.join(found)} Anyone who asks already knows whom the answer is about.",
        ),
        (
            "Who used it, or to whom it was disclosed",
            "Who had access is in your logs, not in this audit. The grid says what somebody must know.",
        ),
        (
            "Whether it was acquired or viewed",
            "Not measured: the audit shows what can be obtained; logs of prompts and outputs show what was.",
        ),
        ("How far the risk was mitigated", "A second audit after a mitigation, set beside this one."),
    )
    return Table("The four factors", ("Factor", "What this audit says of it"), rows)


def subject_table(identity: Identity, digest: str | None, *, version: str, verdict: str, policy: str) -> Table:
    """Return what is signed, filled in with what is known; the rest is written by hand."""
    rows = (
        ("Institution", identity.institution or ""),
        ("Model", " ".join(filter(None, (identity.model_name, f"(digest {digest})" if digest else "")))),
        ("Intended use", identity.intended_use or ""),
        ("Date of the audit", identity.date or ""),
        ("Tool and policy", f"clinaudit {version}, policy {policy}"),
        ("Verdict", verdict),
    )
    return Table("What is signed", ("Subject", "Entry"), rows)


def signatures_table() -> Table:
    """Return the empty lines to sign on."""
    return Table("Signatures", ("Role", "Name", "Signature", "Date"), tuple((role, "", "", "") for role in _ROLES))
