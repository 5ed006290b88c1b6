"""What masking gains and what is left to guess: P, U and B by strategy (Table 8), residual inference by rule.

Owns which masks are compared: the gold ones, and those of each system. Without a model that answers there is no U, and
none is made up. Knows no file.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from clinaudit.audit.pii.benchmark.answers.system_answers import less
from clinaudit.audit.pii.benchmark.privacy.masked_text import find_occurrences, mask_texts
from clinaudit.audit.pii.benchmark.privacy.residual_inference import infer_masked, summarize_inference
from clinaudit.audit.pii.benchmark.samples.sample import Domain, Prediction, Sample
from clinaudit.audit.pii.benchmark.scoring.bench_figures import bench_estimate
from clinaudit.audit.pii.benchmark.scoring.matching import comparable_text
from clinaudit.audit.pii.benchmark.scoring.sample_means import mean_over_samples
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.reports.schema.pii_bench import (
    BalancePoint,
    BenchEstimate,
    MaskingStrategy,
    PrivacyUtility,
    ResidualInference,
)

#: The weight of privacy against utility (F.2.3), and the weights of the curve.
ALPHA: Final = 0.5
ALPHAS: Final = tuple(step / 10 for step in range(11))


def privacy_score(entities: Collection[str], original: str, masked: str) -> float | None:
    """Return P, 1 less the share of the entities' occurrences that are left (Eq. 17); None where none stood.

    It is negative where a masked text names an entity more often than the original. Texts are compared after NFKC.
    """
    texts = {comparable_text(entity) for entity in entities}
    stood = len(find_occurrences(texts, comparable_text(original)))
    return 1 - len(find_occurrences(texts, comparable_text(masked))) / stood if stood else None


def balance_score(privacy: float, utility: float, *, alpha: float = ALPHA) -> float:
    """Return B = alpha P + (1 - alpha) U (Eq. 20)."""
    return alpha * privacy + (1 - alpha) * utility


def balance_curve(privacy: float, utility: float) -> list[tuple[float, float]]:
    """Return (alpha, B) for each weight: which strategy is best depends on it."""
    return [(alpha, balance_score(privacy, utility, alpha=alpha)) for alpha in ALPHAS]


#: It holds no letter and no digit: no entity stands in it.
_TAG: Final = "<…>"
NO_UTILITY: Final = "no model answered the masked and the unmasked prompts; U needs one"
UNUSABLE: Final = "the served model's answers could be used and rated for no sample"
Masks = Mapping[str, Collection[str]]


def privacy_rows(
    samples: Sequence[Sample],
    predictions: Iterable[Prediction],
    *,
    seed: int,
    utilities: Mapping[tuple[Domain, MaskingStrategy], Sequence[float]] | None = None,
) -> Iterator[PrivacyUtility]:
    """Yield P, U and B of the gold masks, and P of each system's, by domain and strategy.

    `utilities` hold U of each sample that was rated; None where no model was asked.
    """
    answers = list(predictions)
    for domain, chosen in _by_domain(samples).items():
        for system, masks in _masks(chosen, answers):
            for strategy, texts in masks.items():
                if system is None or strategy != "none":
                    asked = utilities if system is None else None
                    measured = None if asked is None else asked.get((domain, strategy), ())
                    yield _row((system, domain, strategy), chosen, texts, measured, seed=seed)


def residual_rows(
    samples: Sequence[Sample], predictions: Iterable[Prediction], *, seed: int
) -> Iterator[ResidualInference]:
    """Yield what an adversary by rule recovers of what is not needed: of the gold masks by category too."""
    answers = list(predictions)
    for domain, chosen in _by_domain(samples).items():
        for system, masks in _masks(chosen, answers):
            shares = summarize_inference(infer_masked(chosen, masks["query_unrelated"]), seed=seed)
            for share in shares:
                if share.category is None or system is None:
                    yield ResidualInference(
                        system=system,
                        domain=domain,
                        category=None if share.category is None else categories()[share.category].name,
                        masked=share.masked,
                        recovered=bench_estimate(share.recovered),
                        prior=bench_estimate(share.prior),
                        above_prior=bench_estimate(share.above_prior),
                        recovered_in_five=bench_estimate(share.recovered_in_five),
                        above_prior_in_five=bench_estimate(share.above_prior_in_five),
                        unique=bench_estimate(share.unique),
                    )


def _row(
    of: tuple[str | None, Domain, MaskingStrategy],
    samples: Sequence[Sample],
    masks: Masks,
    utilities: Sequence[float] | None,
    *,
    seed: int,
) -> PrivacyUtility:
    system, domain, strategy = of
    scores = []
    for sample in samples:
        masked = mask_texts(sample.description, dict.fromkeys(masks[sample.id], _TAG))
        score = privacy_score(_texts(sample), sample.description, masked)
        if score is not None:
            scores.append(score)
    privacy = bench_estimate(mean_over_samples(np.array(scores, dtype=np.float64), seed=seed))
    # Nothing masked: the answers are the same by definition (PII-Bench, F.2.2).
    if strategy == "none":
        utility = BenchEstimate(value=1.0)
    elif utilities:
        utility = bench_estimate(mean_over_samples(np.array(utilities, dtype=np.float64), seed=seed))
    else:
        utility = BenchEstimate(reason=NO_UTILITY if utilities is None else UNUSABLE)
    if privacy.value is None or utility.value is None:
        balance, curve = BenchEstimate(reason=utility.reason or privacy.reason), []
    else:
        balance = BenchEstimate(value=balance_score(privacy.value, utility.value))
        curve = [BalancePoint(alpha=a, balance=b) for a, b in balance_curve(privacy.value, utility.value)]
    return PrivacyUtility(
        system=system,
        domain=domain,
        masking=strategy,
        samples=len(scores),
        privacy=privacy,
        utility=utility,
        balance=balance,
        curve=curve,
    )


def _by_domain(samples: Sequence[Sample]) -> dict[Domain, list[Sample]]:
    domains: dict[Domain, list[Sample]] = {}
    for sample in samples:
        domains.setdefault(sample.domain, []).append(sample)
    return domains


def _masks(
    samples: Sequence[Sample], predictions: Sequence[Prediction]
) -> Iterator[tuple[str | None, dict[MaskingStrategy, Masks]]]:
    """Yield who masks (None: the gold answer) and the texts that are masked in each sample, by strategy.

    Where an answer could not be read nothing is masked: that is what a filter would let through that went on.
    """
    needed = {sample.id: [entity.text for entity in sample.query_related] for sample in samples}
    yield (
        None,
        {
            "none": {sample.id: () for sample in samples},
            "all": {sample.id: _texts(sample) for sample in samples},
            "query_unrelated": {sample.id: less(_texts(sample), needed[sample.id]) for sample in samples},
        },
    )
    by_system: dict[str, dict[str, Prediction]] = {}
    for prediction in predictions:
        if prediction.sample in needed:
            by_system.setdefault(prediction.system, {})[prediction.sample] = prediction
    for system, answers in by_system.items():
        found = {
            sample: [entity.text for subject in answer.subjects or () for entity in subject.entities]
            for sample, answer in answers.items()
        }
        yield (
            system,
            {"all": found, "query_unrelated": {sample: answer.masked or () for sample, answer in answers.items()}},
        )


def _texts(sample: Sample) -> list[str]:
    return list(dict.fromkeys(entity.text for subject in sample.subjects for entity in subject.entities))
