"""Small cells in what is published of the judge, and in the figures corrected for its errors.

The shipped labelled texts are invented: their counts are shown. A site's own may be notes of its patients, so that
their counts are treated as counts of patients, and so are the verdicts on which two judges part. The matrix tells how
many texts were read wrongly over all diagnoses: one that is hidden is joined by others until none can be had back.

Corrected figures are a known function of every cell of the status × outcome table and of the matrix (the seed is
public): an arm's are shown only where the raw figures of that arm are shown whole, a difference where both arms' are,
and to two decimals where the matrix is hidden. A band for them was rejected: how far one patient moves them has no
simple bound.
"""

from collections.abc import Mapping

from clinaudit.reports.schema.disclosure import Disclosure, DisclosurePair
from clinaudit.reports.schema.estimate import Estimate
from clinaudit.reports.schema.judge import (
    VERDICT_CLASSES,
    Agreement,
    ConfusionRow,
    CorrectedMetrics,
    CorrectedPair,
    JudgeAgreement,
    JudgeQuality,
)
from clinaudit.reports.suppression.small_cells import (
    blur,
    counted,
    is_small,
    suppress_breakdown,
    suppress_count,
    suppress_rate,
    withhold,
)

_FIGURES = tuple(CorrectedMetrics.model_fields)


def suppress_judge(quality: JudgeQuality) -> JudgeQuality:
    """Return the publishable copy of the judge's figures."""
    second = None if quality.second is None else _suppress_second(quality.second)
    quality = quality.model_copy(update={"second": second})
    if quality.labels != "site":
        return quality
    if not hides_matrix(quality):
        accuracies = _suppress_accuracies(quality.accuracy_by_diagnosis)
        return quality.model_copy(update={"accuracy_by_diagnosis": accuracies})
    return quality.model_copy(
        update={
            "texts": suppress_count(quality.texts),
            "matrix": [_without_counts(row) for row in quality.matrix],
            # To two decimals and without n: a row's size and its share would give the cell back.
            "sensitivity": blur(suppress_rate(quality.sensitivity)),
            "specificity": blur(suppress_rate(quality.specificity)),
            # Their sum is the agreement's numerator: it, and what splits it otherwise, would give a hidden one away.
            "accuracy_by_class": {
                truth: blur(suppress_rate(rate)) for truth, rate in quality.accuracy_by_class.items()
            },
            "agreement": _withhold_agreement(quality.agreement),
            "accuracy_by_diagnosis": {name: withhold(rate) for name, rate in quality.accuracy_by_diagnosis.items()},
        }
    )


def hides_matrix(quality: JudgeQuality) -> bool:
    """Whether the matrix counts texts that may be patients', few in some cell."""
    cells = (getattr(row, name) for row in quality.matrix for name in (*VERDICT_CLASSES, "unjudged"))
    return quality.labels == "site" and any(map(is_small, cells))


def suppress_corrected(
    pair: DisclosurePair, published: DisclosurePair, quality: JudgeQuality | None
) -> CorrectedPair | None:
    """Return the publishable copy of a pair's corrected figures; `published` is that of its raw ones."""
    corrected = pair.corrected
    if corrected is None:
        return None
    is_coarse = quality is None or hides_matrix(quality)
    shows_train = _is_whole(published.train, pair.train)
    shows_nontrain = _is_whole(published.nontrain, pair.nontrain)

    def suppress_one(figures: CorrectedMetrics | None, *, shown: bool) -> CorrectedMetrics | None:
        if figures is None:
            return None
        change = withhold if not shown else blur if is_coarse else _as_it_is
        return CorrectedMetrics(**{name: change(getattr(figures, name)) for name in _FIGURES})

    train = suppress_one(corrected.train, shown=shows_train)
    return corrected.model_copy(
        update={
            "train": train,
            "nontrain": suppress_one(corrected.nontrain, shown=shows_nontrain),
            "delta": suppress_one(corrected.delta, shown=shows_train and shows_nontrain),
        }
    )


def _suppress_accuracies(rates: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """Withhold where few texts of a diagnosis were rated, few rightly or few wrongly; all three have known sums."""
    sizes = {name: rate.n or 0 for name, rate in rates.items()}
    right = {name: counted(rate) or 0 for name, rate in rates.items()}
    wrong = {name: sizes[name] - right[name] for name in rates}
    hidden = {
        name for counts in (sizes, right, wrong) for name, count in suppress_breakdown(counts).items() if count is None
    }
    return {name: withhold(rate) if name in hidden else rate for name, rate in rates.items()}


def _suppress_second(second: JudgeAgreement) -> JudgeAgreement:
    disagreements = suppress_count(second.disagreements, total=second.verdicts)
    unjudged = suppress_count(second.unjudged)
    if disagreements is None or unjudged is None:
        hidden = _withhold_agreement(second)
        return second.model_copy(
            update={
                "agreement": hidden.agreement,
                "kappa": hidden.kappa,
                "alpha": hidden.alpha,
                "disagreements": disagreements,
                "unjudged": unjudged,
            }
        )
    # The table behind them is not shown; to two decimals they tell little of one verdict in it.
    return second.model_copy(update={"kappa": blur(second.kappa), "alpha": blur(second.alpha)})


def _withhold_agreement(agreement: Agreement) -> Agreement:
    return Agreement(
        agreement=withhold(agreement.agreement), kappa=withhold(agreement.kappa), alpha=withhold(agreement.alpha)
    )


def _is_whole(published: Disclosure | None, original: Disclosure | None) -> bool:
    """Whether every figure is shown that the corrected ones depend on; the prevalence enters none of them."""
    if published is None or original is None:
        return published is original
    return published.model_copy(update={"ppv_at_prevalence": original.ppv_at_prevalence}) == original


def _without_counts(row: ConfusionRow) -> ConfusionRow:
    hidden = dict.fromkeys((*VERDICT_CLASSES, "unjudged"))
    return row.model_copy(update=hidden)


def _as_it_is(estimate: Estimate) -> Estimate:
    return estimate
