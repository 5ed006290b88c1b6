"""Who was in the corpus, and who gives text away, as rows of the table of estimates (the paper's Tables 1, 5 to 7).

Reads evidence tables: `patients`, `people`, `uniqueness`, `cohorts`, `priors`, `generation_metrics`. Knows no note.
"""

from collections.abc import Iterator
from typing import Final

import polars as pl

from clinaudit.audit.measures.generation.place import Tables, with_place
from clinaudit.audit.measures.memorization.estimates import estimate_groups, leave_short_budgets_out
from clinaudit.audit.measures.population.description import AGES_OF_BAND, UNKNOWN, age_band
from clinaudit.audit.statistics.estimates import share_row
from clinaudit.reports.estimates.frame import Row, as_estimates, at

#: Ages above this count as this (45 CFR 164.514(b)(2)(i)(C)).
_OLDEST: Final = 90
#: Bins of the number of patients who share what a prompt says, by their least number.
_SHARING: Final = {"1": 1, "2-4": 2, "5-10": 5, ">10": 11}
#: The part of `uniqueness` that holds patients without a prompt.
NO_PROMPT: Final = "no prior"
PARTITIONS: Final = ("age", "sex", "race")


def estimate_population(tables: Tables, *, training_length: int | None) -> pl.DataFrame:
    """Return the figures of each split (`arm`) and each cohort (`diagnosis`).

    Takes the tables patients, people and cohorts. `training_length`: tokens of the longest text that the model was
    trained on; None where that is not known. In the paper (Appendix E) a patient with a longer note was left out of
    training; elsewhere at least that note was cut.
    """
    grouped = with_groups(tables["patients"].collect())
    several = set(tables["people"].collect()["person_id"])
    rows: list[Row] = []
    for (split,), those in grouped.group_by("split", maintain_order=True):
        place = {"arm": str(split)}
        rows += _describe(those, place)
        if split == "validation":
            continue
        of = those.height
        if training_length is not None:
            rows.append(share_row("long_notes", int((those["longest_note"] > training_length).sum()), of, **place))
        rows.append(share_row("several_ids", int(those["patient_id"].is_in(several).sum()), of, **place))
        tagged = those["tagged"].explode().drop_nulls().value_counts(sort=False).sort("tagged")
        rows += [
            share_row("tagged_notes", count, of, **place, by="style", part=style) for style, count in tagged.rows()
        ]
    members = tables["cohorts"].select("diagnosis", "patient_id").unique(maintain_order=True).collect()
    for (diagnosis,), those in members.join(grouped, on="patient_id").group_by("diagnosis", maintain_order=True):
        rows += _describe(those, {"diagnosis": str(diagnosis)})
    return as_estimates(rows)


def with_groups(patients: pl.DataFrame) -> pl.DataFrame:
    """Return the patients with their band in the column `age`, and their age in years as `years`."""
    return patients.with_columns(years=pl.col("age").clip(upper_bound=_OLDEST), age=age_band(pl.col("age")))


def _describe(those: pl.DataFrame, place: dict[str, str]) -> Iterator[Row]:
    patients, notes, tokens = those.height, int(those["notes"].sum()), int(those["tokens"].sum())
    yield _design("patients", patients, place)
    for partition in PARTITIONS:
        counts = dict(those[partition].value_counts().rows())
        groups = [*AGES_OF_BAND, UNKNOWN] if partition == "age" else sorted(counts)
        for group in groups:
            yield share_row("population", counts.get(group, 0), patients, **place, by=partition, part=group)
    known = those["years"].drop_nulls()
    mean = float(known.to_numpy().mean()) if known.len() else None
    yield at("age_mean", **place)._replace(
        value=mean, behind=known.len(), reason="" if known.len() else "nobody's age is known"
    )
    yield _design("notes", notes, place)
    yield _design("notes", tokens, place | {"by": "tokens"})
    yield _design("notes", notes / patients, place | {"by": "a_patient", "part": "notes"})
    yield _design("notes", tokens / patients, place | {"by": "a_patient", "part": "tokens"})
    yield _design("notes", tokens / notes, place | {"by": "a_note", "part": "tokens"})


def _design(metric: str, value: float, place: dict[str, str]) -> Row:
    return at(metric, **place)._replace(value=float(value))


def estimate_overlap(tables: Tables) -> pl.DataFrame:
    """Return the share of the targets who are in both splits, by an id, by name and birth date, or by their notes."""
    both = tables["people"].filter("in_both_splits").collect()["person_id"]
    targets = tables["priors"].filter(role="target").select("patient_id").unique().collect()["patient_id"]
    return as_estimates([share_row("in_both_arms", int(targets.is_in(both.implode()).sum()), targets.len())])


def estimate_uniqueness(tables: Tables) -> pl.DataFrame:
    """Return the share of each split's patients by how many share what a tier's prompt says of them."""
    rows, names, bins = [], [*_SHARING, NO_PROMPT], pl.lit(NO_PROMPT)
    for name, least in _SHARING.items():
        bins = pl.when(pl.col("sharing") >= least).then(pl.lit(name)).otherwise(bins)
    patients = tables["patients"].select("patient_id", arm="split")
    binned = (
        tables["uniqueness"].with_columns(bin=bins).join(patients, on="patient_id", maintain_order="left").collect()
    )
    for (tier, arm), those in binned.group_by("tier", "arm", maintain_order=True):
        counts = dict(those["bin"].value_counts().rows())
        rows += [
            share_row(
                "uniqueness", counts.get(name, 0), those.height, tier=str(tier), arm=str(arm), by="sharing", part=name
            )
            for name in names
        ]
    return as_estimates(rows)


def estimate_subgroups(tables: Tables, *, match_tokens: int) -> pl.DataFrame:
    """Return the share of patients with any own text by age, sex and race, at each place where an arm was asked.

    Takes the tables patients, generation_metrics and generations. `match_tokens` is the length of a
    match. Race is left out where the corpus gives nobody's.
    """
    patients = with_groups(tables["patients"].collect())
    groups = patients.unpivot(PARTITIONS, index="patient_id", variable_name="by", value_name="part")
    if (patients["race"] == UNKNOWN).all():
        groups = groups.filter(pl.col("by") != "race")
    asked = with_place(tables["generation_metrics"]).filter(pl.col("arm") != "control").collect()
    return estimate_groups(leave_short_budgets_out(asked, tables, match_tokens), groups)
