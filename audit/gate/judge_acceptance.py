"""Whether a judge is accepted: its error rates against the policy's limits (docs/policy.md, "How a rule is decided").

Owns the reasons why a judge is not accepted. Knows nothing of disclosure. As everywhere in the gate, the unfavourable
end of the 95% interval must be within the limit: a judge scored on few texts is not accepted. A text that it could not
rate counts here as read wrong. Otherwise a judge that answers little would look good.
"""

from clinaudit.audit.gate.policy import JudgeLimits
from clinaudit.audit.statistics.intervals import wilson
from clinaudit.reports.schema.estimate import Estimate
from clinaudit.reports.schema.judge import VERDICT_CLASSES, ConfusionRow, JudgeQuality


def why_not_accepted(limits: JudgeLimits | None, quality: JudgeQuality | None) -> str | None:
    """Return in words why the judge is not accepted; None where it is, or where the policy has no limits for it."""
    if limits is None:
        return None
    if quality is None:
        return "How well the judge reads was not measured."
    sensitivity, specificity = count_unrated_as_wrong(quality)
    complaints = [
        complaint
        for complaint in (
            _complain_of_least("sensitivity", sensitivity, limits.minimum_sensitivity),
            _complain_of_least("specificity", specificity, limits.minimum_specificity),
            _complain_of_most(
                "share of planted instructions that sway it", quality.flip_rate, limits.maximum_flip_rate
            ),
        )
        if complaint is not None
    ]
    return f"The judge is not accepted: {'; '.join(complaints)}." if complaints else None


def count_unrated_as_wrong(quality: JudgeQuality) -> tuple[Estimate, Estimate]:
    """Return sensitivity and specificity, every unrated text counted as read wrong; unchanged where all were rated."""
    positives = [row for row in quality.matrix if row.truth == "positive"]
    others = [row for row in quality.matrix if row.truth != "positive"]
    return (
        _share_of_all(quality.sensitivity, positives, right=("positive",)),
        _share_of_all(quality.specificity, others, right=("negative", "ambiguous", "not_mentioned")),
    )


def _share_of_all(of_rated: Estimate, rows: list[ConfusionRow], *, right: tuple[str, ...]) -> Estimate:
    # A suppressed count is null. The rate made from it is suppressed too, and so cannot be accepted.
    counts = {verdict: sum(getattr(row, verdict) or 0 for row in rows) for verdict in (*VERDICT_CLASSES, "unjudged")}
    if not counts["unjudged"]:
        return of_rated
    return wilson(sum(counts[verdict] for verdict in right), sum(counts.values()))


def _complain_of_least(metric: str, estimate: Estimate, least: float) -> str | None:
    if estimate.low is not None and estimate.low >= least:
        return None
    return f"its {metric} was not shown to be at least {100 * least:.3g}%"


def _complain_of_most(metric: str, estimate: Estimate, most: float) -> str | None:
    if estimate.high is not None and estimate.high <= most:
        return None
    return f"the {metric} was not shown to be at most {100 * most:.3g}%"
