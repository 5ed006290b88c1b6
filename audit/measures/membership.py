"""Membership: whether the model tells patients trained on from patients never seen, beside a blind baseline.

Owns the scores of one note (higher: more likely trained on): Min-K%++, the ratio to a control model, loss and zlib
ratio; which of them counts; and when there are no figures (docs/methods.md, section 14). A patient's score is the mean
of the notes', less what their length explains.

The blind baseline says how well the arms are told apart by their notes, without the model. A classifier that never
sees the model cannot know who was trained on. Where it tells the arms apart all the same, they differ, and a model's
scores may differ for that reason alone (Das, Zhang and Tramer 2024, arXiv 2406.16201).

Figures are of a whole split, and the evidence has scores of notes: no output says of one patient that the model was
trained on them.
"""

import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from clinaudit.audit.measures.generation.estimates import Tables
from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.statistics.auroc import auroc_of_values
from clinaudit.audit.statistics.estimates import share_row
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.reports.estimates.frame import Row, as_estimates, at
from clinaudit.reports.schema.attacks import BLIND_FEATURES, MEMBERSHIP_SCORES, BlindFeature
from clinaudit.reports.schema.record import ARMS

#: Patients of an arm below whom there is no figure [choice].
FEWEST_IN_ARM: Final = 11
TOO_FEW: Final = f"fewer than {FEWEST_IN_ARM} patients trained on, or never seen, have scored notes"
NOT_COMPARED: Final = "the arms were not compared without the model"
ARMS_DIFFER: Final = "the notes alone, without the model, tell the arms apart"
#: Fewest patients never seen at whom 1% false positives can be set: of fewer there is no hundredth.
FEWEST_FOR_1_PERCENT: Final = 101
NO_HUNDREDTH: Final = f"fewer than {FEWEST_FOR_1_PERCENT} patients were never seen"
#: Lower end of a blind AUROC above which the arms differ [choice].
MOST_BLIND_AUROC: Final = 0.55
#: Share of a note's tokens that Min-K%++ averages, the least expected (Zhang et al. 2024, arXiv 2404.02936) [choice].
_LEAST_SHARE: Final = 0.2
#: Below any deviation that float32 can tell from certainty: a token that the model is certain of is divided by this.
_LEAST_DEVIATION: Final = 1e-3
_FOLDS: Final = 5
#: Columns that words are hashed to: the vocabulary of a large corpus, in bounded memory.
_COLUMNS: Final = 2**18
Numbers = npt.NDArray[np.float64]


def score_membership(scores: pl.DataFrame, corpus: Corpus) -> pl.DataFrame:
    """Return the rows of `membership.parquet`, by patient and note: each score of each target's scored note.

    `scores` have the columns of `scores.parquet`, of the audited model and, where there is one, of the control. A note
    is left out that has no scored token, or a log p that is no number: it would stand above all others.
    """
    log_probs = pl.col("log_probs").cast(pl.List(pl.Float64))
    deviations = pl.col("deviations").list.eval(pl.element().clip(lower_bound=_LEAST_DEVIATION))
    away = (log_probs - pl.col("means").cast(pl.List(pl.Float64))) / deviations.cast(pl.List(pl.Float64))
    kept = (_LEAST_SHARE * pl.col("tokens")).floor().clip(lower_bound=1).cast(pl.Int64)
    least = pl.col("away").list.sort().list.head(kept)
    notes = (
        scores.filter(pl.col("role") == "target", _is_finite(pl.col("log_probs")))
        .with_columns(tokens=pl.col("log_probs").list.len().cast(pl.Int64), loss=log_probs.list.mean(), away=away)
        .filter(pl.col("tokens") > 0)
        .with_columns(min_k_plus_plus=pl.when(_is_finite(pl.col("away"))).then(least.list.mean()))
    )
    audited = notes.filter(model="audited")
    control = notes.filter(model="control").select("patient_id", "note_id", "tokens", of_control="loss")
    # The size of a text once compressed is its entropy, as zlib finds it (Carlini et al. 2021).
    sizes = pl.DataFrame(
        (
            (patient_id, note.note_id, len(zlib.compress(note.text.encode("utf-8"))))
            for patient_id in audited["patient_id"].unique()
            for note in corpus.notes_of(patient_id)
        ),
        schema={"patient_id": pl.String, "note_id": pl.String, "compressed": pl.Int64},
        orient="row",
    )
    return (
        audited.join(control, on=["patient_id", "note_id", "tokens"], how="left")
        .join(sizes, on=["patient_id", "note_id"], how="left")
        .with_columns(zlib=pl.col("loss") / pl.col("compressed"), ratio=pl.col("loss") - pl.col("of_control"))
        .select("patient_id", "arm", "note_id", "tokens", "loss", "zlib", "min_k_plus_plus", "ratio")
        .sort("patient_id", "note_id")
    )


def _is_finite(numbers: pl.Expr) -> pl.Expr:
    return numbers.list.eval(pl.element().is_finite()).list.all()


