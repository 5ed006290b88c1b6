"""The documents of an evaluation as the records that its page is made of.

Owns which part of a document goes where, and that neither an id nor a text goes along. Computes no figure. Knows
nothing of how a page looks.
"""

from collections.abc import Mapping
from typing import Any, Final

from clinaudit.audit.unlearning.benchmark.files import Bench
from clinaudit.audit.unlearning.benchmark.panel.agreement import PANEL_TASKS
from clinaudit.audit.unlearning.benchmark.records import QUESTION_KINDS, QUESTION_USES, Split
from clinaudit.audit.unlearning.benchmark.statistics import describe_bench
from clinaudit.audit.unlearning.benchmark.taxonomy import name_of, taxonomy
from clinaudit.audit.unlearning.metrics.means import CATEGORY_SIDES, SUMMARY_ROLES
from clinaudit.reports.schema.answer_check import AnswerCheck
from clinaudit.reports.schema.numbers import PublishedEstimate
from clinaudit.reports.schema.unlearning import (
    AnswerFigures,
    BenchCounts,
    CategoryCounts,
    Detection,
    EvaluatedModel,
    EvaluatedSplit,
    JudgeBesideHuman,
    ModelFigures,
    PanelFigures,
    RobustnessFigures,
    Sampling,
    TrialFigures,
    TrialName,
    UnlearningEvaluation,
)

_LEVELS: Final = {"random": "Random", "request": "Request"}
#: Entailment is called by what it was measured with; the page says that once.
_PLAIN: Final = {"es_rules": "es", "es_rules_reverse": "es_reverse"}
_NOT_METRICS: Final = frozenset({"parts", "counts", "same_category", "collapse"})
#: Trial -> where its document stands in a robustness block.
_TRIALS: Final[Mapping[TrialName, tuple[str, str]]] = {
    "quantization": ("quantization", "forget"),
    "questions_1": ("relearning", "questions_1"),
    "questions_5": ("relearning", "questions_5"),
    "retained_notes": ("relearning", "retained_notes"),
    "rephrased": ("paraphrase", "rephrased"),
    "other_form": ("paraphrase", "other_form"),
}
Held = Mapping[str, Any]


def page_content(
    record: Held, scores: Mapping[str, Held], robustness: Mapping[str, Held], bench: Bench
) -> UnlearningEvaluation:
    """Return what the page of an evaluation shows.

    `record` is `evaluate.json`; `scores` and `robustness` are the documents by their splits' names, the second empty
    where nothing was tried.
    """
    counts = describe_bench(bench.patients, bench.questions, bench.splits, bench.notes)
    sizes = {row["split"]: row for row in counts["splits"]}
    by_name = {split.name: split for split in bench.splits}
    names = sorted(scores, key=lambda name: _place(by_name[name]))
    return UnlearningEvaluation(
        clinaudit_version=record["clinaudit_version"],
        libraries=record["libraries"],
        device=record["device"],
        seed=record["seed"],
        form=record["form"],
        made_with={_PLAIN.get(metric, metric): what for metric, what in record["made_with"].items()},
        before=record["before"],
        models=[_model(held) for held in record["models"]],
        splits=[
            _split(by_name[name], sizes[name], set_aside=int(scores[name]["set_aside_patients"])) for name in names
        ],
        figures={name: _figures(scores[name], robustness.get(name)) for name in names},
        bench=_bench(counts, bench),
    )


def _place(split: Split) -> tuple[int, int, int]:
    levels = ["random", "request", "category"]
    categories = list(taxonomy())
    return levels.index(split.level), categories.index(split.category) if split.category else 0, split.percent


def _model(held: Held) -> EvaluatedModel:
    fields = ("name", "kind", "split", "method", "learning_rate", "chose_rate")
    plan: Held = held["training"] or {}
    training = {name: f"{value:g}" if isinstance(value, float) else str(value) for name, value in plan.items()}
    return EvaluatedModel(**{name: held[name] for name in fields}, training=training)


def _split(split: Split, size: Held, *, set_aside: int = 0) -> EvaluatedSplit:
    return EvaluatedSplit(
        name=split.name,
        level=_LEVELS[split.level] if split.category is None else name_of(split.category),
        is_disease=split.category is not None,
        percent=split.percent,
        set_aside=set_aside,
        **{name: value for name, value in size.items() if name != "split"},
    )


def _figures(scores: Held, robustness: Held | None) -> dict[str, ModelFigures]:
    tried = {} if robustness is None else robustness["models"]
    return {
        name: ModelFigures(
            answers={**_groups(held, SUMMARY_ROLES), **_groups(held["same_category"], CATEGORY_SIDES)},
            robustness=_robustness(tried[name]) if name in tried else None,
            collapse=[AnswerCheck.model_validate(check) for check in held.get("collapse", {}).get("checks", [])],
        )
        for name, held in scores["models"].items()
    }


