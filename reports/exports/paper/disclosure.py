"""Table 1 (AUROC and PPV by diagnosis and tier), Table 4 (balance) and Figures 3 and 11 (differences) as CSV.

Owns what stands in which row. A mark stands only where the whole range is beyond its threshold.
"""

from collections.abc import Iterator, Mapping

from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.exports.paper.csv_table import CsvTable, Row, Value, estimate_cells
from clinaudit.reports.schema.disclosure import PairResults
from clinaudit.reports.schema.numbers import EstimateRange
from clinaudit.reports.schema.record import ARMS, Arm
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.wording.names import BOLD, is_bold

PREVALENCE, MENTION_RATE = "training prevalence", "average mention rate over tiers"
_MEAN = "mean"


def table1(results: RunResults) -> CsvTable:
    """Return AUROC and PPV among mentions, both arms, below the prevalence and the average mention rate."""
    return CsvTable("table1_disclosure", list(_table1_rows(results)))


def _table1_rows(results: RunResults) -> Iterator[Row]:
    for arm in ARMS:
        for diagnosis, cohort in results.cohorts.items():
            if arm == "train":
                yield _row(arm, PREVALENCE, diagnosis, rate=cohort.prevalence)
        for diagnosis, cohort in results.cohorts.items():
            if arm in cohort.mention_rate:
                yield _row(arm, MENTION_RATE, diagnosis, rate=cohort.mention_rate[arm])
        for tier in TIER_IDS:
            for diagnosis, tiers in results.disclosure.by_diagnosis.items():
                metrics = metrics_of(tiers.get(tier), arm)
                if metrics is not None:
                    yield _row(arm, tier, diagnosis, metrics=metrics)
            if tier in results.disclosure.mean:
                means = getattr(results.disclosure.mean[tier], arm)
                if means:
                    yield _row(arm, tier, _MEAN, metrics=means)


def metrics_of(pair: PairResults | None, arm: Arm) -> Mapping[str, EstimateRange] | None:
    """Return the metrics of an arm, or None where it was not measured."""
    if pair is None:
        return None
    return pair.train if arm == "train" else pair.nontrain


def _row(
    arm: Arm,
    row: str,
    diagnosis: str,
    *,
    rate: EstimateRange | None = None,
    metrics: Mapping[str, EstimateRange] | None = None,
) -> Row:
    cells: dict[str, Value] = {"arm": arm, "row": row, "diagnosis": diagnosis}
    found = metrics or {}
    cells |= estimate_cells("rate", found.get("mention_rate", rate))
    for metric in BOLD:
        estimate = found.get(metric)
        cells |= estimate_cells(metric, estimate, interval=True)
        cells[f"{metric}_bold"] = "yes" if is_bold(estimate, metric) else ""
    return cells


def table4(results: RunResults) -> CsvTable:
    """Return the standardized mean difference of each covariate in each contrast, after matching and before."""
    rows: list[Row] = [
        {
            "diagnosis": diagnosis,
            "contrast": row.contrast,
            "covariate": row.covariate,
            "smd": row.smd,
            "flag": row.flag,
            "smd_before": row.smd_before,
        }
        for diagnosis, cohort in results.cohorts.items()
        for row in cohort.balance
    ]
    return CsvTable("table4_balance", rows)


def figure3(results: RunResults) -> CsvTable:
    """Return train minus nontrain in AUROC (Figure 3) and PPV (Figure 11) by diagnosis and tier, and their means."""
    rows: list[Row] = []
    for tier in TIER_IDS:
        deltas = {
            diagnosis: pair.delta
            for diagnosis, tiers in results.disclosure.by_diagnosis.items()
            if (pair := tiers.get(tier)) is not None and pair.delta is not None
        }
        if deltas and tier in results.disclosure.mean:
            deltas[_MEAN] = results.disclosure.mean[tier].delta
        for diagnosis, delta in deltas.items():
            cells: dict[str, Value] = {"tier": tier, "diagnosis": diagnosis}
            for metric in BOLD:
                cells |= estimate_cells(f"{metric}_delta", delta.get(metric), interval=True)
            rows.append(cells)
    return CsvTable("figure3_delta", rows)
