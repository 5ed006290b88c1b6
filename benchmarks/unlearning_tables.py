"""The tables of the benchmark of unlearning, from the documents that `clinaudit unlearn evaluate` wrote.

Owns what is shown and how a figure is written; figures are read, or subtracted where a table says so. A split that is
not evaluated yet is left out. Computed here is one thing: the faithfulness of a metric, its AUROC over models that saw
the patients and models that did not (the meta-evaluation of OpenUnlearning, Dorna et al. 2025, arXiv 2506.12618).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from unlearning_results import Json, Results
from unlearning_steps import BASELINE, METHODS, Grid

from clinaudit.audit.statistics.auroc import FEWEST, auroc_of_values
from clinaudit.reports.schema.numbers import Estimate

KINDS = ("factual", "reasoning")
NONE = "–"
#: The metrics whose faithfulness is measured.
JUDGED = ("ls", "ls_echo_free", "rouge_l", "em", "cs", "es_rules", "te", "afe")


def report_lines(grid: Grid, results: Results) -> list[str]:
    """Return the page's tables."""
    lines = [*_setup(grid, results), *_rates(grid, results)]
    for level, heading in (
        ("random", "Forgotten at random"),
        (grid.category, f"Forgotten of one disease: {grid.category}"),
    ):
        splits = [
            split for split in grid.splits(grid.percents) if split.startswith(f"{level}:") and split in results.scores
        ]
        for kind in KINDS:
            if splits:
                shown = {split: results.scores[split] for split in splits}
                lines += ["", f"### {heading}, {kind} questions", "", *_scores(shown, kind, level)]
    lines += _patterns(grid, results)
    for split, document in results.robustness.items():
        lines += _robustness(split, document)
    return [*lines, *_faithfulness(grid, results)]


# Setup ---------------------------------------------------------------------------------------------------------------


def _setup(grid: Grid, results: Results) -> Iterator[str]:
    yield f"{grid.trained} patients trained on, {grid.never_trained} never; the demo's model, {grid.epochs} passes."
    if results.scores:
        document = next(iter(results.scores.values()))
        yield f"{document['question_count']:,} questions are asked of each model, rephrased ones included."
    sizes = {f"{percent}%": results.forgotten.get(f"random:{percent}") for percent in grid.percents}
    yield "Intervals are 95%: [square], the bootstrap over patients; (round), Beta bounds, DeLong's of an AUROC."
    yield "Forgotten: " + ", ".join(f"{size} patients at {percent}" for percent, size in sizes.items() if size) + "."
    spent: dict[str, float] = {}
    for step, seconds in results.seconds:
        what = step.partition(" ")[0]
        spent[what] = spent.get(what, 0.0) + seconds / 60
    if spent:
        told = ", ".join(f"{what} {minutes:.0f}" for what, minutes in spent.items() if minutes >= 0.5)
        yield f"Minutes of a processor's time: {told}."


def _rates(grid: Grid, results: Results) -> Iterator[str]:
    if not results.chosen:
        return
    yield from ("", f"### The learning rate, chosen on {grid.chosen_on}", "")
    yield from _head("method", "rate", "loss: retained, set aside", "to be forgotten", "")
    for method, record in results.chosen.items():
        choice = record["rate_choice"]
        yield _row(method, "before", f"{choice['tuning_loss_before']:.3f}", "", "")
        for tried in choice["tried"]:
            losses = [_loss(tried[name]) for name in ("tuning_loss", "forget_loss")]
            is_chosen = tried["learning_rate"] == record["learning_rate"]
            yield _row("", f"{tried['learning_rate']:g}", *losses, "chosen" if is_chosen else "")


def _loss(value: float | None) -> str:
    return "diverged" if value is None else f"{value:.3f}"


# Scores --------------------------------------------------------------------------------------------------------------


def models_of(document: Json, split: str) -> dict[str, Json]:
    """Return a split's models by what they are called in tables, references first."""
    held = document["models"]
    order = [BASELINE, f"retrained {split}", *(f"{method} {split}" for method in METHODS)]
    return {name.removesuffix(f" {split}"): held[name] for name in order if name in held}


def value_of(scores: Json, metric: str, role: str, kind: str, use: str = "train") -> Json | None:
    """Return a figure with its interval; None where the document has none."""
    held = scores if role in ("forget", "retain", "never_trained") else scores["same_category"]
    return _mean_of(held, metric, role, kind, use)


def _mean_of(held: Json, metric: str, role: str, kind: str, use: str) -> Json | None:
    found: Json | None = held.get(metric, {}).get(role, {}).get(kind, {}).get(use)
    return None if found is None or found["value"] is None else found


