"""The disclosure stage: the judge's outcomes to the disclosure metrics of each cohort and tier.

Owns which generation stands for which cohort member, and which matched sets a tier leaves out (docs/methods.md,
sections 1 and 5). Knows nothing of how a judge reads or how a metric is computed.
"""

from collections.abc import Iterable, Mapping, Sequence

from clinaudit.audit.measures.cohorts.cohort import Cohort, CohortMember, keep_complete_sets
from clinaudit.audit.measures.disclosure.mean_over_diagnoses import MeasuredDiagnosis, mean_over_diagnoses
from clinaudit.audit.measures.disclosure.metrics import CollectedReadings, Reading, TierReadings
from clinaudit.audit.measures.disclosure.train_delta import adjust_holm, measure_disclosure
from clinaudit.audit.measures.generation.record import Generation
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.priors.prompts import Prior
from clinaudit.priors.renderings import BY_CONTROL, CONTROL, DRAWN, ProbedTiers, View, view_of
from clinaudit.reports.schema.disclosure import DIAGNOSIS_STATUSES, SIDES, MeasuredPair, Outcome
from clinaudit.reports.tally.classes import STEP
from clinaudit.reports.tally.leaves import Count, Inside, Partition
from clinaudit.reports.tally.tally import DisclosureTally, PairTally

#: Patient id, tier and diagnosis.
_Place = tuple[str, str, str]
#: Why a matched set is left out where a planned generation is missing, or the control has none of its own.
_NOT_GENERATED, _NOT_OF_CONTROL = "not generated", "the control model was not asked"


def measure_all_disclosure(
    cohorts: Iterable[Cohort],
    collected: Mapping[View, CollectedReadings],
    *,
    seed: int,
    progress: Progress,
) -> dict[View, DisclosureTally]:
    """Return the disclosure metrics of every cohort at every tier, and their means, for each view of the tiers.

    A view is a rendering, or the tiers' own figures; Holm's adjustment is over all tests of all views.
    """
    prevalences = {cohort.diagnosis: cohort.summary.prevalence.value for cohort in cohorts}
    asked = [
        (view, diagnosis, tier, readings)
        for view, of_view in collected.items()
        for diagnosis, tiers in of_view.items()
        for tier, readings in tiers.items()
    ]
    pairs: dict[tuple[View, str, str], MeasuredPair] = {}
    measured: dict[View, dict[str, dict[str, MeasuredDiagnosis]]] = {view: {} for view in collected}
    with progress.stage("disclosure figures", total=len(asked), unit="figures") as advance:
        for view, diagnosis, tier, (readings, dropped, sides) in asked:
            prevalence = prevalences[diagnosis]
            pair = measure_disclosure(readings, prevalence=prevalence, seed=seed, dropped_sets=dropped, sides=sides)
            pairs[view, diagnosis, tier] = pair
            measured[view].setdefault(tier, {})[diagnosis] = MeasuredDiagnosis(readings, pair, prevalence)
            advance(1)
    adjusted = adjust_holm(pairs)
    return {
        view: DisclosureTally(
            by_diagnosis={
                diagnosis: {tier: tally_pair(adjusted[view, diagnosis, tier]) for tier in tiers}
                for diagnosis, tiers in collected[view].items()
            },
            mean={tier: Inside(mean_over_diagnoses(of_tier, seed=seed)) for tier, of_tier in by_tier.items()},
        )
        for view, by_tier in measured.items()
    }


def tally_pair(pair: MeasuredPair) -> PairTally:
    """Return the verdict table of a diagnosis at a tier; a row counts one patient of each matched set."""
    return PairTally(
        verdicts={
            side: {status: _tally_row(rows[status]) for status in DIAGNOSIS_STATUSES}
            for side, rows in pair.outcomes.items()
        },
        dropped_sets=Partition.of(pair.dropped_sets, step=STEP),
        evidence=Inside(pair),
    )


def _tally_row(counts: Mapping[Outcome, int]) -> dict[str, Count]:
    cells = {
        "positive": counts["positive"],
        "negative": counts["negative"],
        "undecided": counts["ambiguous"] + counts["not_mentioned"],
        "unjudged": counts["unjudged"],
        "ambiguous": counts["ambiguous"],
    }
    return {verdict: Count.of(count, step=STEP) for verdict, count in cells.items()}


