"""What the deletion certificate and a comparison of two runs say in sentences (docs/forgetting.md).

Owns the wording, for the pages of both and the terminal: what a verdict means and what to do then (certificate.toml),
which finding decides, which figures a comparison read. Owns also the rule of the comparison's conclusion. Knows nothing
of how a verdict came about.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from clinaudit.reports.estimates.intervals import ALPHA
from clinaudit.reports.schema import certificate as schema
from clinaudit.reports.schema.comparison import Comparison, FiguresRead, MovedRules
from clinaudit.reports.schema.record import Estimate
from clinaudit.reports.wording.figures import row_text
from clinaudit.reports.wording.names import HEADLINE_TIER, STATUSES, display_words, join_words, order_tiers, tier_title
from clinaudit.reports.wording.numbers import counted

_WORDS: Final = tomllib.loads(Path(__file__).with_name("certificate.toml").read_text(encoding="utf-8"))


class VerdictWords(NamedTuple):
    """What is said by the verdict."""

    word: str
    sign: str
    meaning: str
    #: The answer to what a privacy officer asks first.
    may_be_told: str
    next_step: str
    #: Of a comparison.
    sentence: str


VERDICTS: Final[Mapping[schema.ForgettingVerdict, VerdictWords]] = {
    verdict: VerdictWords(**_WORDS["verdicts"][verdict]) for verdict in schema.EXIT_STATUS
}
#: What a certificate does not say: the claim, and what holds instead.
NOT_SAID: Final = tuple((one["claim"], one["instead"]) for one in _WORDS["not_said"])
DIGEST_SHOWN: Final = 12
#: What was found of a patient in the new model.
FOUND_AFTER: Final = {True: "✗ gives the patient away", False: "no leak found", None: "? not tested"}
#: Whose notes, texts or answers a figure is of.
GROUP_WORDS: Final[Mapping[str, str]] = _WORDS["groups"]
FIGURES_READ: Final[Mapping[FiguresRead, str]] = _WORDS["figures"]


def first_screen(certificate: schema.Certificate) -> tuple[tuple[str, str], ...]:
    """Return what a privacy officer asks first, and the answers."""
    words = VERDICTS[certificate.verdict]
    earlier = f", {certificate.earlier:,} of them by other requests" if certificate.earlier else ""
    named = counted(len(certificate.patients), "patient")
    return (
        ("The request", f"{named} to be forgotten{earlier} by {model_text(certificate.before)}."),
        ("May the patient be told that it is done?", words.may_be_told),
        ("What was done", _done_sentence(certificate)),
        ("How sure", _sure_sentence(certificate)),
        ("What it cost others", _cost_sentence(certificate)),
        ("Next", words.next_step),
    )


def _done_sentence(certificate: schema.Certificate) -> str:
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
    unknown = "That is not known here: no training record was given."
    if certificate.verdict != "forgotten":
        return unknown
    return f"{unknown} It is a temporary measure, until a model is trained without the named patients."


def _sure_sentence(certificate: schema.Certificate) -> str:
    """Return how sure it is: who is given away by either model, and what a leak must be to be found, by measure."""
    joint, patients = certificate.joint, certificate.patients
    if joint.most_as_large is None or joint.p_value is None:
        return f"Not at all. {joint_sentence(joint)}"
    before = sum(one.stood_out_before or False for one in patients)
    after = sum(one.stands_out_after or False for one in patients)
    said = [
        f"Of {counted(len(patients), 'patient')} the old model gives {before:,} away and the new one {after:,},"
        f" compared with {joint.never_seen:,} never seen."
    ]
    found = [f"{one.measure}: {number_text(one.value)}" for one in joint.smallest if one.value is not None]
    blind = [one.measure for one in joint.smallest if one.value is None]
    said += [f"The smallest leak that the test would find, in one measure alone: {'; '.join(found)}."] if found else []
    said += [f"A leak in this alone it would never find: {join_words(blind)}."] if blind else []
    return " ".join(said)


def quality_sentence(quality: schema.ForgetQuality) -> str:
    """Return whether the new model is told apart from the retrained reference."""
    if quality.p_value is None:
        return f"Beside the retrained reference nothing is said: {quality.reason}."
    told = "is told apart from" if quality.p_value <= ALPHA else "is not told apart from"
    return (
        f"By its loss on {counted(quality.notes, 'note')} of the named, the new model {told} the retrained reference"
        f" (Kolmogorov–Smirnov, p = {quality.p_value:.4f}). This decides nothing."
    )


def _cost_sentence(certificate: schema.Certificate) -> str:
    """Return what forgetting cost others: how well their notes are predicted, and how good answers on them are."""
    bench = certificate.bench
    asked = {
        "How well the notes of others are predicted, token by token": certificate.price,
        "How good answers on others are": [] if bench is None else bench.collateral or [],
    }

    def share(estimate: Estimate) -> str:
        return "none" if estimate.value is None else f"{estimate.value:.0%}"

    def say(one: schema.PriceFigure) -> str:
        change = "no shown change"
        if one.change.low is not None and one.change.high is not None and not one.change.low <= 0 <= one.change.high:
            change = "better" if one.change.low > 0 else "worse"
        return (
            f"of {one.change.n or 0:,} {GROUP_WORDS.get(one.group, one.group)} {share(one.before)} by the old model,"
            f" {share(one.after)} by the new one ({change})"
        )

    said = [
        f"{title}: {'; '.join(map(say, own))}."
        for title, figures in asked.items()
        if (own := [one for one in figures if one.change.n])
    ]
    return " ".join(said) or "Not measured: the audits scored no notes, and no --bench RESULT was given."


def collapse_sentence(collapsed: bool | None, *, is_trained_again: bool) -> str:
    """Return what came of the collapse check, and what it decides.

    `is_trained_again`: by its training record the new model was not made to forget, so that the check decides nothing.
    """
    came_of = {True: "failed", None: "could not be made", False: "passed"}[collapsed]
    said = f"The collapse check {came_of}"
    if collapsed is False:
        return f"{said}."
    if is_trained_again:
        return (
            f"{said}, and decides nothing: by its training record, the new model was trained again without the named"
            " patients, and not made to forget."
        )
    return f"{said}: no request passes."


def model_text(model: schema.CertifiedModel) -> str:
    """Return which model it is: its name, where the site gave one, and the first digits of its digest."""
    digest = None if model.digest is None else f"digest {model.digest[:DIGEST_SHOWN]}…"
    return ", ".join(part for part in (model.name, digest) if part is not None) or "not recorded"


def joint_sentence(joint: schema.JointDecision) -> str:
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


def figures_sentence(patient: schema.PatientCertificate) -> str:
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


_AMOUNTS: Final = {-1: "less", 1: "more"}


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
    return sentence if forgetting is None else f"{VERDICTS[forgetting.verdict].sentence} {sentence}"


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
    """Return which diagnoses became easier to tell at some level of access, and which of the others harder."""
    found: dict[str, set[int]] = {}
    for change in comparison.changes_of("auroc_all"):
        if change.direction is not None:
            found.setdefault(change.diagnosis, set()).add(change.direction)
    if not found:
        return "diagnoses were not measured in both runs"
    easier = [display_words(one) for one, directions in found.items() if 1 in directions]
    harder = [display_words(one) for one, directions in found.items() if -1 in directions and 1 not in directions]
    said = [
        f"{join_words(names)} became {how} to tell" for names, how in ((easier, "easier"), (harder, "harder")) if names
    ]
    if not said:
        return "no diagnosis is shown to have become easier or harder to tell"
    said_none = "" if easier else "; no diagnosis is shown to have become easier to tell"
    return f"by AUROC over all patients, {' and '.join(said)}, at one level of access or more{said_none}"
