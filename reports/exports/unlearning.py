"""The numbers of an unlearning evaluation as CSV files (PHI): `tables/*.csv` beside its page.

Owns which files there are and what stands in which row. Numbers are exact and unrounded; a number that is not there is
an empty cell with its reason beside it.
"""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from clinaudit.reports.schema.record import round_floats
from clinaudit.reports.schema.unlearning import UnlearningEvaluation
from clinaudit.reports.schema.unlearning_evaluation import LEAK_METRICS, RobustnessDocument, Sampling
from clinaudit.reports.schema.unlearning_scores import KINDS, Figure, plain_name
from clinaudit.reports.wording.escaped_text import harmless_text
from clinaudit.reports.wording.unlearning import find_answers, leakage_marks, list_systems

FOLDER: Final = "tables"
#: A cell; None is written as an empty one.
Value = str | int | float | None
Row = Mapping[str, Value]


def unlearning_files(evaluation: UnlearningEvaluation) -> dict[str, str]:
    """Return the text of each file by its name, `tables/scores.csv`; a table without a row is left out."""
    tables: dict[str, Sequence[Row]] = {
        "scores": list(_scores(evaluation)),
        "table2_leakage": list(_leakage(evaluation)),
        "collapse": list(_collapse(evaluation)),
        "robustness": list(_trials(evaluation)),
        "detectability": list(_detections(evaluation)),
        "table1_table4_corpus": list(_categories(evaluation)),
        "table5_splits": [split.model_dump(mode="json") for split in evaluation.bench_splits],
        "table6_training": list(_training(evaluation)),
        "table8_table12_verdicts": list(_verdicts(evaluation)),
        "table9_verdicts_by_category": list(_by_category(evaluation)),
        "table10_table13_agreement": list(_agreement(evaluation)),
    }
    return {f"{FOLDER}/{name}.csv": csv_text(rows) for name, rows in tables.items() if rows}


def csv_text(rows: Sequence[Row]) -> str:
    """Return the text of a file: the columns in the order in which the rows first name them, then the rows."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(row.get(column)) for column in columns] for row in rows)
    return text.getvalue()


def _cell(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        text = harmless_text(value)
        # A spreadsheet would read it as a formula.
        return f"'{text}" if text[:1] in ("=", "+", "-", "@") else text
    number = round_floats(float(value))
    return str(int(number)) if number.is_integer() else str(number)


def _scores(evaluation: UnlearningEvaluation) -> Iterator[Row]:
    """Yield every mean: MU and AFE with their parts, and what Figures 2 to 4 draw."""
    described = {model.name: model for model in evaluation.models}
    for split, models in evaluation.figures.items():
        for name, figures in models.items():
            own = described[name]
            for group, kinds in figures.answers.items():
                for kind, uses in kinds.items():
                    for use, answers in uses.items():
                        place: dict[str, Value] = {
                            "split": split,
                            "model": name,
                            "model_kind": own.kind,
                            "method": own.method,
                            "patients_are": group,
                            "kind": kind,
                            "use": use,
                            "patients": answers.patients,
                            "answers": answers.answers,
                        }
                        for metric, estimate in answers.metrics.items():
                            yield {**place, "metric": metric, **_figure(estimate)}


def _leakage(evaluation: UnlearningEvaluation) -> Iterator[Row]:
    """Yield LS and DS of forgotten patients, questions trained on, with the methods' lowest and highest."""
    for split in evaluation.splits:
        for kind in KINDS:
            marks = leakage_marks(evaluation, split.name, kind)
            for system in list_systems(evaluation):
                answers = find_answers(evaluation, split.name, system, "forget", kind)
                if answers is not None:
                    yield {
                        "level": split.level,
                        "percent": split.percent,
                        "kind": kind,
                        "system": system.label,
                        "model": system.models[split.name],
                        **_figure(answers.metrics["ls"], "ls"),
                        **_figure(answers.metrics["ds"], "ds"),
                        "ls_mark": marks.get(system.models[split.name], ""),
                    }


