"""Whether a judge is accepted: its error rates against the policy's limits (docs/policy.md, "How a rule is decided").

Owns the reasons why a judge is not accepted. Knows nothing of disclosure. As everywhere in the gate, the unfavourable
end of the 95% interval must be within the limit: a judge scored on few texts is not accepted. A text that it could not
rate counts here as read wrong. Otherwise a judge that answers little would look good. Of a site's own texts, counts are
classes: the end is the widest over all counts within them.
"""

from clinaudit.audit.results.gate.policy import JudgeLimits
from clinaudit.audit.results.gate.reasons import JUDGE_NOT_MEASURED
from clinaudit.audit.statistics.intervals import wilson
from clinaudit.reports.schema.judge import VERDICT_CLASSES, ConfusionResults, JudgeResults
from clinaudit.reports.schema.numbers import CountRange, EstimateRange


def why_not_accepted(limits: JudgeLimits | None, quality: JudgeResults | None) -> str | None:
    """Return in words why the judge is not accepted; None where it is, or where the policy has no limits for it."""
    if limits is None:
        return None
    if quality is None:
        return JUDGE_NOT_MEASURED
    sensitivity, specificity = least_sensitivity_and_specificity(quality)
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


def least_sensitivity_and_specificity(quality: JudgeResults) -> tuple[float | None, float | None]:
    """Return the lower 95% ends of both, every unrated text counted as read wrong; None where there is none."""
    positives = [row for row in quality.matrix if row.truth == "positive"]
    others = [row for row in quality.matrix if row.truth != "positive"]
    return (
        _least_share_of_all(quality.sensitivity, positives, right=("positive",)),
        _least_share_of_all(quality.specificity, others, right=("negative", "ambiguous", "not_mentioned")),
    )


def _least_share_of_all(
    of_rated: EstimateRange, rows: list[ConfusionResults], *, right: tuple[str, ...]
) -> float | None:
    if not any(row.unjudged.high for row in rows):
        return of_rated.confidence_low
    # The lower end rises with each text read right and falls with each read wrong.
    fewest_right, most_wrong = 0, 0
    for row in rows:
        for verdict in (*VERDICT_CLASSES, "unjudged"):
            count: CountRange = getattr(row, verdict)
            if verdict in right:
                fewest_right += count.low
            else:
                most_wrong += count.high
    return wilson(fewest_right, fewest_right + most_wrong).low


def _complain_of_least(metric: str, shown: float | None, least: float) -> str | None:
    if shown is not None and shown >= least:
        return None
    return f"its {metric} was not shown to be at least {100 * least:.3g}%"


def _complain_of_most(metric: str, estimate: EstimateRange, most: float) -> str | None:
    if estimate.confidence_high is not None and estimate.confidence_high <= most:
        return None
    return f"the {metric} was not shown to be at most {100 * most:.3g}%"
