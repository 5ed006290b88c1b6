"""A comparison of two runs in plain text, for `clinaudit compare`. At most 100 columns."""

from collections.abc import Sequence

from clinaudit.reports.schema.comparison import Comparison, Forgetting
from clinaudit.reports.tables.comparison import BASES, BRACKETS, DELTAS, VERDICTS, list_arms
from clinaudit.reports.tables.table import numbered_tier_title
from clinaudit.reports.terminal.layout import align_columns, wrap
from clinaudit.reports.wording.names import (
    HEADLINE_TIER,
    MEMORIZATION_METRICS,
    METRIC_TITLES,
    display_title,
    is_share,
    tier_title,
)
from clinaudit.reports.wording.numbers import count_text, short_estimate_text


def comparison_text(comparison: Comparison) -> str:
    """Return the comparison in plain text, at most 100 columns wide."""
    parts = [wrap(BASES[comparison.basis], indent="  ")]
    rows = [["Memorization, B − A", "arm", *(title for title, _ in MEMORIZATION_METRICS)]]
    before = None
    for tier, arm, compared in list_arms(comparison):
        cells = [
            short_estimate_text(getattr(compared, name).difference, share=True, signed=True, interval=True)
            for _, name in MEMORIZATION_METRICS
        ]
        rows.append([numbered_tier_title(tier) if tier != before else "", arm, *cells])
        before = tier
    parts.append(align_columns(rows) if len(rows) > 1 else "Memorization: no tier was measured in both runs")
    parts.append(_disclosure_summary(comparison))
    if comparison.forgetting is not None:
        parts.append(_forgetting_summary(comparison.forgetting))
    parts += [wrap(f"Note: {warning}", indent="  ") for warning in comparison.warnings]
    parts.append(BRACKETS)
    return "\n\n".join(parts) + "\n"


def _disclosure_summary(comparison: Comparison) -> str:
    title = f"Train minus nontrain, B − A, at {tier_title(HEADLINE_TIER)}"
    metrics = DELTAS[:3]
    rows: list[Sequence[str]] = [[title, *(METRIC_TITLES[metric] for metric in metrics)]]
    for diagnosis, tiers in comparison.disclosure.items():
        compared = tiers.get(HEADLINE_TIER)
        if compared is not None:
            cells = [
                short_estimate_text(
                    compared.delta[metric].difference, share=is_share(metric), signed=True, interval=True
                )
                for metric in metrics
            ]
            rows.append([display_title(diagnosis), *cells])
    return align_columns(rows) if len(rows) > 1 else "Sensitive diagnoses: not measured in both runs"


def _forgetting_summary(forgetting: Forgetting) -> str:
    word, sign = VERDICTS[forgetting.verdict]
    lines = [f"Named patients: {sign} {word.upper()}"]
    named = [f"{VERDICTS[verdict][0].lower()}: {count_text(number)}" for verdict, number in forgetting.patients.items()]
    lines.append(wrap(f"  Named: {count_text(forgetting.named)}. {'; '.join(named)}.", indent="    "))
    collapse = {True: "failed: B does not write as A did", False: "passed", None: "could not be made"}
    lines.append(f"  Collapse check: {collapse[forgetting.collapsed]}.")
    above = short_estimate_text(forgetting.controls_above_level, share=True)
    lines.append(f"  Held-out patients who would not pass the same rule: {above}.")
    lines += [wrap(f"  {reason}", indent="    ") for reason in forgetting.reasons]
    return "\n".join(lines)
