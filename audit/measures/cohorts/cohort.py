"""Matched evaluation cohorts: training membership x diagnosis status, four equal cells (paper 3.2.2, Appendix D).

Owns who is compared with whom, in which order (random, seeded), and the cohort's balance (docs/methods.md,
section 4). Knows nothing of notes, prompts or verdicts.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinaudit.audit.measures.cohorts.balance import COVARIATES, BalanceRow, Flag, measure_balance
from clinaudit.audit.measures.cohorts.matching import MatchedSet, choose_sets
from clinaudit.audit.runtime.choices import Controls
from clinaudit.audit.runtime.run.evidence_tables import Row
from clinaudit.reports.schema.record import Arm

#: `unavailable`: there are no matched patients; else how alike the groups are.
CohortStatus = Literal["balanced", "imbalanced", "poorly_matched", "unavailable"]
#: Sex as a number. Of a third one there are few, so that no choice balances it: they are left out, and counted.
_SEXES = {"female": 1, "male": 0}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A patient who could stand in a cohort."""

    patient_id: str
    arm: Arm
    age: int | None
    #: `female`, `male` or another word; None where it is unknown.
    sex: str | None
    note_count: int
    #: Known status by diagnosis; an absent one is unknown, and its patient never a control.
    status: Mapping[str, bool]
    #: By diagnosis: the tiers at which nothing can be asked of the patient for it; an absent one misses none.
    missing_tiers: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CohortMember:
    """One patient of a cohort; `present`: has the diagnosis; `propensity`: the within-arm model's, of having it."""

    patient_id: str
    arm: Arm
    present: bool
    match_id: str
    propensity: float


@dataclass(frozen=True, slots=True)
class CohortSummary:
    """How a cohort came about."""

    status: CohortStatus
    reason: str | None
    #: Patients a cell: train_positive, train_negative, nontrain_positive, nontrain_negative.
    cells: dict[str, int]
    balance: Sequence[BalanceRow]
    #: Patients of both splits who are no candidates, by reason.
    excluded: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Cohort:
    """The matched cohort of one diagnosis: four members a `match_id`, two where nobody was held out, or none at all."""

    diagnosis: str
    members: tuple[CohortMember, ...]
    summary: CohortSummary


class _Cell(NamedTuple):
    arm: Arm
    present: bool


#: In the order that `clinaudit.audit.measures.cohorts.balance` numbers cells by.
_CELLS = (_Cell("train", True), _Cell("train", False), _Cell("nontrain", True), _Cell("nontrain", False))
_CELL_NAMES = ("train_positive", "train_negative", "nontrain_positive", "nontrain_negative")


#: Flags, best first.
_FLAGS: tuple[Flag, ...] = ("balanced", "imbalanced", "poorly_matched")


def build_cohort(
    candidates: Sequence[Candidate],
    *,
    diagnosis: str,
    sets: int,
    controls: Controls,
    seed: int,
    refined: bool,
    has_control: bool,
) -> Cohort:
    """Match d-positive train to d-positive nontrain patients, then each of them to a d-negative one of its own arm.

    The cohort depends on the set of candidates and the seed, not on the candidates' order. `summary.reason` says why
    there are fewer `sets` than asked. Without a nontrain arm, or with an empty cell, there are no members, and the
    status is `unavailable`; but with a control model (`has_control`) a set without a nontrain arm is of the two train
    patients. A cohort that is not `refined` has the matcher's own pairs, as in the paper.

    A patient who misses a tier takes its set out of that tier. So the cohort is matched twice, once with those in front
    who miss none, and the one with the better flag is taken; of equal ones that with more sets, those counted twice
    whose members all miss none (docs/methods.md, section 4).

    Raises `ValueError` where no set is asked for, or a candidate is given twice.
    """
    if sets < 1:
        raise ValueError("a cohort needs at least one patient a cell")
    cells, excluded = _divide(candidates, diagnosis=diagnosis, controls=controls, seed=seed, has_control=has_control)
    # Before anybody is matched, and where nobody is.
    summary = CohortSummary(
        status="unavailable",
        reason=_describe_missing_cell(candidates, cells),
        cells=dict.fromkeys(_CELL_NAMES, 0),
        balance=[],
        excluded=excluded,
    )
    if summary.reason:
        return Cohort(diagnosis, (), summary)

    attempts = [cells]
    if refined and any(_misses(candidate, diagnosis) for cell in cells for candidate in cell):
        # Stable: random order remains within both.
        attempts.insert(0, [sorted(cell, key=lambda one: _misses(one, diagnosis)) for cell in cells])
    found = []
    for order in attempts:
        # In the last attempt nobody is preferred.
        preferred = [0 if order is cells else sum(not _misses(one, diagnosis) for one in cell) for cell in order]
        found.append(_match(order, summary, diagnosis=diagnosis, sets=sets, refined=refined, preferred=preferred))
    missing_one = {one.patient_id for cell in cells for one in cell if _misses(one, diagnosis)}
    return min(found, key=lambda cohort: _rank(cohort, missing_one))


