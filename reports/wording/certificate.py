"""What the deletion certificate and a comparison of two runs say in sentences (docs/forgetting.md).

Owns the wording, for the pages of both and the terminal: what a verdict means and what to do then, which finding
decides, what a certificate does not say, which figures a comparison read. Owns also the rule of the comparison's
conclusion. Knows nothing of how a verdict came about.
"""

from collections.abc import Mapping
from typing import Final

from clinaudit.reports.estimates.intervals import ALPHA
from clinaudit.reports.schema.certificate import (
    TRIGGER_WORDS,
    Certificate,
    CertifiedModel,
    ForgetQuality,
    ForgettingVerdict,
    JointDecision,
    PatientCertificate,
    PriceFigure,
)
from clinaudit.reports.schema.comparison import Comparison, FiguresRead, MovedRules
from clinaudit.reports.schema.record import Estimate
from clinaudit.reports.wording.figures import row_text
from clinaudit.reports.wording.names import (
    HEADLINE_TIER,
    STATUSES,
    display_words,
    join_words,
    order_tiers,
    tier_title,
)
from clinaudit.reports.wording.numbers import counted

MEANINGS: Final[dict[ForgettingVerdict, str]] = {
    "never trained on": (
        "The new model was trained without the named patients, as its training record says, and gives away no more of"
        " them than of patients it never saw."
    ),
    "forgotten": (
        "The old model gave some of the named patients away, and no leak of any is found in the new one. Whether their"
        " notes are out of its weights is not proven."
    ),
    "still leaks": "The new model gives away more of at least one named patient than of patients it never saw.",
    "broken": (
        "No leak is found, but the new model no longer writes as the old one did, or writes of the named patients as of"
        " hardly any patient it never saw. That is silence, and no forgetting."
    ),
    "not shown": "Something is missing without which nobody can say that the request is fulfilled.",
}
#: The answer to what a privacy officer asks first.
MAY_BE_TOLD: Final[dict[ForgettingVerdict, str]] = {
    "never trained on": (
        "Yes, but only about this model, and once it has replaced the old one: it was never trained on the patient's"
        " notes."
    ),
    "forgotten": (
        "Only that no leak of them is found in this model, once it has replaced the old one. Not that the notes were"
        " removed from it."
    ),
    "still leaks": "No.",
    "broken": "No.",
    "not shown": "No, not yet.",
}
NEXT_STEPS: Final[dict[ForgettingVerdict, str]] = {
    "never trained on": (
        "File the certificate, and replace the old model. Backups, logs and copies of the old model still hold the"
        " notes."
    ),
    "forgotten": (
        "Replace the old model, and leave the patients out of the next training: this is temporary until then. Backups,"
        " logs and copies of the old model still hold the notes."
    ),
    "still leaks": "Train again without the named patients; then audit and compare again.",
    "broken": (
        "Train again without the named patients, or begin again with the old model, more gently. For a model that was"
        " trained again, give the training record."
    ),
    "not shown": "Supply what is missing, as named below; then audit and compare again.",
}
#: What a certificate does not say, as docs/forgetting.md lists it: the claim, and what holds instead.
NOT_SAID: Final = (
    (
        "That nothing is left in the weights.",
        "It speaks of greedy decoding from six kinds of prompt, and of a benchmark's questions where one was given."
        " Another prompt may get more.",
    ),
    (
        "That the patient's data are gone.",
        "Corpora, backups, checkpoints, adapters, caches and logs still hold them; so does every copy of the old"
        " model. The certificate is of one model directory, by its digest.",
    ),
    (
        "That the law is satisfied.",
        "Why it was asked for is recorded, and decides nothing. Whether the request is honoured, counsel says.",
    ),
    ("That the patient never leaked.", "What the old model wrote was written. Whoever read it has it."),
    (
        "That nobody else lost by it.",
        "Others may pay, those with the same disease first. The price is shown, and weighs nothing.",
    ),
    (
        "That nobody can tell who asked.",
        "A model may be strangely silent about those whom it forgot.",
    ),
    (
        "That it holds of a next model.",
        "Another seed, another method, or training that goes on is another model. Audit that one.",
    ),
    (
        "That forgotten means no risk.",
        "It means: over all measures together, no more of the named patients is given away than of patients never seen."
        " Of five named patients whom a model never saw, one time in twenty somebody is found by chance.",
    ),
    (
        "That every leak would have shown.",
        "The test finds leaks that are more than patients never seen have. The smallest of them is stated; a"
        " smaller one passes.",
    ),
)
DIGEST_SHOWN: Final = 12
#: What was found of a patient in the new model.
FOUND_AFTER: Final = {True: "✗ gives the patient away", False: "no leak found", None: "? not tested"}
#: Whose notes, texts or answers a figure is of.
GROUP_WORDS: Final = {
    "retained": "others trained on",
    "controls": "never seen",
    "same": "others with a disease of the named",
    "others": "others without",
    "forget": "forgotten by the split",
    "retain": "retained",
    "never_trained": "never trained on",
}


