"""Matched evaluation cohorts: training membership x diagnosis status, four equal cells (paper 3.2.2, Appendix D).

Owns who is compared with whom, in which order (random, seeded), and the cohort's balance and common support
(docs/methods.md, section 4). Knows nothing of notes, prompts or verdicts.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinaudit.audit.choices import Controls, Matcher
from clinaudit.audit.cohorts.balance import COVARIATES, Flag, improve_balance, measure_balance
from clinaudit.audit.cohorts.matchers import match_pairs
from clinaudit.audit.cohorts.overlap import describe_overlap
from clinaudit.audit.run.evidence_tables import Row
from clinaudit.audit.statistics.intervals import wilson
from clinaudit.reports.exact.cohorts import BalanceRow, CohortSummary
from clinaudit.reports.exact.estimate import Estimate
from clinaudit.reports.schema.record import Arm

#: For psmpy alone, groups are sampled at random (seeded) down to these multiples of the patients asked for: its time
#: grows with the square of the smaller group, and 27,000 controls took 103 s. The optimal matcher takes everyone.
_POSITIVES_PER_ASKED = 2
_CONTROLS_PER_ASKED = 20
#: Sex as a number is 1 for these (compared casefolded) and 0 for any other that is known.
_FEMALE = frozenset({"f", "female", "woman"})


@dataclass(frozen=True, slots=True)
class Candidate:
    """A patient who could stand in a cohort."""

    patient_id: str
    arm: Arm
    age: int | None
    sex: str | None
    note_count: int
    #: Known status by diagnosis; an absent one is unknown, and its patient never a control.
    status: Mapping[str, bool]


@dataclass(frozen=True, slots=True)
class CohortMember:
    """One patient of a cohort; `present`: has the diagnosis; `propensity`: the within-arm model's, of having it."""

    patient_id: str
    arm: Arm
    present: bool
    match_id: str
    propensity: float


@dataclass(frozen=True, slots=True)
class Cohort:
    """The matched cohort of one diagnosis: four members for each `match_id`, or none and a reason in `summary`."""

    diagnosis: str
    members: tuple[CohortMember, ...]
    summary: CohortSummary


class _Cell(NamedTuple):
    arm: Arm
    present: bool


#: In the order that `clinaudit.audit.cohorts.balance` numbers cells by.
_CELLS = (_Cell("train", True), _Cell("train", False), _Cell("nontrain", True), _Cell("nontrain", False))
_CELL_NAMES = ("train_positive", "train_negative", "nontrain_positive", "nontrain_negative")


class _MatchedSet(NamedTuple):
    """One row of each cell's pool, in the order of `_CELLS`, and their propensities."""

    rows: tuple[int, int, int, int]
    propensities: tuple[float, float, float, float]