def draw_unmatched(
    candidates: Sequence[Candidate], *, diagnosis: str, sets: int, controls: Controls, seed: int
) -> list[list[Candidate]]:
    """Return of each cell equally many candidates at random: `sets`, or as many as the smallest cell has.

    Where nobody was held out, the two cells that are matched where a control model answers, too.
    So many sets a cohort has before some are left out for balance, which keeps half of them or more
    (`clinaudit.audit.measures.cohorts.balance`); without a matcher, which takes seconds to load.
    """
    cells, _ = _divide(candidates, diagnosis=diagnosis, controls=controls, seed=seed, has_control=True)
    return [cell[: min(sets, *map(len, cells))] for cell in cells]


def _divide(
    candidates: Sequence[Candidate], *, diagnosis: str, controls: Controls, seed: int, has_control: bool
) -> tuple[list[list[Candidate]], dict[str, int]]:
    """Return the eligible candidates by cell, in random order, and the number of the others by reason.

    Of four cells, or with a control model of two, where nobody was held out.
    """
    eligible, excluded = _select_eligible(candidates, diagnosis=diagnosis, controls=controls)
    rng = np.random.default_rng(seed)
    # Random (seeded) order: greedy matching favours the first rows, and ids may be associated with patients' traits.
    eligible = [eligible[i] for i in rng.permutation(len(eligible))]
    of_one_arm = has_control and all(candidate.arm == "train" for candidate in candidates)
    used = _CELLS[:2] if of_one_arm else _CELLS
    return [[c for c in eligible if _Cell(c.arm, c.status[diagnosis]) == cell] for cell in used], excluded


def _misses(candidate: Candidate, diagnosis: str) -> bool:
    return bool(candidate.missing_tiers.get(diagnosis))


def _rank(cohort: Cohort, missing_one: Collection[str]) -> tuple[int, int]:
    """Return what orders two cohorts of a diagnosis, the better one first."""
    incomplete = {member.match_id for member in cohort.members if member.patient_id in missing_one}
    sets = len({member.match_id for member in cohort.members})
    return _FLAGS.index(_worst_flag(cohort.summary.balance)), -(2 * sets - len(incomplete))


def _match(
    cells: Sequence[Sequence[Candidate]],
    summary: CohortSummary,
    *,
    diagnosis: str,
    sets: int,
    refined: bool,
    preferred: Sequence[int],
) -> Cohort:
    """Return the matched cohort; `summary` is that before anybody is matched."""
    candidates = [_tabulate_covariates(cell) for cell in cells]
    matched = choose_sets(candidates, sets, refined=refined, preferred=preferred)
    chosen = [cell[sorted(one.rows[place] for one in matched)] for place, cell in enumerate(candidates)]
    balance = measure_balance(chosen, candidates)
    summary = replace(
        summary,
        status=_worst_flag(balance),
        reason=_describe_shortfall(min(sets, *map(len, cells)), len(matched), sets),
        cells=summary.cells | dict.fromkeys(_CELL_NAMES[: len(cells)], len(matched)),
        balance=balance,
    )
    return Cohort(diagnosis, _list_members(matched, cells, diagnosis), summary)