def _groups(held: Held, groups: tuple[str, ...]) -> dict[Any, Any]:
    """Return group -> kind -> use -> figures of the groups that have answers."""
    counts = held.get("counts", {})
    return {
        group: {
            kind: {use: _answers(held, group, kind, use) for use in QUESTION_USES if use in counts[group].get(kind, {})}
            for kind in QUESTION_KINDS
            if kind in counts[group]
        }
        for group in groups
        if group in counts
    }


def _answers(held: Held, group: str, kind: str, use: str) -> AnswerFigures:
    def find(by_group: Held) -> Any:
        return by_group.get(group, {}).get(kind, {}).get(use)

    metrics = {_PLAIN.get(name, name): find(own) for name, own in held.items() if name not in _NOT_METRICS}
    parts = {name: find(own) for name, own in held["parts"].items()}
    return AnswerFigures(
        **find(held["counts"]),
        metrics={name: _estimate(own) for name, own in metrics.items() if own is not None},
        parts={name: [_PLAIN.get(part, part) for part in own] for name, own in parts.items() if own is not None},
    )


def _robustness(block: Held) -> RobustnessFigures:
    found = {trial: _of_trial(block.get(part, {}), key) for trial, (part, key) in _TRIALS.items()}
    return RobustnessFigures(
        sampling=_sampling(block["sampling"]) if "sampling" in block else None,
        trials={trial: _trial(held) for trial, held in found.items() if held is not None},
        detection=_detection(block["detectability"]) if "detectability" in block else None,
    )


def _of_trial(part: Held, key: str) -> Held | None:
    """Return the document of one trial; that of its whole part where none of it could be tried."""
    found: Held | None = part.get(key, part if "reason" in part else None)
    # Of 4-bit weights the floor stands beside the forgotten patients, not below them.
    return found if found is None else {"above_never_trained": part.get("above_never_trained", {}), **found}


def _sampling(held: Held) -> Sampling:
    def leaks(group: str) -> dict[str, dict[str, PublishedEstimate]]:
        own = {_PLAIN.get(metric, metric): at for metric, at in held[group].items() if metric != "counts"}
        return {metric: {k: _estimate(figure) for k, figure in at.items()} for metric, at in own.items()}

    return Sampling(forget=leaks("forget"), never_trained=leaks("never_trained"), above=leaks("above_never_trained"))


def _trial(held: Held) -> TrialFigures:
    if "after" not in held:
        return TrialFigures(reason=held["reason"])
    return TrialFigures(
        before=_estimates(held["before"]),
        after=_estimates(held["after"]),
        recovery=_estimates(held.get("recovery", {})),
        beyond_reference=_estimates(held.get("recovery_beyond_reference", {})),
        above=_estimates(held["above_never_trained"]),
    )


def _detection(held: Held) -> Detection:
    auroc = {trait: _estimate(own["auroc"]) for trait, own in held["traits"].items()}
    return Detection(told_apart=held["told_apart"], auroc=auroc)


def _estimates(by_metric: Held) -> dict[str, PublishedEstimate]:
    return {_PLAIN.get(metric, metric): _estimate(held) for metric, held in by_metric.items()}


def _estimate(held: Held) -> PublishedEstimate:
    value = held["value"]
    low, high = held["interval"]
    return PublishedEstimate(
        value=value, low=value, high=value, confidence_low=low, confidence_high=high, reason=held.get("reason")
    )


def _bench(counts: Held, bench: Bench) -> BenchCounts:
    panel = bench.counts.get("panel", {})
    sizes = {row["split"]: row for row in counts["splits"]}
    totals = ("patients", "patients_trained_on", "questions", "holdout_questions", "rephrased_questions")
    return BenchCounts(
        **{name: counts[name] for name in totals},
        categories=[_category(row) for row in counts["categories"]],
        splits=[_split(split, sizes[split.name]) for split in sorted(bench.splits, key=_place)],
        panel=[_panel(panel[task]) for task in PANEL_TASKS if task in panel],
        human={
            judge: JudgeBesideHuman(**{name: own[name] for name in JudgeBesideHuman.model_fields})
            for judge, own in panel.get("human", {}).get("judges", {}).items()
        },
    )


def _category(row: Held) -> CategoryCounts:
    words = row["note_words"]
    return CategoryCounts(
        category=name_of(row["category"]),
        patients=row["patients"],
        share=row["share"],
        questions=row["questions"],
        note_words_min=words["min"],
        note_words_mean=words["mean"],
        note_words_max=words["max"],
        question_words={kind: row[f"{kind}_question_words"] for kind in QUESTION_KINDS},
        answer_words={kind: row[f"{kind}_answer_words"] for kind in QUESTION_KINDS},
    )


def _panel(held: Held) -> PanelFigures:
    by_category = {name_of(category): verdicts for category, verdicts in held.get("panel_by_category", {}).items()}
    own = {name: held[name] for name in PanelFigures.model_fields if name != "by_category"}
    return PanelFigures(**own, by_category=by_category)
