"""What the page of an evaluation shows, from its documents: neither an id nor a text goes along. Computes no figure."""

from collections.abc import Mapping
from typing import Final

from clinaudit.audit.unlearning.benchmark.files import Bench
from clinaudit.audit.unlearning.benchmark.records import Split
from clinaudit.audit.unlearning.benchmark.statistics import count_bench, with_names
from clinaudit.audit.unlearning.benchmark.taxonomy import name_of, taxonomy
from clinaudit.reports.schema.unlearning import EvaluatedSplit, ModelFigures, UnlearningEvaluation
from clinaudit.reports.schema.unlearning_bench import SplitCounts
from clinaudit.reports.schema.unlearning_evaluation import EvaluationRecord, RobustnessFile
from clinaudit.reports.schema.unlearning_scores import ScoresDocument, plain_name

_LEVELS: Final = {"random": "Random", "request": "Request"}


def page_content(
    record: EvaluationRecord,
    scores: Mapping[str, ScoresDocument],
    robustness: Mapping[str, RobustnessFile],
    bench: Bench,
) -> UnlearningEvaluation:
    """Return what the page of an evaluation shows.

    `record` is `evaluate.json`; `scores` and `robustness` are the documents by their splits' names, the second empty
    where nothing was tried.
    """
    panel = None if bench.counts is None else bench.counts.panel
    counts = count_bench(bench.patients, bench.questions, bench.splits, bench.notes, panel=panel)
    sizes = {row.split: row for row in counts.splits}
    splits = sorted(bench.splits, key=_place)
    return UnlearningEvaluation(
        clinaudit_version=record.clinaudit_version,
        libraries=record.libraries,
        device=record.device,
        seed=record.seed,
        form=record.form,
        made_with={plain_name(metric): what for metric, what in record.made_with.items()},
        before=record.before,
        models=record.models,
        splits=[
            _split(one, sizes[one.name], set_aside=scores[one.name].set_aside_patients)
            for one in splits
            if one.name in scores
        ],
        figures={
            one.name: _figures(scores[one.name], robustness.get(one.name)) for one in splits if one.name in scores
        },
        bench=with_names(counts),
        bench_splits=[_split(one, sizes[one.name]) for one in splits],
    )


def _place(split: Split) -> tuple[int, int, int]:
    levels = ["random", "request", "category"]
    categories = list(taxonomy())
    return levels.index(split.level), categories.index(split.category) if split.category else 0, split.percent


def _split(split: Split, size: SplitCounts, *, set_aside: int = 0) -> EvaluatedSplit:
    return EvaluatedSplit(
        name=split.name,
        level=_LEVELS[split.level] if split.category is None else name_of(split.category),
        is_disease=split.category is not None,
        percent=split.percent,
        set_aside=set_aside,
        **size.model_dump(exclude={"split"}),
    )


def _figures(scores: ScoresDocument, robustness: RobustnessFile | None) -> dict[str, ModelFigures]:
    tried = {} if robustness is None else robustness.models
    return {
        name: ModelFigures(
            answers={**held.answers(), **held.same_category.answers()},
            robustness=tried.get(name),
            collapse=held.health(),
        )
        for name, held in scores.models.items()
    }
