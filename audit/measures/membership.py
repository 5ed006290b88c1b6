"""Membership: whether the model tells patients trained on from patients never seen, beside a blind baseline.

Owns the scores of one note (higher: more likely trained on): ratio to a control model, Min-K%++, loss and zlib ratio;
who is compared with whom; and when there are no figures (docs/methods.md, section 14). A patient's score is the mean
of the notes' z-scores against never-seen notes of like length. Both arms are treated alike: nobody is standardized by
notes of their own. What asymmetry is left errs on the safe side: a never-seen outlier widens the deviation of all
others alone.

The blind baseline says how well the arms are told apart by their notes, without the model. A classifier that never
sees the model cannot know who was trained on. Where it tells the arms apart all the same, they differ, and a model's
scores may differ for that reason alone (Das, Zhang and Tramer 2024, arXiv 2406.16201).

Figures are of a whole split, and the evidence has scores of notes: no output says of one patient that the model was
trained on them.
"""

import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from clinaudit.audit.measures.scoring import NoteScores
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.run.evidence_tables import Row
from clinaudit.audit.statistics.auroc import auroc_of_values
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.corpus.patient import Note
from clinaudit.reports.schema.attacks import (
    BLIND_FEATURES,
    MEMBERSHIP_SCORES,
    BlindFeature,
    MembershipScore,
)
from clinaudit.reports.schema.numbers import Estimate
from clinaudit.reports.schema.record import ARMS, Arm
from clinaudit.reports.schema.run_results import MembershipFacts

#: Patients of an arm below whom there is no figure [choice].
FEWEST_IN_ARM: Final = 11
TOO_FEW: Final = f"fewer than {FEWEST_IN_ARM} patients trained on, or never seen, have scored notes"
_ARMS_DIFFER: Final = "not interpretable: the notes alone, without the model, tell both groups apart"
Values = npt.NDArray[np.float64]
#: Share of a note's tokens that Min-K%++ averages, the least expected (Zhang et al. 2024, arXiv 2404.02936) [choice].
_LEAST_SHARE: Final = 0.2
#: Below any deviation that float32 can tell from certainty: a token that the model is certain of is divided by this.
_LEAST_DEVIATION: Final = 1e-3
#: Never-seen notes of other patients, the nearest in length, that a note is compared with [choice].
LIKE_NOTES: Final = 50
#: Where all of these have one score, the deviation is 0: any other score is then far from theirs.
_LEAST_DEVIATION_OF_NOTES: Final = 1e-9
#: Lower end of a blind AUROC above which the arms differ [choice].
MOST_BLIND_AUROC: Final = 0.55
#: Models that are trained: all features, and each group alone.
BLIND_MODELS: Final = 1 + len(BLIND_FEATURES)
_FOLDS: Final = 5
#: Columns that words are hashed to: the vocabulary of a large corpus, in bounded memory.
_COLUMNS: Final = 2**18


@dataclass(frozen=True, slots=True)
class BlindBaseline:
    """How well the arms are told apart by a classifier that never sees the model: AUROCs over patients."""

    auroc: Estimate
    #: By one group of features alone.
    alone: Mapping[BlindFeature, Estimate]


@dataclass(frozen=True, slots=True)
class MeasuredMembership:
    """What is said of membership, and the evidence of which its figures are made."""

    facts: MembershipFacts
    #: Of `membership.parquet`, one a note.
    rows: Sequence[Row]
    #: Of `blind_baseline.parquet`.
    blind: Sequence[Row]


def measure_membership(
    scores: Sequence[NoteScores], corpus: Corpus, *, seed: int, progress: Progress
) -> MeasuredMembership:
    """Return what the scores of all patients with a scored note show, a row a note.

    `scores` are of both arms, by the audited model and, where there is one, the control. `seed` draws the folds.
    """
    notes = read_scores(scores, corpus)
    arms = {note.patient_id: note.arm for note in notes}
    # Those trained on first, by id: the order in which folds are drawn.
    ids = sorted(arms, key=lambda one: (arms[one] != "train", one))
    sizes = {arm: list(arms.values()).count(arm) for arm in ARMS}
    rows: list[Row] = [asdict(note) for note in notes]
    score = choose_score(notes)
    if score is None or min(sizes.values()) < FEWEST_IN_ARM:
        facts = MembershipFacts(score=score, is_interpretable=None, reason=TOO_FEW)
        return MeasuredMembership(facts, rows, [])

    with progress.stage("telling patients apart without the model", total=BLIND_MODELS, unit="models") as advance:
        is_train = np.arange(len(ids)) < sizes["train"]
        blind = measure_blind_baseline(corpus, ids, is_train, seed=seed, advance=advance)
    differs, differ_in = find_differences(blind)
    reason = f"{_ARMS_DIFFER} ({', '.join(differ_in) or 'all features together'})" if differs else None
    facts = MembershipFacts(score=score, is_interpretable=not differs, differ_in=list(differ_in), reason=reason)
    return MeasuredMembership(facts, rows, list(blind_rows(blind)))


