"""`report.html` of an unlearning evaluation (PHI): what was forgotten, what broke, what others lost (AMNESIA in kind).

Owns the order of the parts. Holds no id and no text of a patient, but exact figures of few: it says PHI on every
screen. No script, no outside resource.
"""

from clinaudit.reports.figures.unlearning import disease_traces, sizes_figure, trade_off_traces
from clinaudit.reports.pages.html import render_html
from clinaudit.reports.schema.unlearning import EvaluationRecord
from clinaudit.reports.tables.unlearning import (
    collapse_table,
    disease_tables,
    leakage_table,
    parts_tables,
    trials_tables,
)
from clinaudit.reports.tables.unlearning_bench import (
    corpus_table,
    panel_tables,
    splits_table,
)
from clinaudit.reports.wording.escaped_text import harmless_document
from clinaudit.reports.wording.unlearning import Evaluation


def render_unlearning(evaluation: Evaluation) -> str:
    """Return the HTML of what `clinaudit unlearn evaluate` found."""
    record = EvaluationRecord.model_validate(harmless_document(evaluation.record.model_dump(mode="json")))
    # Names of models stand in figures, too: they can be printed, or the command refuses them.
    evaluation = Evaluation(record, evaluation.figures, evaluation.checks)
    levels = evaluation.levels()
    bench = record.bench
    return render_html(
        "unlearning.html.j2",
        style=("page.css", "unlearning.css"),
        context={
            "evaluation": record,
            "sizes": [
                sizes_figure(evaluation, level, splits, place=place)
                for place, (level, splits) in enumerate(levels.items())
            ],
            "leakage": [leakage_table(evaluation, level, splits) for level, splits in levels.items()],
            "collapse": [table for split in record.splits if (table := collapse_table(evaluation, split)).rows],
            "trade_off": [trade_off_traces(evaluation, use) for use in ("train", "holdout")],
            "diseases": disease_traces(evaluation),
            "disease_tables": [table for split in record.splits for table in disease_tables(evaluation, split)],
            "parts": [(split.title, parts_tables(evaluation, split)) for split in record.splits],
            "trials": [
                (split.title, tables) for split in record.splits if (tables := trials_tables(evaluation, split))
            ],
            "corpus": None if bench is None else corpus_table(bench),
            "splits": splits_table(record.splits if bench is None else bench.splits),
            "panel": [] if bench is None else panel_tables(bench),
        },
    )
