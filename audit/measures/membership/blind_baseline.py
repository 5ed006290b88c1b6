"""The blind baseline: how well the arms are told apart by their notes, without the model (docs/methods.md).

A classifier that never sees the model cannot know who was trained on. Where it tells the arms apart all the same, they
differ, and a model's scores may differ for that reason alone (Das, Zhang and Tramer 2024, arXiv 2406.16201).
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from clinaudit.audit.statistics.auroc import auroc_of_values
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.corpus.patient import Note
from clinaudit.reports.schema.attacks import BLIND_FEATURES, BlindBaseline, BlindFeature
from clinaudit.reports.schema.numbers import Estimate

#: Lower end of a blind AUROC above which the arms differ [choice].
MOST_BLIND_AUROC: Final = 0.55
#: Models that are trained: all features, and each group alone and left out.
BLIND_MODELS: Final = 1 + 2 * len(BLIND_FEATURES)
_FOLDS: Final = 5
#: Columns that words are hashed to: the vocabulary of a large corpus, in bounded memory.
_COLUMNS: Final = 2**18


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
        without={name: measure([other for other in BLIND_FEATURES if other != name]) for name in BLIND_FEATURES},
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
        numbers["lengths"].append([float(of) for of in (lengths.mean(), lengths.min(), lengths.max())])
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