def blind_rows(blind: BlindBaseline) -> Iterator[Row]:
    """Yield the rows of `blind_baseline.parquet`: all features together (empty name), and each group alone."""
    for name, auroc in (("", blind.auroc), *blind.alone.items()):
        yield {"feature": name, "value": auroc.value, "low": auroc.low, "high": auroc.high}


@dataclass(frozen=True, slots=True, eq=False)
class ScoredNote:
    """One note with its scores, which depend on no other note."""

    patient_id: str
    arm: Arm
    note_id: str
    #: Scored ones.
    tokens: int
    loss: float
    zlib: float
    #: None where the engine gives no deviations, or where no control model scored the note.
    min_k_plus_plus: float | None
    ratio: float | None


def read_scores(scores: Sequence[NoteScores], corpus: Corpus) -> list[ScoredNote]:
    """Return the scored notes by patient and note id.

    A note is left out that has no scored token, or a log p that is no number: it would stand above all others.
    """
    control = {(note.patient_id, note.note_id): note for note in scores if note.model == "control"}
    audited = {(note.patient_id, note.note_id): note for note in scores if note.model == "audited" and _is_scored(note)}
    # The size of a text once compressed is its entropy, as zlib finds it (Carlini et al. 2021).
    compressed = {
        (patient_id, note.note_id): len(zlib.compress(note.text.encode("utf-8")))
        for patient_id in {patient_id for patient_id, _ in audited}
        for note in corpus.notes_of(patient_id)
    }
    return [_score(note, control.get(key), compressed[key]) for key, note in sorted(audited.items())]


def choose_score(notes: Sequence[ScoredNote]) -> MembershipScore | None:
    """Return the score that the figures are of: the first that all notes have; None without a note."""
    return next((name for name in MEMBERSHIP_SCORES if notes and have_score(notes, name)), None)


def have_score(notes: Sequence[ScoredNote], name: str) -> bool:
    """Whether all notes have a score."""
    return all(getattr(note, name) is not None for note in notes)


def _score(note: NoteScores, control: NoteScores | None, compressed: int) -> ScoredNote:
    mean = float(note.log_probs.mean(dtype=np.float64))
    ratio = None
    if control is not None and _is_scored(control) and control.log_probs.size == note.log_probs.size:
        ratio = mean - float(control.log_probs.mean(dtype=np.float64))
    return ScoredNote(
        patient_id=note.patient_id,
        arm=note.arm,
        note_id=note.note_id,
        tokens=note.log_probs.size,
        loss=mean,
        zlib=mean / compressed,
        min_k_plus_plus=_min_k_plus_plus(note),
        ratio=ratio,
    )


def _is_scored(note: NoteScores) -> bool:
    return note.log_probs.size > 0 and bool(np.isfinite(note.log_probs).all())


def _min_k_plus_plus(note: NoteScores) -> float | None:
    """Return the mean of the least 20% of (log p - mean) / deviation, of one token at least."""
    if note.means is None or note.deviations is None:
        return None
    away = (note.log_probs.astype(np.float64) - note.means) / np.maximum(note.deviations, _LEAST_DEVIATION)
    kept = max(1, int(_LEAST_SHARE * away.size))
    least = float(np.partition(away, kept - 1)[:kept].mean())
    return least if np.isfinite(away).all() else None


def standardize_notes(
    values: Values, *, tokens: Sequence[int], patients: Sequence[str], never_seen: Sequence[bool]
) -> Values:
    """Return the z-scores of notes, `(notes, scores)` each: away from the mean of never-seen notes of like length.

    Notes of like length are the 50 of other patients with the smallest difference of log length (among equal ones,
    those nearest in the order of lengths); all, where there are fewer. Raises `ValueError` where a note has fewer than
    two.
    """
    lengths = np.log(np.asarray(tokens, dtype=np.float64))
    _, owners = np.unique(np.asarray(patients), return_inverse=True)
    pool = np.flatnonzero(np.asarray(never_seen))
    pool = pool[np.argsort(lengths[pool], kind="stable")]
    sorted_lengths = lengths[pool]
    own_notes = np.bincount(owners[pool], minlength=len(owners))
    standardized = np.empty_like(values)
    for note, length in enumerate(lengths):
        reach = LIKE_NOTES + own_notes[owners[note]]
        place = int(np.searchsorted(sorted_lengths, length))
        near = np.arange(max(0, place - reach), min(len(pool), place + reach))
        near = near[owners[pool[near]] != owners[note]]
        nearest = np.lexsort((np.abs(near + 0.5 - place), np.abs(sorted_lengths[near] - length)))[:LIKE_NOTES]
        if len(nearest) < 2:
            raise ValueError("a note has fewer than two never-seen notes of others to be compared with")
        others = values[pool[near[nearest]]]
        deviations = np.maximum(others.std(axis=0, ddof=1), _LEAST_DEVIATION_OF_NOTES)
        standardized[note] = (values[note] - others.mean(axis=0)) / deviations
    return standardized


