"""Tables of the disclosure of sensitive diagnoses: metrics by tier and arm, deltas with their tests, counts.

Owns what stands in which column. Works on suppressed results. An estimate without a value is given in words.
"""

from clinaudit.reports.schema.disclosure import Disclosure, TestedDelta
from clinaudit.reports.schema.estimate import ARMS
from clinaudit.reports.schema.results import Results
from clinaudit.reports.tables.table import Table, disclosure_pairs, list_tiers, numbered_tier_title
from clinaudit.reports.wording.names import METRIC_TITLES, display_title, is_share
from clinaudit.reports.wording.numbers import (
    NOT_MEASURED,
    SUPPRESSED,
    count_text,
    estimate_text,
    is_suppressed,
    short_estimate_text,
)

_HOW_TO_READ = (
    "In round brackets stand two-sided 95% intervals. The tests are one-sided and ask whether training adds anything:"
    " a difference below zero, however far, has a large p. Where a difference is suppressed, so is p, or only its side"
    " of 5% is given (“at most 0.05”, “above 0.05”). “Not tested”: an arm gave too little to test, or there is none."
)


def metric_table(results: Results, metric: str) -> Table:
    """Return one disclosure metric by tier and diagnosis with intervals, train over nontrain (the paper's Table 1)."""
    diagnoses = list(results.disclosure.by_diagnosis)
    rows = []
    for tier in list_tiers(results):
        for arm in ARMS:
            cells = []
            for diagnosis in diagnoses:
                pair = results.disclosure.by_diagnosis[diagnosis].get(tier)
                side: Disclosure | None = None if pair is None else getattr(pair, arm)
                cells.append(short_estimate_text(getattr(side, metric, None), share=is_share(metric), interval=True))
            if any(cell != NOT_MEASURED for cell in cells) or arm == "train":
                rows.append((numbered_tier_title(tier), arm, *cells))
    return Table(METRIC_TITLES[metric], ("Tier", "Arm", *map(display_title, diagnoses)), tuple(rows))


def disclosure_table(results: Results) -> Table:
    """Return every disclosure metric of every diagnosis and tier, with intervals, bands and reasons."""
    rows = []
    for diagnosis, tier, pair in disclosure_pairs(results):
        for metric, title in METRIC_TITLES.items():
            share = is_share(metric)
            delta = None if pair.delta is None else getattr(pair.delta, metric)
            rows.append(
                (
                    display_title(diagnosis),
                    numbered_tier_title(tier),
                    title,
                    estimate_text(getattr(pair.train, metric), share=share),
                    estimate_text(None if pair.nontrain is None else getattr(pair.nontrain, metric), share=share),
                    estimate_text(delta, share=share, signed=True),
                    _p_value(delta),
                )
            )
    heads = ("Diagnosis", "Tier", "Figure", "Train", "Nontrain", "Train minus nontrain", "Adjusted p")
    return Table("Every disclosure figure (bands of AUROCs do not subtract)", heads, tuple(rows), _HOW_TO_READ)


def _p_value(delta: TestedDelta | None) -> str:
    if delta is None or delta.p_holm is None:
        # Without a test there is no interval either.
        was_tested = is_suppressed(delta) or (delta is not None and delta.value is not None and delta.low is not None)
        return SUPPRESSED if was_tested else "not tested"
    if delta.p_value is None:  # only on which side of 5% it lies is published
        return "above 0.05" if delta.p_holm >= 1 else f"at most {delta.p_holm:.3g}"
    return f"{delta.p_holm:.3f}" if delta.p_holm >= 0.001 else "at most 0.001"


def counts_table(results: Results) -> Table:
    """Return the counts behind the disclosure metrics."""
    rows = []
    for diagnosis, tier, pair in disclosure_pairs(results):
        dropped = "; ".join(f"{why}: {count_text(n)}" for why, n in pair.dropped_sets.items()) or "none"
        for arm, side in (("train", pair.train), ("nontrain", pair.nontrain)):
            if side is not None:
                counts = (count_text(side.generations), count_text(side.mentioned), count_text(side.unjudged))
                rows.append((display_title(diagnosis), numbered_tier_title(tier), arm, *counts, dropped))
    heads = ("Diagnosis", "Tier", "Arm", "Generations", "Mentioning", "Unjudged", "Matched sets left out")
    return Table("Counts behind the disclosure figures", heads, tuple(rows))
