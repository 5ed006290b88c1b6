"""The summary of a comparison in plain text."""

from collections.abc import Sequence

from clinaudit.reports.schema.comparison import Comparison, Forgetting
from clinaudit.reports.tables.comparison import BASES, BRACKETS, DELTAS, VERDICTS, list_arms
from clinaudit.reports.tables.table import numbered
from clinaudit.reports.terminal.layout import grid, wrap
from clinaudit.reports.wording.names import (
    HEADLINE_TIER,
    MEMORIZATION_MEASURES,
    METRIC_TITLES,
    is_share,
    label,
    tier_title,
)
from clinaudit.reports.wording.numbers import count, short_figure


def comparison_summary(comparison: Comparison) -> str:
    """Return the comparison in plain text, at most 100 columns wide."""
    parts = [wrap(BASES[comparison.basis], indent="  ")]
    rows = [["Memorization, B − A", "arm", *(title for title, _ in MEMORIZATION_MEASURES)]]
    before = None
    for tier, arm, figures in list_arms(comparison):
        cells = [
            short_figure(getattr(figures, name).difference, share=True, signed=True, interval=True)
            for _, name in MEMORIZATION_MEASURES
        ]
        rows.append([numbered(tier) if tier != before else "", arm, *cells])
        before = tier
    parts.append(grid(rows) if len(rows) > 1 else "Memorization: no tier was measured in both runs")
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
            figures = [
                short_figure(compared.delta[metric].difference, share=is_share(metric), signed=True, interval=True)
                for metric in metrics
            ]
            rows.append([label(diagnosis), *figures])
    return grid(rows) if len(rows) > 1 else "Sensitive diagnoses: not measured in both runs"


def _forgetting_summary(forgetting: Forgetting) -> str:
    word, sign = VERDICTS[forgetting.verdict]
    lines = [f"Named patients: {sign} {word.upper()}"]
    named = [f"{VERDICTS[verdict][0].lower()}: {count(number)}" for verdict, number in forgetting.patients.items()]
    lines.append(wrap(f"  Named: {count(forgetting.named)}. {'; '.join(named)}.", indent="    "))
    collapse = {True: "failed: B does not write as A did", False: "passed", None: "could not be made"}
    lines.append(f"  Collapse check: {collapse[forgetting.collapsed]}.")
    above = short_figure(forgetting.controls_above_level, share=True)
    lines.append(f"  Held-out patients who would not pass the same rule: {above}.")
    lines += [wrap(f"  {reason}", indent="    ") for reason in forgetting.reasons]
    return "\n".join(lines)