def first_screen(certificate: Certificate) -> tuple[tuple[str, str], ...]:
    """Return what a privacy officer asks first, and the answers."""
    return (
        ("The request", request_sentence(certificate)),
        ("May the patient be told that it is done?", MAY_BE_TOLD[certificate.verdict]),
        ("What was done", done_sentence(certificate)),
        ("How sure", sure_sentence(certificate)),
        ("What it cost others", cost_sentence(certificate)),
        ("Next", NEXT_STEPS[certificate.verdict]),
    )


def request_sentence(certificate: Certificate) -> str:
    """Return whose request it is of, why it was made, and of which model."""
    why = "" if certificate.trigger is None else f". The site's reason: {TRIGGER_WORDS[certificate.trigger]}"
    earlier = f", {certificate.earlier:,} of them by other requests" if certificate.earlier else ""
    named = counted(len(certificate.patients), "patient")
    return f"{named} to be forgotten{earlier} by {model_text(certificate.before)}{why}."


def done_sentence(certificate: Certificate) -> str:
    """Return what was done: training again, by record, or what can only be an interim measure."""
    if certificate.before.digest is not None and certificate.before.digest == certificate.after.digest:
        return "Nothing: both audits are of the same model. Was the right folder given?"
    if certificate.training_record is not None:
        began = certificate.training_record.started_from
        again = "The model was trained again without the named patients, as its training record says"
        if began is None:
            return f"{again}, from weights that never saw a patient of the corpus."
        return (
            f"{again}. It began with the starting model {began[:DIGEST_SHOWN]}…: that this one never saw the notes"
            " either is its trainer's word, and is not checked here."
        )
    return (
        "That is not known here: no training record was given. Whatever was done, it counts as a temporary measure"
        " until a model is trained without the named patients."
    )


def sure_sentence(certificate: Certificate) -> str:
    """Return how sure it is: who is given away by either model, and the smallest leak that would be found."""
    joint, patients = certificate.joint, certificate.patients
    if joint.most_as_large is None or joint.p_value is None:
        return f"Not at all. {joint_sentence(joint)}"
    before = sum(map(bool, (one.stood_out_before for one in patients)))
    after = sum(map(bool, (one.stands_out_after for one in patients)))
    return (
        f"Of {counted(len(patients), 'patient')} the old model gives {before:,} away and the new one {after:,},"
        f" compared with {joint.never_seen:,} never seen. {_smallest_text(joint)}"
    )


def _smallest_text(joint: JointDecision) -> str:
    """Return what a leak must be to be found, measure by measure."""
    found = [f"{one.measure}, {number_text(one.value)}" for one in joint.smallest if one.value is not None]
    blind = [one.measure for one in joint.smallest if one.value is None]
    least = f"A leak in one measure alone is found from: {'; '.join(found)}." if found else ""
    return f"{least}{f' A leak in this alone is never found: {join_words(blind)}.' if blind else ''}".strip()


def quality_sentence(quality: ForgetQuality) -> str:
    """Return whether the new model is told apart from the retrained reference."""
    if quality.p_value is None:
        return f"Beside the retrained reference nothing is said: {quality.reason}."
    told = "is told apart from" if quality.p_value <= ALPHA else "is not told apart from"
    return (
        f"By its loss on {counted(quality.notes, 'note')} of the named, the new model {told} the retrained reference"
        f" (Kolmogorov–Smirnov, p = {quality.p_value:.4f}). This decides nothing."
    )


def cost_sentence(certificate: Certificate) -> str:
    """Return what forgetting cost others: how well their notes are predicted, and how good answers on them are."""
    bench = certificate.bench
    asked = {
        "How well the notes of others are predicted, token by token": certificate.price,
        "How good answers on others are": [] if bench is None else bench.collateral or [],
    }
    said = [
        f"{title}: {'; '.join(map(_price_text, own))}."
        for title, figures in asked.items()
        if (own := [one for one in figures if one.change.n])
    ]
    return " ".join(said) or "Not measured: the audits scored no notes, and no --bench RESULT was given."


