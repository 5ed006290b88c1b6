"""Tables of the benchmark behind an unlearning evaluation: who, what is asked, how it was trained on, who checked it.

In kind those of AMNESIA, Tables 1, 4 to 6, 8 to 10, 12 and 13. Owns what stands in which column. Lengths are in
words, where the paper has tokens.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from clinaudit.reports.schema.unlearning import EvaluatedSplit, UnlearningEvaluation
from clinaudit.reports.schema.unlearning_bench import BenchCounts, PanelFigures
from clinaudit.reports.schema.unlearning_scores import KINDS
from clinaudit.reports.tables.table import Table
from clinaudit.reports.wording.numbers import percent_text
from clinaudit.reports.wording.unlearning import METHODS, NONE, split_title

_TASKS: Final = {"title": "titles and their categories", "question": "questions and their answers"}
#: The verdict that all others are merged against for kappa.
_FIRST: Final = {"title": "supported", "question": "valid"}
_TRAINING: Final[Mapping[str, str]] = {
    "scope": "Trained",
    "epochs": "Epochs",
    "learning_rate": "Highest rate",
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
            f"{row.patients:,} ({percent_text(row.share)})",
            f"{row.questions:,}",
            f"{row.note_words.min:,}",
            _length(row.note_words.mean),
            f"{row.note_words.max:,}",
        )
        for row in bench.categories
    ]
    rows.append(("Total", f"{bench.patients:,}", f"{bench.questions:,}", "", "", ""))
    columns = ("Disease", "Patients", "Questions", "Shortest note", "Mean", "Longest")
    note = (
        f"Lengths in words. {bench.patients_trained_on:,} of the patients were trained on; {bench.holdout_questions:,}"
        f" of the questions are withheld from training, and {bench.rephrased_questions:,} rephrased ones come on top."
    )
    return Table("Patients and questions by disease", columns, tuple(rows), note)


def lengths_table(bench: BenchCounts) -> Table:
    """Return mean lengths of questions and answers by disease (Table 4)."""
    rows = tuple(
        (
            row.category,
            *(_length(row.words(kind, part)) for kind in KINDS for part in ("question", "answer")),
        )
        for row in bench.categories
    )
    heads = (f"{kind.capitalize()} {what}" for kind in KINDS for what in ("question", "answer"))
    return Table("Mean length of questions and answers, in words", ("Disease", *heads), rows)


def splits_table(splits: Sequence[EvaluatedSplit]) -> Table:
    """Return how many are forgotten and retained (Table 5)."""
    return Table.of(
        "Who is forgotten, and who is retained",
        splits,
        {
            "Forgets": lambda split: split_title(split),
            "Patients forgotten": lambda split: f"{split.forget_patients:,}",
            "Questions on them": lambda split: f"{split.forget_questions:,}",
            "Patients retained": lambda split: f"{split.retain_patients:,}",
            "Questions on these": lambda split: f"{split.retain_questions:,}",
        },
        "Questions trained on, without those withheld.",
    )


def training_table(evaluation: UnlearningEvaluation) -> Table:
    """Return how each model was trained (Table 6)."""
    rows = tuple(
        (
            model.name,
            METHODS.get(model.method or "", model.kind),
            model.split or NONE,
            *(model.training_text().get(name, NONE) for name in _TRAINING if name != "learning_rate"),
            NONE
            if model.learning_rate is None
            else f"{model.learning_rate:g}{' (chosen)' if model.chose_rate else ''}",
        )
        for model in evaluation.models
    )
    heads = (title for name, title in _TRAINING.items() if name != "learning_rate")
    notes = ["AdamW; the rate falls along a cosine. A step reads the texts of all its micro-batches."]
    if any(model.method for model in evaluation.models):
        notes.append(
            "What a method made is an interim measure: only a model that is trained again without the patients is sure "
            "to have forgotten them."
        )
    if any(model.chose_rate for model in evaluation.models):
        notes.append(
            "Chosen: of several rates, by retained patients who were set aside for it and whom no mean counts."
        )
    columns = ("Model", "Made by", "Forgets", *heads, _TRAINING["learning_rate"])
    return Table("How the models were trained", columns, rows, " ".join(notes))


def panel_tables(bench: BenchCounts) -> list[Table]:
    """Return what the judges said, and how far they agree (Tables 8 to 10, 12 and 13)."""
    tables = []
    for figures in bench.judged():
        tables.append(_verdicts_table(figures))
        if figures.panel_by_category:
            tables.append(_by_disease_table(figures.panel_by_category))
        tables.append(_agreement_table(figures))
    return tables


def _verdicts_table(figures: PanelFigures) -> Table:
    known = list(dict.fromkeys(verdict for own in (*figures.verdicts.values(), figures.panel) for verdict in own))
    rows = tuple(
        (
            verdict.capitalize(),
            *(_part(own.get(verdict), figures.items) for own in (*figures.verdicts.values(), figures.panel)),
        )
        for verdict in known
    )
    title = f"The judges’ verdicts on {figures.items:,} {_TASKS[figures.task]}"
    return Table(title, ("Verdict", *figures.verdicts, "Majority"), rows)


def _by_disease_table(counts: Mapping[str, Mapping[str, int]]) -> Table:
    known = list(dict.fromkeys(verdict for own in counts.values() for verdict in own))
    rows = tuple((name, *(f"{own.get(verdict, 0):,}" for verdict in known)) for name, own in counts.items())
    return Table("The majority’s verdict by disease", ("Disease", *map(str.capitalize, known)), rows)


def _agreement_table(figures: PanelFigures) -> Table:
    rows = [(pair, percent_text(share)) for pair, share in figures.pairs.items()]
    rows.append(("Mean of the pairs", NONE if figures.agreement is None else percent_text(figures.agreement)))
    rows.append(
        (
            f"Fleiss’ κ, {_FIRST[figures.task]} against all other verdicts",
            NONE if figures.kappa is None else f"{figures.kappa:.3f}",
        )
    )
    title = f"Agreement of the judges on {_TASKS[figures.task]}"
    return Table(title, ("Pair", "Same verdict"), tuple(rows), f"{figures.reading[:1].upper()}{figures.reading[1:]}.")


def _part(count: int | None, whole: int) -> str:
    return NONE if count is None or not whole else f"{count:,} ({percent_text(count / whole)})"


def _length(words: float | None) -> str:
    return NONE if words is None else f"{words:,.1f}"
