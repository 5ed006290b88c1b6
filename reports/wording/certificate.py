"""What the deletion certificate says in sentences, for its page and for the page of the comparison.

Owns the wording: what a verdict means and what to do then, which finding decides, what a certificate does not say.
Knows nothing of how a verdict came about (docs/comparing-runs.md).
"""

from typing import Final

from clinaudit.reports.estimates.intervals import ALPHA
from clinaudit.reports.schema.certificate import (
    TRIGGER_WORDS,
    Certificate,
    CertifiedModel,
    ForgetQuality,
    JointDecision,
    PatientCertificate,
)
from clinaudit.reports.schema.forgetting import ForgettingVerdict
from clinaudit.reports.schema.numbers import Estimate
from clinaudit.reports.wording.numbers import counted

MEANINGS: Final[dict[ForgettingVerdict, str]] = {
    "never trained on": (
        "The model after was trained without the named patients, as its training record says, and gives away no more of"
        " them than of patients it never saw."
    ),
    "forgotten": "Of each named patient the model after gives away no more than of patients it never saw.",
    "still leaks": "Of at least one named patient the model after gives away more than of patients it never saw.",
    "broken": (
        "The model after gives away no more of the named patients, because it no longer writes as the model before did,"
        " or writes of them as of hardly any patient it never saw."
    ),
    "not shown": "Something is missing without which nobody can say that the request is honoured.",
}
#: The answer to what a privacy officer asks first.
MAY_BE_TOLD: Final[dict[ForgettingVerdict, str]] = {
    "never trained on": "Yes, of this model, once it has replaced the model before: it never saw the patient's notes.",
    "forgotten": (
        "Only that this model no longer gives them away, once it has replaced the model before. The notes were not"
        " taken out of it for certain."
    ),
    "still leaks": "No.",
    "broken": "No.",
    "not shown": "No, not yet.",
}
NEXT_STEPS: Final[dict[ForgettingVerdict, str]] = {
    "never trained on": "Keep the certificate, and replace the model before by the model after.",
    "forgotten": "Replace the model before by the model after, and leave the patients out of the next training.",
    "still leaks": "Train again without the named patients; then audit and compare again.",
    "broken": (
        "Train again without the named patients, or begin again with the model before, more gently. Of a model that was"
        " trained again, give the training record."
    ),
    "not shown": "Mend what is missing, which the certificate by patient names; then audit and compare again.",
}
#: What a certificate does not say, as docs/comparing-runs.md lists it: the claim, and what holds instead.
NOT_SAID: Final = (
    (
        "That nothing is left in the weights.",
        "It speaks of greedy decoding from six kinds of prompt, and of a benchmark's questions where one was given."
        " Another prompt may get more.",
    ),
    (
        "That the patient's data are gone.",
        "Corpora, backups, checkpoints, adapters, caches and logs still hold them; so does every copy of the model"
        " before. The certificate is of one model directory, by its digest.",
    ),
    (
        "That the law is satisfied.",
        "Why it was asked for is recorded, and decides nothing. Whether the request is honoured, counsel says.",
    ),
    ("That the patient never leaked.", "What the model before wrote was written. Whoever read it has it."),
    (
        "That nobody else lost by it.",
        "Others may pay, those with the same disease first. The price is shown, and weighs nothing.",
    ),
    (
        "That nobody can tell who asked.",
        "A model may be strangely silent about those whom it forgot. An evaluation measures that; the certificate does"
        " not.",
    ),
    (
        "That it holds of a next model.",
        "Another seed, another method, or training that goes on is another model. Audit that one.",
    ),
    (
        "That forgotten means no risk.",
        "It means: over all measures together, the named patients do not stand out among patients never seen. Of five"
        " named patients whom a model never saw, one time in twenty somebody stands out by chance.",
    ),
    (
        "That every leak would have shown.",
        "The test sees leaks that stand out among those of the patients never seen. The smallest of them is stated; a"
        " smaller one passes.",
    ),
)
DIGEST_SHOWN: Final = 12
#: Whose notes or texts a figure is of.
GROUP_WORDS: Final = {"retained": "others trained on", "controls": "never seen"}


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
    why = "" if certificate.trigger is None else f"; as the site states it, {TRIGGER_WORDS[certificate.trigger]}"
    earlier = f", {certificate.earlier:,} of them by earlier requests" if certificate.earlier else ""
    named = counted(len(certificate.patients), "patient")
    return f"{named} to be forgotten{earlier} by {model_text(certificate.before)}{why}."


def done_sentence(certificate: Certificate) -> str:
    """Return what was done: training again, by record, or what can only be an interim measure."""
    if certificate.training_record is not None:
        began = certificate.training_record.started_from
        unknown = "" if began is None else f" It began with weights ({began[:DIGEST_SHOWN]}…) that must not know them."
        return f"The model was trained again without the named patients: its training record says so.{unknown}"
    return (
        "No training record was given. A model that was made to forget is an interim measure, until the next is trained"
        " without the named patients."
    )


