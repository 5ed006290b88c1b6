"""Tables of statistical power: the smallest detectable differences, and upper bounds where a count is zero."""

from clinaudit.reports.schema.results import Results
from clinaudit.reports.tables.table import Table, disclosure_pairs, memorization_summaries, numbered_tier_title
from clinaudit.reports.wording.names import METRIC_TITLES, display_title
from clinaudit.reports.wording.numbers import NOT_MEASURED, count_text, estimate_text, number_text, percent_text


def power_table(results: Results) -> Table:
    """Return the smallest difference that each test could have shown, and what a count of zero leaves possible."""
    rows = []
    for diagnosis, tier, pair in disclosure_pairs(results):
        detectable = pair.detectable_delta
        shown = NOT_MEASURED
        if detectable is not None:
            shown = number_text(detectable) if detectable <= 1 else "none: the cohort is too small"
        elif pair.delta is not None and pair.delta.auroc_all.reason:
            shown = estimate_text(pair.delta.auroc_all)
        zeros = [_zeros(None if side is None else side.zero_bounds) for side in (pair.train, pair.nontrain)]
        rows.append((display_title(diagnosis), numbered_tier_title(tier), shown, *zeros))
    heads = ("Diagnosis", "Tier", "Smallest AUROC difference it could show", "Zeros in train", "Zeros in nontrain")
    note = (
        "“At most” is a one-sided 95% bound. The two-sided 95% interval that stands beside the same zero elsewhere"
        " reaches a little higher."
    )
    return Table("What this audit could have shown, and what its zeros leave possible", heads, tuple(rows), note)


def memorization_zeros_table(results: Results) -> Table:
    """Return the tiers and arms where nothing attributable was found, with what that leaves possible."""
    rows = []
    for tier, arm, summary in memorization_summaries(results):
        bound = summary.attributable_fraction_bounds
        if bound.value == 0 and bound.high is not None:
            rows.append((numbered_tier_title(tier), arm, count_text(bound.n), f"at most {percent_text(bound.high)}"))
    heads = ("Tier", "Arm", "Patients", "What the mean may still be")
    note = "“At most” is the upper end of the two-sided 95% interval."
    return Table("Where no attributable text was found", heads, tuple(rows), note)


def _zeros(bounds: dict[str, float] | None) -> str:
    if bounds is None:
        return NOT_MEASURED
    return (
        "; ".join(f"{METRIC_TITLES[name]}: at most {percent_text(bound)}" for name, bound in bounds.items())
        or "no zero"
    )
