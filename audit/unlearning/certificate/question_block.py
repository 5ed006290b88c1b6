"""What answers to a benchmark's questions keep of the named patients, beside patients never trained on.

Owns the measures, the rule for one patient, and the test of all named ones together (docs/comparing-runs.md). The level
is the one of the audit's figures: split conformal.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Final

import numpy as np

from clinaudit.audit.statistics.intervals import ALPHA, estimate_share, holm
from clinaudit.audit.unlearning.benchmark.records import QUESTION_USES
from clinaudit.audit.unlearning.certificate.bench_result import BenchResult
from clinaudit.audit.unlearning.certificate.compared_answers import (
    by_patient,
    column,
    kept_by_group,
    kept_share,
    mean_of,
)
from clinaudit.audit.unlearning.certificate.forgetting_verdict import (
    LARGEST_SHARE,
    LEVEL_PATIENTS,
    Level,
    Reasons,
    find_level,
    is_above,
    judge,
)
from clinaudit.audit.unlearning.metrics.answer_collapse import has_collapsed
from clinaudit.reports.schema.certificate import Shortfall
from clinaudit.reports.schema.certificate_blocks import QuestionBlock, QuestionGroup, QuestionRow
from clinaudit.reports.schema.numbers import Estimate, exact_estimate
from clinaudit.reports.schema.unlearning_scores import ScoredAnswer

KEPT: Final = "answers as in the notes (1 − AFE)"
ECHO_FREE: Final = "leakage score beyond the question"
#: Shown of all together, and not weighed: an answer that repeats the question has it, too.
ECHOING: Final = "leakage score"
WEIGHED: Final = (KEPT, ECHO_FREE)
#: Of what too few patients have.
ANSWERS: Final = "answers to questions on the patient"
TOGETHER: Final = "answers to questions on all named patients together"
ABOVE_LEVEL: Final = "answers to questions on the patient keep more than the level of patients never trained on"
ABOVE_TOGETHER: Final = "answers on the named patients together keep more than those on patients never trained on"
NOT_ASKED: Final = "the benchmark asks nothing about the patient"
NEVER_TRAINED: Final = "the benchmark says that the patient was never trained on"
NO_ANSWER: Final = "no answer on the patient has this figure"
FEW_NEVER_TRAINED: Final = f"fewer than {LEVEL_PATIENTS} patients never trained on make the level of answers"
_OF_ANSWERS: Final = Reasons(above=ABOVE_LEVEL, missing=NO_ANSWER, few=FEW_NEVER_TRAINED)
NO_MODEL: Final = "no such model was evaluated"
#: Drawn permutations; where there are fewer in all, every one is looked at.
_PERMUTATIONS: Final = 9_999
_ROUNDING: Final = 1e-9
#: Named patients beyond whom it is not said how many would be enough.
_MOST_NAMED: Final = 1_000
#: Use and measure.
Place = tuple[str, str]
#: Patient to place to value.
ByPatient = Mapping[str, Mapping[Place, float | None]]


@dataclass(frozen=True, slots=True)
class Questioned:
    """What the answers say of the named patients."""

    block: QuestionBlock
    rows: Mapping[str, list[QuestionRow]]
    leaks: Mapping[str, set[str]]
    lacking: Mapping[str, set[str]]
    shortfalls: list[Shortfall]


@dataclass(frozen=True, slots=True)
class _Measured:
    """The measures of every patient with each model, and the level of those never trained on."""

    before: ByPatient
    after: ByPatient
    reference: ByPatient
    levels: Mapping[Place, Level]
    levels_reference: Mapping[Place, Level]

    def row(self, patient: str, place: Place) -> QuestionRow:
        """Return what one measure of a patient shows."""
        value = self.after[patient][place]
        judged = judge(
            value,
            self.levels[place],
            reference=(self.reference.get(patient, {}).get(place), self.levels_reference.get(place)),
            largest=LARGEST_SHARE,
            reasons=_OF_ANSWERS,
            # What keeps nothing is within any level, even an unknown one.
            zero_is_within=True,
        )
        before = self.before.get(patient, {}).get(place)
        return QuestionRow(use=place[0], measure=place[1], before=before, after=value, **judged._asdict())


def weigh_answers(result: BenchResult, named: Sequence[str]) -> Questioned:
    """Return what the answers of the model after say of the named patients."""
    controls = sorted(
        patient for patient, of in result.patients.items() if of.role == "never_trained" and patient not in set(named)
    )
    after, reference = measure(result.after), measure(result.reference)
    measured = _Measured(
        before=measure(result.before),
        after=after,
        reference=reference,
        levels=_levels(after, controls),
        levels_reference=_levels(reference, controls),
    )
    rows: dict[str, list[QuestionRow]] = {}
    lacking: dict[str, set[str]] = {}
    for patient in named:
        of = result.patients.get(patient)
        if of is None or of.role == "never_trained" or patient not in after:
            lacking[patient] = {NEVER_TRAINED if of is not None and of.role == "never_trained" else NOT_ASKED}
        else:
            rows[patient] = [measured.row(patient, place) for place in after[patient]]
            lacking[patient] = {row.reason for row in rows[patient] if row.status == "not shown" and row.reason}
    groups, shortfalls = _compare_together(result, measured, sorted(rows), controls)
    together = {ABOVE_TOGETHER} if any(group.is_above for group in groups) else set()
    leaks = {
        patient: together | {ABOVE_LEVEL for row in own if row.status == "still leaks"} for patient, own in rows.items()
    }
    block = QuestionBlock(
        model=result.model,
        split=result.split,
        form=result.form,
        groups=groups,
        controls_above_level=exact_estimate(_share_above(measured, controls)),
        health=list(result.health),
        collapsed=has_collapsed(result.health),
    )
    few = [row.controls for own in rows.values() for row in own if row.reason == FEW_NEVER_TRAINED]
    if few:
        short = Shortfall(figure=ANSWERS, group="controls", patients=min(few), enough=LEVEL_PATIENTS)
        shortfalls = [short, *shortfalls]
    return Questioned(block, rows, leaks, lacking, shortfalls)


def measure(answers: Sequence[ScoredAnswer]) -> dict[str, dict[Place, float | None]]:
    """Return the weighed measures of each patient, by the use of the questions.

    A patient none of whose questions has a keyword beyond the question has no such leakage score.
    """
    found: dict[str, dict[Place, float | None]] = {}
    for use in QUESTION_USES:
        for patient, own in by_patient(answer for answer in answers if answer.use == use).items():
            places = found.setdefault(patient, {})
            places[use, KEPT] = kept_share(own)
            values = column(own, "ls_echo_free")
            if np.isfinite(values).any():
                places[use, ECHO_FREE] = float(np.nanmean(values))
    return found


def enough_to_permute(controls: int, *, tests: int) -> int | None:
    """Return the least number of named patients of whom a permutation test could show anything at 5%.

    Its smallest p-value is 1 / C(n + k, k), of k named patients and n controls, and counts once for each of the tests.
    None where no number up to 1,000 is enough: there are no controls.
    """
    return next((named for named in range(1, _MOST_NAMED + 1) if tests / comb(controls + named, named) <= ALPHA), None)


def _levels(values: ByPatient, controls: Collection[str]) -> dict[Place, Level]:
    return {(use, name): find_level(_of(values, controls, (use, name))) for use in QUESTION_USES for name in WEIGHED}


def _of(values: ByPatient, patients: Collection[str], place: Place) -> list[float]:
    found = (values.get(patient, {}).get(place) for patient in patients)
    return [value for value in found if value is not None]


def _share_above(measured: _Measured, controls: Collection[str]) -> Estimate:
    asked = [measured.after[patient] for patient in controls if patient in measured.after]
    if not asked:
        return Estimate(value=None, n=0, reason=FEW_NEVER_TRAINED)
    above = sum(any(is_above(value, measured.levels[place]) for place, value in own.items()) for own in asked)
    return estimate_share(above, len(asked))


def _compare_together(
    result: BenchResult, measured: _Measured, named: Sequence[str], controls: Sequence[str]
) -> tuple[list[QuestionGroup], list[Shortfall]]:
    """Compare all named patients with those never trained on; also say how many named ones would be enough."""
    places = [
        (use, name)
        for use in QUESTION_USES
        for name in WEIGHED
        if _of(measured.after, named, (use, name)) and _of(measured.after, controls, (use, name))
    ]
    p_values = {
        place: permutation_p_value(
            _of(measured.after, named, place), _of(measured.after, controls, place), seed=result.seed
        )
        for place in places
    }
    adjusted = dict(zip(p_values, holm(list(p_values.values())), strict=True))
    groups = []
    for use in QUESTION_USES:
        for name in (KEPT, ECHO_FREE, ECHOING):
            group = _describe(result, use, name, set(named), set(controls))
            p_value = adjusted.get((use, name))
            is_above = None
            if p_value is not None:
                is_above = p_value <= ALPHA and not _vouched(result, measured, (named, controls), (use, name))
            groups.append(group.model_copy(update={"p_value": p_value, "is_above": is_above}))
    shortfalls = []
    if places:
        counts = [(len(_of(measured.after, named, at)), len(_of(measured.after, controls, at))) for at in places]
        enough = [enough_to_permute(controls, tests=len(places)) for _, controls in counts]
        known = [number for number in enough if number is not None]
        fewest = min(of for of, _ in counts)
        if len(known) < len(enough) or fewest < max(known):
            needed = None if len(known) < len(enough) else max(known)
            shortfalls.append(Shortfall(figure=TOGETHER, group="named", patients=fewest, enough=needed))
    return [group for group in groups if group.patients], shortfalls


def permutation_p_value(named: Sequence[float], controls: Sequence[float], *, seed: int) -> float:
    """Return the one-sided p-value that the mean of the named is larger by chance: patients are exchanged.

    Every exchange is looked at where there are 10,000 at most, else 9,999 drawn ones and the one observed.
    """
    values = np.array([*named, *controls])
    size = len(named)
    # Of one total, the mean of the named rises with their sum; sums of the same numbers differ by rounding.
    observed = float(np.sum(named)) - _ROUNDING
    if comb(len(values), size) <= _PERMUTATIONS + 1:
        sums = np.array([sum(values[list(chosen)]) for chosen in combinations(range(len(values)), size)])
        return float((sums >= observed).mean())
    shuffled = np.random.default_rng(seed).permuted(np.tile(values, (_PERMUTATIONS, 1)), axis=1)
    return float((1 + (shuffled[:, :size].sum(axis=1) >= observed).sum()) / (_PERMUTATIONS + 1))


def _vouched(
    result: BenchResult, measured: _Measured, groups: tuple[Sequence[str], Sequence[str]], place: Place
) -> bool:
    """Whether a retrained model keeps as much of the named patients together: then it is no memory of them.

    It does not vouch where it keeps more of them itself than of those it was never trained on.
    """
    named, controls = groups
    after, reference = _of(measured.after, named, place), _of(measured.reference, named, place)
    floor = _of(measured.reference, controls, place)
    if len(reference) != len(after) or not floor or sum(reference) < sum(after):
        return False
    return permutation_p_value(reference, floor, seed=result.seed) > ALPHA


def _describe(result: BenchResult, use: str, name: str, named: set[str], controls: set[str]) -> QuestionGroup:
    def figure(answers: Sequence[ScoredAnswer], of: set[str]) -> Estimate:
        own = [answer for answer in answers if answer.use == use and answer.patient_id in of]
        if not answers:
            return Estimate(value=None, n=0, reason=NO_MODEL)
        if name == KEPT:
            return kept_by_group(own, seed=result.seed)
        return mean_of(own, "ls" if name == ECHOING else "ls_echo_free", seed=result.seed)

    def patients(of: set[str]) -> int:
        return len({answer.patient_id for answer in result.after if answer.use == use and answer.patient_id in of})

    return QuestionGroup(
        use=use,
        measure=name,
        patients=patients(named),
        controls=patients(controls),
        before=exact_estimate(figure(result.before, named)),
        after=exact_estimate(figure(result.after, named)),
        floor=exact_estimate(figure(result.after, controls)),
        reference=exact_estimate(figure(result.reference, named)),
    )
