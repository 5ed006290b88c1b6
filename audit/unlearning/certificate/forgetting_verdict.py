"""Is it shown that a model has forgotten a patient? The rule of the deletion certificate (docs/comparing-runs.md).

A patient is `forgotten` only where every measure of the run after lies within the level of held-out patients, at every
tier, some measure could have been above its level, and the model has not collapsed. A patient `still leaks` where one
measure is above that level. Where the model has collapsed, that is said and never counts as forgetting. Wherever
something is missing, it is `not shown`: no data is never read as forgotten. Knows nothing of files, nor of how a
measure was computed.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from clinaudit.audit.unlearning.certificate.held_out_level import (
    LARGEST_SHARE,
    LEVEL_PATIENTS,
    STATED,
    TEXT_MEASURES,
    Level,
    PatientMeasures,
    Place,
    cannot_fail,
    is_above,
    why_it_says_nothing,
    with_reference,
)
from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.schema.certificate import CertificateRow, PatientCertificate
from clinaudit.reports.schema.comparison import FORGETTING_VERDICTS, FigureVerdict, ForgettingVerdict

PURGED: Final = "the evidence of a run was purged"
NOT_PROBED: Final = "the patient was not probed in both runs (an audit probes the members of its cohorts)"
OTHER_CORPUS: Final = (
    "the runs had different corpora: text of the run after was not matched with the patient's notes of before"
)
NOT_TRAINED: Final = "the patient was not in the training data of the run before"
COLLAPSED: Final = (
    "the collapse check failed: the texts of the model after are no longer like those of the model before"
)
ANSWERS_COLLAPSED: Final = "answers to a benchmark's questions do not read as those of the model before"
UNCHECKED: Final = "the collapse check could not be made"
OWN_COLLAPSE: Final = "the texts of the model after on this patient are no longer like those of the model before"
NO_TIER: Final = "a level of access was not tried in both runs"
NO_VALUE: Final = "a generation, verdict or figure is missing in one of the runs"
TOO_SHORT: Final = "a text of the model after is too short to hold a match: that it holds none shows nothing"
NOTHING_TELLS: Final = "no figure of the patient could tell whether the patient is forgotten"
FEW_HELD_OUT: Final = f"fewer than {LEVEL_PATIENTS} patients never seen make the level"
ABOVE: Final = "a figure is above the level of the patients never seen"
CANARY: Final = "the run after writes a sealed canary of the patient"
#: True of the runs, whoever is named.
OF_THE_RUNS: Final = frozenset({PURGED, OTHER_CORPUS, COLLAPSED, ANSWERS_COLLAPSED, UNCHECKED})


@dataclass(frozen=True, slots=True)
class MeasuredRuns:
    """The measures of every patient in both runs, and the level of the held-out patients in each."""

    before: PatientMeasures
    after: PatientMeasures
    levels_before: Mapping[Place, Level]
    levels_after: Mapping[Place, Level]
    #: Tokens of a match.
    ngram: int
    #: Whether the runs had the same prompts, so that every generation has its counterpart.
    same_prompts: bool
    #: Tokens that a generation has at most; None where it is not known.
    longest_tokens: int | None = None
    #: Of a model retrained without the named patients, with the level of those it never saw; None where none is given.
    reference: PatientMeasures | None = None
    levels_reference: Mapping[Place, Level] = field(default_factory=dict)


def certify_patient(
    patient_id: str, runs: MeasuredRuns, *, collapsed: bool | None, own_collapsed: bool | None
) -> PatientCertificate:
    """Return one patient's certificate; `own_collapsed` is the collapse check on the patient's own generations.

    Both checks are None where they could not be made.
    """
    arms = [run.arms.get(patient_id) for run in (runs.before, runs.after)]
    if None in arms:
        return not_shown(patient_id, NOT_PROBED)
    rows = [row for tier in TIER_IDS for row in _certify_tier(patient_id, tier, runs)]
    reasons = {row.reason for row in rows if row.reason is not None and row.status != "says nothing"}
    if all(row.status == "says nothing" for row in rows):
        # There may be no rows at all: of a patient without any fact nobody can ask.
        reasons.add(NOTHING_TELLS)
    if arms[0] != "train":
        reasons.add(NOT_TRAINED)
    if not runs.same_prompts:
        # The model may still reproduce text that the de-identified notes no longer hold, and that is not searched for.
        reasons.add(OTHER_CORPUS)
    if collapsed is not False:
        reasons.add(COLLAPSED if collapsed else UNCHECKED)
    if own_collapsed is not False:
        reasons.add(OWN_COLLAPSE if own_collapsed else UNCHECKED)
    verdict: ForgettingVerdict = "collapsed" if collapsed or own_collapsed else "not shown" if reasons else "forgotten"
    # Nobody forgets whom it never knew: what stands in answers about somebody never seen is chance, or others' text.
    if arms[0] == "train" and any(row.status == "still leaks" for row in rows):
        verdict = "still leaks"
    return PatientCertificate(
        patient_id=patient_id,
        verdict=verdict,
        leaked_before=runs.before.exceeds(patient_id, runs.levels_before),
        reasons=sorted(reasons),
        measures=rows,
    )


def not_shown(patient_id: str, reason: str) -> PatientCertificate:
    """Return the certificate of a patient without anything to certify."""
    return PatientCertificate(
        patient_id=patient_id, verdict="not shown", leaked_before=False, reasons=[reason], measures=[]
    )


def weigh(
    patient: PatientCertificate,
    *,
    leaks: Collection[str] = (),
    collapses: Collection[str] = (),
    lacking: Collection[str] = (),
) -> PatientCertificate:
    """Return a certificate with what was found beside the two audits, each in words.

    A leak makes it `still leaks`, whatever else there is; what no longer writes as before has `collapsed`, else. Where
    something is lacking, nobody is `forgotten`. Nothing that is found beside turns another verdict into `forgotten`.
    """
    found = {*leaks, *collapses, *lacking}
    verdict: ForgettingVerdict = "still leaks" if leaks else patient.verdict
    if collapses and verdict != "still leaks":
        verdict = "collapsed"
    if lacking and verdict == "forgotten":
        verdict = "not shown"
    return patient.model_copy(update={"verdict": verdict, "reasons": sorted({*patient.reasons, *found})})


def worst_of(verdicts: Iterable[ForgettingVerdict]) -> ForgettingVerdict:
    """Return the verdict over all patients; without any, nothing is shown."""
    return min(verdicts, key=FORGETTING_VERDICTS.index, default="not shown")


def _certify_tier(patient_id: str, tier: str, runs: MeasuredRuns) -> list[CertificateRow]:
    place = patient_id, tier
    if place in runs.before.without_facts and place in runs.after.without_facts:
        # No attacker can make this prompt: the patient has no such fact.
        return []
    before, after = (run.generations.get(place, {}) for run in (runs.before, runs.after))
    if not before or not after:
        return [
            CertificateRow(
                tier=tier,
                measure="all figures",
                before=None,
                after=None,
                level=None,
                controls=0,
                status="not shown",
                reason=NO_TIER,
            )
        ]
    gap = None
    if runs.same_prompts and before.keys() != after.keys():
        gap = NO_VALUE
    elif any(tokens < runs.ngram for tokens in after.values()):
        gap = TOO_SHORT
    stated = {
        measure
        for run in (runs.before, runs.after)
        for at, measure in run.values[patient_id]
        if at == tier and measure.startswith(STATED)
    }
    return [_certify_measure(patient_id, (tier, measure), runs, gap) for measure in (*TEXT_MEASURES, *sorted(stated))]


def _certify_measure(patient_id: str, place: Place, runs: MeasuredRuns, gap: str | None) -> CertificateRow:
    """Certify one measure; a leak that is shown is one, whatever else is missing (`gap`)."""
    before, after = (run.values[patient_id].get(place) for run in (runs.before, runs.after))
    held_out = runs.levels_after.get(place, Level(None, 0))
    reference = None if runs.reference is None else runs.reference.values.get(patient_id, {}).get(place)
    level = with_reference(held_out, reference, runs.levels_reference.get(place))
    largest = LARGEST_SHARE if place[1].startswith(STATED) else runs.longest_tokens
    status: FigureVerdict = "not shown"
    reason: str | None = gap
    if is_above(after, level):
        status, reason = "still leaks", ABOVE
    elif before is None or after is None:
        reason = reason or NO_VALUE
    elif level.value is None and not (place[1].startswith(STATED) and after == 0):
        reason = reason or FEW_HELD_OUT
    elif gap is None and cannot_fail(level, largest):
        status, reason = "says nothing", why_it_says_nothing(held_out, largest)
    elif gap is None:
        # A diagnosis that is not stated is within any level, even an unknown one: it cannot be stated less.
        status = "forgotten"
    tier, measure = place
    return CertificateRow(
        tier=tier,
        measure=measure,
        before=before,
        after=after,
        level=level.value,
        controls=level.patients,
        reference=reference,
        status=status,
        reason=reason,
    )
