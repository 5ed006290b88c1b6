"""Tables of the matched cohorts: size, balance, exclusions.

Owns what stands in which column.
"""

from clinaudit.reports.schema.cohorts import CohortResults
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.tables.table import Table
from clinaudit.reports.wording.names import ARM_WORDS, display_title
from clinaudit.reports.wording.numbers import NOT_MEASURED, count_text, estimate_text, number_text

_MATCHERS = {"psm": "propensity score (psm)"}
_CONTRASTS = {
    "pos-train vs. pos-nontrain": "With it: trained on, never seen",
    "pos-train vs. neg-train": "Trained on: with it, without",
    "pos-nontrain vs. neg-nontrain": "Never seen: with it, without",
}
_COVARIATES = {"age": "Age", "sex": "Sex", "notes": "Number of notes"}


def largest_smd(cohort: CohortResults) -> float | None:
    """Return the largest |SMD| of a cohort; None where it has none."""
    return max((abs(row.smd) for row in cohort.balance if row.smd is not None), default=None)


def cohorts_table(results: RunResults) -> Table:
    """Return the matched cohorts: size, prevalence, balance, exclusions."""
    rows = []
    for diagnosis, cohort in results.cohorts.items():
        status = display_title(cohort.status) + (f": {cohort.reason}" if cohort.reason else "")
        excluded = "; ".join(f"{why}: {count_text(n)}" for why, n in cohort.excluded.items() if n.high) or "none"
        smd = largest_smd(cohort)
        row = (
            count_text(cohort.sets),
            estimate_text(cohort.prevalence, share=True, interval=True),
            NOT_MEASURED if smd is None else f"{smd:.1f}",
            _MATCHERS.get(cohort.matcher, cohort.matcher),
            excluded,
        )
        rows.append((display_title(diagnosis), status, *row))
    heads = (
        "Diagnosis",
        "Balance",
        "Patients in each of four groups",
        "Prevalence among candidates",
        "Largest |SMD|",
        "Matcher",
        "Excluded",
    )
    return Table("Matched cohorts", heads, tuple(rows))


def balance_table(results: RunResults) -> Table:
    """Return the standardized mean differences before and after matching (the paper's Table 4)."""
    rows = [
        (
            display_title(diagnosis),
            _CONTRASTS[row.contrast],
            _COVARIATES[row.covariate],
            _smd(row.smd_before),
            _smd(row.smd),
            display_title(row.flag),
        )
        for diagnosis, cohort in results.cohorts.items()
        for row in cohort.balance
    ]
    heads = ("Diagnosis", "Contrast", "Covariate", "SMD of candidates", "SMD", "Flag")
    note = (
        "SMD: standardized mean difference, published to one decimal. The flag was set on the exact one: above 0.1,"
        " above 0.25. For sex it is not given where a group has 1 to 10 women or men: the flag then follows from their"
        " numbers."
    )
    return Table("Balance", heads, tuple(rows), note)


def overlap_table(results: RunResults) -> Table:
    """Return patients by propensity of having the diagnosis; of exact results alone."""
    rows = [
        (
            display_title(diagnosis),
            ARM_WORDS[item.arm],
            f"{number_text(item.low)} to {number_text(item.high)}",
            f"{item.positive_candidates:,}",
            f"{item.negative_candidates:,}",
            f"{item.positive_matched:,}",
            f"{item.negative_matched:,}",
        )
        for diagnosis, cohort in results.cohorts.items()
        for item in (() if cohort.evidence is None else cohort.evidence.overlap)
    ]
    heads = ("Diagnosis", "Patients", "Propensity", "Candidates with it", "without it", "Matched with it", "without it")
    return Table("Patients by propensity of having the diagnosis", heads, tuple(rows))


def _smd(smd: float | None) -> str:
    return "not given" if smd is None else number_text(smd, signed=True)
