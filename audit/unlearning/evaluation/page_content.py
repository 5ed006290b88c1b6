"""The documents of an evaluation as the records that its page is made of.

Owns which part of a document goes where, and that neither an id nor a text goes along. Computes no figure.
"""

from collections.abc import Mapping
from typing import Any, Final

from clinaudit.audit.unlearning.benchmark.files import Bench
from clinaudit.audit.unlearning.benchmark.panel.agreement import PANEL_TASKS
from clinaudit.audit.unlearning.benchmark.records import QUESTION_KINDS, QUESTION_USES, Split
from clinaudit.audit.unlearning.benchmark.statistics import describe_bench
from clinaudit.audit.unlearning.benchmark.taxonomy import name_of, taxonomy
from clinaudit.audit.unlearning.evaluation.readings import read_each_model
from clinaudit.audit.unlearning.evaluation.robustness.document import (
    Figure,
    Figures,
    RobustnessDocument,
    TriedFigures,
)
from clinaudit.audit.unlearning.metrics.means import CATEGORY_SIDES, SUMMARY_ROLES
from clinaudit.reports.schema.answer_check import AnswerCheck
from clinaudit.reports.schema.numbers import EstimateRange
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
    UnlearningEvaluation,
)

_LEVELS: Final = {"random": "Random", "request": "Request"}
#: The documents name entailment by its method, the page calls it `es`; the method stands once, in `made_with`.
_PLAIN: Final = {"es_rules": "es", "es_rules_reverse": "es_reverse"}
_NOT_METRICS: Final = frozenset({"parts", "counts", "same_category", "collapse"})
Json = Mapping[str, Any]


def page_content(
    record: Json, scores: Mapping[str, Json], robustness: Mapping[str, Json], bench: Bench
) -> UnlearningEvaluation:
    """Return what the page of an evaluation shows.

    `record` is `evaluate.json`; `scores` and `robustness` are the documents by their splits' names, the second empty
    where nothing was tried.
    """
    counts = describe_bench(bench.patients, bench.questions, bench.splits, bench.notes)
    sizes = {row["split"]: row for row in counts["splits"]}
    by_name = {split.name: split for split in bench.splits}
    names = sorted(scores, key=lambda name: _place(by_name[name]))
    shown = UnlearningEvaluation(
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
    return shown.model_copy(update={"readings": read_each_model(shown)})


def _place(split: Split) -> tuple[int, int, int]:
    levels = ["random", "request", "category"]
    categories = list(taxonomy())
    return levels.index(split.level), categories.index(split.category) if split.category else 0, split.percent


def _model(held: Json) -> EvaluatedModel:
    fields = ("name", "kind", "split", "method", "learning_rate", "chose_rate")
    plan: Json = held["training"] or {}
    training = {name: f"{value:g}" if isinstance(value, float) else str(value) for name, value in plan.items()}
    return EvaluatedModel(**{name: held[name] for name in fields}, training=training)


def _split(split: Split, size: Json, *, set_aside: int = 0) -> EvaluatedSplit:
    return EvaluatedSplit(
        name=split.name,
        level=_LEVELS[split.level] if split.category is None else name_of(split.category),
        is_disease=split.category is not None,
        percent=split.percent,
        set_aside=set_aside,
        **{name: value for name, value in size.items() if name != "split"},
    )


def _figures(scores: Json, robustness: Json | None) -> dict[str, ModelFigures]:
    tried = {} if robustness is None else robustness["models"]
    return {
        name: ModelFigures(
            answers={**_groups(held, SUMMARY_ROLES), **_groups(held["same_category"], CATEGORY_SIDES)},
            robustness=_robustness(RobustnessDocument.model_validate(tried[name])) if name in tried else None,
            collapse=[AnswerCheck.model_validate(check) for check in held.get("collapse", {}).get("checks", [])],
        )
        for name, held in scores["models"].items()
    }


def _groups(held: Json, groups: tuple[str, ...]) -> dict[Any, Any]:
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


def _answers(held: Json, group: str, kind: str, use: str) -> AnswerFigures:
    def find(by_group: Json) -> Any:
        return by_group.get(group, {}).get(kind, {}).get(use)

    metrics = {_PLAIN.get(name, name): find(own) for name, own in held.items() if name not in _NOT_METRICS}
    parts = {name: find(own) for name, own in held["parts"].items()}
    return AnswerFigures(
        **find(held["counts"]),
        metrics={name: Figure.model_validate(own).published() for name, own in metrics.items() if own is not None},
        parts={name: [_PLAIN.get(part, part) for part in own] for name, own in parts.items() if own is not None},
    )


def _robustness(held: RobustnessDocument) -> RobustnessFigures:
    detected, sampled = held.detectability, None
    if held.sampling is not None:
        groups = {"forget": held.sampling.forget, "never_trained": held.sampling.never_trained}
        groups["above"] = held.sampling.above_never_trained
        sampled = {
            group: {_PLAIN.get(metric, metric): _published(at) for metric, at in own.items()}
            for group, own in groups.items()
        }
    auroc = {} if detected is None else {trait: own.auroc.published() for trait, own in detected.traits.items()}
    return RobustnessFigures(
        sampling=None if sampled is None else Sampling(**sampled),
        trials={name: _trial(own) for name, own in held.trials().items()},
        detection=None if detected is None else Detection(told_apart=detected.told_apart, auroc=auroc),
    )


def _trial(held: TriedFigures) -> TrialFigures:
    if not held.after:
        return TrialFigures(reason=held.reason)
    return TrialFigures(
        before=_published(held.before),
        after=_published(held.after),
        recovery=_published(held.recovery),
        beyond_reference=_published(held.recovery_beyond_reference),
        above=_published(held.above_never_trained),
    )


def _published(figures: Figures) -> dict[str, EstimateRange]:
    return {_PLAIN.get(name, name): figure.published() for name, figure in figures.items()}


def _bench(counts: Json, bench: Bench) -> BenchCounts:
    panel = bench.counts.get("panel", {})
    sizes = {row["split"]: row for row in counts["splits"]}
    totals = ("patients", "patients_trained_on", "questions", "holdout_questions", "rephrased_questions")
    return BenchCounts(
        **{name: counts[name] for name in totals},
        categories=[_category(row) for row in counts["categories"]],
        splits=[_split(split, sizes[split.name]) for split in sorted(bench.splits, key=_place)],
        panel=[_panel(panel[task]) for task in PANEL_TASKS if task in panel],
        human={
            judge: JudgeBesideHuman.model_validate(own)
            for judge, own in panel.get("human", {}).get("judges", {}).items()
        },
    )


def _category(row: Json) -> CategoryCounts:
    words = row["note_words"]
    return CategoryCounts(
        category=name_of(row["category"]),
        **{name: row[name] for name in ("patients", "share", "questions")},
        **{f"note_words_{name}": words[name] for name in ("min", "mean", "max")},
        question_words={kind: row[f"{kind}_question_words"] for kind in QUESTION_KINDS},
        answer_words={kind: row[f"{kind}_answer_words"] for kind in QUESTION_KINDS},
    )


def _panel(held: Json) -> PanelFigures:
    own = {name: value for name, value in held.items() if name != "panel_by_category"}
    by_category = {name_of(category): verdicts for category, verdicts in held.get("panel_by_category", {}).items()}
    return PanelFigures.model_validate({**own, "by_category": by_category})
