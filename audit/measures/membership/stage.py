"""The stage of membership: from the scores of notes to the tally, and the rows of the evidence.

Owns the order of the patients, their percentile classes, and when there are no figures (docs/methods.md, section 14).
The evidence has scores of notes: no output says of one patient that the model was trained on them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from clinaudit.audit.measures.membership.blind_baseline import BLIND_MODELS, find_differences, measure_blind_baseline
from clinaudit.audit.measures.membership.note_scores import ScoredNote, choose_score, have_score, score_notes
from clinaudit.audit.measures.membership.patient_scores import mean_by_patient, standardize_notes
from clinaudit.audit.measures.scoring.record import NoteScores
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.run.evidence_tables import Row
from clinaudit.audit.statistics.auroc import auroc_of_values, one_sided_p_value
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.reports.schema.membership import (
    MEMBERSHIP_SCORES,
    PARTS_ABOVE,
    PERCENTILE_CLASSES,
    BlindBaseline,
    MembershipEvidence,
)
from clinaudit.reports.schema.numbers import Estimate
from clinaudit.reports.schema.record import ARMS, Arm
from clinaudit.reports.tally.classes import ARM_STEP
from clinaudit.reports.tally.leaves import Count, Inside, Partition
from clinaudit.reports.tally.membership import MembershipTally

Places = npt.NDArray[np.int64]
_TOO_FEW: Final = f"more than {ARM_STEP} patients trained on and as many never seen must have scored notes"
_ARMS_DIFFER: Final = "not interpretable: the notes alone, without the model, tell both groups apart"


@dataclass(frozen=True, slots=True, eq=False)
class Membership:
    """What the stage gives."""

    tally: MembershipTally
    #: Of `membership.parquet`, one a note.
    rows: list[Row]


@dataclass(frozen=True, slots=True, eq=False)
class PatientOrder:
    """The places of both arms' patients by one score, from 0: the larger, the more likely trained on. None tie."""

    train: Places
    never_seen: Places

    @property
    def auroc(self) -> Estimate:
        """How far both arms are told apart, with DeLong's interval; null of few."""
        return auroc_of_values(self.train.tolist(), self.never_seen.tolist(), fewest=ARM_STEP, reason=_TOO_FEW).auroc


def measure_membership(scores: Sequence[NoteScores], corpus: Corpus, *, seed: int, progress: Progress) -> Membership:
    """Measure membership over all patients with a scored note; `seed` draws the folds and the order of equal scores.

    `scores` are of both arms, by the audited model and, where there is one, the control.
    """
    notes = score_notes(scores, corpus)
    arms = {note.patient_id: note.arm for note in notes}
    chosen = choose_score(notes)
    patients = {arm: [one for one, own in arms.items() if own == arm] for arm in ARMS}
    never_seen = Count.of(len(patients["nontrain"]))
    if chosen is None or min(map(len, patients.values())) <= ARM_STEP:
        evidence = _evidence(notes, patients, {}, None)
        tally = MembershipTally(chosen, None, (), never_seen, None, _TOO_FEW, Inside(evidence))
        return Membership(tally, [{**asdict(note), "standardized": None} for note in notes])

    ids = [*patients["train"], *patients["nontrain"]]
    with progress.stage("telling patients apart without the model", total=BLIND_MODELS, unit="models") as advance:
        is_train = np.arange(len(ids)) < len(patients["train"])
        blind = measure_blind_baseline(corpus, ids, is_train, seed=seed, advance=advance)
    differs, differ_in = find_differences(blind)
    reason = f"{_ARMS_DIFFER} ({', '.join(differ_in) or 'all features together'})" if differs else None
    names = [name for name in (*MEMBERSHIP_SCORES, "zlib") if have_score(notes, name)]
    owners = [note.patient_id for note in notes]
    standardized = standardize_notes(
        np.array([[getattr(note, name) for name in names] for note in notes], dtype=np.float64),
        tokens=[note.tokens for note in notes],
        patients=owners,
        never_seen=[note.arm == "nontrain" for note in notes],
    )
    rows = zip(notes, standardized[:, names.index(chosen)].tolist(), strict=True)
    people, means = mean_by_patient(standardized, owners)
    orders = {
        name: _order(dict(zip(people, means[:, place].tolist(), strict=True)), patients, seed=seed)
        for place, name in enumerate(names)
        if not differs
    }
    return Membership(
        MembershipTally(
            score=chosen,
            is_interpretable=not differs,
            differ_in=differ_in,
            never_seen=never_seen,
            trained=None if differs else count_classes(orders[chosen]),
            reason=reason,
            evidence=Inside(_evidence(notes, patients, orders, blind, chosen)),
        ),
        [{**asdict(note), "standardized": value} for note, value in rows],
    )


def _order(score: Mapping[str, float], patients: Mapping[Arm, Sequence[str]], *, seed: int) -> PatientOrder:
    """Order the patients of both arms by score; equal ones are put in an order that the seed draws."""
    ids = [*patients["train"], *patients["nontrain"]]
    drawn = np.random.default_rng(seed).permutation(len(ids))
    places = np.empty(len(ids), dtype=np.int64)
    places[np.lexsort((drawn, np.array([score[one] for one in ids])))] = np.arange(len(ids))
    return PatientOrder(*np.split(places, [len(patients["train"])]))


def count_classes(order: PatientOrder) -> Partition:
    """Return the patients trained on by percentile of those never seen, of whom so many lie above as their part is."""
    descending = np.sort(order.never_seen)[::-1]
    edges = [descending[len(descending) // part] for part in PARTS_ABOVE]
    cells = np.bincount(np.searchsorted(edges, order.train), minlength=len(PERCENTILE_CLASSES))
    return Partition.of(dict(zip(PERCENTILE_CLASSES, cells.tolist(), strict=True)))


def _evidence(
    notes: Sequence[ScoredNote],
    patients: Mapping[Arm, Sequence[str]],
    orders: Mapping[str, PatientOrder],
    blind: BlindBaseline | None,
    chosen: str | None = None,
) -> MembershipEvidence:
    aurocs = {name: order.auroc for name, order in orders.items()}
    area = aurocs[chosen].value if chosen in aurocs else None
    sizes = {arm: len(of) for arm, of in patients.items()}
    return MembershipEvidence(
        patients=sizes,
        notes={arm: sum(note.arm == arm for note in notes) for arm in ARMS},
        auroc=aurocs,
        p_value=None if area is None else one_sided_p_value(area, sizes["train"], sizes["nontrain"]),
        blind=blind,
    )
