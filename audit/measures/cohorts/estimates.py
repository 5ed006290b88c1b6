"""Cohorts as rows of the table of estimates: who could be matched, who was, how alike (paper, Appendix D).

Reads the evidence tables `candidates` and `cohorts`. Knows nothing of how patients were matched.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import polars as pl

from clinaudit.audit.measures.cohorts.matching import (
    CELLS,
    COVARIATES,
    contrast,
    count_rarer_sex,
    standardized_mean_difference,
    tabulate_covariates,
)
from clinaudit.audit.measures.generation.estimates import Tables
from clinaudit.audit.statistics.estimates import count_row, share_row
from clinaudit.reports.estimates.frame import Row, as_estimates, at

#: In front of the contrast's name: of all candidates, before they were matched.
BEFORE: Final = "before|"


def estimate_cohorts(tables: Tables) -> pl.DataFrame:
    """Return of each diagnosis its matched sets, candidates, prevalence and balance.

    An `smd` of sex has as `behind` the fewest patients of one sex in any group, groups without them left out: where
    they are few, the difference could give their number away.
    """
    sets = dict(tables["cohorts"].group_by("diagnosis").agg(pl.col("match_id").n_unique()).collect().iter_rows())
    rows: list[Row] = []
    for (diagnosis,), everybody in tables["candidates"].collect().group_by("diagnosis", maintain_order=True):
        place = {"diagnosis": str(diagnosis)}
        rows.append(at("cohort_sets", **place)._replace(value=float(sets.get(diagnosis, 0))))
        for (arm, reason), those in everybody.group_by("arm", "reason", maintain_order=True):
            if reason is not None:
                here = place | {"arm": str(arm), "by": "reason", "part": str(reason)}
                rows.append(count_row("excluded", those.height, everybody.filter(arm=arm).height, **here))
        rows += _estimate_candidates(everybody.filter(pl.col("reason").is_null()), place)
    return as_estimates(rows)


def _estimate_candidates(eligible: pl.DataFrame, place: dict[str, str]) -> Iterator[Row]:
    arms = set(eligible["arm"])
    cells = {(arm, has): eligible.filter(arm=arm, present=has) for arm, has in CELLS if arm in arms}
    for (arm, present), those in cells.items():
        here = place | {"arm": arm, "by": "status", "part": "present" if present else "absent"}
        yield count_row("candidates", those.height, cells[arm, True].height + cells[arm, False].height, **here)
        yield count_row("unmatched", int((~those["matched"]).sum()), those.height, **here)
    if "train" in arms:
        positive, negative = cells["train", True].height, cells["train", False].height
        yield share_row("prevalence", positive, positive + negative, **place)
    if eligible["matched"].any():
        yield from _estimate_balance([those.filter("matched") for those in cells.values()], place, "")
        yield from _estimate_balance(list(cells.values()), place, BEFORE)


def _estimate_balance(cells: Sequence[pl.DataFrame], place: dict[str, str], prefix: str) -> Iterator[Row]:
    covariates = [tabulate_covariates(cell) for cell in cells]
    for name, (first, second) in contrast(covariates).items():
        for k, covariate in enumerate(COVARIATES):
            smd = standardized_mean_difference(first[:, k], second[:, k])
            behind = count_rarer_sex(covariates) if covariate == "sex" else None
            row = at("smd", **place, by=covariate, part=prefix + name)._replace(value=smd, behind=behind)
            yield row if smd is not None else row._replace(reason="nobody of either group differs from the others")
