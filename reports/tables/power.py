"""Tables of statistical power: the smallest detectable differences, and upper bounds where nothing was found."""

from clinaudit.reports.schema.results import PublishedResults
from clinaudit.reports.tables.table import (
    Table,
    asked_about,
    disclosure_pairs,
    memorization_summaries,
    numbered_tier_title,
)
from clinaudit.reports.wording.names import display_title
from clinaudit.reports.wording.numbers import count_text, estimate_text, is_measured, percent_text


def power_table(results: PublishedResults) -> Table:
    """Return the matched sets of each comparison, and the smallest excess that its test would have shown."""
    rows = []
    for diagnosis, tier, pair in disclosure_pairs(results):
        detectable = pair.detectable_delta
        shown = estimate_text(detectable)
        if is_measured(detectable) and (detectable.low or detectable.value or 0.0) > 1:
            shown = "none: the cohort is too small"
        dropped = "; ".join(f"{why}: {count_text(n)}" for why, n in pair.dropped_sets.items() if n.high) or "none"
        place = (display_title(diagnosis), numbered_tier_title(tier))
        rows.append((*place, count_text(pair.patients), dropped, shown))
    heads = ("Diagnosis", "Tier", "Matched sets", "Left out at this tier", "Smallest excess it could show")
    note = "A set has one patient of each group. One-sided test at 5%, unadjusted, with a chance of 80%."
    return Table("What each comparison could have shown", heads, tuple(rows), note)


def memorization_zeros_table(results: PublishedResults) -> Table:
    """Return the tiers and arms where nothing attributable was found, with what that leaves possible."""
    rows = []
    for tier, arm, summary in memorization_summaries(results):
        mean = summary.attributable_fraction.mean
        high = mean.confidence_high
        if mean.value == 0 and high is not None:
            bound = f"at most {percent_text(high)}"
            rows.append((*asked_about(tier, arm), count_text(summary.patients), bound))
    heads = ("Tier", "Who", "Patients", "What the mean may still be")
    note = "“At most” is the upper end of the two-sided 95% interval."
    return Table("Where no own text was found", heads, tuple(rows), note)
