"""From items to figures: means over samples, statistics, privacy, and what is found.

Owns over which samples a figure is a mean, its interval **[choice]** (the bootstrap over samples, which resamples all
of a sample's values at once; Clopper and Pearson's where all samples have one value, since the bootstrap is a point
there), privacy, utility and balance (PII-Bench, Table 8), and by which kinds of identifier the found ones are counted.
An entity is found by a system that names its text in the sample, whoever's it says it is.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clinaudit.audit.pii.benchmark.sample import (
    Entity,
    Prediction,
    Sample,
    comparable_text,
    find_occurrences,
    less,
    mask_texts,
)
from clinaudit.audit.pii.benchmark.scoring.scores import ANSWERS, ITEMS, ItemRow, gold_of, score_predictions
from clinaudit.audit.pii.taxonomy import PII_TYPES, categories
from clinaudit.audit.statistics.estimates import grouped
from clinaudit.audit.statistics.intervals import (
    bootstrap_mean_over_patients,
    clopper_pearson_of_mean,
)
from clinaudit.reports.schema.pii_bench import (
    BENCH_SUBSETS,
    BENCH_TASKS,
    GOLD_MASKS,
    BenchFigure,
    BenchGrouping,
    BenchStatistics,
    MaskingStrategy,
    SampleScores,
)
from clinaudit.reports.schema.record import Estimate

Values = NDArray[np.float64]
Counts = NDArray[np.int64]


def mean_over_samples(sums: Values, counts: Counts, *, seed: int) -> Estimate:
    """Return `sum(sums) / sum(counts)`: a sample's sum is of `counts` values in [0, 1], which may be none.

    `n` counts the samples that have any; without one the value is null.
    """
    sums, counts = sums[counts > 0], counts[counts > 0]
    if not counts.size:
        return Estimate(value=None, n=0, reason="no sample has it")
    value = float(sums.sum() / counts.sum())
    if np.ptp(sums / counts) == 0:
        return clopper_pearson_of_mean(value * counts.size, counts.size)
    low, high = bootstrap_mean_over_patients(sums, counts, seed=seed)
    return Estimate(value=value, low=low, high=high, n=counts.size)


def bench_items(samples: Sequence[Sample], predictions: Sequence[Prediction]) -> pl.DataFrame:
    """Return the items of a benchmark: scores by subset, privacy by what is masked, found entities by kind."""
    scores = score_predictions(map(gold_of, samples), predictions, asked=BENCH_TASKS)
    rows = [*_privacy_items(samples, predictions), *_found_items(samples, predictions)]
    return pl.concat([scores, pl.DataFrame(rows, schema=ITEMS, orient="row")])


#: U of each sample that was rated, by domain and strategy.
Utilities = Mapping[tuple[str, str], Sequence[float]]


def figures_of(items: pl.DataFrame, *, seed: int, utilities: Utilities | None = None) -> list[BenchFigure]:
    """Return the figures: of all samples of a domain, and of each subset where there are several; U and B of the masks.

    `utilities`: what a model's answers were worth; None: no model was asked.
    """
    several = items.filter(pl.col("group").n_unique().over("grouping", "domain") > 1, grouping="subset")
    whole = items.filter(grouping="subset").with_columns(group=pl.lit("all"))
    by = ("system", "task", "domain", "grouping", "group", "metric")
    figures = [
        BenchFigure(
            **dict(zip(by, key, strict=True)),
            **mean_over_samples(part["value"].to_numpy(), part["count"].to_numpy(), seed=seed).model_dump(),
            entities=int(part["count"].sum()) if key[-1] == "found" else None,
        )
        for key, part in pl.concat([whole, several, items.filter(pl.col("grouping") != "subset")]).group_by(
            by, maintain_order=True
        )
    ]
    return [*figures, *_utility_figures(figures, utilities, seed=seed)]


def scores_by_sample(items: pl.DataFrame) -> list[SampleScores]:
    """Return the metrics of each sample, by system and task, and what there was of an answer."""
    rows = grouped(items.iter_rows(named=True), lambda row: (row["system"], row["task"], row["sample"]))
    return [
        SampleScores(
            system=system,
            task=task,
            sample=sample,
            answer=next(row["metric"] for row in found if row["metric"] in ANSWERS and row["value"]),
            scores={
                row["metric"]: row["value"] if row["count"] else None for row in found if row["metric"] not in ANSWERS
            },
        )
        for (system, task, sample), found in rows.items()
    ]


def privacy_score(entities: Collection[str], original: str, masked: str) -> float | None:
    """Return P, 1 less the share of the entities' occurrences that are left (Eq. 17); None where none stood.

    It is negative where a masked text names an entity more often than the original. Texts are compared after NFKC.
    """
    texts = {comparable_text(entity) for entity in entities}
    stood, left = (len(find_occurrences(texts, comparable_text(text))) for text in (original, masked))
    return 1 - left / stood if stood else None


def balance_score(privacy: float, utility: float) -> float:
    """Return B = alpha P + (1 - alpha) U at alpha 0.5 (Eq. 20, F.2.3)."""
    return 0.5 * privacy + 0.5 * utility


#: It holds no letter and no digit: no entity stands in it.
_TAG: Final = "<…>"


def _privacy_items(samples: Iterable[Sample], predictions: Iterable[Prediction]) -> Iterator[ItemRow]:
    """Yield P of each sample, masked by the gold answer (`GOLD_MASKS`) and by each system, by strategy.

    Where an answer could not be read nothing is masked: that is what a filter would let through that went on.
    """
    answers = grouped(predictions, lambda one: one.sample)
    for sample in samples:
        texts = list(dict.fromkeys(entity.text for entity in sample.entities()))
        unneeded = less(texts, [entity.text for entity in sample.query_related])
        masks: list[tuple[str, MaskingStrategy, Iterable[str]]] = [
            (GOLD_MASKS, "none", ()),
            (GOLD_MASKS, "all", texts),
            (GOLD_MASKS, "query_unrelated", unneeded),
        ]
        for answer in answers.get(sample.id, []):
            found = [entity.text for subject in answer.subjects or () for entity in subject.entities]
            masks += [(answer.system, "all", found), (answer.system, "query_unrelated", answer.masked or ())]
        for system, strategy, masked in masks:
            left = mask_texts(sample.description, dict.fromkeys(masked, _TAG))
            score = privacy_score(texts, sample.description, left)
            of = (system, sample.id, sample.domain, "masking", "masking", strategy, "privacy")
            yield *of, score or 0.0, int(score is not None)


NO_UTILITY: Final = "no model answered the masked and the unmasked prompts; U needs one"
UNUSABLE: Final = "the served model's answers could be used and rated for no sample"


def _utility_figures(
    figures: Iterable[BenchFigure], utilities: Utilities | None, *, seed: int
) -> Iterator[BenchFigure]:
    """Yield U and B beside each P of the gold masks: the prompts that a model answers."""
    for privacy in figures:
        if (privacy.system, privacy.metric) != (GOLD_MASKS, "privacy"):
            continue
        rated = np.asarray((utilities or {}).get((privacy.domain, privacy.group), ()), dtype=np.float64)
        if privacy.group == "none":
            # Nothing masked: the answers are the same by definition (PII-Bench, F.2.2).
            utility = Estimate(value=1.0)
        elif rated.size:
            utility = mean_over_samples(rated, np.ones(rated.size, dtype=np.int64), seed=seed)
        else:
            utility = Estimate(value=None, n=0, reason=NO_UTILITY if utilities is None else UNUSABLE)
        if privacy.value is None or utility.value is None:
            balance = Estimate(value=None, reason=utility.reason or privacy.reason)
        else:
            balance = Estimate(value=balance_score(privacy.value, utility.value))
        for metric, estimate in (("utility", utility), ("balance", balance)):
            yield privacy.model_copy(update={**estimate.model_dump(), "metric": metric})


def _found_items(samples: Iterable[Sample], predictions: Iterable[Prediction]) -> Iterator[ItemRow]:
    """Yield how many entities of each kind a system finds in each sample; a text counts once a subject."""
    kinds: Mapping[BenchGrouping, Callable[[Entity], str | None]] = {
        "name_origin": lambda entity: entity.name_origin,
        "category": lambda entity: categories()[entity.category].name,
        "hipaa": lambda entity: categories()[entity.category].hipaa,
    }
    by_id = {sample.id: sample for sample in samples}
    for answer in predictions:
        sample = by_id[answer.sample]
        named = {comparable_text(entity.text) for subject in answer.subjects or () for entity in subject.entities}
        hits: Counter[tuple[BenchGrouping, str]] = Counter()
        counts: Counter[tuple[BenchGrouping, str]] = Counter()
        for subject in sample.subjects:
            for text, entity in {comparable_text(one.text): one for one in subject.entities}.items():
                groups = [(kind, group) for kind, group_of in kinds.items() if (group := group_of(entity)) is not None]
                counts.update(groups)
                hits.update(groups if text in named else ())
        for (kind, group), count in counts.items():
            of = (answer.system, sample.id, sample.domain, "detection", kind, group, "found")
            yield *of, float(hits[kind, group]), count


def count_sample(sample: Sample) -> dict[str, Any]:
    """Return what a sample holds: a row of `describe_samples`; an entity counts once a subject."""
    kinds = Counter(
        kind for subject in sample.subjects for _, kind in {(entity.text, entity.type) for entity in subject.entities}
    )
    return {
        "domain": sample.domain,
        "subset": sample.subset,
        "subjects": len(sample.subjects),
        "description_chars": len(sample.description),
        "entities": kinds.total(),
        "query_chars": len(sample.query),
        "needed_entities": len(sample.query_related),
        **{kind: kinds[kind] for kind in PII_TYPES},
    }


def describe_samples(rows: Iterable[Mapping[str, Any]]) -> Iterator[BenchStatistics]:
    """Yield the statistics of each subset, and of a domain where it has several, in the order of the paper's tables."""
    each = pl.DataFrame(list(rows))
    for (domain,), found in each.group_by("domain", maintain_order=True):
        for subset in BENCH_SUBSETS[found["subset"].n_unique() == 1 :]:
            part = found if subset == "all" else found.filter(subset=subset)
            if len(part):
                means = part.select(pl.exclude("domain", "subset", *PII_TYPES).mean()).row(0, named=True)
                types = part.select(pl.col(PII_TYPES).sum()).row(0, named=True)
                yield BenchStatistics(domain=domain, subset=subset, samples=len(part), types=types, **means)
