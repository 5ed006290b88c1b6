"""An unlearning evaluation with something in every part, by hand: four methods, two levels, two sizes; and a bare one.

What each method does is as the paper has it: two hardly forget, two break down; of a disease, others who have it lose.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from clinaudit.reports.schema.unlearning import (
    CHECKS,
    FIGURES,
    KINDS,
    USES,
    BenchCounts,
    CategoryCounts,
    EvaluatedModel,
    EvaluationRecord,
    PanelFigures,
    SplitCounts,
)
from clinaudit.reports.wording.unlearning import TRIALS, Evaluation

#: Method -> split -> MU of others, MU of those with the disease, AFE, DS.
METHODS: Mapping[str, Mapping[str, tuple[float, float, float, float]]] = {
    "sim_npo": {
        "random:5": (0.90, 0.90, 0.12, 0.0), "random:10": (0.89, 0.89, 0.15, 0.0),
        "cancer:5": (0.90, 0.80, 0.40, 0.0), "cancer:10": (0.89, 0.37, 0.60, 0.0),
    },
    "rmu": {
        "random:5": (0.90, 0.90, 0.11, 0.0), "random:10": (0.90, 0.90, 0.70, 0.0),
        "cancer:5": (0.91, 0.84, 0.30, 0.0), "cancer:10": (0.90, 0.40, 0.58, 0.01),
    },
    "grad_diff": {
        "random:5": (0.88, 0.88, 0.20, 0.02), "random:10": (0.04, 0.04, 0.95, 0.90),
        "cancer:5": (0.60, 0.05, 0.93, 0.76), "cancer:10": (0.50, 0.02, 0.96, 0.94),
    },
    "kl_min": {
        "random:5": (0.03, 0.02, 0.94, 0.64), "random:10": (0.01, 0.0, 0.97, 0.98),
        "cancer:5": (0.55, 0.04, 0.92, 0.86), "cancer:10": (0.45, 0.01, 0.95, 0.91),
    },
}  # fmt: skip
SPLITS = ("random:5", "random:10", "cancer:5", "cancer:10")
GROUPS = ("forget", "retain", "same", "others", "never_trained")
DIVERGED = "the training diverged: the loss is no finite number any more"
Row = dict[str, Any]


def figure(value: float | None, *, n: int = 3, reason: str | None = None, width: float = 0.04) -> Row:
    """A share with an interval of so much to both sides; without a value the reason."""
    if value is None:
        return {"value": None, "low": None, "high": None, "n": 0, "reason": reason}
    value = round(min(1.0, max(0.0, value)), 4)
    ends = round(max(0.0, value - width), 4), round(min(1.0, value + width), 4)
    return {"value": value, "low": ends[0], "high": ends[1], "n": n, "reason": reason}


def means(place: Row, mu: float, afe: float, *, ls: float = 0.1, ds: float = 0.0) -> Iterator[Row]:
    """Means of the answers of a group; parts are near the harmonic means."""
    values = {
        **dict.fromkeys(("mu", "rouge_l", "em", "cs", "es"), mu),
        "afe": afe,
        "te": 1 - ds,
        "ls": ls,
        "ds": ds,
        "ls_echo_free": ls / 2,
        "ls_reference": 0.4,
    }
    for metric, value in values.items():
        yield {**place, "metric": metric, **figure(value)}


def model_figures(split: str, model: str, mu: float, same: float, afe: float, ds: float) -> list[Row]:
    """Reasoning is worse than factual by 0.04, withheld questions know 0.3 less."""
    rows: list[Row] = []
    for group in GROUPS:
        for kind in KINDS:
            for use in USES:
                less = (0.04 if kind == "reasoning" else 0.0) + (0.3 if use == "holdout" else 0.0)
                kept = {"forget": 1 - afe, "retain": mu, "same": same, "others": mu, "never_trained": 0.2}[group]
                missing = 0.8 if group == "never_trained" else afe if group == "forget" else 1 - kept
                leaked = 0.02 if group == "never_trained" else 0.15 * (1 - afe)
                place = {"split": split, "model": model, "group": group, "kind": kind, "use": use}
                lost = ds if group == "forget" else 0.0
                rows += means(place, kept - less, min(0.98, missing + less), ls=leaked, ds=lost)
    return rows


def trial_figures(split: str, model: str, left: float, *, more: float) -> list[Row]:
    """What each trial gets `more` of the forgotten; one of five questions diverged."""
    place = {"split": split, "model": model, "group": "forget", "kind": "all"}
    between = {**place, "group": "forget-never_trained"}
    rows = []
    for metric in ("rouge_l", "ls_echo_free", "ls"):
        for step, k in enumerate((1, 8, 32)):
            rows.append({**place, "use": "sampled", "metric": f"{metric}@{k}", **figure(left + step / 10)})
            rows.append({**between, "use": "sampled", "metric": f"{metric}@{k}", **figure(left)})
        for use in TRIALS:
            if use != "questions_5":
                rows.append({**place, "use": use, "metric": metric, **figure(left + more)})
                rows.append({**place, "use": use, "metric": f"{metric}_change", **figure(more)})
    rows.append({**place, "use": "questions_5", "metric": "rouge_l", **figure(None, reason=DIVERGED)})
    return rows


def split(name: str) -> SplitCounts:
    level, percent = name.split(":")
    forgotten = 60 * int(percent) // 100
    return SplitCounts(
        split=name,
        level={"random": "Random", "cancer": "Cancer"}[level],
        is_disease=level == "cancer",
        percent=int(percent),
        forget_patients=forgotten,
        forget_questions=6 * forgotten,
        retain_patients=60 - forgotten,
        retain_questions=6 * (60 - forgotten),
    )


def model(name: str, kind: str, split: str | None, **fields: Any) -> EvaluatedModel:
    return EvaluatedModel(name=name, kind=kind, split=split, digest="d", **fields)  # type: ignore[arg-type]


def evaluation(
    models: list[EvaluatedModel],
    splits: list[str],
    figures: list[Row],
    *,
    before: str | None = "tuned",
    checks: list[Row] | None = None,
    has_panel: bool = True,
) -> Evaluation:
    record = EvaluationRecord(
        clinaudit_version="0.0",
        bench_digest="b",
        corpus_digest="c",
        libraries={"torch": "2.0"},
        device="cpu",
        seed=0,
        form="addressed",
        made_with={"cs": "all-MiniLM-L6-v2", "es": "rules"},
        before=before,
        models=models,
        splits=[split(name) for name in splits],
        bench=bench_counts(has_panel=has_panel),
    )
    return Evaluation(record, pl.DataFrame(figures, schema=FIGURES), pl.DataFrame(checks or [], schema=CHECKS))


def filled_evaluation(**options: Any) -> Evaluation:
    models = [model("tuned", "baseline", None)]
    figures: list[Row] = []
    for name in SPLITS:
        figures += model_figures(name, "tuned", 0.91, 0.91, 0.10, 0.0)
        for method, by_split in METHODS.items():
            mu, same, afe, ds = by_split[name]
            own = f"{method}-{name.replace(':', '-')}"
            figures += model_figures(name, own, mu, same, afe, ds)
            figures += trial_figures(name, own, 1 - afe, more=0.01)
            models.append(model(own, "unlearned", name, method=method))
        figures += model_figures(name, f"retrained-{name}", 0.90, 0.90, 0.80, 0.0)
        models.append(model(f"retrained-{name}", "retrained", name))
    return evaluation(models, [*SPLITS], figures, **options)


def bench_counts(*, has_panel: bool = True) -> BenchCounts:
    judges = ("MedGemma", "Qwen", "GPT-5-mini")
    titles = PanelFigures(
        task="title",
        items=900,
        verdicts={judge: {"supported": 827, "unsupported": 70, "ambiguous": 3} for judge in judges}
        | {"Majority": {"supported": 826, "unsupported": 71, "ambiguous": 1, "disagree": 2}},
        pairs={"MedGemma and Qwen": 0.956},
        agreement=0.955,
        kappa=0.726,
    )
    valid = {"valid": 972, "invalid": 28}
    verdicts = dict.fromkeys((*judges, "Majority"), valid)
    questions = titles.model_copy(update={"task": "question", "verdicts": verdicts})
    return BenchCounts(
        patients=80,
        patients_trained_on=60,
        questions=640,
        holdout_questions=160,
        categories=[
            CategoryCounts(category=name, patients=patients, questions=8 * patients)
            for name, patients in (("Cancer", 50), ("Kidney Disease", 30))
        ],
        splits=[split(name) for name in SPLITS],
        panel=[titles, questions] if has_panel else [],
    )


def bare_evaluation() -> Evaluation:
    """One model made elsewhere, on one split, asked factual questions alone: nothing to compare with, nothing tried."""
    place = {"split": "random:5", "model": "elsewhere", "kind": "factual", "use": "train"}
    lacking = {"ls": "the question has no keyword", "ds": "the answers came without token ids"}
    forgotten = [
        {**row, **figure(None, reason=lacking[row["metric"]])} if row["metric"] in lacking else row
        for row in means({**place, "group": "forget"}, 0.5, 0.5)
    ]
    figures = [*forgotten, *means({**place, "group": "retain"}, 0.6, 0.4)]
    models = [model("elsewhere", "foreign", "random:5")]
    return evaluation(models, ["random:5"], figures, before=None, has_panel=False)
