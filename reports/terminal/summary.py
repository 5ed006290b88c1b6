"""The results in plain text, for `clinaudit show` and the end of an audit. At most 100 columns.

Works on suppressed results. An estimate without a value is a word or its band in brackets, never 0.
"""

from clinaudit.reports.schema.estimate import ARMS, Estimate
from clinaudit.reports.schema.judge import JudgeQuality
from clinaudit.reports.schema.results import Results
from clinaudit.reports.tables.judge import judge_caveat_sentences, judge_matrix_table, judge_metrics_table
from clinaudit.reports.tables.table import list_tiers, numbered_tier_title
from clinaudit.reports.terminal.layout import align_columns, paint, wrap
from clinaudit.reports.wording.names import (
    HEADLINE_TIER,
    MEMORIZATION_METRICS,
    STATUSES,
    display_title,
    is_share,
    tier_title,
)
from clinaudit.reports.wording.numbers import NOT_MEASURED, RANGE_NOTE, short_estimate_text

_DELTAS = (("AUROC, all", "auroc_all"), ("sensitivity", "sensitivity"), ("PPV", "ppv"))
#: What a reader must know of the tables.
_BRACKETS = f"{RANGE_NOTE} The verdict rests on the unsuppressed figures."


def summary_text(results: Results, *, colour: bool = False) -> str:
    """Return the results in short: verdict, memorization by tier and arm, disclosure deltas at the headline tier."""
    parts = [_verdict(results, colour=colour), _memorization(results), _disclosure(results)]
    warnings = [*results.warnings, *(results.corpus.warnings if results.corpus else ())]
    if warnings:
        parts.append("\n".join(wrap(f"Warning: {warning}", indent="  ") for warning in warnings))
    parts.append(_BRACKETS)
    return "\n\n".join(parts) + "\n"


def judge_text(quality: JudgeQuality) -> str:
    """Return the judge's confusion matrix and metrics, and what they are worth."""
    results = Results(judge_quality=quality)
    matrix, metrics = judge_matrix_table(results), judge_metrics_table(results)
    lines = "\n".join(wrap(f"{title}: {value}", indent="  ") for title, value in metrics.rows)
    caveat = wrap(judge_caveat_sentences(quality), indent="")
    table = align_columns([matrix.columns, *matrix.rows])
    return f"{matrix.caption}\n\n{table}\n\n{metrics.caption}\n\n{lines}\n\n{caveat}\n"


def verdict_text(results: Results, *, colour: bool = False) -> str:
    """Return the verdict and its reason, wrapped."""
    if results.decision is None:
        return "Verdict: none, no policy was applied"
    status = results.decision.status
    word = STATUSES[status][0].upper()
    line = wrap(f"Verdict: {word} (policy {results.decision.policy}: {results.decision.reason})", indent="  ")
    # After wrapping: the signs of a colour take no width.
    return line.replace(word, paint(word, status, colour=colour), 1)


def _verdict(results: Results, *, colour: bool) -> str:
    if results.decision is None:
        return verdict_text(results)
    statuses: list[str] = [rule.status for rule in results.decision.rules]
    counts = (
        f"{len(statuses)} rules: {statuses.count('fail')} failed, {statuses.count('inconclusive')} inconclusive,"
        f" {statuses.count('pass')} passed"
    )
    lines = [verdict_text(results, colour=colour), counts]
    failed = [rule.id for rule in results.decision.rules if rule.status == "fail"]
    if failed:
        lines.append(wrap(f"Failed: {', '.join(failed)}", indent="  "))
    return "\n".join(lines)


def _memorization(results: Results) -> str:
    tiers = [tier for tier in list_tiers(results) if tier in results.memorization]
    if not tiers:
        return f"Memorization: {NOT_MEASURED}"
    rows = [["Memorization by tier", "arm", *(title for title, _ in MEMORIZATION_METRICS)]]
    for tier in tiers:
        label = numbered_tier_title(tier)
        for arm in ARMS:
            summary = results.memorization[tier].get(arm)
            if summary is not None:
                shares = [short_estimate_text(getattr(summary, name), share=True) for _, name in MEMORIZATION_METRICS]
                rows.append([label, arm, *shares])
                label = ""
    return align_columns(rows)


def _disclosure(results: Results) -> str:
    title = f"Train minus nontrain at {tier_title(HEADLINE_TIER)}"
    rows = [[title, *(name for name, _ in _DELTAS)]]
    for diagnosis, tiers in results.disclosure.by_diagnosis.items():
        pair = tiers.get(HEADLINE_TIER)
        delta = None if pair is None else pair.delta
        estimates: list[tuple[str, Estimate | None]] = [
            (metric, None if delta is None else getattr(delta, metric)) for _, metric in _DELTAS
        ]
        shares = [short_estimate_text(estimate, share=is_share(metric), signed=True) for metric, estimate in estimates]
        rows.append([display_title(diagnosis), *shares])
    return align_columns(rows) if len(rows) > 1 else f"Sensitive diagnoses: {NOT_MEASURED}"
