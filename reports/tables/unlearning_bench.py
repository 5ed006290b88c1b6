"""Tables of the benchmark behind an unlearning evaluation: who, what is asked, who checked it.

In kind those of AMNESIA, Tables 1, 5, 8 to 10, 12 and 13. Owns what stands in which column.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from clinaudit.reports.schema.unlearning import BenchCounts, PanelFigures, SplitCounts
from clinaudit.reports.tables.table import Table
from clinaudit.reports.wording.numbers import percent_text
from clinaudit.reports.wording.unlearning import NONE

_TASKS: Final = {"title": "titles and their categories", "question": "questions and their answers"}
#: The verdict that all others are merged against for kappa.
_FIRST: Final = {"title": "supported", "question": "valid"}


def corpus_table(bench: BenchCounts) -> Table:
    """Return patients and questions by disease (Table 1)."""
    rows = [
        (row.category, f"{row.patients:,} ({percent_text(row.patients / bench.patients)})", f"{row.questions:,}")
        for row in bench.categories
    ]
    rows.append(("Total", f"{bench.patients:,}", f"{bench.questions:,}"))
    note = (
        f"{bench.patients_trained_on:,} of the patients were trained on; {bench.holdout_questions:,} of the questions"
        " are withheld from training."
    )
    return Table("Patients and questions by disease", ("Disease", "Patients", "Questions"), tuple(rows), note)


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
    note = (
        "κ is low where almost all items get one verdict, although the judges hardly ever differ: judges who gave it"
        " blindly would agree nearly as often. It then tells nothing of how well rare faults are found."
    )
    return Table(f"Agreement of the judges on {task}", ("Pair", "Same verdict"), tuple(rows), note)
