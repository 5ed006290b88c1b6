"""The summary table in plain text, for `clinaudit show` and the end of an audit. At most 100 columns.

Works on suppressed results; a figure without a value is a word or its band in brackets, never 0.
"""

from clinaudit.reports.schema.estimate import ARMS, Estimate
from clinaudit.reports.schema.judge import JudgeQuality
from clinaudit.reports.schema.results import Results
from clinaudit.reports.tables.judge import judge_caveat, judge_figures_table, judge_matrix_table
from clinaudit.reports.tables.table import numbered, tiers_of
from clinaudit.reports.terminal.layout import grid, paint, wrap
from clinaudit.reports.wording.names import HEADLINE_TIER, MEMORIZATION_MEASURES, STATUSES, is_share, label, tier_title
from clinaudit.reports.wording.numbers import NOT_MEASURED, RANGE_NOTE, short_figure

_DELTAS = (("AUROC, all", "auroc_all"), ("sensitivity", "sensitivity"), ("PPV", "ppv"))
#: What a reader must know of the tables.
_BRACKETS = f"{RANGE_NOTE} The verdict rests on the unsuppressed figures."


def summary_table(results: Results, *, colour: bool = False) -> str:
    """Return the summary: verdict, memorization by tier and arm, disclosure deltas at the headline tier."""
    parts = [_verdict(results, colour=colour), _memorization(results), _disclosure(results)]
    warnings = [*results.warnings, *(results.corpus.warnings if results.corpus else ())]
    if warnings:
        parts.append("\n".join(wrap(f"Warning: {warning}", indent="  ") for warning in warnings))
    parts.append(_BRACKETS)
    return "\n\n".join(parts) + "\n"


def judge_summary(quality: JudgeQuality) -> str:
    """Return the judge's matrix and figures, and what they are worth."""
    results = Results(judge_quality=quality)
    matrix, figures = judge_matrix_table(results), judge_figures_table(results)
    lines = "\n".join(wrap(f"{title}: {value}", indent="  ") for title, value in figures.rows)
    caveat = wrap(judge_caveat(quality), indent="")
    return f"{matrix.caption}\n\n{grid([matrix.columns, *matrix.rows])}\n\n{figures.caption}\n\n{lines}\n\n{caveat}\n"


def verdict_line(results: Results, *, colour: bool = False) -> str:
    """Return the verdict and its reason, wrapped."""
    if results.decision is None:
        return "Verdict: none, no policy was applied"
    status = results.decision.status
    word = STATUSES[status][0].upper()
    line = wrap(f"Verdict: {word} (policy {results.decision.policy}: {results.decision.reason})", indent="  ")
    # Only now: what a colour takes is no width.
    return line.replace(word, paint(word, status, colour=colour), 1)


def _verdict(results: Results, *, colour: bool) -> str:
    if results.decision is None:
        return verdict_line(results)
    statuses: list[str] = [rule.status for rule in results.decision.rules]
    counts = (
        f"{len(statuses)} rules: {statuses.count('fail')} failed, {statuses.count('inconclusive')} inconclusive,"
        f" {statuses.count('pass')} passed"
    )
    lines = [verdict_line(results, colour=colour), counts]
    failed = [rule.id for rule in results.decision.rules if rule.status == "fail"]
    if failed:
        lines.append(wrap(f"Failed: {', '.join(failed)}", indent="  "))
    return "\n".join(lines)


def _memorization(results: Results) -> str:
    tiers = [tier for tier in tiers_of(results) if tier in results.memorization]
    if not tiers:
        return f"Memorization: {NOT_MEASURED}"
    rows = [["Memorization by tier", "arm", *(title for title, _ in MEMORIZATION_MEASURES)]]
    for tier in tiers:
        label = numbered(tier)
        for arm in ARMS:
            figures = results.memorization[tier].get(arm)
            if figures is not None:
                shares = [short_figure(getattr(figures, name), share=True) for _, name in MEMORIZATION_MEASURES]
                rows.append([label, arm, *shares])
                label = ""
    return grid(rows)


def _disclosure(results: Results) -> str:
    title = f"Train minus nontrain at {tier_title(HEADLINE_TIER)}"
    rows = [[title, *(name for name, _ in _DELTAS)]]
    for diagnosis, tiers in results.disclosure.by_diagnosis.items():
        pair = tiers.get(HEADLINE_TIER)
        delta = None if pair is None else pair.delta
        figures: list[tuple[str, Estimate | None]] = [
            (metric, None if delta is None else getattr(delta, metric)) for _, metric in _DELTAS
        ]
        shares = [short_figure(figure, share=is_share(metric), signed=True) for metric, figure in figures]
        rows.append([label(diagnosis), *shares])
    return grid(rows) if len(rows) > 1 else f"Sensitive diagnoses: {NOT_MEASURED}"