def build_cohort(
    candidates: Sequence[Candidate],
    *,
    diagnosis: str,
    patients_per_cell: int,
    matcher: Matcher,
    controls: Controls,
    seed: int,
    caliper: float | None = None,
) -> Cohort:
    """Match d-positive train to d-positive nontrain patients, then each of them to a d-negative one of its own arm.

    The cohort depends on the set of candidates and the seed, not on the candidates' order. `summary.reason` says why
    there are fewer sets than asked. Without a nontrain arm, or with an empty cell, there are no members, and the status
    is `unavailable`. With a `caliper` (in SD of the propensity's logit) no swaps for balance follow: they would bring
    in patients whom the caliper left out. Raises `ValueError` where `patients_per_cell` is below 1, or a candidate is
    given twice.
    """
    if patients_per_cell < 1:
        raise ValueError("a cohort needs at least one patient a cell")
    eligible, excluded = _select_eligible(candidates, diagnosis=diagnosis, controls=controls)
    rng = np.random.default_rng(seed)
    # Random (seeded) order: greedy matching favours the first rows, and ids may be associated with patients' traits.
    eligible = [eligible[i] for i in rng.permutation(len(eligible))]
    cells = [[c for c in eligible if _Cell(c.arm, c.status[diagnosis]) == cell] for cell in _CELLS]
    prevalence = wilson(len(cells[0]), len(cells[0]) + len(cells[1]))

    missing = _describe_missing_cell(candidates, cells)
    if missing:
        return Cohort(diagnosis, (), _unavailable(missing, matcher, prevalence, excluded))

    candidates_by_cell = [_tabulate_covariates(cell) for cell in cells]
    # A pool is the first rows of its cell.
    pools = _limit_pools(cells, patients_per_cell) if matcher == "psm" else cells
    covariates = [_tabulate_covariates(pool) for pool in pools]
    # Rows are in random order, so that taking the first sets favours no patient.
    sets = _match_sets(covariates, matcher, caliper)[:patients_per_cell]
    if not sets:
        reason = "no patients with and without the diagnosis are as alike as the caliper asks"
        return Cohort(diagnosis, (), _unavailable(reason, matcher, prevalence, excluded))
    found = len(sets)
    chosen = [[matched.rows[cell] for matched in sets] for cell in range(4)]
    if caliper is None:
        chosen = improve_balance(covariates, chosen)
    covariates = [_tabulate_covariates([pool[row] for row in rows]) for pool, rows in zip(pools, chosen, strict=True)]
    if caliper is None:
        pools = [[pool[row] for row in rows] for pool, rows in zip(pools, chosen, strict=True)]
        # Matched once more within the selection: this changes the pairs, but not the balance.
        sets = _match_sets(covariates, matcher, None)
    members = _list_members(sets, pools, diagnosis)

    balance = measure_balance(covariates, candidates_by_cell)
    summary = CohortSummary(
        status=_worst_flag(balance),
        reason=_describe_shortfall(found, len(chosen[0]), patients_per_cell, caliper=caliper),
        matcher=matcher,
        prevalence=prevalence,
        cells=dict.fromkeys(_CELL_NAMES, len(chosen[0])),
        balance=balance,
        excluded=excluded,
        overlap=describe_overlap(candidates_by_cell, chosen),
    )
    return Cohort(diagnosis, members, summary)


def keep_complete_sets(
    members: Sequence[CohortMember], *, left_out: Mapping[str, str]
) -> tuple[tuple[CohortMember, ...], dict[str, int]]:
    """Drop every matched set that holds a patient of `left_out` (patient id to reason).

    Return the members kept, and the number of sets dropped by reason. A set with several reasons counts under the
    alphabetically first, so that the numbers add up.
    """
    reasons: dict[str, str] = {}
    for member in members:
        reason = left_out.get(member.patient_id)
        if reason is not None:
            reasons[member.match_id] = min(reason, reasons.get(member.match_id, reason))
    kept = tuple(member for member in members if member.match_id not in reasons)
    return kept, dict(sorted(Counter(reasons.values()).items()))


def _select_eligible(
    candidates: Sequence[Candidate], *, diagnosis: str, controls: Controls
) -> tuple[list[Candidate], dict[str, int]]:
    """Return the eligible candidates, by id, and the number of the others by the first reason that holds."""
    eligible = []
    excluded: Counter[str] = Counter()
    for candidate in sorted(candidates, key=lambda c: c.patient_id):
        if diagnosis not in candidate.status:
            excluded["diagnosis status unknown"] += 1
        elif controls == "sensitive" and not any(candidate.status.values()):
            excluded["no sensitive diagnosis"] += 1
        elif candidate.age is None or not (candidate.sex or "").strip():
            excluded["age or sex unknown"] += 1
        else:
            eligible.append(candidate)
    if len({candidate.patient_id for candidate in candidates}) < len(candidates):
        raise ValueError("a patient stands among the candidates twice")
    return eligible, dict(sorted(excluded.items()))


def _describe_missing_cell(candidates: Sequence[Candidate], cells: Sequence[Sequence[Candidate]]) -> str | None:
    if not any(candidate.arm == "nontrain" for candidate in candidates):
        return "the corpus holds no patients outside the training data to compare with"
    words = {True: "with", False: "without"}
    empty = [
        f"{words[cell.present]} the diagnosis {'in' if cell.arm == 'train' else 'outside'} the training data"
        for cell, members in zip(_CELLS, cells, strict=True)
        if not members
    ]
    return f"no patient could be matched {' or '.join(empty)}" if empty else None


