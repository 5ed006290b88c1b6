"""A comparison of two runs in plain text, for `clinaudit compare`. At most 100 columns.

Owns what is shown of it on a terminal: the conclusion first, which figures were read, the headline tier of diagnoses.
"""

from collections.abc import Sequence
from typing import Final

from clinaudit.reports.schema.comparison import ComparisonContent, PublishedComparison, PublishedForgetting
from clinaudit.reports.tables.comparison import VERDICTS, list_arms
from clinaudit.reports.terminal.layout import align_columns, wrap
from clinaudit.reports.wording.comparison import FIGURES_READ
from clinaudit.reports.wording.names import (
    ARM_WORDS,
    HEADLINE_TIER,
    MEMORIZATION_METRICS,
    METRIC_TITLES,
    SHORT_TIER_TITLES,
    display_title,
    is_share,
    join_words,
    tier_number,
    tier_title,
)
from clinaudit.reports.wording.numbers import RANGE_NOTE, count_text, estimate_text

#: What fits into 100 columns; the page has the others.
_TEXT_METRICS: Final = MEMORIZATION_METRICS[:2]
_METRICS: Final = ("sensitivity", "auroc_all")
_INTERVALS: Final = "In round brackets: 95% intervals."


def comparison_text(content: ComparisonContent) -> str:
    """Return the comparison in plain text, at most 100 columns wide; the conclusion is its first line."""
    comparison = content.comparison
    read = FIGURES_READ[comparison.figures]
    if comparison.figures == "published":
        read += " --exact reads the evidence."
    parts = [wrap(comparison.conclusion, indent="  "), wrap(read, indent="  ")]
    rows = [["Repeated text, B − A", "patients", *(title for title, _ in _TEXT_METRICS)]]
    before = None
    for tier, arm, compared in list_arms(comparison):
        cells = [
            estimate_text(getattr(compared, name).difference, share=True, signed=True, interval=True)
            for _, name in _TEXT_METRICS
        ]
        rows.append([_short_title(tier) if tier != before else "", ARM_WORDS[arm], *cells])
        before = tier
    parts.append(align_columns(rows) if len(rows) > 1 else "Repeated text: no tier was measured in both runs")
    parts.append(_disclosure_summary(comparison))
    if comparison.forgetting is not None:
        parts.append(_forgetting_summary(comparison.forgetting))
    parts += [wrap(f"Note: {warning}", indent="  ") for warning in comparison.warnings]
    note = f"{RANGE_NOTE} {_INTERVALS}" if comparison.figures == "published" else _INTERVALS
    parts.append(wrap(note, indent="  "))
    return "\n\n".join(parts) + "\n"


def _short_title(tier: str) -> str:
    return f"{tier_number(tier)} {SHORT_TIER_TITLES[tier][0]}" if tier in SHORT_TIER_TITLES else tier


def _disclosure_summary(comparison: PublishedComparison) -> str:
    title = f"Trained on minus never seen, B − A, at {tier_title(HEADLINE_TIER)}"
    rows: list[Sequence[str]] = [["Diagnosis", *(METRIC_TITLES[metric] for metric in _METRICS)]]
    for diagnosis, tiers in comparison.disclosure.items():
        compared = tiers.get(HEADLINE_TIER)
        if compared is not None:
            cells = [
                estimate_text(compared[metric].difference, share=is_share(metric), signed=True, interval=True)
                if metric in compared
                else ""
                for metric in _METRICS
            ]
            rows.append([display_title(diagnosis), *cells])
    if len(rows) == 1:
        return "Sensitive diagnoses: not measured in both runs"
    return f"{title}\n{align_columns(rows)}"


def _forgetting_summary(forgetting: PublishedForgetting) -> str:
    word, sign = VERDICTS[forgetting.verdict]
    named = [f"{VERDICTS[verdict][0].lower()} {count_text(number)}" for verdict, number in forgetting.patients.items()]
    by_verdict = f": {', '.join(named)}" if named else ""
    collapse = {True: "failed: B does not write as A did", False: "passed", None: "could not be made"}
    share = estimate_text(forgetting.controls_above_level, share=True)
    lines = [
        f"Named patients: {sign} {word.upper()}",
        wrap(f"  Named: {count_text(forgetting.named)}{by_verdict}.", indent="    "),
        f"  Collapse check: {collapse[forgetting.collapsed]}.",
        wrap(f"  Patients never seen who would not pass the same rule: {share}.", indent="    "),
        *(
            [wrap(f"  Weighed beside the two audits: {join_words(forgetting.beside)}.", indent="    ")]
            * bool(forgetting.beside)
        ),
        *(wrap(f"  {reason}", indent="    ") for reason in forgetting.reasons),
    ]
    return "\n".join(lines)