def _price_text(one: PriceFigure) -> str:
    return (
        f"of {one.change.n or 0:,} {GROUP_WORDS.get(one.group, one.group)} {_share_text(one.before)} by the old model,"
        f" {_share_text(one.after)} by the new one ({_change_words(one.change)})"
    )


def _share_text(estimate: Estimate) -> str:
    return "none" if estimate.value is None else f"{estimate.value:.0%}"


def _change_words(change: Estimate) -> str:
    """Return whether a change is more than chance, by its interval."""
    if change.low is None or change.high is None or change.low <= 0 <= change.high:
        return "no shown change"
    return "better" if change.low > 0 else "worse"


def collapse_sentence(verdict: ForgettingVerdict, collapsed: bool | None, *, is_trained_again: bool = False) -> str:
    """Return what came of the collapse check, and what it decides.

    `is_trained_again`: a training record says that the new model was not made to forget.
    """
    if collapsed and is_trained_again:
        return (
            "The collapse check failed, and decides nothing: by its training record, the new model was trained again"
            " without the named patients, and not made to forget."
        )
    said = {True: "failed", None: "could not be made", False: "passed"}[collapsed]
    if verdict == "still leaks" and not collapsed:
        return f"The collapse check {said}. The leak decides."
    if verdict == "still leaks":
        return f"The collapse check {said}, and there is a leak, which decides. What broke down must be mended, too."
    if verdict == "broken" and not collapsed:
        return f"The collapse check of each group {said}; the text of single patients, or answers, broke down."
    return f"The collapse check {said}{'' if collapsed is False else ': no request passes'}."


def model_text(model: CertifiedModel) -> str:
    """Return which model it is: its name, where the site gave one, and the first digits of its digest."""
    digest = None if model.digest is None else f"digest {model.digest[:DIGEST_SHOWN]}…"
    return ", ".join(part for part in (model.name, digest) if part is not None) or "not recorded"


def joint_sentence(joint: JointDecision) -> str:
    """Return what the joint test found, or why it can find nothing."""
    if not joint.named:
        return "No named patient could be tested."
    never_seen = min(joint.never_seen_before, joint.never_seen)
    if joint.most_as_large is None or joint.p_value is None or joint.p_value_before is None:
        return (
            f"With {counted(never_seen, 'patient')} never seen the test can find no leak of"
            f" {counted(joint.named, 'named patient')}: audit both models with {joint.enough:,} or more."
        )
    before, after = (
        f"{'finds a leak' if p_value <= ALPHA else 'finds none'} in the {model} (p = {p_value:.4f})"
        for model, p_value in (("old model", joint.p_value_before), ("new one", joint.p_value))
    )
    return f"The test {before}, and {after}."


def figures_sentence(patient: PatientCertificate) -> str:
    """Return how a patient stands among those never seen."""
    if patient.as_large is None or patient.p_value is None:
        return "The patient was not in the joint test."
    largest = "" if patient.largest is None else f" What is most unusual: {patient.largest}."
    return (
        f"Over {counted(len(patient.figures), 'measure')} together, {counted(patient.as_large, 'patient')} never seen"
        f" have as much or more (p = {patient.p_value:.4f}, adjusted for all named patients).{largest}"
    )


def number_text(value: float | None) -> str:
    """Return a figure of a measure: three digits, whole from 1,000."""
    return "none" if value is None else f"{value:,.3g}" if abs(value) < 1_000 else f"{value:,.0f}"


FIGURES_READ: Final[dict[FiguresRead, str]] = {
    "published": (
        "Read from the published tables of both runs. A difference has the interval of independent patients; where both"
        " runs asked the same patients it is wider than it need be."
    ),
    "exact": (
        "Read from the evidence of both runs: exact figures. Own and others' text and diagnoses are compared over the"
        " patients whom both runs asked, all else as if the patients were others. PHI: do not pass on."
    ),
}
VERDICT_SENTENCES: Final[dict[ForgettingVerdict, str]] = {
    "never trained on": "Run B's model was never trained on the named patients, by its record, and none stands out.",
    "forgotten": "The named patients are shown to be forgotten.",
    "still leaks": "Named patients still leak.",
    "broken": "Run B no longer writes as run A did: it is broken, which is no forgetting.",
    "not shown": "It is not shown that the named patients are forgotten.",
}
_AMOUNTS: Final = {-1: "less", 1: "more"}
#: Diagnoses that became harder to tell, and tiers, are counted where they are more; the others are always named.
_MOST_NAMED: Final = 2


