"""What a verdict means for the institution: next steps, the factors of a breach assessment, the sign-off block.

Owns the words. They are facts for a decision, no legal advice. Works on suppressed results.
"""

from collections.abc import Mapping

from clinaudit.reports.schema.results import Results
from clinaudit.reports.tables.table import Table
from clinaudit.reports.wording.findings import memorization_summary
from clinaudit.reports.wording.names import HEADLINE_TIER, tier_title
from clinaudit.reports.wording.numbers import NOT_MEASURED, estimate_text

_NEXT: Mapping[str, tuple[str, ...]] = {
    "fail": (
        "What the policy says: at least one limit is shown to be broken. Until your privacy officer and counsel have "
        "decided, neither deploy this model nor release its weights.",
        "See which rules failed, at which tier and for which diagnosis (section “The policy, rule by rule”).",
        "Mitigate: {removal}de-identify the training notes, train for fewer epochs or with differential privacy, or "
        "keep the model away from those who hold the facts of the failed tiers.",
        "Audit the new model with the same settings, and put both runs side by side with clinaudit compare.",
        "Who could already have used the model? If anybody not entitled to these notes, begin the assessment below.",
    ),
    "inconclusive": (
        "This is not a pass: for at least one limit the data do not show whether it is kept.",
        "Where the rules say that there are too few patients, audit with more of them; where there is no held-out "
        "group or no matched cohort, provide one; where the judge was not accepted, use another, or label texts of "
        "your own.",
        "Until then treat the model as one that may leak.",
    ),
    "incomplete": (
        "This is not a pass: not all that was planned was done.",
        "Run the same command again; it goes on where it stopped.",
    ),
    "pass": (
        "Every limit of the policy is shown to be kept, for the adversaries and diagnoses that were tested.",
        "Read what was not measured, above, and decide whether your use meets an adversary who is not among the tiers.",
        "Audit again whenever the model, its training notes or who may use it changes.",
    ),
}
#: Share of the pieces up to which copied-forward text is not worth removing.
_RARE = 0.01
_NO_VERDICT = ("No policy was applied: choose one before you read the figures, and run clinaudit gate.",)


def next_step_sentences(results: Results) -> tuple[str, ...]:
    """Return what to do, by the verdict."""
    if results.decision is None:
        return _NO_VERDICT
    return tuple(step.replace("{removal}", _removal(results)) for step in _NEXT[results.decision.status])


def _removal(results: Results) -> str:
    """Return the step that removes copied-forward text, where any is seen.

    Pieces that several patients share do not count: such text is not one patient's.
    """
    train = [arms["train"] for arms in results.memorization.values() if "train" in arms]
    is_copied = any(_is_seen({item.notes: item.pieces for item in summary.copy_forward}) for summary in train)
    return "remove copied-forward text, " if is_copied else ""


def _is_seen(pieces: Mapping[str, int | None]) -> bool:
    """Whether pieces that stand in more than one note are shown, and not as rare exceptions."""
    repeated = sum(number or 0 for places, number in pieces.items() if places != "1")
    return repeated > _RARE * sum(number or 0 for number in pieces.values())


def breach_factors_table(results: Results) -> Table:
    """Return the four factors of 45 CFR 164.402(2), and where this audit bears on each."""
    summary = memorization_summary(results, HEADLINE_TIER, "train")
    headline = NOT_MEASURED if summary is None else estimate_text(summary.attributable_fraction, share=True)
    rows = (
        (
            "Nature and extent of the information, and how likely people can be re-identified",
            f"Patient-attributable share of the text at {tier_title(HEADLINE_TIER)}: {headline}. Which parts of the "
            "notes come back: “Memorized text”. Which diagnoses: “Sensitive diagnoses”. The prompts hold the identity: "
            "whoever asks already knows whom the text is about.",
        ),
        (
            "Who used it, or to whom it was disclosed",
            "The tiers say what somebody must know to obtain it (“Who could ask”). Who in fact had access is in your "
            "access logs, not in this audit.",
        ),
        (
            "Whether it was actually acquired or viewed",
            "Not measured. The audit shows what can be had, not that anybody had it; logs of prompts and outputs can.",
        ),
        (
            "How far the risk has been mitigated",
            "A second audit after a mitigation, compared with this one (clinaudit compare), with its intervals.",
        ),
    )
    return Table("The four factors", ("Factor", "What this audit says of it"), rows)


def subject_table() -> Table:
    """Return blank lines for what is no part of a run: it names no site, and holds no times."""
    subjects = ("Institution", "Model: name, version", "Corpus: what notes, up to when", "Date of the audit", "Purpose")
    rows = tuple((subject, "") for subject in subjects)
    return Table("What was audited (fill in: the run names no site and holds no times)", ("Subject", "By hand"), rows)


def signatures_table() -> Table:
    """Return the empty sign-off block."""
    roles = ("Prepared by", "Privacy or compliance officer", "Information security officer", "IRB chair or reviewer")
    return Table("Signatures", ("Role", "Name", "Signature", "Date"), tuple((role, "", "", "") for role in roles))