def mean_by_patient(standardized: Values, patients: Sequence[str]) -> tuple[list[str], Values]:
    """Return the patients, sorted, and the mean of each one's notes, `(notes, scores)` to `(patients, scores)`."""
    names, places = np.unique(np.asarray(patients), return_inverse=True)
    sums = np.zeros((len(names), standardized.shape[1]))
    np.add.at(sums, places, standardized)
    return names.tolist(), sums / np.bincount(places)[:, np.newaxis]


def measure_blind_baseline(
    corpus: Corpus,
    patient_ids: Sequence[str],
    is_train: npt.NDArray[np.bool_],
    *,
    seed: int,
    advance: Callable[[int], None],
) -> BlindBaseline:
    """Return the AUROC of logistic regressions on the notes, each patient judged by a model that has not seen them.

    Five folds of patients, drawn by the seed; `advance(1)` after each model. Needs five patients in each arm.
    """
    features = _read_features(corpus, patient_ids)

    def measure(groups: Collection[BlindFeature]) -> Estimate:
        scores = _predict([features[name] for name in groups], is_train, seed=seed)
        advance(1)
        return auroc_of_values(
            scores[is_train].tolist(), scores[~is_train].tolist(), fewest=_FOLDS, reason="too few patients"
        ).auroc

    return BlindBaseline(
        auroc=measure(BLIND_FEATURES),
        alone={name: measure([name]) for name in BLIND_FEATURES},
    )


def find_differences(blind: BlindBaseline) -> tuple[bool, tuple[BlindFeature, ...]]:
    """Return whether the arms differ, and which groups of features show it alone.

    They differ where all features together show it, or one group alone: among many words a date counts for little.
    """
    alone = tuple(name for name in BLIND_FEATURES if _tells_apart(blind.alone[name]))
    return bool(alone) or _tells_apart(blind.auroc), alone


def _tells_apart(auroc: Estimate) -> bool:
    return auroc.low is not None and auroc.low > MOST_BLIND_AUROC


def _predict(blocks: Sequence[Any], is_train: npt.NDArray[np.bool_], *, seed: int) -> npt.NDArray[np.float64]:
    from scipy.sparse import csr_array, hstack
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    model = LogisticRegression(solver="liblinear", class_weight="balanced", max_iter=1000)
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=seed % 2**32)
    joined = csr_array(hstack([csr_array(block) for block in blocks]))
    return np.asarray(cross_val_predict(model, joined, is_train, cv=folds, method="decision_function"))


def _read_features(corpus: Corpus, patient_ids: Sequence[str]) -> Mapping[BlindFeature, Any]:
    """Return the features of each patient by group, `(patients, features)`: words sparse, the others standardized."""
    from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer

    hashing = HashingVectorizer(n_features=_COLUMNS, alternate_sign=False, norm=None)
    # One patient's text in memory at a time.
    counts = hashing.transform("\n".join(note.text for note in corpus.notes_of(one)) for one in patient_ids)
    # The others would cost every model its time; one stays where nobody has a word.
    is_used = counts.getnnz(axis=0) > 0
    is_used[0] = True
    numbers: dict[BlindFeature, list[list[float]]] = {"lengths": [], "number": [], "dates": []}
    for patient_id in patient_ids:
        notes = corpus.notes_of(patient_id)
        lengths = np.log1p([len(note.text) for note in notes])
        numbers["lengths"].append([float(lengths.mean()), float(lengths.min()), float(lengths.max())])
        numbers["number"].append([float(np.log(len(notes)))])
        numbers["dates"].append(_dates(notes))
    return {
        "words": TfidfTransformer(sublinear_tf=True).fit_transform(counts[:, is_used]),
        **{name: _standardized(np.array(rows)) for name, rows in numbers.items()},
    }


def _dates(notes: Sequence[Note]) -> list[float]:
    """Return the first day of a visit, the last one and the days between them, and the share of notes without one."""
    days = [note.visit_date.toordinal() for note in notes if note.visit_date is not None]
    first, last = (min(days), max(days)) if days else (np.nan, np.nan)
    return [first, last, last - first, 1 - len(days) / len(notes)]


def _standardized(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return z-scores, and their squares, since an arm may lie in the middle; what is not known is taken for the mean.

    A row's squares add up to 1 in the mean, as those of words do: each group of features weighs the same.
    """
    known = np.isfinite(rows)
    counts = np.maximum(known.sum(axis=0), 1)
    centred = np.where(known, rows - np.where(known, rows, 0).sum(axis=0) / counts, 0)
    spread = np.sqrt((centred**2).sum(axis=0) / counts)
    scaled = centred / np.where(spread > 0, spread, 1)
    both = np.hstack([scaled, scaled**2 - (scaled**2).mean(axis=0)])
    size = float((both**2).sum(axis=1).mean())
    return both / np.sqrt(size) if size else both
