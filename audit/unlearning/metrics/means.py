"""From scores of answers to one number a patient and metric, and from these to figures of groups (AMNESIA, 5.2).

A metric is averaged over the answers of a group first; then the harmonic mean of the averages is taken, so that a
single 0 among answers does no harm, and an average of 0 makes it 0. How intervals are made: docs/unlearning.md.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import polars as pl

from clinaudit.audit.statistics.patient_means import (
    PatientColumn,
    change_of_harmonic_means,
    change_of_means,
    columns_of,
    harmonic_mean_of,
)
from clinaudit.audit.unlearning.benchmark.categories import OTHER
from clinaudit.audit.unlearning.benchmark.files import Bench, Question, Split
from clinaudit.audit.unlearning.metrics.answer_scores import METRICS
from clinaudit.reports.schema.record import Estimate
from clinaudit.reports.schema.unlearning import FIGURES, AnswerGroup, PatientRole

#: `patient_figures`, a row a model, patient, kind and use of questions, and metric: the mean over the `n` answers that
#: have it, or null with the reason. A trial has rows of its own `use`, of both kinds of questions (`all`).
PATIENT_FIGURES: Final = {
    **dict.fromkeys(("model", "patient_id", "kind", "use", "metric"), pl.String()),
    "value": pl.Float64(),
    "n": pl.Int64(),
    "reason": pl.String(),
}
_PLACE: Final = ("model", "patient_id", "kind", "use", "metric")
#: The parts of model utility (AMNESIA, equation 2), and those of answer forget efficacy (equation 3), each as 1 - part.
MU_PARTS: Final = ("rouge_l", "em", "cs", "te_or_zero", "es")
AFE_PARTS: Final = ("rouge_l", "em", "cs", "es")
#: Harmonic mean -> its parts, and whether they are inverted. Without exact memorization, which needs the model itself.
HARMONIC: Final[Mapping[str, tuple[tuple[str, ...], bool]]] = {
    "mu": (MU_PARTS, False),
    "afe": (AFE_PARTS, True),
    "mu_without_em": (tuple(part for part in MU_PARTS if part != "em"), False),
    "afe_without_em": (tuple(part for part in AFE_PARTS if part != "em"), True),
}
#: Whether a question's answer has it does not depend on the answer: of these a change is paired.
_CHANGED: Final = tuple(one for one in METRICS if one not in ("te", "te_words", "ls_reference"))
NO_ANSWER_HAS_IT: Final = "no answer of this group has it"
NOT_BOTH: Final = "not the same answers have it before and after"


def patient_figures(scores: pl.DataFrame, questions: Sequence[Question], *, model: str) -> pl.DataFrame:
    """Return `PATIENT_FIGURES` of a model's scores, patients in the order of the questions."""
    asked = pl.DataFrame(
        {name: [getattr(one, name) for one in questions] for name in ("qa_id", "patient_id", "kind", "use")},
        schema=dict.fromkeys(("qa_id", "patient_id", "kind", "use"), pl.String()),
    )
    joined = scores.join(asked, on="qa_id", maintain_order="left").with_columns(model=pl.lit(model))
    return joined.group_by(_PLACE, maintain_order=True).agg(
        pl.col("value").mean(), n=pl.col("value").count().cast(pl.Int64()), reason=pl.col("reason").drop_nulls().first()
    )


def pooled(figures: pl.DataFrame, *, use: str) -> pl.DataFrame:
    """Return the figures of each patient over all kinds and uses, under the name of one `use`."""
    places = {"kind": pl.lit("all"), "use": pl.lit(use)}
    total = (pl.col("value") * pl.col("n")).sum() / pl.col("n").sum()
    return (
        figures.with_columns(**places)
        .group_by(_PLACE, maintain_order=True)
        .agg(
            pl.when(pl.col("n").sum() > 0).then(total).alias("value"),
            pl.col("n").sum(),
            pl.col("reason").drop_nulls().first(),
        )
    )


def roles_of(bench: Bench, split: Split) -> dict[str, PatientRole]:
    """Return the role of each patient of the benchmark in a split."""
    roles: dict[str, PatientRole] = {patient.patient_id: "never_trained" for patient in bench.patients}
    roles.update(dict.fromkeys(split.forget, "forget"))
    roles.update(dict.fromkeys(split.retain, "retain"))
    return roles


def groups_of(bench: Bench, split: Split) -> dict[AnswerGroup, set[str]]:
    """Return the patients of each group.

    The disease of a retained patient is the category that the split went by (AMNESIA, Figure 4); `other` is nobody's.
    """
    category_of = {patient.patient_id: patient.category for patient in bench.patients}
    forgotten = {category_of[patient] for patient in split.forget} - {OTHER}
    roles = roles_of(bench, split)
    groups: dict[AnswerGroup, set[str]] = {
        group: {patient for patient, role in roles.items() if role == group}
        for group in ("forget", "retain", "never_trained")
    }
    same = {patient for patient in groups["retain"] if category_of[patient] in forgotten}
    return {**groups, "same": same, "others": groups["retain"] - same}