def _scores(shown: Mapping[str, Json], kind: str, level: str) -> Iterator[str]:
    by_disease = {"MU, same disease": ("mu", "same", "train"), "MU, others": ("mu", "others", "train")}
    columns = {
        "LS": ("ls", "forget", "train"),
        "LS, never trained": ("ls", "never_trained", "train"),
        "AFE": ("afe", "forget", "train"),
        "AFE, withheld": ("afe", "forget", "holdout"),
        "AFE, never trained": ("afe", "never_trained", "train"),
        "DS": ("ds", "forget", "train"),
        "MU": ("mu", "retain", "train"),
        **({} if level == "random" else by_disease),
    }
    yield from _head("forgets", "model", *columns)
    for split, document in shown.items():
        for place, (name, scores) in enumerate(models_of(document, split).items()):
            cells = [figure(value_of(scores, metric, role, kind, use)) for metric, role, use in columns.values()]
            yield _row("" if place else f"{split.partition(':')[2]}%", name, *cells)


# Patterns ------------------------------------------------------------------------------------------------------------


def _patterns(grid: Grid, results: Results) -> Iterator[str]:
    every = {
        split: models_of(results.scores[split], split)
        for split in grid.splits(grid.percents)
        if split in results.scores
    }
    if every:
        yield from _collapse(every)
        yield from _withheld(every)
        yield from _before_and_after(every)
    of_disease = {split: models for split, models in every.items() if not split.startswith("random:")}
    if of_disease:
        yield from _same_disease(of_disease)


def _collapse(every: Mapping[str, Mapping[str, Json]]) -> Iterator[str]:
    yield from ("", "### Collapse", "")
    yield from (
        "DS and the share of empty or one-token answers are of forgotten patients; MU is over the baseline's.",
        "",
    )
    told = ("DS", "empty", "MU over baseline")
    yield from _head("split", "model", *(f"{what}, {kind}" for what in told for kind in KINDS))
    for split, models in every.items():
        for name, scores in models.items():
            ds = [_number(scores, "ds", "forget", kind) for kind in KINDS]
            empty = [_empty_share(scores, kind) for kind in KINDS]
            kept = [_over(scores, models[BASELINE], kind) for kind in KINDS]
            yield _row(split, name, *map(plain, (*ds, *empty, *kept)))


def _withheld(every: Mapping[str, Mapping[str, Json]]) -> Iterator[str]:
    yield from ("", "### Withheld questions", "", "AFE of withheld questions less AFE of those trained on.", "")
    yield from _head("split", "model", *KINDS)
    for split, models in every.items():
        for name, scores in models.items():
            pairs = [[_number(scores, "afe", "forget", kind, use) for use in ("holdout", "train")] for kind in KINDS]
            yield _row(split, name, *(plain(less(*pair)) for pair in pairs))


def _before_and_after(every: Mapping[str, Mapping[str, Json]]) -> Iterator[str]:
    yield from ("", "### Before and after", "")
    yield from (
        "Less the baseline's, over the same questions of the same patients: AFE of forgotten, MU of retained.",
        "",
    )
    told = (("AFE", "afe", "forget"), ("MU", "mu", "retain"))
    yield from _head("split", "model", *(f"{what}, {kind}" for what, *_ in told for kind in KINDS))
    for split, models in every.items():
        for name, scores in models.items():
            if name != BASELINE:
                cells = [_change_of(scores, metric, role, kind) for _, metric, role in told for kind in KINDS]
                yield _row(split, name, *map(figure, cells))


def _same_disease(every: Mapping[str, Mapping[str, Json]]) -> Iterator[str]:
    yield from ("", "### Same disease", "")
    yield from ("MU less the baseline's, of retained patients, over the same questions of the same patients.", "")
    yield from _head("split", "model", *(f"{side}, {kind}" for kind in KINDS for side in ("same disease", "others")))
    for split, models in every.items():
        for name, scores in models.items():
            if name != BASELINE:
                cells = [_change_of(scores, "mu", side, kind) for kind in KINDS for side in ("same", "others")]
                yield _row(split, name, *map(figure, cells))


def _change_of(scores: Json, metric: str, role: str, kind: str) -> Json | None:
    """Return the paired change of a harmonic mean."""
    return _mean_of(scores.get("change", {}), metric, role, kind, "train")


def _number(scores: Json, metric: str, role: str, kind: str, use: str = "train") -> float | None:
    found = value_of(scores, metric, role, kind, use)
    return None if found is None else float(found["value"])


def _empty_share(scores: Json, kind: str) -> float | None:
    counts = scores["counts"].get("forget", {}).get(kind, {}).get("train")
    return counts["empty_or_single"] / counts["answers"] if counts else None


def _over(scores: Json, baseline: Json, kind: str) -> float | None:
    own, whole = (_number(one, "mu", "retain", kind) for one in (scores, baseline))
    return own / whole if own is not None and whole else None


def less(value: float | None, other: float | None) -> float | None:
    """Return the difference; None where one of them is."""
    return None if value is None or other is None else value - other


# Robustness ----------------------------------------------------------------------------------------------------------


