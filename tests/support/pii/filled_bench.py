"""A `bench.json` with something in every part: five systems, both domains; and a bare one."""

from typing import Any

from clinaudit.reports.schema.pii_bench import (
    BENCH_SUBSETS,
    BENCH_TASKS,
    GOLD_MASKS,
    BenchDomain,
    BenchFigure,
    BenchStatistics,
    BenchSubset,
    BenchSystem,
    PiiBench,
)
from clinaudit.reports.schema.record import Estimate
from clinaudit.reports.tables.pii_bench import paper

#: Name, kind, strategy, and how good it is.
_SYSTEMS = (
    ("rules", "Rules", "rules", None, 0.72),
    ("gazetteer", "Rules and the site's own list", "rules", None, 0.93),
    ("bilstm_crf", "BiLSTM-CRF", "trained", None, 0.88),
    ("tiny-naive", "Tiny model, naive", "model", "naive", 0.04),
    ("tiny-choice", "Tiny model, with choice", "oracle", "with-choice", 0.30),
)
DOMAINS: tuple[BenchDomain, ...] = ("general", "clinical")
_HARDER: dict[BenchSubset, float] = {"all": 0.0, "single": -0.02, "multi": 0.01, "hard": 0.08, "distract": 0.15}
_KINDS = {
    "name_origin": ("en_US", "vi_VN", "yo_NG"),
    "hipaa": ("A", "B", "C", "D", "F", "G", "H", "J", "O"),
    "category": ("Full name", "Telephone number"),
}


def estimate(value: float, width: float = 0.015) -> dict[str, Any]:
    value = min(1.0, max(0.0, value))
    return {"value": value, "low": max(0.0, value - width), "high": min(1.0, value + width), "n": 1421}


def filled_bench() -> PiiBench:
    systems = [
        BenchSystem(
            id=key,
            name=name,
            how="It looks for patterns and lists.",
            kind=kind,
            strategy=strategy,
            settings={"model": "Tiny model"} if strategy else {},
            train_seconds=312.5 if kind == "trained" else None,
            seconds=12.25,
        )
        for key, name, kind, strategy, _ in _SYSTEMS
    ]  # fmt: skip
    return PiiBench(
        clinaudit_version="0.0.0",
        libraries={"spacy": "3.8.7"},
        seed=3,
        warnings=["One system was asked a part of the samples."],
        systems=systems,
        statistics=_statistics(),
        figures=[*_scores(), *_privacy(), *_found()],
    )


def bare_bench() -> PiiBench:
    """Nothing could be run."""
    system = BenchSystem(
        id="model", name="A model", how="It is asked.", kind="model", strategy="naive",
    )  # fmt: skip
    return PiiBench(clinaudit_version="0", libraries={}, seed=0, systems=[system], statistics=[], figures=[])


def with_figure(bench: PiiBench, changed: Estimate, **of: str) -> PiiBench:
    """The same benchmark with another estimate in the figures of which these fields are so."""
    figures = [
        each.model_copy(update=changed.model_dump())
        if all(getattr(each, name) == value for name, value in of.items())
        else each
        for each in bench.figures
    ]
    return bench.model_copy(update={"figures": figures})


def _scores() -> list[BenchFigure]:
    figures = []
    for key, _, _, _, good in _SYSTEMS:
        for task in BENCH_TASKS:
            for domain in DOMAINS:
                for subset in BENCH_SUBSETS:
                    share = good - _HARDER[subset] - (0.03 if domain == "clinical" else 0)
                    metrics = {"strict_f1.f1": share, "unparsed": 0.9 if key.startswith("tiny") else 0.0}
                    if task == "detection":
                        metrics["ent_f1.f1"] = share
                    if task == "masking":
                        metrics |= {"leak": (1 - share) * 0.6, "over_masking": (1 - share) * 0.4}
                    figures += [
                        BenchFigure(
                            system=key, task=task, domain=domain, group=subset, metric=metric, **estimate(value)
                        )
                        for metric, value in metrics.items()
                    ]
    return figures


def _statistics() -> list[BenchStatistics]:
    return [
        BenchStatistics(
            domain=domain, subset=subset, samples=1200, subjects=1.5, description_chars=902.4, entities=8.1,
            query_chars=205.0, needed_entities=1.9, types=paper()["types"]["single"],
        )
        for domain in DOMAINS
        for subset in BENCH_SUBSETS
    ]  # fmt: skip


def _privacy() -> list[BenchFigure]:
    numbers = (("none", 0.0, 1.0), ("all", 0.99, 0.5), ("query_unrelated", 0.82, 0.9))
    return [
        BenchFigure(
            system=system, task="masking", domain=domain, grouping="masking", group=masking, metric=metric,
            **estimate(value),
        )
        for domain in DOMAINS
        for system in (GOLD_MASKS, "gazetteer")
        for masking, p, u in numbers
        for metric, value in (("privacy", p), ("utility", u), ("balance", (p + u) / 2))
    ]  # fmt: skip


def _found() -> list[BenchFigure]:
    return [
        BenchFigure(
            system=key, task="detection", domain=domain, grouping=grouping, group=group, metric="found", entities=240,
            **estimate(good - 0.05 * at),
        )
        for key, _, kind, _, good in _SYSTEMS
        if kind != "oracle"
        for domain in DOMAINS
        for grouping, groups in _KINDS.items()
        for at, group in enumerate(groups)
    ]  # fmt: skip