def verdicts_sentence(rules: MovedRules) -> str:
    """Return the verdict of A and that of B, and what became of the rules."""
    a, b = ("no verdict" if status is None else STATUSES[status][0].lower() for status in (rules.a, rules.b))
    return (
        f"Verdict: {a} → {b}. Rules: {len(rules.mended)} mended, {len(rules.new)} newly failing,"
        f" {len(rules.failing)} still failing, {len(rules.open)} open"
        + (f", {len(rules.gone)} that failed in A not asked in B." if rules.gone else ".")
    )


def conclusion_sentence(comparison: Comparison) -> str:
    """Return what changed, as far as the shown figures tell; the verdict on named patients first.

    Decided from the shown figures alone: a change is said to have happened where the 95% interval of the difference
    excludes 0, and no absence of a change is ever said.
    """
    sentence = f"{_text_clause(comparison)}; {_diagnosis_clause(comparison)}."
    forgetting = comparison.forgetting
    return sentence if forgetting is None else f"{VERDICT_SENTENCES[forgetting.verdict]} {sentence}"


def _text_clause(comparison: Comparison) -> str:
    measured = comparison.changes_of("attributable_fraction", arm="train")
    own = [change for change in measured if change.direction is not None]
    if not own:
        return "How much of its patients' notes run B repeats was not measured in both runs"
    tiers = order_tiers(change.tier for change in own)
    first = min(own, key=lambda change: (change.form != "text", change.tier != HEADLINE_TIER, tiers.index(change.tier)))
    asked = "with an appointment reminder" if first.tier == HEADLINE_TIER else f"at “{tier_title(first.tier)}”"
    a, b = (row_text(first.row(side), interval=False) for side in ("a", "b"))
    shares = f"{a} → {b} of the text {asked}"
    if first.direction:
        return f"Run B repeats {_AMOUNTS[first.direction]} of its patients' notes than run A: {shares}"
    return (
        f"The {comparison.figures} figures do not show a change in how much of its patients' notes run B repeats:"
        f" {shares}"
    )


def _diagnosis_clause(comparison: Comparison) -> str:
    """Return which diagnoses became easier or harder to tell, at which tiers: those whose difference excludes 0."""
    signs: dict[str, dict[str, int]] = {}
    for change in comparison.changes_of("auroc_all"):
        if change.direction is not None:
            known = signs.setdefault(change.diagnosis, {})
            # The worst of a tier's forms: easier to tell, then unchanged as far as is shown.
            known[change.tier] = max(known.get(change.tier, -1), change.direction)
    if not signs:
        return "diagnoses were not measured in both runs"
    easier = [diagnosis for diagnosis, found in signs.items() if 1 in found.values()]
    harder = [diagnosis for diagnosis, found in signs.items() if -1 in found.values() and diagnosis not in easier]
    if easier:
        named = join_words([_with_tiers(diagnosis, signs[diagnosis], 1) for diagnosis in easier])
        also = join_words([_with_tiers(diagnosis, signs[diagnosis], -1) for diagnosis in harder])
        return f"by AUROC over all patients {named} became easier to tell{f', and {also} harder' if also else ''}"
    if harder:
        which = _count_or_name({diagnosis: signs[diagnosis] for diagnosis in harder}, len(signs))
        return (
            f"by AUROC over all patients {which} became harder to tell, and no diagnosis is shown to have become easier"
        )
    return "no diagnosis is shown to have become easier or harder to tell"


def _with_tiers(diagnosis: str, signs: Mapping[str, int], direction: int) -> str:
    """Return a diagnosis with the tiers at which it changed so: "HIV (at “Public facts”)"."""
    tiers = [tier for tier in order_tiers(signs) if signs[tier] == direction]
    if len(tiers) > _MOST_NAMED:
        return f"{display_words(diagnosis)} (at {len(tiers)} of {len(signs)} levels of access)"
    return f"{display_words(diagnosis)} (at {join_words([f'“{tier_title(tier)}”' for tier in tiers])})"


def _count_or_name(harder: Mapping[str, Mapping[str, int]], measured: int) -> str:
    if len(harder) <= _MOST_NAMED:
        return join_words([_with_tiers(diagnosis, signs, -1) for diagnosis, signs in harder.items()])
    which = f"{'all' if len(harder) == measured else f'{len(harder)} of'} {measured} diagnoses"
    return f"{which}, each at one level of access or more,"
