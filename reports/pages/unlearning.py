"""`report.html` of an unlearning evaluation (PHI): what was forgotten, what broke, what others lost (AMNESIA in kind).

Owns the order of the parts. Holds no id and no text of a patient, but exact figures of few: it says PHI on every
screen. No script, no outside resource.
"""

from clinaudit.reports.figures.unlearning import disease_traces, sizes_figure, trade_off_traces
from clinaudit.reports.pages.html import render_html
from clinaudit.reports.schema.unlearning import UnlearningEvaluation
from clinaudit.reports.tables.unlearning import (
    TRIED_METRICS,
    collapse_table,
    detection_table,
    disease_table,
    leakage_table,
    parts_table,
    trials_table,
)
from clinaudit.reports.tables.unlearning_bench import (
    corpus_table,
    lengths_table,
    panel_tables,
    splits_table,
    training_table,
)
from clinaudit.reports.wording.escaped_text import harmless_document
from clinaudit.reports.wording.unlearning import levels_of, split_title


def render_unlearning(evaluation: UnlearningEvaluation) -> str:
    """Return the HTML of what `clinaudit unlearn evaluate` found."""
    evaluation = UnlearningEvaluation.model_validate(harmless_document(evaluation.model_dump(mode="json")))
    levels = list(enumerate(levels_of(evaluation).items()))
    tried = {name: [*models.values()] for name, models in evaluation.figures.items()}
    return render_html(
        "unlearning.html.j2",
        style=("page.css", "unlearning.css"),
        context={
            "evaluation": evaluation,
            "sizes": [sizes_figure(evaluation, level, splits, place=place) for place, (level, splits) in levels],
            "leakage": [leakage_table(evaluation, level, splits) for _, (level, splits) in levels],
            "collapse": [table for split in evaluation.splits if (table := collapse_table(evaluation, split)).rows],
            "trade_off": [trade_off_traces(evaluation, use) for use in ("train", "holdout")],
            "diseases": disease_traces(evaluation),
            "disease_tables": [disease_table(evaluation, split) for split in evaluation.splits],
            "parts": [
                (split_title(split), [parts_table(evaluation, split, mean) for mean in ("mu", "afe")])
                for split in evaluation.splits
            ],
            "trials": [
                (
                    split_title(split),
                    [
                        *(trials_table(evaluation, split, metric) for metric in TRIED_METRICS),
                        detection_table(evaluation, split),
                    ],
                )
                for split in evaluation.splits
                if any(figures.robustness for figures in tried[split.name])
            ],
            "corpus": corpus_table(evaluation.bench),
            "lengths": lengths_table(evaluation.bench),
            "splits": splits_table(evaluation.bench_splits),
            "training": training_table(evaluation),
            "panel": panel_tables(evaluation.bench),
        },
    )
