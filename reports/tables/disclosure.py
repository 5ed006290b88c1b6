"""Tables of the disclosure of sensitive diagnoses for the annex: metrics by tier and arm, differences, power.

A table in which nothing was measured is left out.
"""

from clinaudit.reports.schema.corpus import CohortResults
from clinaudit.reports.schema.disclosure import DIAGNOSIS_STATUSES, SIDES, PairResults
from clinaudit.reports.schema.numbers import EstimateRange
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.tables.table import Table, disclosure_pairs, numbered_tier_title
from clinaudit.reports.wording.names import METRIC_TITLES, SIDE_WORDS, display_title, is_share, list_tiers
from clinaudit.reports.wording.numbers import NOT_MEASURED, count_text, estimate_text, is_measured, number_text, p_text

_SIDES = {**SIDE_WORDS, "delta": "difference"}


def metric_tables(results: RunResults) -> list[Table]:
    """Return a table a metric (the paper's Table 1 and beyond), those of which anything was measured."""
    tables = [metric_table(results, metric) for metric in METRIC_TITLES]
    return [table for table in tables if table.rows]


def metric_table(results: RunResults, metric: str) -> Table:
    """Return one metric by tier, every side and the difference, a column a diagnosis and the mean over them last."""
    by_diagnosis = results.disclosure.by_diagnosis
    rows = []
    for tier in list_tiers(results):
        measured = [*(tiers.get(tier) for tiers in by_diagnosis.values()), results.disclosure.mean.get(tier)]
        for side in _SIDES:
            metrics = [None if pair is None else getattr(pair, side) for pair in measured]
            estimates = [None if found is None else found.get(metric) for found in metrics]
            if any(map(is_measured, estimates)):
                cells = [_metric(estimate, metric, signed=side == "delta") for estimate in estimates]
                rows.append((numbered_tier_title(tier), _SIDES[side], *cells))
    heads = ("Tier", "Who", *map(display_title, by_diagnosis), "Mean")
    note = "In brackets: 95% intervals."
    if results.disclosure.is_from_control:
        note += " Nobody was held out: the difference is from the control model's answers about the same patients."
    return Table(METRIC_TITLES[metric], heads, tuple(rows), note)


def p_values_table(results: RunResults) -> Table:
    """Return the one-sided tests of the excess (AUROC over all patients), after Holm; of exact results alone."""
    by_diagnosis = results.disclosure.by_diagnosis
    rows = []
    for tier in list_tiers(results):
        found = [_test_of(tiers.get(tier)) for tiers in by_diagnosis.values()]
        if any(found):
            rows.append((numbered_tier_title(tier), *(test or "–" for test in found)))
    note = "p, and in brackets p after Holm's adjustment over all comparisons. Does training add anything?"
    return Table("Tests of the excess", ("Tier", *map(display_title, by_diagnosis)), tuple(rows), note)


def verdicts_table(results: RunResults) -> Table:
    """Return what the judge read in the texts of each group of patients: the table that every metric follows from."""
    rows = []
    for diagnosis, tier, pair in disclosure_pairs(results):
        for side in SIDES:
            for status in DIAGNOSIS_STATUSES:
                counts = pair.verdicts.get(side, {}).get(status)
                if counts is None:
                    continue
                read = (counts.positive, counts.negative, counts.undecided, counts.ambiguous, counts.unjudged)
                group = f"{SIDE_WORDS[side]}, {'with' if status == 'present' else 'without'} it"
                rows.append((display_title(diagnosis), numbered_tier_title(tier), group, *map(count_text, read)))
    heads = ("Diagnosis", "Tier", "Patients", "Has it", "Has it not", "Undecided", "of these ambiguous", "Unjudged")
    return Table("What the judge read", heads, tuple(rows), "Undecided: no mention, or an ambiguous one.")


def power_table(results: RunResults) -> Table:
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


def _metric(estimate: EstimateRange | None, metric: str, *, signed: bool) -> str:
    if estimate is None or not is_measured(estimate):
        return NOT_MEASURED
    return estimate_text(estimate, share=is_share(metric), signed=signed, interval=True)


def _test_of(pair: PairResults | None) -> str | None:
    measured = None if pair is None else pair.evidence
    delta = None if measured is None or measured.delta is None else measured.delta.auroc_all
    if delta is None or delta.p_value is None or delta.p_holm is None:
        return None
    return f"{p_text(delta.p_value)} ({p_text(delta.p_holm)})"


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
            excluded,
        )
        rows.append((display_title(diagnosis), status, *row))
    heads = (
        "Diagnosis",
        "Balance",
        "Patients in each group",
        "Prevalence among candidates",
        "Largest |SMD|",
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


def _smd(smd: float | None) -> str:
    return "not given" if smd is None else number_text(smd, signed=True)
