"""Cohorts as rows of the table of estimates: who could be matched, who was, how alike (paper, Appendix D).

Reads the evidence tables `candidates` and `cohorts`. Knows nothing of how patients were matched.
"""

from collections.abc import Iterator
from typing import Final

import polars as pl

from clinaudit.audit.measures.cohorts.balance import standardized_mean_difference
from clinaudit.audit.measures.generation.place import Tables
from clinaudit.audit.statistics.estimates import count_row, share_row
from clinaudit.reports.estimates.frame import Row, as_estimates, at

_ARMS: Final = ("train", "nontrain")
_STATUSES: Final = {"present": True, "absent": False}
#: Groups of a cohort that are compared (the paper's Table 4): arm and status of the first, and of the second.
CONTRASTS: Final = {
    "with: train against nontrain": (("train", True), ("nontrain", True)),
    "train: with against without": (("train", True), ("train", False)),
    "nontrain: with against without": (("nontrain", True), ("nontrain", False)),
}
#: Covariate by the column that holds it.
COVARIATES: Final = {"age": "age", "sex": "female", "notes": "notes"}
#: In front of the contrast's name: of all candidates, before they were matched.
BEFORE: Final = "before|"


def estimate_cohorts(tables: Tables) -> pl.DataFrame:
    """Return of each diagnosis its matched sets, candidates, prevalence and balance.

    An `smd` of sex has as `behind` the fewest patients of one sex in any group, groups without them left out: where
    they are few, the difference could give their number away.
    """
    candidates = tables["candidates"].collect()
    sets = dict(tables["cohorts"].group_by("diagnosis").agg(pl.col("match_id").n_unique()).collect().iter_rows())
    rows: list[Row] = []
    for (diagnosis,), everybody in candidates.group_by("diagnosis", maintain_order=True):
        place = {"diagnosis": str(diagnosis)}
        rows.append(at("cohort_sets", **place)._replace(value=float(sets.get(diagnosis, 0))))
        for (arm, reason), those in everybody.group_by("arm", "reason", maintain_order=True):
            if reason is not None:
                of_arm = everybody.filter(pl.col("arm") == arm).height
                rows.append(
                    count_row("excluded", those.height, of_arm, **place, arm=str(arm), by="reason", part=str(reason))
                )
        rows += _estimate_candidates(everybody.filter(pl.col("reason").is_null()), place)
    return as_estimates(rows)


def _estimate_candidates(eligible: pl.DataFrame, place: dict[str, str]) -> Iterator[Row]:
    cells = {
        (arm, present): eligible.filter(pl.col("arm") == arm, pl.col("present") == present)
        for arm in _ARMS
        for present in _STATUSES.values()
        if not eligible.filter(pl.col("arm") == arm).is_empty()
    }
    matched = {cell: those.filter("matched") for cell, those in cells.items()}
    for arm in dict.fromkeys(arm for arm, _ in cells):
        here = place | {"arm": arm}
        of_arm = sum(cells[arm, present].height for present in _STATUSES.values())
        for status, present in _STATUSES.items():
            those, left = cells[arm, present].height, cells[arm, present].height - matched[arm, present].height
            yield count_row("candidates", those, of_arm, **here, by="status", part=status)
            yield count_row("unmatched", left, those, **here, by="status", part=status)
    if ("train", True) in cells:
        positive, negative = cells["train", True].height, cells["train", False].height
        yield share_row("prevalence", positive, positive + negative, **place)
    if eligible["matched"].any():
        yield from _estimate_balance(matched, place, "")
        yield from _estimate_balance(cells, place, BEFORE)


def _estimate_balance(cells: dict[tuple[str, bool], pl.DataFrame], place: dict[str, str], prefix: str) -> Iterator[Row]:
    women = [(int(cell["female"].sum()), cell.height) for cell in cells.values()]
    fewest = min((count for some, size in women for count in (some, size - some) if count), default=0)
    for contrast, (first, second) in CONTRASTS.items():
        if first not in cells or second not in cells:
            continue
        groups = cells[first], cells[second]
        for covariate, column in COVARIATES.items():
            values = (group[column].cast(pl.Float64).to_numpy() for group in groups)
            smd = standardized_mean_difference(*values)
            behind = fewest if covariate == "sex" else None
            row = at("smd", **place, by=covariate, part=prefix + contrast)._replace(value=smd, behind=behind)
            yield row if smd is not None else row._replace(reason="nobody of either group differs from the others")
