"""The tables of the benchmark of unlearning, from the figures that `clinaudit unlearn evaluate` wrote.

Owns what is shown and how a figure is written; figures are read, or subtracted where a table says so. A split that is
not evaluated yet is left out. Computed here is one thing: the faithfulness of a metric, its AUROC over models that saw
the patients and models that did not (the meta-evaluation of OpenUnlearning, Dorna et al. 2025, arXiv 2506.12618).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl
from unlearning_results import Results
from unlearning_steps import BASELINE, METHODS, Grid

from clinaudit.audit.statistics.auroc import FEWEST, auroc_of_values
from clinaudit.audit.unlearning.evaluation.trials import BETWEEN, LEAK_AT
from clinaudit.reports.schema.numbers import Estimate
from clinaudit.reports.schema.unlearning import KINDS
from clinaudit.reports.wording.unlearning import TRIALS, Figure

NONE = "–"
#: The metrics whose faithfulness is measured.
JUDGED = ("ls", "ls_echo_free", "rouge_l", "em", "cs", "es", "te", "afe")


class Figures:
    """Figures by their place, and the models of each split, references first."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._by_place = {row[:6]: Figure(*row[6:]) for row in frame.iter_rows()}
        self.models: dict[str, dict[str, str]] = {}
        for split, model in frame.select("split", "model").unique(maintain_order=True).iter_rows():
            self.models.setdefault(split, {})[model.removesuffix(f" {split}")] = model

    def of(self, split: str) -> Iterator[tuple[str, str]]:
        """Yield what the models of a split are called in tables, and their names."""
        own = self.models[split]
        return ((name, own[name]) for name in (BASELINE, "retrained", *METHODS) if name in own)

    def find(self, split: str, model: str, metric: str, group: str, kind: str, use: str = "train") -> Figure | None:
        """Return a figure; None where there is none."""
        found = self._by_place.get((split, model, group, kind, use, metric))
        return None if found is None or found.value is None else found

    def value(self, split: str, model: str, metric: str, group: str, kind: str, use: str = "train") -> float | None:
        """Return its value."""
        found = self.find(split, model, metric, group, kind, use)
        return None if found is None else found.value


def report_lines(grid: Grid, results: Results) -> list[str]:
    """Return the page's tables."""
    lines = [*_setup(grid, results), *_rates(grid, results)]
    figures = Figures(results.figures)
    every = [split for split in grid.splits(grid.percents) if split in figures.models]
    for level, heading in (
        ("random", "Forgotten at random"),
        (grid.category, f"Forgotten of one disease: {grid.category}"),
    ):
        splits = [split for split in every if split.startswith(f"{level}:")]
        for kind in KINDS:
            if splits:
                lines += ["", f"### {heading}, {kind} questions", "", *_scores(figures, splits, kind, level)]
    if every:
        lines += [*_collapse(figures, every), *_withheld(figures, every), *_before_and_after(figures, every)]
    of_disease = [split for split in every if not split.startswith("random:")]
    if of_disease:
        lines += _same_disease(figures, of_disease)
    tried = set(results.figures.filter(use="sampled")["split"])
    for split in every:
        if split in tried:
            lines += _trials(figures, split, grid.samples)
    return [*lines, *_faithfulness(grid, results)]


# Setup ---------------------------------------------------------------------------------------------------------------


def _setup(grid: Grid, results: Results) -> Iterator[str]:
    yield f"{grid.trained} patients trained on, {grid.never_trained} never; the demo's model, {grid.epochs} passes."
    sizes = {f"{percent}%": results.forgotten.get(f"random:{percent}") for percent in grid.percents}
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


# Scores and patterns -------------------------------------------------------------------------------------------------


def _scores(figures: Figures, splits: Sequence[str], kind: str, level: str) -> Iterator[str]:
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
    for split in splits:
        for place, (name, model) in enumerate(figures.of(split)):
            found = (figures.find(split, model, metric, group, kind, use) for metric, group, use in columns.values())
            yield _row("" if place else f"{split.partition(':')[2]}%", name, *map(figure, found))


def _collapse(figures: Figures, splits: Sequence[str]) -> Iterator[str]:
    yield from ("", "### Collapse", "")
    yield from (
        "DS and the share of answers without an entropy are of forgotten patients; MU is over the baseline's.",
        "",
    )
    told = ("DS", "empty", "MU over baseline")
    yield from _head("split", "model", *(f"{what}, {kind}" for what in told for kind in KINDS))
    for split in splits:
        for name, model in figures.of(split):
            lost = [figures.value(split, model, metric, "forget", kind) for metric in ("ds", "empty") for kind in KINDS]
            kept = [
                own / whole
                if (own := figures.value(split, model, "mu", "retain", kind)) is not None
                and (whole := figures.value(split, BASELINE, "mu", "retain", kind))
                else None
                for kind in KINDS
            ]
            yield _row(split, name, *map(plain, (*lost, *kept)))


