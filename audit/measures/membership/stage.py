"""The stage of membership: from the scores of notes to the tally, and the rows of the evidence.

Owns the order of the patients, their percentile classes, and when there are no figures (docs/methods.md, section 14).
The evidence has scores of notes: no output says of one patient that the model was trained on them.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from clinaudit.audit.measures.membership.blind_baseline import BLIND_MODELS, find_differences, measure_blind_baseline
from clinaudit.audit.measures.membership.scores import (
    Values,
    choose_score,
    have_score,
    mean_by_patient,
    read_scores,
    standardize_notes,
)
from clinaudit.audit.measures.scoring.record import NoteScores
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.run.evidence_tables import Row
from clinaudit.audit.statistics.auroc import auroc_of_values, one_sided_p_value
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.reports.schema.attacks import MEMBERSHIP_SCORES, PARTS_ABOVE, PERCENTILE_CLASSES, MembershipEvidence
from clinaudit.reports.schema.numbers import Estimate
from clinaudit.reports.schema.record import ARMS
from clinaudit.reports.tally.attacks import MembershipTally
from clinaudit.reports.tally.classes import ARM_STEP
from clinaudit.reports.tally.leaves import Count, Inside, Partition

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
    notes = read_scores(scores, corpus)
    arms = {note.patient_id: note.arm for note in notes}
    # Those trained on first, by id: the order in which folds and ties are drawn.
    ids = sorted(arms, key=lambda one: (arms[one] != "train", one))
    sizes = {arm: list(arms.values()).count(arm) for arm in ARMS}
    counted = {arm: sum(note.arm == arm for note in notes) for arm in ARMS}
    evidence = MembershipEvidence(patients=sizes, notes=counted, auroc={}, p_value=None, blind=None)
    tally = MembershipTally(
        score=choose_score(notes),
        is_interpretable=None,
        differ_in=(),
        never_seen=Count.of(sizes["nontrain"]),
        trained=None,
        reason=_TOO_FEW,
        evidence=Inside(evidence),
    )
    rows: list[Row] = [{**asdict(note), "standardized": None} for note in notes]
    if tally.score is None or min(sizes.values()) <= ARM_STEP:
        return Membership(tally, rows)

    with progress.stage("telling patients apart without the model", total=BLIND_MODELS, unit="models") as advance:
        is_train = np.arange(len(ids)) < sizes["train"]
        blind = measure_blind_baseline(corpus, ids, is_train, seed=seed, advance=advance)
    differs, differ_in = find_differences(blind)
    if differs:
        found = replace(
            tally,
            is_interpretable=False,
            differ_in=differ_in,
            reason=f"{_ARMS_DIFFER} ({', '.join(differ_in) or 'all features together'})",
            evidence=Inside(evidence.model_copy(update={"blind": blind})),
        )
        return Membership(found, rows)

    names = [name for name in (*MEMBERSHIP_SCORES, "zlib") if have_score(notes, name)]
    owners = [note.patient_id for note in notes]
    standardized = standardize_notes(
        np.array([[getattr(note, name) for name in names] for note in notes], dtype=np.float64),
        tokens=[note.tokens for note in notes],
        patients=owners,
        never_seen=[note.arm == "nontrain" for note in notes],
    )
    people, means = mean_by_patient(standardized, owners)
    means = means[np.argsort([arms[one] != "train" for one in people], kind="stable")]
    orders = {name: _order(means[:, at], sizes["train"], seed=seed) for at, name in enumerate(names)}
    aurocs = {name: order.auroc for name, order in orders.items()}
    area = aurocs[tally.score].value
    measured = {
        "auroc": aurocs,
        "p_value": None if area is None else one_sided_p_value(area, sizes["train"], sizes["nontrain"]),
        "blind": blind,
    }
    found = replace(
        tally,
        is_interpretable=True,
        trained=count_classes(orders[tally.score]),
        reason=None,
        evidence=Inside(evidence.model_copy(update=measured)),
    )
    of_chosen = standardized[:, names.index(tally.score)].tolist()
    return Membership(found, [{**row, "standardized": value} for row, value in zip(rows, of_chosen, strict=True)])


def _order(scores: Values, train: int, *, seed: int) -> PatientOrder:
    """Order patients by score, the first `train` being those trained on; the seed draws the order of equal ones."""
    drawn = np.random.default_rng(seed).permutation(len(scores))
    places = np.empty(len(scores), dtype=np.int64)
    places[np.lexsort((drawn, scores))] = np.arange(len(scores))
    return PatientOrder(*np.split(places, [train]))


def count_classes(order: PatientOrder) -> Partition:
    """Return the patients trained on by percentile of those never seen, of whom so many lie above as their part is."""
    descending = np.sort(order.never_seen)[::-1]
    edges = [descending[len(descending) // part] for part in PARTS_ABOVE]
    cells = np.bincount(np.searchsorted(edges, order.train), minlength=len(PERCENTILE_CLASSES))
    return Partition.of(dict(zip(PERCENTILE_CLASSES, cells.tolist(), strict=True)))
