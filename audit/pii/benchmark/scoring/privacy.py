"""What masking gains: P, U and B by strategy (PII-Bench, Table 8), and where entities stand in a text.

Owns which masks are compared: the gold ones, and those of each system. Without a model that answers there is no U, and
none is made up. **[choice]** An occurrence begins and ends at the border of a token, so that "25" does not stand in
"1925", and the longest entity takes its places first.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Final

from clinaudit.audit.pii.benchmark.sample import Domain, Prediction, Sample, comparable_text, less
from clinaudit.audit.pii.benchmark.scoring.bench_figures import bench_estimate
from clinaudit.audit.pii.benchmark.scoring.sample_means import mean_over_samples
from clinaudit.audit.statistics.grouping import grouped
from clinaudit.reports.schema.pii_bench import (
    BalancePoint,
    BenchEstimate,
    MaskingStrategy,
    PrivacyUtility,
)
from clinaudit.templates.spans import Span


def find_occurrences(entities: Collection[str], text: str) -> list[tuple[Span, str]]:
    """Return where entities stand in a text, by place, none of them overlapping another.

    The longest entity takes its places first; of two equally long ones the alphabetically first. A digit's border is
    no place inside a longer number ("250" does not stand in "1,250" or "250.75").
    """
    found: list[tuple[Span, str]] = []
    taken = bytearray(len(text))
    for entity in sorted({entity for entity in entities if entity}, key=lambda entity: (-len(entity), entity)):
        for start in _places(entity, text):
            end = start + len(entity)
            if not any(taken[start:end]):
                taken[start:end] = b"\x01" * len(entity)
                found.append((Span(start, end), entity))
    return sorted(found)


def _places(entity: str, text: str) -> Iterator[int]:
    """Yield where an entity stands at the borders of tokens; a regular expression each would cost ten times as much."""
    start = text.find(entity)
    while start >= 0:
        end = start + len(entity)
        stands = _is_border(entity[0], text[max(start - 2, 0) : start][::-1]) and _is_border(
            entity[-1], text[end : end + 2]
        )
        if stands:
            yield start
        start = text.find(entity, end if stands else start + 1)


def _is_border(edge: str, outside: str) -> bool:
    """Return whether a token can end at `edge`, with what stands outside of it, the next character first."""
    if not outside:
        return True
    if _is_word(edge) and _is_word(outside[0]):
        return False
    return not (edge.isdigit() and outside[0] in ".," and outside[1:].isdecimal())


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def mask_texts(text: str, tags: Mapping[str, str]) -> str:
    """Return a text with every occurrence of an entity replaced by its tag; `tags` holds the tag of each entity."""
    parts: list[str] = []
    at = 0
    for (start, end), entity in find_occurrences(tags, text):
        parts += [text[at:start], tags[entity]]
        at = end
    return "".join([*parts, text[at:]])


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
    for domain, chosen in grouped(samples, attrgetter("domain")).items():
        for system, masks in _masks(chosen, answers):
            for strategy, texts in masks.items():
                # The model answers the prompts that the gold answer masks.
                asked = utilities if system is None else None
                measured = None if asked is None else asked.get((domain, strategy), ())
                yield _row((system, domain, strategy), chosen, texts, measured, seed=seed)


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
    privacy = bench_estimate(mean_over_samples(scores, seed=seed))
    # Nothing masked: the answers are the same by definition (PII-Bench, F.2.2).
    if strategy == "none":
        utility = BenchEstimate(value=1.0)
    elif utilities:
        utility = bench_estimate(mean_over_samples(utilities, seed=seed))
    else:
        utility = BenchEstimate(reason=NO_UTILITY if utilities is None else UNUSABLE)
    if privacy.value is None or utility.value is None:
        balance, curve = BenchEstimate(reason=utility.reason or privacy.reason), []
    else:
        balance = BenchEstimate(value=balance_score(privacy.value, utility.value))
        # Which strategy is best depends on the weight.
        curve = [
            BalancePoint(alpha=alpha, balance=balance_score(privacy.value, utility.value, alpha=alpha))
            for alpha in ALPHAS
        ]
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
    return list(dict.fromkeys(entity.text for entity in sample.entities()))
