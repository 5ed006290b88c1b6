"""A `bench.json` with something in every part: five systems, both domains, the paper's figures; and a bare one."""

from clinaudit.reports.schema.pii_bench import (
    BENCH_SUBSETS,
    BENCH_TASKS,
    PAPER_TYPES,
    BalancePoint,
    BenchDifference,
    BenchDomain,
    BenchEstimate,
    BenchPoint,
    BenchResult,
    BenchScore,
    BenchStatistics,
    BenchSubset,
    BenchSystem,
    BenchTask,
    GroupRecall,
    PaperScore,
    PiiBench,
    PrivacyUtility,
)

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
_FACTORS = {
    "subjects": ((1, 1), (2, 2), (3, 5), (6, 10)),
    "entities": ((1, 8), (9, 16), (17, 33), (34, 80)),
    "description_chars": ((1, 500), (501, 1000), (1001, 3000), (3001, 9000)),
    "needed_entities": ((1, 1), (2, 2), (3, 3), (4, 9)),
}
_HIPAA = ("A", "B", "C", "D", "F", "G", "H", "J", "O")


def estimate(value: float, width: float = 0.015) -> BenchEstimate:
    value = min(1.0, max(0.0, value))
    return BenchEstimate(value=value, low=max(0.0, value - width), high=min(1.0, value + width))


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
        libraries={"presidio-analyzer": "2.2.366"},
        seed=3,
        conclusion="The site's own list helps most: it knows the patients.",
        warnings=["One system was asked a part of the samples."],
        systems=systems,
        statistics=_statistics(),
        results=[
            _result(key, task, domain, subset, good - _HARDER[subset] - (0.03 if domain == "clinical" else 0))
            for key, _, _, _, good in _SYSTEMS
            for task in BENCH_TASKS
            for domain in DOMAINS
            for subset in BENCH_SUBSETS
        ],
        differences=[
            BenchDifference(
                task="masking", domain="clinical", a="gazetteer", b="rules", samples=1421,
                difference=estimate(0.21, 0.02), a_only=610, b_only=31, p_value=1e-9,
            )
        ],
        points=_points(),
        privacy=_privacy(),
        groups=_groups(),
        paper=_paper(),
    )  # fmt: skip


def bare_bench() -> PiiBench:
    """Nothing could be run."""
    system = BenchSystem(
        id="model", name="A model", how="It is asked.", kind="model", strategy="naive",
    )  # fmt: skip
    return PiiBench(clinaudit_version="0", libraries={}, seed=0, systems=[system], statistics=[], results=[])


def _result(system: str, task: BenchTask, domain: BenchDomain, subset: BenchSubset, good: float) -> BenchResult:
    score = BenchScore(precision=estimate(good), recall=estimate(good), f1=estimate(good))
    metrics = {"strict_f1": score, "rouge_l_f": score}
    is_masking = task == "masking"
    return BenchResult(
        system=system, task=task, domain=domain, subset=subset, samples=1421,
        unparsed=1300 if system.startswith("tiny") else 0,
        metrics={**metrics, "ent_f1": score} if task == "detection" else metrics,
        leak=estimate((1 - good) * 0.6) if is_masking else None,
        over_masking=estimate((1 - good) * 0.4) if is_masking else None,
    )  # fmt: skip


def _statistics() -> list[BenchStatistics]:
    return [
        BenchStatistics(
            domain=domain, subset=subset, samples=1200, subjects=1.5, description_chars=902.4, entities=8.1,
            query_chars=205.0, needed_entities=1.9, types=dict(PAPER_TYPES["single"]),
        )
        for domain in DOMAINS
        for subset in BENCH_SUBSETS
    ]  # fmt: skip


def _points() -> list[BenchPoint]:
    return [
        BenchPoint(
            system=key, task=task, domain=domain, factor=factor, low=low, high=high, samples=100,
            f1=estimate(good - 0.08 * at, 0.03),
        )
        for key, _, kind, _, good in _SYSTEMS
        if kind != "oracle"
        for task in ("masking", "detection")
        for domain in DOMAINS
        for factor, bins in _FACTORS.items()
        for at, (low, high) in enumerate(bins)
    ]  # fmt: skip


def _privacy() -> list[PrivacyUtility]:
    numbers = (("none", 0.0, 1.0), ("all", 0.99, 0.5), ("query_unrelated", 0.82, 0.9))
    return [
        PrivacyUtility(
            system=system, domain=domain, masking=masking, samples=200, privacy=estimate(p), utility=estimate(u),
            balance=estimate((p + u) / 2),
            curve=[BalancePoint(alpha=alpha, balance=alpha * p + (1 - alpha) * u) for alpha in (0, 0.25, 0.5, 0.75, 1)],
        )
        for domain in DOMAINS
        for system in (None, "gazetteer")
        for masking, p, u in numbers
    ]  # fmt: skip


def _groups() -> list[GroupRecall]:
    return [
        GroupRecall(
            system=key, domain=domain, grouping=grouping, group=group, entities=240, recall=estimate(good - 0.05 * at)
        )
        for key, _, kind, _, good in _SYSTEMS
        if kind != "oracle"
        for domain in DOMAINS
        for grouping, groups in (
            ("name_origin", ("United States", "Vietnam", "Nigeria")),
            ("vocabulary", ("in training", "not in training")),
            ("hipaa", _HIPAA),
            ("category", ("Full name", "Telephone number")),
        )
        for at, group in enumerate(groups)
    ]  # fmt: skip


def _paper() -> list[PaperScore]:
    people = [
        PaperScore(table="Table 2", model="25 students", task=task, subset="single", metric="strict_f1", value=value,
                   deviation=0.011)
        for task, value in (("detection", 0.972), ("query_related", 0.951))
    ]  # fmt: skip
    gpt = [
        PaperScore(table=table, model="GPT-4o", task=task, subset=subset, strategy=strategy, metric=metric, value=value)
        for table, task, subset, strategy, metric, value in (
            ("Table 6", "detection", "single", None, "strict_f1", 0.893),
            ("Table 6", "detection", "distract", None, "ent_f1", 0.868),
            ("Table 7", "query_related", "single", "naive", "strict_f1", 0.63),
            ("Table 7", "query_related", "single", "with-choice", "strict_f1", 0.84),
            ("Table 4", "masking", "all", "self-consistency", "strict_f1", 0.77),
            ("Table 5", "masking", "hard", "naive", "strict_f1", 0.36),
            ("Table 5", "masking", "distract", "naive", "strict_f1", 0.57),
        )
    ]
    crf = PaperScore(
        table="Table 6", model="BiLSTM-CRF", task="detection", subset="single", metric="ent_f1", value=0.851
    )
    return [*people, crf, *gpt]