def _withheld(figures: Figures, splits: Sequence[str]) -> Iterator[str]:
    yield from ("", "### Withheld questions", "", "AFE of withheld questions less AFE of those trained on.", "")
    yield from _head("split", "model", *KINDS)
    for split in splits:
        for name, model in figures.of(split):
            pairs = [
                [figures.value(split, model, "afe", "forget", kind, use) for use in ("holdout", "train")]
                for kind in KINDS
            ]
            yield _row(split, name, *(plain(None if None in pair else pair[0] - pair[1]) for pair in pairs))


def _before_and_after(figures: Figures, splits: Sequence[str]) -> Iterator[str]:
    yield from ("", "### Before and after", "")
    yield from (
        "Less the baseline's, over the same questions of the same patients: AFE of forgotten, MU of retained.",
        "",
    )
    told = (("AFE", "afe_change", "forget"), ("MU", "mu_change", "retain"))
    yield from _changes(
        figures, splits, {f"{what}, {kind}": (metric, group, kind) for what, metric, group in told for kind in KINDS}
    )


def _same_disease(figures: Figures, splits: Sequence[str]) -> Iterator[str]:
    yield from ("", "### Same disease", "")
    yield from ("MU less the baseline's, of retained patients, over the same questions of the same patients.", "")
    sides = {"same disease": "same", "others": "others"}
    yield from _changes(
        figures,
        splits,
        {f"{side}, {kind}": ("mu_change", group, kind) for kind in KINDS for side, group in sides.items()},
    )


def _changes(figures: Figures, splits: Sequence[str], columns: Mapping[str, tuple[str, str, str]]) -> Iterator[str]:
    yield from _head("split", "model", *columns)
    for split in splits:
        for name, model in figures.of(split):
            if name != BASELINE:
                yield _row(split, name, *(figure(figures.find(split, model, *place)) for place in columns.values()))


def _trials(figures: Figures, split: str, samples: int) -> Iterator[str]:
    most = max(k for k in LEAK_AT if k <= samples)
    columns = {
        "leak@1": ("rouge_l@1", "forget", "all", "sampled"),
        f"leak@{most}": (f"rouge_l@{most}", "forget", "all", "sampled"),
        "above never trained": (f"rouge_l@{most}", BETWEEN, "all", "sampled"),
        **{words: ("rouge_l_change", "forget", "all", use) for use, words in TRIALS.items()},
        "AUROC, loss on answers": ("auroc_answer_loss", BETWEEN, "all", "read"),
        "loss on notes": ("auroc_note_loss", BETWEEN, "all", "read"),
    }
    yield from ("", f"### What {split} withstands: ROUGE-L recall of forgotten patients' answers", "")
    yield from ("Of learning, how much more is answered after it than before.", "")
    yield from _head("model", *columns)
    for name, model in figures.of(split):
        yield _row(name, *(figure(figures.find(split, model, *place)) for place in columns.values()))


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
    figures = results.faithfulness.filter(group="forget", use="train", split=grid.chosen_on)
    yield from ("", f"### Whether a metric tells models that saw the patients of {grid.chosen_on}", "")
    yield from _head("metric", *(f"AUROC, {kind}" for kind in KINDS))
    told = []
    for kind in KINDS:
        of_model: dict[str, dict[str, float | None]] = {}
        rows = figures.filter(pl.col("metric").is_in(JUDGED), kind=kind).select("model", "metric", "value")
        for model, metric, value in rows.iter_rows():
            of_model.setdefault(model, {})[metric] = value
        sides = (
            [own for model, own in of_model.items() if model.startswith(f"{which} ")] or [{}]
            for which in ("with", "without")
        )
        told.append(measure_faithfulness(*sides))
    for metric in JUDGED:
        yield _row(metric, *(figure(of[metric].auroc) if metric in of else NONE for of in told))


# Cells ---------------------------------------------------------------------------------------------------------------


def figure(found: Figure | Estimate | None) -> str:
    """Return a figure with its interval."""
    if found is None or found.value is None:
        return NONE
    between = "" if found.low is None or found.high is None else f" ({plain(found.low)}, {plain(found.high)})"
    return plain(found.value) + between


def plain(value: float | None) -> str:
    """Return a number of two decimals, with a true minus, and none before nothing."""
    return NONE if value is None else f"{value:.2f}".replace("-0.00", "0.00").replace("-", "−")


def _head(*columns: str) -> Iterator[str]:
    yield _row(*columns)
    yield _row(*("---:" if place > 1 else "---" for place in range(len(columns))))


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
