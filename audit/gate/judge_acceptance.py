"""Whether a judge may be relied on: its figures against the policy's limits (docs/policy.md, "How a rule is decided").

Owns the words for a judge that is not accepted. Knows nothing of disclosure. As everywhere in the gate, the end of the
95% interval that speaks against the judge must be within the limit: a judge scored on few texts is not accepted. A text
that it could not rate counts against it here as one read wrong, or a judge that answers little would look good.
"""

from clinaudit.audit.gate.policy import JudgeLimits
from clinaudit.audit.statistics.intervals import wilson
from clinaudit.reports.schema.estimate import Estimate
from clinaudit.reports.schema.judge import VERDICT_CLASSES, ConfusionRow, JudgeQuality


def why_not_accepted(limits: JudgeLimits | None, quality: JudgeQuality | None) -> str | None:
    """Return in words why the judge is not accepted, or None where it is, or where the policy asks nothing of it."""
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
    """Return sensitivity and specificity with every text that was not rated read wrong; as they are where all were."""
    positives = [row for row in quality.matrix if row.truth == "positive"]
    others = [row for row in quality.matrix if row.truth != "positive"]
    return (
        _share_of_all(quality.sensitivity, positives, right=("positive",)),
        _share_of_all(quality.specificity, others, right=("negative", "ambiguous", "not_mentioned")),
    )


def _share_of_all(of_rated: Estimate, rows: list[ConfusionRow], *, right: tuple[str, ...]) -> Estimate:
    # A suppressed count is null; the figure made from it is withheld too, and cannot be accepted.
    counts = {verdict: sum(getattr(row, verdict) or 0 for row in rows) for verdict in (*VERDICT_CLASSES, "unjudged")}
    if not counts["unjudged"]:
        return of_rated
    return wilson(sum(counts[verdict] for verdict in right), sum(counts.values()))


def _complain_of_least(figure: str, estimate: Estimate, least: float) -> str | None:
    if estimate.low is not None and estimate.low >= least:
        return None
    return f"its {figure} was not shown to be at least {100 * least:.3g}%"


def _complain_of_most(figure: str, estimate: Estimate, most: float) -> str | None:
    if estimate.high is not None and estimate.high <= most:
        return None
    return f"the {figure} was not shown to be at most {100 * most:.3g}%"
