"""What the deletion certificate says in sentences, for its page and for the page of the comparison.

Owns the wording: what a verdict means and what to do then, which finding decides, what a certificate does not say.
Knows nothing of how a verdict came about (docs/comparing-runs.md).
"""

from typing import Final

from clinaudit.reports.schema.certificate import CertifiedModel, PatientCertificate
from clinaudit.reports.schema.comparison import ForgettingVerdict
from clinaudit.reports.wording.numbers import counted

MEANINGS: Final[dict[ForgettingVerdict, str]] = {
    "forgotten": "Of each named patient the model after gives away no more than of patients it never saw.",
    "still leaks": "Of at least one named patient the model after gives away more than of patients it never saw.",
    "collapsed": (
        "The model after gives away no more of the named patients, because it no longer writes as the model before did."
    ),
    "not shown": "Something is missing without which nobody can say that the named patients are forgotten.",
}
NEXT_STEPS: Final[dict[ForgettingVerdict, str]] = {
    "forgotten": "Keep the certificate, and replace the model before by the model after.",
    "still leaks": "Forget harder, or train again without the named patients; then audit and compare again.",
    "collapsed": "Begin again with the model before, more gently; then audit and compare again.",
    "not shown": "Mend what is missing, which the certificate by patient names; then audit and compare again.",
}
#: What a certificate does not say, as docs/comparing-runs.md lists it: the claim, and what holds instead.
NOT_SAID: Final = (
    (
        "That nothing is left in the weights.",
        "It speaks of greedy decoding from six kinds of prompt, and of a benchmark's questions and trials where one was"
        " given. Another prompt may get more.",
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
        "A model may be strangely silent about those whom it forgot. This is shown with a benchmark, and weighs"
        " nothing.",
    ),
    (
        "That it holds of a next model.",
        "Another seed, another method, or training that goes on is another model. Audit that one.",
    ),
    (
        "That forgotten means no risk.",
        "It means: no more than of patients never seen, of whom one in twenty exceeds one figure by chance.",
    ),
    (
        "That every figure was a test.",
        "A figure whose level is the largest value there is could not have failed. Such figures say nothing, and are"
        " counted at each patient.",
    ),
    (
        "That still leaks means memory.",
        "With many figures the rule errs to that side. The share of never-seen patients who would not pass either is"
        " given.",
    ),
)
_DIGEST_SHOWN: Final = 12


def collapse_sentence(verdict: ForgettingVerdict, collapsed: bool | None) -> str:
    """Return what came of the collapse check, and which finding decides where there is a leak as well."""
    leaks = verdict == "still leaks"
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


def model_text(model: CertifiedModel | None) -> str:
    """Return which model it is: its name, where the site gave one, and the first digits of its digest."""
    if model is None or (model.name is None and model.digest is None):
        return "not recorded"
    digest = None if model.digest is None else f"digest {model.digest[:_DIGEST_SHOWN]}…"
    return ", ".join(part for part in (model.name, digest) if part is not None)


def figures_sentence(patient: PatientCertificate) -> str:
    """Return how many figures of a patient could tell whether it is forgotten, and how many could not."""
    statuses = [*(row.status for row in patient.measures), *(row.status for row in patient.questions)]
    if not statuses:
        return "No figure of the patient was measured."
    silent, missing = statuses.count("says nothing"), statuses.count("not shown")
    parts = [f"{len(statuses) - silent - missing} could tell whether the patient is forgotten"]
    if silent:
        parts.append(f"{silent} could not, since their level is the largest value there is, and say nothing")
    if missing:
        parts.append(f"{missing} could not be weighed, as their rows say")
    return f"Of {counted(len(statuses), 'figure')} {'; '.join(parts)}."
