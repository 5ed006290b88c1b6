"""Tables of the benchmark behind an unlearning evaluation: who, what is asked, how it was trained on, who checked it.

In kind those of AMNESIA, Tables 1, 4 to 6, 8 to 10, 12 and 13. Owns what stands in which column. Lengths are in
words, where the paper has tokens.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from clinaudit.reports.schema.unlearning import BenchCounts, EvaluatedModel, PanelFigures, SplitCounts
from clinaudit.reports.tables.table import Table
from clinaudit.reports.wording.numbers import percent_text
from clinaudit.reports.wording.unlearning import METHODS, NONE

_TASKS: Final = {"title": "titles and their categories", "question": "questions and their answers"}
#: The verdict that all others are merged against for kappa.
_FIRST: Final = {"title": "supported", "question": "valid"}
_TRAINING: Final[Mapping[str, str]] = {
    "scope": "Trained",
    "epochs": "Epochs",
    "warmup": "Warm-up",
    "weight_decay": "Weight decay",
    "gradient_norm": "Gradient norm",
    "micro_batch": "Texts a micro-batch",
    "micro_batches": "Micro-batches a step",
    "max_tokens": "Tokens a text",
    "form": "Questions asked",
}


def corpus_table(bench: BenchCounts) -> Table:
    """Return patients, questions and length of notes by disease (Table 1)."""
    rows = [
        (
            row.category,
            f"{row.patients:,} ({percent_text(row.patients / bench.patients)})",
            f"{row.questions:,}",
            f"{row.shortest_note:,}",
            f"{row.mean_note:,.1f}",
            f"{row.longest_note:,}",
        )
        for row in bench.categories
    ]
    rows.append(("Total", f"{bench.patients:,}", f"{bench.questions:,}", "", "", ""))
    columns = ("Disease", "Patients", "Questions", "Shortest note", "Mean", "Longest")
    note = (
        f"Lengths in words. {bench.patients_trained_on:,} of the patients were trained on; {bench.holdout_questions:,}"
        " of the questions are withheld from training."
    )
    return Table("Patients and questions by disease", columns, tuple(rows), note)


def lengths_table(bench: BenchCounts) -> Table:
    """Return mean lengths of questions and answers by disease (Table 4)."""
    heads = list(dict.fromkeys(name for row in bench.categories for name in row.words))
    rows = tuple(
        (row.category, *(f"{row.words[name]:,.1f}" if name in row.words else NONE for name in heads))
        for row in bench.categories
    )
    return Table("Mean length of questions and answers, in words", ("Disease", *map(str.capitalize, heads)), rows)


def splits_table(splits: Sequence[SplitCounts]) -> Table:
    """Return how many are forgotten and retained (Table 5)."""
    return Table.of(
        "Who is forgotten, and who is retained",
        splits,
        {
            "Split": lambda split: split.split,
            "Patients forgotten": lambda split: f"{split.forget_patients:,}",
            "Questions on them": lambda split: f"{split.forget_questions:,}",
            "Patients retained": lambda split: f"{split.retain_patients:,}",
            "Questions on these": lambda split: f"{split.retain_questions:,}",
        },
        "Questions trained on, without those withheld.",
    )


def training_table(models: Sequence[EvaluatedModel]) -> Table:
    """Return how each model was trained (Table 6)."""

    def text(value: object) -> str:
        return f"{value:g}" if isinstance(value, float) else str(value)

    rows = tuple(
        (
            model.name,
            METHODS.get(model.method or "", model.kind),
            model.split or NONE,
            *(text((model.training or {}).get(name, NONE)) for name in _TRAINING),
            NONE
            if model.learning_rate is None
            else f"{model.learning_rate:g}{' (chosen)' if model.chose_rate else ''}",
        )
        for model in models
    )
    notes = ["AdamW; the rate falls along a cosine. A step reads the texts of all its micro-batches."]
    if any(model.method for model in models):
        notes.append(
            "What a method made is an interim measure: only a model that is trained again without the patients is sure "
            "to have forgotten them."
        )
    if any(model.chose_rate for model in models):
        notes.append(
            "Chosen: of several rates, by retained patients who were set aside for it and whom no mean counts."
        )
    columns = ("Model", "Made by", "Forgets", *_TRAINING.values(), "Highest rate")
    return Table("How the models were trained", columns, rows, " ".join(notes))


def panel_tables(bench: BenchCounts) -> list[Table]:
    """Return what the judges said, and how far they agree (Tables 8 to 10, 12 and 13)."""
    tables = []
    for figures in bench.panel:
        task = _TASKS[figures.task]
        shares = {
            judge: {verdict: f"{count:,} ({percent_text(count / figures.items)})" for verdict, count in own.items()}
            for judge, own in figures.verdicts.items()
            if figures.items
        }
        tables.append(_crossed(f"The judges’ verdicts on {figures.items:,} {task}", "Verdict", shares))
        if figures.by_category:
            verdicts = list(dict.fromkeys(verdict for own in figures.by_category.values() for verdict in own))
            counts = {
                verdict.capitalize(): {name: f"{own.get(verdict, 0):,}" for name, own in figures.by_category.items()}
                for verdict in verdicts
            }
            tables.append(_crossed("The majority’s verdict by disease", "Disease", counts))
        tables.append(_agreement_table(figures, task))
    return tables


def _crossed(title: str, head: str, columns: Mapping[str, Mapping[str, str]]) -> Table:
    """Return a table of columns of cells by the names of their rows."""
    names = list(dict.fromkeys(name for cells in columns.values() for name in cells))
    rows = tuple(
        (name[:1].upper() + name[1:], *(cells.get(name, NONE) for cells in columns.values())) for name in names
    )
    return Table(title, (head, *columns), rows)


def _agreement_table(figures: PanelFigures, task: str) -> Table:
    rows = [(pair, percent_text(share)) for pair, share in figures.pairs.items()]
    rows.append(("Mean of the pairs", NONE if figures.agreement is None else percent_text(figures.agreement)))
    first = f"Fleiss’ κ, {_FIRST[figures.task]} against all other verdicts"
    rows.append((first, NONE if figures.kappa is None else f"{figures.kappa:.3f}"))
    reading = f"{figures.reading[:1].upper()}{figures.reading[1:]}."
    return Table(f"Agreement of the judges on {task}", ("Pair", "Same verdict"), tuple(rows), reading)
