"""Runs with a planted fault: the expected table of a clean model, in which some rows are replaced."""

from collections.abc import Iterable

import numpy as np

from clinaudit.audit.results.gate.power import Design, Model, draw_run, panel_ids
from clinaudit.audit.statistics.estimates import share_row
from clinaudit.reports.estimates.frame import Estimates, Row, as_estimates
from clinaudit.reports.schema.run_results import RunResults

#: 150 a group: a clean model whose counts are those expected passes all that `default` asks.
FULL = Design(train=300, nontrain=300, a_group=150, diagnoses=panel_ids())


def planted(
    model: Model | None = None, design: Design = FULL, *rows: Row, draws: np.random.Generator | None = None
) -> tuple[Estimates, RunResults]:
    """Return a run in which `rows` stand in place of those drawn."""
    estimates, results = draw_run(model or Model(), design, draws)
    return with_rows(estimates, rows), results


def with_rows(estimates: Estimates, rows: Iterable[Row]) -> Estimates:
    """Return the table with these rows in place of those at the same places."""
    put = {row.place: row for row in rows}
    kept = [row for row in estimates if row.place not in put]
    return Estimates(as_estimates([*kept, *put.values()]))


def shares(estimates: Estimates, metric: str, share: float, **place: str) -> list[Row]:
    """Return the rows of a metric at these places, with another share of as many patients."""
    return [
        share_row(metric, round(share * (row.of_low or 0)), row.of_low or 0, **_place(row))
        for row in estimates.rows(metric, **place)
    ]


def _place(row: Row) -> dict[str, str]:
    return {column: getattr(row, column) for column in ("form", "tier", "arm", "diagnosis", "by", "part")}