def measure_groups(
    figures: pl.DataFrame,
    groups: Mapping[AnswerGroup, Collection[str]],
    *,
    split: str,
    before: pl.DataFrame | None = None,
    seed: int,
) -> pl.DataFrame:
    """Return `FIGURES` of one model by group, kind and use; a group of which nobody was asked about is left out.

    `figures` and `before`, of the model that it is compared with, are `PATIENT_FIGURES` of the same questions. How far
    a mean is from that of `before` has the metric `mu_change`, and so on.
    """
    rows: list[dict[str, Any]] = []
    for group, members in groups.items():
        own = figures.filter(pl.col("patient_id").is_in(list(members)))
        for (model, kind, use), asked in own.group_by("model", "kind", "use", maintain_order=True):
            place = {"split": split, "model": model, "group": group, "kind": kind, "use": use}
            columns = _columns(asked, seed=seed)
            reasons = dict(asked.drop_nulls("reason").group_by("metric").agg(pl.first("reason")).iter_rows())
            rows += figure_rows(place, _means(columns, reasons))
            if before is not None:
                alike = before.filter(pl.col("patient_id").is_in(list(members)), kind=kind, use=use)
                rows += figure_rows(place, _changes(_columns(alike, seed=seed), columns, reasons))
    return pl.DataFrame(rows, schema=FIGURES)


def figure_rows(place: Mapping[str, Any], estimates: Mapping[str, Estimate]) -> Iterator[dict[str, Any]]:
    """Yield rows of `FIGURES` at one place, by metric."""
    return ({**place, "metric": metric, **found.model_dump()} for metric, found in estimates.items())


def find_estimate(figures: pl.DataFrame, *, otherwise: str, **place: str) -> Estimate:
    """Return the figure of `FIGURES` at a place; without a value, for the reason `otherwise`, where there is none."""
    found = figures.filter(**place).select(list(Estimate.model_fields)).to_dicts()
    return Estimate(**found[0]) if found else Estimate(value=None, n=0, reason=otherwise)


def _columns(figures: pl.DataFrame, *, seed: int) -> dict[str, PatientColumn]:
    """Return the column of each metric; those of one set of patients are drawn alike."""
    metrics = figures["metric"].unique(maintain_order=True).to_list()
    patients = figures["patient_id"].unique().sort().to_list()
    places = {patient: place for place, patient in enumerate(patients)}
    at = (
        [places[patient] for patient in figures["patient_id"]],
        [metrics.index(metric) for metric in figures["metric"]],
    )
    sums, counts = (np.zeros((len(patients), len(metrics))) for _ in range(2))
    sums[at] = (figures["value"].fill_null(0.0) * figures["n"]).to_numpy()
    counts[at] = figures["n"].to_numpy()
    return dict(zip(metrics, columns_of(sums, counts, seed=seed), strict=True))


def _means(columns: Mapping[str, PatientColumn], reasons: Mapping[str, str]) -> dict[str, Estimate]:
    found = {metric: column.mean(reasons.get(metric, NO_ANSWER_HAS_IT)) for metric, column in columns.items()}
    for name, (wanted, is_inverted) in HARMONIC.items():
        if not {*wanted} <= columns.keys():
            continue
        there = [part for part in wanted if columns[part].patients]
        if "em" in wanted and "em" not in there:
            found[name] = Estimate(value=None, n=0, reason=reasons["em"])
            continue
        mean = harmonic_mean_of([columns[part] for part in there], is_inverted=is_inverted)
        lacking = ", ".join(part.upper() for part in wanted if part not in there)
        found[name] = mean.model_copy(update={"reason": f"without {lacking}"}) if lacking else mean
    return found


def _changes(
    before: Mapping[str, PatientColumn], after: Mapping[str, PatientColumn], reasons: Mapping[str, str]
) -> dict[str, Estimate]:
    found = {
        metric: change_of_means(before[metric], after[metric], reason=reasons.get(metric, NOT_BOTH))
        for metric in _CHANGED
        if metric in after and metric in before
    }
    for name, (wanted, is_inverted) in HARMONIC.items():
        there = [part for part in wanted if part in after and after[part].patients and before[part].patients]
        if there and ("em" in there or "em" not in wanted):
            sides = ([columns[part] for part in there] for columns in (before, after))
            found[name] = change_of_harmonic_means(*sides, is_inverted=is_inverted)
    return {f"{metric}_change": change for metric, change in found.items()}