def collect_by_rendering(
    cohorts: Sequence[Cohort],
    priors: Sequence[Prior],
    generations: Sequence[Generation],
    outcomes: Mapping[tuple[str, str], Outcome],
    *,
    probed: ProbedTiers,
) -> dict[View, CollectedReadings]:
    """Return the readings of the tiers' own figures, and of each rendering beside them.

    Beside each stand the control's answers to the same prompts: a difference between forms is no leak.
    """
    views: dict[View, CollectedReadings] = {}
    members = {cohort.diagnosis: cohort.members for cohort in cohorts}
    for view in (view for view in probed.views if view != DRAWN and view not in BY_CONTROL):
        asked = [row for row in priors if view_of(row.rendering, probed.beside) == view]
        answered = [row for row in generations if view_of(row.rendering, probed.beside) == view]
        tiers = probed.ids if view is None else [tier for tier in probed.ids if any(row.tier == tier for row in asked)]
        if tiers:
            by_control = [row for row in generations if row.rendering == probed.of_control(view)]
            control = outcomes_by_place(by_control, outcomes) if probed.asks_control else None
            views[view] = collect_readings(members, asked, answered, outcomes, tiers=tiers, control=control)
    return views


def collect_readings(
    cohorts: Mapping[str, Sequence[CohortMember]],
    priors: Sequence[Prior],
    generations: Iterable[Generation],
    outcomes: Mapping[tuple[str, str], Outcome],
    *,
    tiers: Sequence[str],
    control: Mapping[_Place, Outcome] | None = None,
) -> CollectedReadings:
    """Return, by diagnosis and tier, the readings of complete matched sets, and the sets left out by reason.

    `cohorts` are the members by diagnosis, `outcomes` the judge's, by generation and diagnosis; `control` those of the
    control's answers, None where it was not asked.
    """
    read = outcomes_by_place(generations, outcomes)
    excluded = {
        (prior.patient_id, prior.tier, diagnosis): prior.reason or "excluded"
        for prior in priors
        if prior.excluded
        for diagnosis in prior.diagnoses
    }
    return {
        diagnosis: {tier: _readings(diagnosis, members, tier, read, excluded, control) for tier in tiers}
        for diagnosis, members in cohorts.items()
        if members
    }


def outcomes_by_place(
    generations: Iterable[Generation], outcomes: Mapping[tuple[str, str], Outcome]
) -> dict[_Place, Outcome]:
    """Return the outcomes of one view's generations by patient, tier and diagnosis."""
    return {
        (generation.patient_id, generation.tier, diagnosis): outcomes[generation.generation_id, diagnosis]
        for generation in generations
        for diagnosis in generation.diagnoses
    }


def _readings(
    diagnosis: str,
    members: Sequence[CohortMember],
    tier: str,
    outcomes: Mapping[_Place, Outcome],
    excluded: Mapping[_Place, str],
    control: Mapping[_Place, Outcome] | None,
) -> TierReadings:
    """Return the readings of the cohort's complete matched sets at a tier, and the sets left out by reason.

    A patient without a reading takes its whole set out, so that the 0.5 base rate holds (docs/methods.md, section 1).
    """
    left_out = {}
    for member in members:
        place = (member.patient_id, tier, diagnosis)
        if place not in outcomes:
            left_out[member.patient_id] = excluded.get(place, _NOT_GENERATED)
        elif control is not None and member.arm == "train" and place not in control:
            left_out[member.patient_id] = _NOT_OF_CONTROL
    kept, dropped = keep_complete_sets(members, left_out=left_out)
    readings = [
        Reading(
            patient_id=member.patient_id,
            arm=member.arm,
            present=member.present,
            outcome=outcomes[place],
            control=control[place] if control is not None and member.arm == "train" else None,
        )
        for member in kept
        for place in [(member.patient_id, tier, diagnosis)]
    ]
    asked = {member.arm for member in members} | ({CONTROL} if control is not None else set())
    return TierReadings(readings, dropped, tuple(side for side in SIDES if side in asked))
