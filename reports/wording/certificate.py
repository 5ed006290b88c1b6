"""What the deletion certificate says in sentences, for its page and for the page of the comparison.

Owns the wording: what a verdict means and what to do then, which finding decides, what a certificate does not say.
Knows nothing of how a verdict came about (docs/comparing-runs.md).
"""

from typing import Final

from clinaudit.reports.schema.certificate import CertifiedModel, JointDecision, PatientCertificate
from clinaudit.reports.schema.forgetting import ForgettingVerdict
from clinaudit.reports.wording.numbers import counted

MEANINGS: Final[dict[ForgettingVerdict, str]] = {
    "forgotten": "Of each named patient the model after gives away no more than of patients it never saw.",
    "still leaks": "Of at least one named patient the model after gives away more than of patients it never saw.",
    "collapsed": (
        "The model after gives away no more of the named patients, because it no longer writes as the model before did,"
        " or writes of them as of hardly any patient it never saw."
    ),
    "not shown": "Something is missing without which nobody can say that the named patients are forgotten.",
}
NEXT_STEPS: Final[dict[ForgettingVerdict, str]] = {
    "forgotten": "Keep the certificate, and replace the model before by the model after.",
    "still leaks": "Forget harder, or train again without the named patients; then audit and compare again.",
    "collapsed": (
        "Begin again with the model before, more gently; then audit and compare again. Of a model that was trained"
        " again, give the training record."
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
        "Those with the same disease may pay. The price is shown where a benchmark is given, and weighs nothing.",
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
        "It means: over all figures together, the named patients do not stand out among patients never seen. Of five"
        " named patients whom a model never saw, one time in twenty somebody stands out by chance.",
    ),
    (
        "That every leak would have shown.",
        "The test sees leaks that stand out among those of the patients never seen. The smallest of them is stated; a"
        " smaller one passes.",
    ),
)
DIGEST_SHOWN: Final = 12
#: Level of the joint test.
_ALPHA: Final = 0.05


def collapse_sentence(verdict: ForgettingVerdict, collapsed: bool | None, *, is_trained_again: bool = False) -> str:
    """Return what came of the collapse check, and which finding decides where there is a leak as well.

    `is_trained_again`: a training record says that the model after was not made to forget.
    """
    leaks = verdict == "still leaks"
    if collapsed and is_trained_again:
        return (
            "The collapse check failed, and decides nothing: by its training record, the model after was trained again"
            " without the named patients, and not made to forget."
        )
    if collapsed and leaks:
        return (
            "The collapse check failed, and there is a leak. The leak decides, so the verdict is “still leaks”: forget"
            " harder, or train again. What broke down must be mended, too: a model that collapsed certifies nobody."
        )
    if collapsed is None and leaks:
        return "The collapse check could not be made. The leak decides all the same: the verdict is “still leaks”."
    if collapsed or collapsed is None:
        return f"The collapse check {'failed' if collapsed else 'could not be made'}: nobody is certified."
    if verdict == "collapsed":
        return "The collapse check of each group passed; the text of single patients, or answers, collapsed."
    return "The collapse check passed."


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
    shown = [one for one in joint.smallest if one.tokens is not None]
    least = "; ".join(f"{one.measure}: {one.tokens:,.0f}" for one in shown) or "of no one measure"
    fails = "fails" if joint.p_value_before <= _ALPHA else "does not fail"
    return (
        f"With {number} the smallest leak that shows, at one level of access and in no other figure, is {least}."
        f" The test {fails} for the model before (p = {joint.p_value_before:.4f}), and"
        f" {'fails' if joint.p_value <= _ALPHA else 'does not fail'} for the model after (p = {joint.p_value:.4f})."
    )


def figures_sentence(patient: PatientCertificate) -> str:
    """Return how a patient stands among those never seen."""
    reasons = [*(row.reason for row in patient.measures), *(row.reason for row in patient.questions)]
    missing = sum(reason is not None for reason in reasons)
    number = counted(len(patient.measures) + len(patient.questions), "figure")
    lacks = f" Of {number} {missing:,} could not be measured." if missing else ""
    if patient.as_large is None or patient.p_value is None:
        return f"The patient was not in the joint test.{lacks}"
    largest = "" if patient.largest is None else f"; its largest excess is that of: {patient.largest}"
    return (
        f"Over {number} {counted(patient.as_large, 'patient')} never seen stand out as much or more"
        f" (p = {patient.p_value:.4f}, adjusted for all named){largest}.{lacks}"
    )
