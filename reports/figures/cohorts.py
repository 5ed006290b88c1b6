"""Figures of the matched cohorts: covariate balance (love plot) and overlap of propensities (common support).

Owns which estimates they show and their captions. Works on suppressed results.
"""

from collections.abc import Sequence

from clinaudit.reports.figures.charts import Row, draw_balance, draw_overlap
from clinaudit.reports.schema.estimate import ARMS
from clinaudit.reports.schema.results import Results
from clinaudit.reports.tables.table import Figure, Table
from clinaudit.reports.wording.names import display_title
from clinaudit.reports.wording.numbers import NOT_MEASURED, count_text, number_text

#: Series of the overlap chart: title and field of `OverlapBin`.
_SERIES = {
    "with the diagnosis, candidates": "positive_candidates",
    "without it, candidates": "negative_candidates",
    "with the diagnosis, matched": "positive_matched",
    "without it, matched": "negative_matched",
}


def balance_figure(results: Results) -> Figure:
    """The paper's Table 4 as a love plot: |SMD| before and after matching."""
    rows: list[Row] = []
    listed = []
    flagged = poor = 0
    for diagnosis, cohort in results.cohorts.items():
        for row in cohort.balance:
            flagged += row.flag != "balanced"
            poor += row.flag == "poorly_matched"
            before, value = (
                NOT_MEASURED if smd is None else number_text(smd, signed=True) for smd in (row.smd_before, row.smd)
            )
            listed.append(
                (display_title(diagnosis), row.contrast, row.covariate, before, value, display_title(row.flag))
            )
            place: Row = {"panel": row.contrast, "name": display_title(diagnosis), "covariate": row.covariate}
            rows += [
                {**place, "value": abs(smd), "before": is_before}
                for smd, is_before in ((row.smd_before, True), (row.smd, False))
                if smd is not None
            ]
    caption = f"Balance was {NOT_MEASURED}: there is no matched cohort with balance figures."
    if listed:
        caption = (
            f"{flagged} of {len(listed)} standardized mean differences are flagged (above 0.1, dotted line);"
            f" {poor} mark a cohort as poorly matched (above 0.25, solid line). Hollow marks are all candidates, before"
            " matching."
        )
    svg = ""
    if rows:
        svg = draw_balance(
            rows,
            panels=list(dict.fromkeys(str(row["panel"]) for row in rows)),
            names=list(dict.fromkeys(str(row["name"]) for row in rows)),
            label=caption,
        )
    heads = ("Diagnosis", "Contrast", "Covariate", "SMD of candidates", "SMD", "Flag")
    return Figure("balance", "Balance of the matched cohorts", caption, svg, Table("Balance", heads, tuple(listed)))


def overlap_figure(results: Results) -> Figure:
    """Propensity of having the diagnosis among candidates and matched patients, by diagnosis and arm."""
    rows: list[Row] = []
    listed: list[tuple[str, ...]] = []
    for diagnosis, cohort in results.cohorts.items():
        for arm in ARMS:
            bins = [item for item in cohort.overlap if item.arm == arm]
            totals = {name: sum(getattr(item, name) or 0 for item in bins) for name in _SERIES.values()}
            for place, item in enumerate(bins):
                span = f"{number_text(item.low)} to {number_text(item.high)}"
                listed.append(
                    (display_title(diagnosis), arm, span, *(count_text(getattr(item, n)) for n in _SERIES.values()))
                )
                rows += [
                    {
                        "panel": f"{display_title(diagnosis)}, {arm}",
                        "place": place + 1,
                        "series": series,
                        "value": getattr(item, name) / totals[name],
                    }
                    for series, name in _SERIES.items()
                    if getattr(item, name) is not None and totals[name]
                ]
    caption = _no_overlap(results)
    svg = ""
    if rows:
        caption = (
            "Share of each group by propensity of having the diagnosis (age, sex, number of notes), in bins from low to"
            f" high. {_matched_lines(rows)} Bins with few patients are joined with their neighbours."
        )
        svg = draw_overlap(
            rows, panels=list(dict.fromkeys(str(row["panel"]) for row in rows)), series=list(_SERIES), label=caption
        )
    heads = ("Diagnosis", "Arm", "Propensity", *map(display_title, _SERIES))
    table = Table("Patients by propensity", heads, tuple(listed))
    return Figure("overlap", "Overlap of propensities", caption, svg, table)


def _no_overlap(results: Results) -> str:
    """Say why no propensities are drawn."""
    if all(cohort.status == "unavailable" for cohort in results.cohorts.values()):
        return "Propensities are not shown: there is no matched cohort."
    return "Propensities are suppressed: they would tell of few patients, in a cohort or left out of it."


def _matched_lines(rows: Sequence[Row]) -> str:
    drawn = {row["panel"] for row in rows if row["series"] in ("with the diagnosis, matched", "without it, matched")}
    absent = len({row["panel"] for row in rows} - drawn)
    if not drawn:
        return (
            "Matched patients are not drawn: their counts are suppressed, since fewer than 11 patients stand behind"
            " some. The dashed lines are all candidates, and do not show whether the matched patients are alike."
        )
    text = (
        "Where the two solid lines lie together, matched patients with and without the diagnosis are alike; the dashed"
        " ones are all candidates."
    )
    return f"{text} In {absent} panels the matched patients are suppressed and not drawn." if absent else text