def _select_eligible(
    candidates: Sequence[Candidate], *, diagnosis: str, controls: Controls
) -> tuple[list[Candidate], dict[str, int]]:
    """Return the eligible candidates, by id, and the number of the others by the first reason that holds."""
    eligible = []
    excluded: Counter[str] = Counter()
    for candidate in sorted(candidates, key=lambda c: c.patient_id):
        reason = _reason_against(candidate, diagnosis, controls)
        if reason is None:
            eligible.append(candidate)
        else:
            excluded[reason] += 1
    if len({candidate.patient_id for candidate in candidates}) < len(candidates):
        raise ValueError("a patient stands among the candidates twice")
    return eligible, dict(sorted(excluded.items()))


def _reason_against(candidate: Candidate, diagnosis: str, controls: Controls) -> str | None:
    """Return the first reason why a patient cannot stand in a cohort; None where there is none."""
    if diagnosis not in candidate.status:
        return "diagnosis status unknown"
    if controls == "sensitive" and not any(candidate.status.values()):
        return "no sensitive diagnosis"
    if candidate.age is None or candidate.sex is None:
        return "age or sex unknown"
    return None if candidate.sex in _SEXES else "sex neither female nor male"


def _describe_missing_cell(candidates: Sequence[Candidate], cells: Sequence[Sequence[Candidate]]) -> str | None:
    if len(cells) == len(_CELLS) and not any(candidate.arm == "nontrain" for candidate in candidates):
        return "the corpus holds no patients outside the training data to compare with"
    words = {True: "with", False: "without"}
    empty = [
        f"{words[cell.present]} the diagnosis {'in' if cell.arm == 'train' else 'outside'} the training data"
        for cell, members in zip(_CELLS, cells, strict=False)
        if not members
    ]
    return f"no patient could be matched {' or '.join(empty)}" if empty else None


def _describe_shortfall(possible: int, kept: int, asked: int) -> str | None:
    """Return in words why there are fewer sets than asked; without counts, which could be small cells."""
    if kept == asked:
        return None
    why = []
    if possible < asked:
        why.append("there were not enough patients to match")
    if kept < possible:
        others = "others" if why else "patients"
        why.append(f"{others} were left out so that the groups are alike in age, sex and number of notes")
    return f"the groups are equal, but smaller than asked for: {', and '.join(why)}"


def _tabulate_covariates(candidates: Sequence[Candidate]) -> NDArray[np.float64]:
    """Age in years, 1 for female and 0 for male, number of notes: `(candidates, 3)`."""
    rows = [(c.age, _SEXES[c.sex or ""], c.note_count) for c in candidates]
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(COVARIATES))


def _worst_flag(balance: Sequence[BalanceRow]) -> Flag:
    return max((row.flag for row in balance), key=_FLAGS.index)


def _list_members(
    sets: Sequence[MatchedSet], pools: Sequence[Sequence[Candidate]], diagnosis: str
) -> tuple[CohortMember, ...]:
    """Return the members; sets are numbered by the ids of their train positives, whatever the random order was."""
    members = []
    ordered = sorted(sets, key=lambda matched: pools[0][matched.rows[0]].patient_id)
    for number, matched in enumerate(ordered):
        match_id = f"{diagnosis}-{number:04d}"
        for cell, pool, row, propensity in zip(_CELLS, pools, matched.rows, matched.propensities, strict=False):
            members.append(CohortMember(pool[row].patient_id, cell.arm, cell.present, match_id, propensity))
    return tuple(members)


def cohort_rows(cohorts: Iterable[Cohort]) -> Iterator[Row]:
    """Yield the rows of `cohorts.parquet`."""
    for cohort in cohorts:
        for member in cohort.members:
            yield {"diagnosis": cohort.diagnosis, **asdict(member)}


def candidate_rows(candidates: Sequence[Candidate], cohorts: Iterable[Cohort], controls: Controls) -> Iterator[Row]:
    """Yield the rows of `candidates.parquet`: a patient and diagnosis each, with the reason against who is none."""
    for cohort in cohorts:
        matched = {member.patient_id for member in cohort.members}
        for one in candidates:
            yield {
                "diagnosis": cohort.diagnosis,
                "patient_id": one.patient_id,
                "arm": one.arm,
                "present": one.status.get(cohort.diagnosis),
                "matched": one.patient_id in matched,
                "reason": _reason_against(one, cohort.diagnosis, controls),
                "age": one.age,
                "female": one.sex == "female" if one.sex in _SEXES else None,
                "notes": one.note_count,
            }