def _collapse(evaluation: UnlearningEvaluation) -> Iterator[Row]:
    """Yield whether answers still read as before, question by question; `a` is the model before."""
    for split, models in evaluation.figures.items():
        for name, figures in models.items():
            for check in figures.collapse:
                passed = {True: "yes", False: "no", None: ""}[check.passed]
                yield {"split": split, "model": name, **check.model_dump(), "passed": passed}


def _trials(evaluation: UnlearningEvaluation) -> Iterator[Row]:
    for place, robustness in _robustness(evaluation):
        yield from _leaks(place, robustness.sampling)
        for name, trial in robustness.trials().items():
            if trial.reason is not None:
                yield {**place, "trial": name, "reason": trial.reason}
            shown = {
                "before": trial.before,
                "after": trial.after,
                "above_never_trained": trial.above_never_trained,
            }
            for what, by_metric in shown.items():
                for metric, estimate in by_metric.items():
                    yield {**place, "trial": name, "figure": what, "metric": plain_name(metric), **_figure(estimate)}


def _leaks(place: Row, sampling: Sampling) -> Iterator[Row]:
    for what in ("forget", "never_trained", "above_never_trained"):
        for metric in LEAK_METRICS:
            for k, estimate in getattr(sampling, what).at(metric).items():
                yield {**place, "trial": f"leak@{k}", "figure": what, "metric": metric, **_figure(estimate)}


def _detections(evaluation: UnlearningEvaluation) -> Iterator[Row]:
    for place, robustness in _robustness(evaluation):
        told = {True: "yes", False: "not shown", None: ""}[robustness.detectability.told_apart]
        for trait, own in robustness.detectability.traits.items():
            yield {**place, "told_apart": told, "trait": trait, **_figure(own.auroc)}


def _robustness(evaluation: UnlearningEvaluation) -> Iterator[tuple[dict[str, Value], RobustnessDocument]]:
    for split, models in evaluation.figures.items():
        for name, figures in models.items():
            if figures.robustness is not None:
                yield {"split": split, "model": name}, figures.robustness


def _categories(evaluation: UnlearningEvaluation) -> Iterator[Row]:
    for row in evaluation.bench.categories:
        counts = {name: getattr(row, name) for name in ("category", "patients", "share", "questions")}
        lengths: Mapping[str, Value] = {f"note_words_{name}": value for name, value in row.note_words}
        parts: Mapping[str, Value] = {
            f"{kind}_{part}_words": row.words(kind, part) for kind in KINDS for part in ("question", "answer")
        }
        yield {**counts, **lengths, **parts}


def _training(evaluation: UnlearningEvaluation) -> Iterator[Row]:
    for model in evaluation.models:
        own: dict[str, Value] = {"model": model.name, "kind": model.kind, "method": model.method, "split": model.split}
        chosen = "yes" if model.chose_rate else "no"
        yield {**own, **model.training_text(), "learning_rate": model.learning_rate, "chose_rate": chosen}


def _verdicts(evaluation: UnlearningEvaluation) -> Iterator[Row]:
    for figures in evaluation.bench.judged():
        for judge, verdicts in {**figures.verdicts, "panel": figures.panel}.items():
            for verdict, items in verdicts.items():
                yield {"task": figures.task, "judge": judge, "verdict": verdict, "items": items}


def _by_category(evaluation: UnlearningEvaluation) -> Iterator[Row]:
    for figures in evaluation.bench.judged():
        for category, verdicts in figures.panel_by_category.items():
            for verdict, items in verdicts.items():
                yield {"category": category, "verdict": verdict, "items": items}


def _agreement(evaluation: UnlearningEvaluation) -> Iterator[Row]:
    for figures in evaluation.bench.judged():
        pairs: dict[str, float | None] = {**figures.pairs, "mean": figures.agreement, "fleiss_kappa": figures.kappa}
        for pair, value in pairs.items():
            yield {"task": figures.task, "items": figures.items, "pair": pair, "value": value}


def _figure(figure: Figure, name: str = "value") -> dict[str, Value]:
    prefix = "" if name == "value" else f"{name}_"
    return {
        name: figure.value,
        f"{name}_ci_low": figure.low,
        f"{name}_ci_high": figure.high,
        f"{prefix}ci_method": figure.method,
        f"{prefix}reason": figure.reason,
    }
