"""Prompts, and what was done of what was planned, as rows of the table of estimates; from evidence tables.

Owns where a row of the evidence counts, in every measure: its form and arm (docs/methods.md, section 1). Every count is
of patients at a place: a patient may have several prompts at a tier, scrubbed for different diagnoses.
"""

from collections.abc import Mapping
from typing import Final

import polars as pl

from clinaudit.audit.statistics.estimates import count_row, means_over_patients, share_row
from clinaudit.reports.estimates.frame import as_estimates, at
from clinaudit.templates.shown_text import said_in

#: Evidence tables by name, as formulas take them: only the columns that one asks for are read.
Tables = Mapping[str, pl.LazyFrame]
#: Columns of the place of what a model answered.
PLACES: Final = ("form", "tier", "arm")


def with_place(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return the rows of targets that have `role`, `model` and `arm` with the arm by which they count.

    Patients whom the site named besides are in no figure: every formula takes rows of patients by this, and joins what
    has no role to them by generation_id. What the control model answered, or scored, about patients trained on is the
    arm "control"; what it scored of others is left out. Example: `with_place(tables["generations"]).group_by(PLACES)`.
    """
    by_control = pl.col("model") == "control"
    return rows.filter(pl.col("role") == "target", ~by_control | (pl.col("arm") == "train")).with_columns(
        arm=pl.when(by_control).then(pl.lit("control")).otherwise("arm")
    )


def estimate_prompts(tables: Tables) -> pl.DataFrame:
    """Return how many patients have a prompt that fits their notes, that is nobody else's, and what it shows besides.

    Of several prompts of a patient all have to fit, and be the patient's alone: of whom none is asked, only whether one
    fits is told. A prompt is somebody else's, too, where it differs in blanks or tags of de-identification alone.
    """
    prompts = with_place(tables["priors"]).filter(pl.col("arm") != "control").collect()
    own = (
        prompts.filter(~pl.col("excluded"))
        .with_columns(said=pl.col("prompt").map_elements(said_in, return_dtype=pl.String))
        .with_columns(holders=pl.col("patient_id").n_unique().over("form", "tier", "said"))
        .group_by("form", "tier", "patient_id")
        .agg(prompt_own=(pl.col("holders") == 1).all())
    )
    asked = (
        prompts.filter(pl.col("unbroken").is_not_null())
        .group_by([*PLACES, "patient_id"], maintain_order=True)
        .agg(
            prompt_unbroken=pl.col("unbroken").all(),
            prompt_earlier=pl.col("earlier_note").any(),
            shows=pl.col("also_shows").explode().drop_nulls().unique(),
        )
        .join(own, on=["form", "tier", "patient_id"], how="left", maintain_order="left")
    )
    shares = means_over_patients(asked, ["prompt_unbroken", "prompt_own", "prompt_earlier"], PLACES)
    of = asked.group_by(PLACES).len("of")
    shown = asked.explode("shows").drop_nulls("shows").group_by([*PLACES, "shows"]).len("count").join(of, on=PLACES)
    rows = [
        share_row("prompt_shows", count, of, form=form, tier=tier, arm=arm, by="what", part=what)
        for form, tier, arm, what, count, of in shown.sort([*PLACES, "shows"]).rows()
    ]
    return pl.concat([shares, as_estimates(rows)])


def estimate_completeness(tables: Tables) -> pl.DataFrame:
    """Return how many patients were asked at a place, what was planned and is missing, and who was not asked, and why.

    Takes the tables priors and generations, and judgements where anything was judged. A patient of whom a prompt was
    written for one diagnosis and none for another was asked; whom a cohort lacks says `dropped_sets`. Of several
    reasons the alphabetically first counts. A task about nobody counts as a patient does, but for `patients`.
    """
    answers = with_place(tables["generations"].drop("text", "token_ids", strict=False)).collect()
    columns = [*PLACES, "patient_id", "generation_id", "excluded", "reason"]
    arm = pl.when(pl.col("model") == "control").then(pl.lit("control")).otherwise(pl.lit(""))
    tasks = tables["priors"].filter(role="nobody").with_columns(arm=arm, patient_id=pl.col("task"))
    wanted = pl.concat([of.select(columns).collect() for of in (with_place(tables["priors"]), tasks)])
    given = tables["generations"].select("generation_id", is_missing=pl.lit(False)).unique().collect()
    written = wanted.filter(~pl.col("excluded")).join(given, on="generation_id", how="left", maintain_order="left")
    stages = {"generations": _count_missing(written)}
    if "judgements" in tables:
        inquiries = answers.explode("diagnoses").drop_nulls("diagnoses").rename({"diagnoses": "diagnosis"})
        judged = tables["judgements"].select("generation_id", "diagnosis", is_missing=pl.lit(False)).collect()
        inquiries = inquiries.join(judged, on=["generation_id", "diagnosis"], how="left", maintain_order="left")
        stages["judgements"] = _count_missing(inquiries)
    asked = answers.group_by(PLACES, maintain_order=True).agg(pl.col("patient_id").n_unique())
    rows = [
        at("patients", form=form, tier=tier, arm=arm)._replace(value=float(of)) for form, tier, arm, of in asked.rows()
    ]
    for stage, counts in stages.items():
        for form, tier, arm, planned_there, missing in counts.rows():
            place = {"form": form, "tier": tier, "arm": arm, "by": "stage", "part": stage}
            rows.append(at("planned", **place)._replace(value=float(planned_there)))
            rows.append(count_row("missing", missing, planned_there, **place))
    everybody = wanted.group_by(PLACES).agg(of=pl.col("patient_id").n_unique())
    left_out = (
        wanted.group_by([*PLACES, "patient_id"])
        .agg(pl.col("excluded").all(), pl.col("reason").min())
        .filter("excluded")
        .group_by([*PLACES, "reason"])
        .len("count")
        .join(everybody, on=PLACES)
        .sort([*PLACES, "reason"])
    )
    rows += [
        count_row("excluded", count, of, form=form, tier=tier, arm=arm, by="reason", part=reason or "excluded")
        for form, tier, arm, reason, count, of in left_out.rows()
    ]
    return as_estimates(rows)


def _count_missing(units: pl.DataFrame) -> pl.DataFrame:
    """Return by place how many patients have any unit, and how many of them one that is missing; null: it is."""
    is_missing = pl.col("is_missing").fill_null(value=True)
    each = units.group_by([*PLACES, "patient_id"], maintain_order=True).agg(is_missing.any())
    return each.group_by(PLACES, maintain_order=True).agg(planned=pl.len(), missing=pl.col("is_missing").sum())