def _robustness(split: str, document: Json) -> Iterator[str]:
    models = models_of(document, split)
    most = max(document["options"]["leak_at"])
    yield from ("", f"### What {split} withstands: ROUGE-L recall of forgotten patients' answers", "")
    yield from _head(
        "model", "leak@1", f"leak@{most}", "above never trained", "relearned, 1", "5", "notes", "other words",
        "largest", "no names", "told apart",
    )  # fmt: skip
    for name, block in models.items():
        sampled, relearned, words = block["sampling"], block["relearning"], block["paraphrase"]
        yield _row(
            name,
            *(figure(sampled["forget"]["rouge_l"][str(k)]) for k in (1, most)),
            figure(sampled["above_never_trained"]["rouge_l"][str(most)]),
            *(_change(relearned.get(what, {})) for what in ("questions_1", "questions_5", "retained_notes")),
            _change(words["rephrased"]),
            figure(words["rephrased"].get("largest", {}).get("rouge_l")),
            _change(words["other_form"]),
            _told_apart(block["detectability"]),
        )


def _change(trial: Json) -> str:
    return figure(trial.get("change", {}).get("rouge_l"))


def _told_apart(block: Json) -> str:
    """Say whether forgotten patients are told apart, and by the trait that tells most."""
    answer = {True: "yes", False: "no", None: "open"}[block["told_apart"]]
    values = {trait: one["auroc"]["value"] for trait, one in block["traits"].items()}
    told = {trait: value for trait, value in values.items() if value is not None}
    if not told:
        return answer
    most = max(told, key=lambda trait: abs(told[trait] - 0.5))
    return f"{answer} ({most} {told[most]:.2f})"


# Faithfulness --------------------------------------------------------------------------------------------------------


#: Metrics that are high where a model knows nothing: of these the AUROC is that of what is lacking to 1.
RISES_WITH_FORGETTING: Final = frozenset({"afe", "afe_without_em"})
TOO_FEW_MODELS: Final = f"fewer than {FEWEST} models of one of the kinds have it"


@dataclass(frozen=True, slots=True)
class Faithfulness:
    """How well one metric tells both kinds of model apart."""

    #: The probability that a model which saw the patients scores above one which did not, ties counting half: 1 is
    #: best, 0.5 is chance. `n` counts models.
    auroc: Estimate
    #: Models that have the metric.
    with_patients: int
    without_patients: int


def measure_faithfulness(
    with_patients: Sequence[Mapping[str, float | None]], without_patients: Sequence[Mapping[str, float | None]]
) -> dict[str, Faithfulness]:
    """Return metric -> its faithfulness; each mapping holds the metrics of one model over the same patients' questions.

    Models that lack a metric are left out of it. Raises `ValueError` where there is no model of a kind.
    """
    if not with_patients or not without_patients:
        raise ValueError("models of both kinds are needed")
    metrics = dict.fromkeys(metric for model in (*with_patients, *without_patients) for metric in model)
    found = {}
    for metric in metrics:
        saw, never = (
            [
                -value if metric in RISES_WITH_FORGETTING else value
                for one in models
                if (value := one.get(metric)) is not None
            ]
            for models in (with_patients, without_patients)
        )
        told = auroc_of_values(saw, never, fewest=FEWEST, reason=TOO_FEW_MODELS)
        found[metric] = Faithfulness(told.auroc, len(saw), len(never))
    return found


def _faithfulness(grid: Grid, results: Results) -> Iterator[str]:
    if results.faithfulness is None:
        return
    models = results.faithfulness["models"]
    yield from ("", f"### Whether a metric tells models that saw the patients of {grid.chosen_on}", "")
    yield from _head("metric", *(f"AUROC, {kind}" for kind in KINDS))
    told = [
        measure_faithfulness(
            *(
                [_means(scores, kind) for name, scores in models.items() if name.startswith(f"{which} ")]
                for which in ("with", "without")
            )
        )
        for kind in KINDS
    ]
    for metric in JUDGED:
        yield _row(metric, *(_auroc(of_kind[metric].auroc) for of_kind in told))


def _means(scores: Json, kind: str) -> dict[str, float | None]:
    return {metric: _number(scores, metric, "forget", kind) for metric in JUDGED}


def _auroc(auroc: Estimate) -> str:
    return figure({"value": auroc.value, "interval": [auroc.low, auroc.high]})


# Cells ---------------------------------------------------------------------------------------------------------------


def figure(described: Json | None) -> str:
    """Return a figure with its interval, in square brackets the bootstrap's."""
    if described is None or described["value"] is None:
        return NONE
    low, high = described["interval"]
    begin, end = "[]" if described.get("method") == "bootstrap" else "()"
    between = "" if low is None or high is None else f" {begin}{signed(low)}, {signed(high)}{end}"
    return signed(described["value"]) + between


def plain(value: float | None) -> str:
    """Return a number without an interval."""
    return NONE if value is None else signed(value)


def signed(value: float) -> str:
    """Return a number of two decimals, with a true minus, and none before nothing."""
    return f"{value:.2f}".replace("-0.00", "0.00").replace("-", "−")


def _head(*columns: str) -> Iterator[str]:
    yield _row(*columns)
    yield _row(*("---:" if place > 1 else "---" for place in range(len(columns))))


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
