"""Tables of the matched cohorts: size, balance, exclusions, and the deltas under a second matcher.

Owns what stands in which column. Works on suppressed results. An estimate without a value is given in words.
"""

from clinaudit.reports.schema.disclosure import COMPARED_METRICS
from clinaudit.reports.schema.results import Results
from clinaudit.reports.tables.table import Table, numbered_tier_title
from clinaudit.reports.wording.names import METRIC_TITLES, display_title
from clinaudit.reports.wording.numbers import NOT_MEASURED, count_text, estimate_text

_MATCHERS = {"psm": "propensity score (psm)"}


def cohorts_table(results: Results) -> Table:
    """Return the matched cohorts: size, prevalence, balance, exclusions."""
    rows = []
    for diagnosis, cohort in results.cohorts.items():
        cells = sorted({count_text(cell) for cell in cohort.cells.values()})
        status = display_title(cohort.status) + (f": {cohort.reason}" if cohort.reason else "")
        excluded = "; ".join(f"{reason}: {count_text(n)}" for reason, n in cohort.excluded.items()) or "none"
        row = (
            ", ".join(cells) or NOT_MEASURED,
            estimate_text(cohort.prevalence, share=True),
            _MATCHERS.get(cohort.matcher, cohort.matcher),
            excluded,
        )
        rows.append((display_title(diagnosis), status, *row))
    heads = (
        "Diagnosis",
        "Balance",
        "Patients in each of four groups",
        "Prevalence among candidates",
        "Matcher",
        "Excluded",
    )
    return Table("Matched cohorts", heads, tuple(rows))


def second_matcher_table(results: Results) -> Table | None:
    """Return train minus nontrain on the cohorts of both matchers, side by side; None where there was one matcher."""
    second = results.second_matcher
    if second is None:
        return None
    rows = []
    for diagnosis, matching in second.diagnoses.items():
        pairs = results.disclosure.by_diagnosis.get(diagnosis, {})
        balance = display_title(matching.status) + (f": {matching.reason}" if matching.reason else "")
        if matching.largest_smd is not None:
            balance += f"; largest SMD {matching.largest_smd:.2f}"
        if not matching.delta:
            rows.append(
                (display_title(diagnosis), "all", "all", NOT_MEASURED, NOT_MEASURED, count_text(matching.sets), balance)
            )
        for tier, deltas in matching.delta.items():
            first = pairs[tier].delta if tier in pairs else None
            for metric in COMPARED_METRICS:
                shown = NOT_MEASURED if first is None else estimate_text(getattr(first, metric))
                cells = (
                    METRIC_TITLES[metric],
                    shown,
                    estimate_text(deltas[metric]),
                    count_text(matching.sets),
                    balance,
                )
                rows.append((display_title(diagnosis), numbered_tier_title(tier), *cells))
    heads = (
        "Diagnosis",
        "Tier",
        "Figure",
        "First matcher",
        "Second matcher",
        "Patients in each of four groups",
        "Balance",
    )
    caption = f"Train minus nontrain on the cohorts of both matchers; size and balance of the second, {second.matcher}"
    return Table(caption, heads, tuple(rows))
