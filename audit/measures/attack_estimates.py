"""Estimates of what scores of notes show: queries needed, membership (docs/methods.md, sections 13 and 14).

Formulas from evidence tables to rows of the table of estimates. Knows nothing of how a note was scored.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from clinaudit.audit.measures.generation.place import Tables
from clinaudit.audit.measures.membership import (
    FEWEST_IN_ARM,
    MOST_BLIND_AUROC,
    TOO_FEW,
    mean_by_patient,
    standardize_notes,
)
from clinaudit.audit.statistics.auroc import auroc_of_values
from clinaudit.audit.statistics.estimates import share_row, shares_of_patients
from clinaudit.reports.estimates.frame import Row, as_estimates, at
from clinaudit.reports.schema.attacks import MEMBERSHIP_SCORES, QUERY_LIMITS

#: Scores of membership. The first that all notes have is the one that counts, whatever the others show: Min-K%++ needs
#: the deviations of the vocabulary, the ratio a control model.
SCORES: Final = (*MEMBERSHIP_SCORES, "zlib")
#: Fewest patients never seen at whom 1% false positives can be set: of fewer there is no hundredth.
FEWEST_FOR_1_PERCENT: Final = 101
NO_HUNDREDTH: Final = f"fewer than {FEWEST_FOR_1_PERCENT} patients were never seen"
NOT_COMPARED: Final = "the arms were not compared without the model"
ARMS_DIFFER: Final = "the notes alone, without the model, tell both arms apart"
Values = npt.NDArray[np.float64]


def estimate_queries(tables: Tables) -> pl.DataFrame:
    """Return the shares of patients whose own text comes within so many queries. Takes the table queries_needed.

    The arm "control" is the control model's: it was asked about patients trained on alone.
    """
    by_control = pl.col("model") == "control"
    needed = (
        tables["queries_needed"]
        .filter(pl.col("role") == "target", ~by_control | (pl.col("arm") == "train"))
        .with_columns(
            pl.when(by_control).then(pl.lit("control")).otherwise(pl.col("arm")).alias("arm"),
            pl.col("log_prob").is_not_null().alias("queries_window"),
        )
        .collect()
    )
    within = pl.concat(
        needed.with_columns(
            (pl.col("queries") <= most).fill_null(False).alias("queries_needed"),
            pl.lit("queries").alias("by"),
            pl.lit(str(most)).alias("part"),
        )
        for most in QUERY_LIMITS
    )
    return pl.concat(
        [
            shares_of_patients(within, ["queries_needed"], ("tier", "arm", "by", "part")),
            shares_of_patients(needed, ["queries_window"], ("tier", "arm")),
        ]
    )


def estimate_membership(tables: Tables) -> pl.DataFrame:
    """Return how well scores tell the arms apart, and the notes alone. Takes the tables membership and blind_baseline.

    Where the notes alone tell the arms apart, the model's scores may differ for that reason, and have no figure.
    """
    blind = [
        at("membership_blind", **({"by": "feature", "part": feature} if feature else {}))._replace(
            value=value, low=low, high=high
        )
        for feature, value, low, high in tables["blind_baseline"].collect().iter_rows()
    ]
    notes = tables["membership"].filter(pl.col("arm").is_in(["train", "nontrain"])).collect()
    scores = [name for name in SCORES if not notes[name].has_nulls()] if notes.height else []
    if not scores:
        return as_estimates(blind)
    sizes = [notes.filter(pl.col("arm") == arm)["patient_id"].n_unique() for arm in ("train", "nontrain")]
    reasons = {
        TOO_FEW: min(sizes) < FEWEST_IN_ARM,
        NOT_COMPARED: not blind,
        ARMS_DIFFER: any(row.low is not None and row.low > MOST_BLIND_AUROC for row in blind),
    }
    if reason := next((reason for reason, holds in reasons.items() if holds), None):
        rows = [at("membership_auroc")._replace(reason=reason), at("membership_found")._replace(reason=reason)]
        return as_estimates([*blind, *rows])
    return as_estimates([*blind, *_by_score(notes, scores)])


def _by_score(notes: pl.DataFrame, scores: Sequence[str]) -> list[Row]:
    owners, never_seen = notes["patient_id"].to_list(), (notes["arm"] == "nontrain").to_list()
    values = notes.select(scores).to_numpy().astype(np.float64)
    standardized = standardize_notes(values, tokens=notes["tokens"].to_list(), patients=owners, never_seen=never_seen)
    people, means = mean_by_patient(standardized, owners)
    arms = dict(zip(owners, never_seen, strict=True))
    is_train = np.array([not arms[one] for one in people])
    rows = []
    for place, name in enumerate(scores):
        trained, others = means[is_train, place], means[~is_train, place]
        area = auroc_of_values(trained.tolist(), others.tolist(), fewest=FEWEST_IN_ARM, reason=TOO_FEW).auroc
        figure = at("membership_auroc")._replace(value=area.value, low=area.low, high=area.high)
        rows.append(figure._replace(by="score", part=name))
        if place == 0:
            rows += [figure, _found(trained, others)]
    return rows


def _found(trained: Values, others: Values) -> Row:
    """Return the patients trained on above all but 1% of those never seen."""
    if len(others) < FEWEST_FOR_1_PERCENT:
        return at("membership_found")._replace(reason=NO_HUNDREDTH)
    edge = np.sort(others)[::-1][len(others) // 100]
    return share_row("membership_found", int((trained > edge).sum()), len(trained))
