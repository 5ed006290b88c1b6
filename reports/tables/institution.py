"""What a verdict means for the institution: next steps, the factors of a breach assessment, the sign-off block.

They are facts for a decision, no legal advice.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from clinaudit.reports.schema.identity import Identity
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.tables.table import Table
from clinaudit.reports.wording.findings import key_tier, memorization_summary, patients_words
from clinaudit.reports.wording.names import asker_words, join_words
from clinaudit.reports.wording.numbers import NOT_MEASURED, estimate_text
from clinaudit.reports.wording.verdict import tally_text, verdict_title


@dataclass(frozen=True, slots=True)
class NextStep:
    """One thing to do, and where the page says more of it."""

    text: str
    #: Words of a link that follow the text, and its target; empty where there is none.
    link: str = ""
    target: str = ""


_SIGN: Final = NextStep("Decide, and", "sign off", "signoff")
_NEXT: Final[Mapping[str, tuple[NextStep, ...]]] = {
    "fail": (
        NextStep("Do not deploy or share the model or its files."),
        NextStep("Find out who has had access. If they may not see these notes:", "breach assessment", "institution"),
        NextStep("Mitigate ({removal}de-identify notes, fewer epochs, differential privacy), audit again, compare."),
        _SIGN,
    ),
    "inconclusive": (
        NextStep("Until more is known, treat the model as one that may leak."),
        NextStep("See", "what each rule lacks", "rules"),
        NextStep("Audit again with more patients, longer texts or a better judge, as the rules require."),
        _SIGN,
    ),
    "incomplete": (
        NextStep("Run the same command again; it resumes where it stopped."),
        NextStep("Until then treat the model as one that may leak."),
    ),
    "pass": (
        NextStep("Read", "what the audit does not see", "not-seen"),
        NextStep("Decide whether anyone other than these could ask:", "who could ask", "who-could-ask"),
        NextStep("Audit again when the model, its notes or its users change."),
        _SIGN,
    ),
}
_NO_VERDICT: Final = (
    NextStep("Choose a policy before you read the figures, and run clinaudit gate."),
    NextStep("Until then treat the model as one that may leak."),
)
#: Share of the pieces up to which copied-forward text is not worth removing.
_RARE: Final = 0.01


def next_steps(results: RunResults) -> tuple[NextStep, ...]:
    """Return what to do, by the verdict, with links into the page."""
    if results.decision is None:
        return _NO_VERDICT
    removal = "remove copied-forward text, " if _is_copied(results) else ""
    return tuple(
        NextStep(step.text.replace("{removal}", removal), step.link, step.target)
        for step in _NEXT[results.decision.status]
    )


def next_step_sentences(results: RunResults) -> tuple[str, ...]:
    """Return what to do, by the verdict, in sentences."""
    steps = (" ".join(filter(None, (step.text, step.link))) for step in next_steps(results))
    return tuple(step if step.endswith(".") else f"{step}." for step in steps)


def _is_copied(results: RunResults) -> bool:
    """Whether pieces of one patient alone stand in more than one of the notes, and not as rare exceptions."""
    shares = [
        sum(item.share or 0.0 for item in arms["train"].copy_forward if item.notes != "1")
        for arms in results.memorization.values()
        if "train" in arms
    ]
    return any(share > _RARE for share in shares)


def breach_factors_table(results: RunResults) -> Table:
    """Return the four factors of 45 CFR 164.402(2), and where this audit bears on each."""
    tier = key_tier(results)
    summary = None if tier is None else memorization_summary(results, tier, "train")
    if tier is None or summary is None:
        share = NOT_MEASURED
    else:
        share = f"{estimate_text(summary.attributable_fraction.mean, share=True)}, for {asker_words(tier)}"
    parts = ["Repeated text", *(["Identifiers"] if results.identifiers is not None else []), "Diagnoses"]
    more = f"More under {join_words([f'“{part}”' for part in parts])}."
    rows = (
        (
            "Nature and extent; can people be re-identified",
            f"The patient’s own medical details in the answer: {share}. {more}"
            " Anyone who asks already knows whom the answer is about.",
        ),
        (
            "Who used it, or to whom it was disclosed",
            "For what somebody must know, see “Who could ask”. Who had access is in your logs, not in this audit.",
        ),
        (
            "Whether it was acquired or viewed",
            "Not measured: the audit shows what can be obtained. Logs of prompts and outputs show what was obtained.",
        ),
        ("How far the risk was mitigated", "A second audit after a mitigation, set beside this one."),
    )
    return Table("The four factors", ("Factor", "What this audit says of it"), rows)


def subject_table(results: RunResults, identity: Identity, digest: str | None) -> Table:
    """Return what was audited and decided, prefilled with what is known; the rest is to be filled in by hand."""
    decision = results.decision
    shown = f" (digest {digest})" if digest else ""
    rows = (
        ("Institution", identity.institution or ""),
        ("Model", f"{identity.model_name or ''}{shown}".strip()),
        ("Date of the audit", identity.date or ""),
        ("Patients", patients_words(results)),
        ("Policy", "none" if decision is None else f"{decision.policy}: {tally_text(decision)}"),
        ("Verdict", verdict_title(decision)),
        ("Purpose of the model", ""),
    )
    return Table("What is signed", ("Subject", "Entry"), rows)


def signatures_table() -> Table:
    """Return the empty sign-off block."""
    roles = ("Prepared by", "Privacy or compliance officer", "Information security officer", "IRB chair or reviewer")
    return Table("Signatures", ("Role", "Name", "Signature", "Date"), tuple((role, "", "", "") for role in roles))