def _describe_shortfall(matched: int, kept: int, asked: int, *, caliper: float | None) -> str | None:
    """Return in words why there are fewer sets than asked; without counts, which could be small cells."""
    if kept == asked:
        return None
    why = []
    if matched < asked:
        alike = "" if caliper is None else " as alike as the caliper asks"
        why.append(f"there were not enough patients{alike} to match")
    if kept < matched:
        others = "others" if why else "patients"
        why.append(f"{others} were left out so that the groups are alike in age, sex and number of notes")
    return f"the four groups are equal, but smaller than asked for: {', and '.join(why)}"


def _limit_pools(cells: Sequence[Sequence[Candidate]], patients_per_cell: int) -> list[Sequence[Candidate]]:
    """Cut each cell to what matching needs; of the two cells of positives, the smaller one to fewer."""
    few, many = _POSITIVES_PER_ASKED * patients_per_cell, _CONTROLS_PER_ASKED * patients_per_cell
    train, nontrain = (few, many) if len(cells[0]) <= len(cells[2]) else (many, few)
    return [cells[0][:train], cells[1][:many], cells[2][:nontrain], cells[3][:many]]


def _match_sets(cells: Sequence[NDArray[np.float64]], matcher: Matcher, caliper: float | None) -> list[_MatchedSet]:
    """Match positives across arms, then each arm's positives to its negatives; a set without a full match is dropped.

    The train arm is matched first. The nontrain arm is matched for the sets that remain, so that both arms lose the
    same ones. `cells` holds the covariates of each pool; sets come in the order of their train positives' rows.
    """
    train_positive, train_negative, nontrain_positive, nontrain_negative = cells
    across = match_pairs(train_positive, nontrain_positive, matcher=matcher, caliper=caliper).pairs
    if not across:
        return []
    train = match_pairs(train_positive[[row for row, _ in across]], train_negative, matcher=matcher, caliper=caliper)
    across = tuple(across[i] for i, _ in train.pairs)
    if not across:
        return []
    nontrain = match_pairs(
        nontrain_positive[[row for _, row in across]], nontrain_negative, matcher=matcher, caliper=caliper
    )
    sets = []
    for i, nontrain_control in nontrain.pairs:
        train_row, nontrain_row = across[i]
        train_index, train_control = train.pairs[i]
        sets.append(
            _MatchedSet(
                (train_row, train_control, nontrain_row, nontrain_control),
                (
                    float(train.first_propensity[train_index]),
                    float(train.second_propensity[train_control]),
                    float(nontrain.first_propensity[i]),
                    float(nontrain.second_propensity[nontrain_control]),
                ),
            )
        )
    return sets


def _tabulate_covariates(candidates: Sequence[Candidate]) -> NDArray[np.float64]:
    """Age in years, 1 for female, number of notes: `(candidates, 3)`."""
    rows = [(c.age, (c.sex or "").strip().casefold() in _FEMALE, c.note_count) for c in candidates]
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(COVARIATES))


def _worst_flag(balance: Sequence[BalanceRow]) -> Flag:
    flags = {row.flag for row in balance}
    if "poorly_matched" in flags:
        return "poorly_matched"
    return "imbalanced" if "imbalanced" in flags else "balanced"


def _list_members(
    sets: Sequence[_MatchedSet], pools: Sequence[Sequence[Candidate]], diagnosis: str
) -> tuple[CohortMember, ...]:
    """Return the members; sets are numbered by the ids of their train positives, whatever the random order was."""
    members = []
    ordered = sorted(sets, key=lambda matched: pools[0][matched.rows[0]].patient_id)
    for number, matched in enumerate(ordered):
        match_id = f"{diagnosis}-{number:04d}"
        for cell, pool, row, propensity in zip(_CELLS, pools, matched.rows, matched.propensities, strict=True):
            members.append(CohortMember(pool[row].patient_id, cell.arm, cell.present, match_id, propensity))
    return tuple(members)


def _unavailable(reason: str, matcher: Matcher, prevalence: Estimate, excluded: Mapping[str, int]) -> CohortSummary:
    return CohortSummary(
        status="unavailable",
        reason=reason,
        matcher=matcher,
        prevalence=prevalence,
        cells=dict.fromkeys(_CELL_NAMES, 0),
        balance=[],
        excluded=dict(excluded),
    )


def cohort_rows(cohorts: Iterable[Cohort]) -> Iterator[Row]:
    """Yield the rows of `cohorts.parquet`."""
    for cohort in cohorts:
        for member in cohort.members:
            yield {"diagnosis": cohort.diagnosis, **asdict(member)}
