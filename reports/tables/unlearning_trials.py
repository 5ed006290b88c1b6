"""Tables of what forgetting withstands: sampling, rounding, relearning, other words, and who can be told apart.

Owns what stands in which column. What was not tried has no table.
"""

from typing import Final

from clinaudit.reports.schema.unlearning import EvaluatedSplit, RobustnessFigures, TrialFigures, UnlearningEvaluation
from clinaudit.reports.tables.table import Table
from clinaudit.reports.wording.numbers import number_text, percent_text
from clinaudit.reports.wording.unlearning import METRICS, NONE, TRAITS, TRIALS, FigureCells, list_systems, split_title

#: What the tables are of; the document has more.
TRIED_METRICS: Final = ("rouge_l", "ls_echo_free")
_TOLD: Final = {True: "yes", False: "not shown", None: NONE}


def trials_table(evaluation: UnlearningEvaluation, split: EvaluatedSplit, metric: str) -> Table:
    """Return a metric of forgotten patients' answers when nothing is done, and under each trial; a row a model."""
    cells = FigureCells()
    found = _robustness(evaluation, split)
    ks = list(dict.fromkeys(k for _, own in found if own.sampling for k in own.sampling.forget.get(metric, {})))
    rows = []
    for label, own in found:
        sampled = {} if own.sampling is None else own.sampling.forget.get(metric, {})
        above = {} if own.sampling is None else own.sampling.above.get(metric, {})
        rows.append(
            (
                label,
                *(cells.text(sampled.get(k), interval=False) for k in ks),
                *([cells.text(above.get(ks[-1]))] if ks else []),
                *(_trial(cells, own.trials.get(trial), metric) for trial in TRIALS),
            )
        )
    heads = (*(f"leak@{k}" for k in ks), *([f"leak@{ks[-1]} above never trained on"] if ks else []))
    columns = ("Model", *heads, *(words[:1].upper() + words[1:] for words in TRIALS.values()))
    note = cells.note(
        f"{METRICS[metric]} of what is answered on forgotten patients. leak@k: the largest expected among k sampled"
        " answers. Of a trial: before → after; in brackets the share of what was lost that is back, and, with its sign,"
        " how much more that is than of patients never trained on who were tried likewise."
    )
    return Table(f"{split_title(split)}: {METRICS[metric]} when forgetting is tried", columns, tuple(rows), note)


def detection_table(evaluation: UnlearningEvaluation, split: EvaluatedSplit) -> Table:
    """Return how far a reader of the model can tell forgotten from never-trained patients."""
    cells = FigureCells()
    rows = tuple(
        (
            label,
            _TOLD[own.detection.told_apart],
            *(cells.text(own.detection.auroc.get(trait)) for trait in TRAITS),
        )
        for label, own in _robustness(evaluation, split)
        if own.detection is not None
    )
    note = cells.note(
        "AUROC: how often a forgotten patient has more of it than one never trained on; 0.5 is best, and 0 tells as"
        " much as 1. Told apart: shown at 5%, over all traits; a dash where too few patients could show it."
    )
    columns = ("Model", "Told apart", *(words.capitalize() for words in TRAITS.values()))
    return Table(f"{split_title(split)}: can a reader of the model tell who was forgotten", columns, rows, note)


def _robustness(evaluation: UnlearningEvaluation, split: EvaluatedSplit) -> list[tuple[str, RobustnessFigures]]:
    """Return the label of each system that was tried, and what its forgetting withstands."""
    models = [(one.label, one.models.get(split.name)) for one in list_systems(evaluation)]
    figures = evaluation.figures[split.name]
    return [
        (label, robustness)
        for label, model in models
        if model is not None and (robustness := figures[model].robustness) is not None
    ]


def _trial(cells: FigureCells, trial: TrialFigures | None, metric: str) -> str:
    if trial is None or trial.reason is not None:
        return cells.none("not tried" if trial is None else trial.reason)
    before, after = (cells.text(by_metric.get(metric), interval=False) for by_metric in (trial.before, trial.after))
    recovery, above = trial.recovery.get(metric), trial.above.get(metric)
    said = [] if recovery is None or recovery.value is None else [percent_text(recovery.value)]
    said += [] if above is None or above.value is None else [number_text(above.value, signed=True)]
    back = f" ({', '.join(said)})" if said else ""
    return f"{before}\u00a0→\u00a0{after}{back}"