def measure_blind_baseline(notes: pl.DataFrame, corpus: Corpus, *, seed: int, progress: Progress) -> pl.DataFrame:
    """Return the rows of `blind_baseline.parquet`: how well patients' notes tell the arms apart, without the model.

    An AUROC of a logistic regression on all features together (empty name) and on each group alone, each patient judged
    by a model that has not seen them, in five folds of patients, drawn by the seed. `notes` are the rows of
    `membership.parquet`, whose patients are told apart; no rows where an arm has too few.
    """
    patients = notes.select("arm", "patient_id").unique()
    # Those trained on first, by id: the order in which folds are drawn.
    ids = [patients.filter(arm=arm)["patient_id"].sort().to_list() for arm in ARMS]
    schema = {"feature": pl.String(), "value": pl.Float64(), "low": pl.Float64(), "high": pl.Float64()}
    if min(map(len, ids)) < FEWEST_IN_ARM:
        return pl.DataFrame(schema=schema)
    is_train = np.repeat([True, False], [len(of) for of in ids])
    rows = []
    groups: Mapping[str, Sequence[BlindFeature]] = {"": BLIND_FEATURES, **{name: [name] for name in BLIND_FEATURES}}
    with progress.stage("telling patients apart without the model", total=len(groups), unit="models") as advance:
        features = _read_features(corpus, [patient_id for of in ids for patient_id in of])
        for feature, names in groups.items():
            told = _predict([features[name] for name in names], is_train, seed=seed)
            area = auroc_of_values(told[is_train].tolist(), told[~is_train].tolist(), fewest=FEWEST_IN_ARM, reason="")
            rows.append((feature, area.auroc.value, area.auroc.low, area.auroc.high))
            advance(1)
    return pl.DataFrame(rows, schema=schema, orient="row")


def _predict(blocks: Sequence[Any], is_train: npt.NDArray[np.bool_], *, seed: int) -> Numbers:
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
        days = [note.visit_date.toordinal() for note in notes if note.visit_date is not None]
        first, last = (min(days), max(days)) if days else (np.nan, np.nan)
        numbers["dates"].append([first, last, last - first, 1 - len(days) / len(notes)])
    return {
        "words": TfidfTransformer(sublinear_tf=True).fit_transform(counts[:, is_used]),
        **{name: _standardized(np.array(rows)) for name, rows in numbers.items()},
    }


def _standardized(rows: Numbers) -> Numbers:
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


def estimate_membership(tables: Tables) -> pl.DataFrame:
    """Return how well scores tell the arms apart, and the notes alone. Takes the tables membership and blind_baseline.

    The row without a part is that of the strongest score that all notes have: the first of `MEMBERSHIP_SCORES`, by what
    the engine gives, before any figure is known. Where the notes alone tell the arms apart, the model's scores may
    differ for that reason, and have no figure.
    """
    blind = [
        at("membership_blind", by="feature" if name else "", part=name)._replace(value=value, low=low, high=high)
        for name, value, low, high in tables["blind_baseline"].collect().iter_rows()
    ]
    notes = tables["membership"].filter(pl.col("arm").is_in(ARMS)).collect()
    scores = [name for name in MEMBERSHIP_SCORES if not notes[name].has_nulls()] if notes.height else []
    if not scores:
        return as_estimates(blind)
    tokens = notes["tokens"].to_numpy()
    residuals = notes.with_columns(pl.Series(name, without_length(notes[name].to_numpy(), tokens)) for name in scores)
    people = residuals.group_by("patient_id", "arm").agg(pl.col(scores).mean())
    differing = [row for row in blind if row.low is not None and row.low > MOST_BLIND_AUROC]
    named = ", ".join(row.part for row in differing if row.part) or "all features together"
    reasons = {
        TOO_FEW: min((people["arm"] == arm).sum() for arm in ARMS) < FEWEST_IN_ARM,
        NOT_COMPARED: not blind,
        f"{ARMS_DIFFER} ({named})": bool(differing),
    }
    if reason := next((reason for reason, holds in reasons.items() if holds), None):
        rows = [at(metric)._replace(reason=reason) for metric in ("membership_auroc", "membership_found")]
        return as_estimates([*blind, *rows])
    trained, never_seen = (people.filter(pl.col("arm") == arm) for arm in ARMS)
    by_score = [row for name in scores for row in _tell_apart(trained[name], never_seen[name])]
    strongest = [row._replace(by="", part="") for row in by_score if row.part == scores[0]]
    return as_estimates([*blind, *strongest, *by_score])


def without_length(scores: Numbers, tokens: npt.NDArray[np.int64]) -> Numbers:
    """Return the scores of notes less what the length explains: a square of its logarithm, fitted to all notes.

    Whose notes were trained on is not asked: both arms are treated alike.
    """
    lengths = np.log(tokens)
    centred = lengths - lengths.mean()
    fitted, *_ = np.linalg.lstsq(np.vander(centred, 3), scores)
    # Element by element, so that equal notes stay equal.
    return scores - np.polyval(fitted, centred)


def _tell_apart(trained: pl.Series, never_seen: pl.Series) -> list[Row]:
    """Return the AUROC of a score, and the patients trained on above all but 1% of those never seen."""
    place = {"by": "score", "part": trained.name}
    area = auroc_of_values(trained.to_list(), never_seen.to_list(), fewest=FEWEST_IN_ARM, reason=TOO_FEW).auroc
    auroc = at("membership_auroc", **place)._replace(value=area.value, low=area.low, high=area.high)
    if len(never_seen) < FEWEST_FOR_1_PERCENT:
        return [auroc, at("membership_found", **place)._replace(reason=NO_HUNDREDTH)]
    edge = never_seen.sort(descending=True)[len(never_seen) // 100]
    return [auroc, share_row("membership_found", int((trained > edge).sum()), len(trained), **place)]