def sure_sentence(certificate: Certificate) -> str:
    """Return how sure it is: who stood out before and after, and the smallest leak that would show."""
    joint, patients = certificate.joint, certificate.patients
    if joint.most_as_large is None or joint.p_value is None:
        return f"Not at all: {joint_sentence(joint)}"
    before = sum(one.stood_out_before for one in patients)
    after = sum(one.stands_out_after for one in patients)
    shown = [f"{one.measure} {number_text(one.value)}" for one in joint.smallest if one.value is not None]
    return (
        f"Of {counted(len(patients), 'patient')} {before:,} stood out before and {after:,} after, beside"
        f" {joint.never_seen:,} never seen. A smaller leak than this passes: {'; '.join(shown) or 'none is known'}."
    )


def quality_sentence(quality: ForgetQuality) -> str:
    """Return whether the model after is told apart from the retrained reference."""
    if quality.p_value is None:
        return f"Beside the retrained reference nothing is said: {quality.reason}."
    told = "is told apart from" if quality.p_value <= ALPHA else "is not told apart from"
    return (
        f"By its loss on {counted(quality.notes, 'note')} of the named, the model after {told} the retrained reference"
        f" (Kolmogorov–Smirnov, p = {quality.p_value:.4f}). This decides nothing."
    )


def cost_sentence(certificate: Certificate) -> str:
    """Return what forgetting cost others: how well their notes are predicted, and whose answers became worse."""
    said = [
        f"{_price_text(one.before)} before and {_price_text(one.after)} after for {one.change.n or 0:,}"
        f" {GROUP_WORDS[one.group]}"
        for one in certificate.price
    ]
    predicted = f"Probability with which a token of their notes is predicted: {'; '.join(said)}." if said else ""
    bench = certificate.bench
    if bench is None or bench.collateral is None:
        return predicted or "Not measured: the audits scored no notes, and no --bench RESULT was given."
    worse = []
    for group, words in (("same", "with a disease of the named"), ("others", "others")):
        own = next((one for one in bench.collateral if one.group == group), None)
        if own is not None and own.patients:
            fewer = own.bins.get("much worse", 0) + own.bins.get("worse", 0)
            worse.append(f"of {own.patients:,} {words}, {fewer:,}")
    return (
        f"{predicted} Patients retained whose answers became worse: {'; '.join(worse) or 'nobody was asked'}.".lstrip()
    )


def _price_text(estimate: Estimate) -> str:
    return "none" if estimate.value is None else f"{estimate.value:.2f}"


def collapse_sentence(verdict: ForgettingVerdict, collapsed: bool | None, *, is_trained_again: bool = False) -> str:
    """Return what came of the collapse check, and what it decides.

    `is_trained_again`: a training record says that the model after was not made to forget.
    """
    if collapsed and is_trained_again:
        return (
            "The collapse check failed, and decides nothing: by its training record, the model after was trained again"
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
    """Return what the joint test can see, and what it saw."""
    if not joint.named:
        return "No named patient could be tested."
    number = f"{counted(joint.never_seen_before, 'patient')} never seen before and {joint.never_seen:,} after"
    if joint.most_as_large is None or joint.p_value is None or joint.p_value_before is None:
        return (
            f"With {number} no leak of {counted(joint.named, 'named patient')} could show; {joint.enough:,} are needed."
        )
    shown = [one for one in joint.smallest if one.value is not None]
    least = "; ".join(f"{one.measure}: {number_text(one.value)}" for one in shown) or "of no one measure"
    fails = "fails" if joint.p_value_before <= ALPHA else "does not fail"
    return (
        f"With {number} the smallest leak that shows, in one measure and in no other, is {least}."
        f" The test {fails} for the model before (p = {joint.p_value_before:.4f}), and"
        f" {'fails' if joint.p_value <= ALPHA else 'does not fail'} for the model after (p = {joint.p_value:.4f})."
    )


def figures_sentence(patient: PatientCertificate) -> str:
    """Return how a patient stands among those never seen."""
    if patient.as_large is None or patient.p_value is None:
        return "The patient was not in the joint test."
    largest = "" if patient.largest is None else f"; its largest excess is that of: {patient.largest}"
    return (
        f"Over {counted(len(patient.figures), 'measure')} {counted(patient.as_large, 'patient')} never seen stand out"
        f" as much or more (p = {patient.p_value:.4f}, adjusted for all named){largest}."
    )


def number_text(value: float | None) -> str:
    """Return a figure of a measure: three digits, whole from 1,000."""
    return "none" if value is None else f"{value:,.3g}" if abs(value) < 1_000 else f"{value:,.0f}"
