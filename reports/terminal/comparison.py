"""A comparison of two runs in plain text, for `clinaudit compare`. At most 100 columns.

Owns what is shown of it on a terminal: the conclusion first, which figures were read, the headline tier of diagnoses.
"""

from typing import Final

from clinaudit.reports.schema.comparison import Comparison
from clinaudit.reports.schema.forgetting import Forgetting
from clinaudit.reports.tables.comparison import DELTA, VERDICTS, has_changed, list_arms
from clinaudit.reports.terminal.layout import align_columns, wrap
from clinaudit.reports.wording.comparison import FIGURES_READ, verdicts_sentence
from clinaudit.reports.wording.figures import figure_text
from clinaudit.reports.wording.names import (
    ARM_WORDS,
    HEADLINE_TIER,
    LEAK_TITLES,
    MEMORIZATION_METRICS,
    METRIC_TITLES,
    SHORT_TIER_TITLES,
    display_title,
    join_words,
    tier_number,
    tier_title,
)
from clinaudit.reports.wording.numbers import RANGE_NOTE, counted, estimate_text

#: What fits into 100 columns; the page has the others.
_TEXT_METRICS: Final = MEMORIZATION_METRICS[:2]
_INTERVALS: Final = "In round brackets: 95% intervals."


def comparison_text(comparison: Comparison) -> str:
    """Return the comparison in plain text, at most 100 columns wide; both verdicts and the conclusion come first."""
    read = FIGURES_READ[comparison.figures]
    if comparison.figures == "published":
        read += " --exact reads the evidence."
    opening = [] if comparison.rules is None else [verdicts_sentence(comparison.rules)]
    opening.append(comparison.conclusion)
    parts = ["\n".join(wrap(sentence, indent="  ") for sentence in opening), wrap(read, indent="  ")]
    rows = [["Repeated text, B − A", "patients", *(title for title, _ in _TEXT_METRICS)]]
    before = None
    unchanged = 0
    for tier, arm, compared in list_arms(comparison):
        if not any(has_changed(getattr(compared, name)) for _, name in _TEXT_METRICS):
            unchanged += 1
            continue
        cells = [
            estimate_text(getattr(compared, name).difference, share=True, signed=True, interval=True)
            for _, name in _TEXT_METRICS
        ]
        rows.append([_short_title(tier) if tier != before else "", ARM_WORDS[arm], *cells])
        before = tier
    if not list(list_arms(comparison)):
        parts.append("Repeated text: no tier was measured in both runs")
    elif len(rows) > 1:
        parts.append(align_columns(rows))
    if unchanged:
        parts.append(f"Repeated text: {counted(unchanged, 'row')} without a shown change (--out lists all)")
    if comparison.ordinary:
        changes = [
            [LEAK_TITLES[name], estimate_text(of.difference, share=True, signed=True, interval=True)]
            for name, of in comparison.ordinary.items()
        ]
        parts.append(align_columns([["Everyday tasks, B − A", "share answered with it"], *changes]))
    parts.append(_disclosure_summary(comparison))
    if comparison.forgetting is not None:
        parts.append(_forgetting_summary(comparison.forgetting))
    parts += [wrap(f"Note: {warning}", indent="  ") for warning in comparison.warnings]
    note = f"{RANGE_NOTE} {_INTERVALS}" if comparison.figures == "published" else _INTERVALS
    parts.append(wrap(note, indent="  "))
    return "\n\n".join(parts) + "\n"


def _short_title(tier: str) -> str:
    return f"{tier_number(tier)} {SHORT_TIER_TITLES[tier][0]}" if tier in SHORT_TIER_TITLES else tier


def _disclosure_summary(comparison: Comparison) -> str:
    title = f"Trained on minus never seen, B − A, at {tier_title(HEADLINE_TIER)}"
    rows = [["Diagnosis", METRIC_TITLES[DELTA]]]
    for diagnosis, tiers in comparison.disclosure.items():
        if HEADLINE_TIER in tiers and DELTA in tiers[HEADLINE_TIER]:
            difference = tiers[HEADLINE_TIER][DELTA].difference
            rows.append([display_title(diagnosis), estimate_text(difference, signed=True, interval=True)])
    if len(rows) == 1:
        return "Sensitive diagnoses: not measured in both runs"
    return f"{title}\n{align_columns(rows)}"


def _forgetting_summary(forgetting: Forgetting) -> str:
    word, sign = VERDICTS[forgetting.verdict]
    named = [f"{VERDICTS[verdict][0].lower()} {number}" for verdict, number in forgetting.patients.items()]
    by_verdict = f": {', '.join(named)}" if named else ""
    collapse = {True: "failed: B does not write as A did", False: "passed", None: "could not be made"}
    is_moot = forgetting.collapsed and forgetting.is_trained_again
    decides_nothing = "; it decides nothing, since B was trained again" if is_moot else ""
    share = figure_text(forgetting.controls_above_level, share=True)
    lines = [
        f"Named patients: {sign} {word.upper()}",
        wrap(f"  Named: {forgetting.named}{by_verdict}.", indent="    "),
        f"  Collapse check: {collapse[forgetting.collapsed]}{decides_nothing}.",
        wrap(f"  Patients never seen who would not pass the same rule: {share}.", indent="    "),
        *(
            [wrap(f"  Weighed beside the two audits: {join_words(forgetting.beside)}.", indent="    ")]
            * bool(forgetting.beside)
        ),
        *(wrap(f"  {reason}", indent="    ") for reason in forgetting.reasons),
    ]
    return "\n".join(lines)
