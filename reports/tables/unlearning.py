"""Tables of an unlearning evaluation and of the benchmark behind it, in kind those of AMNESIA.

Leakage (Table 2), MU and AFE, the trials; who was asked, what, and who checked it (Tables 1, 5, 8, 10, 12 and 13). A
figure that is not there is a dash, and its reason stands below the table.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from clinaudit.reports.schema.unlearning import BenchCounts, SplitCounts
from clinaudit.reports.tables.estimates import Table
from clinaudit.reports.wording.numbers import number_text, percent_text
from clinaudit.reports.wording.unlearning import METRICS, NONE, TRIALS, USES, Evaluation, FigureCells, System


class Column(NamedTuple):
    """Which figure stands in a column; without kind and use, that of the row."""

    metric: str
    group: str
    use: str = ""
    has_interval: bool = True
    is_signed: bool = False


def _figures_table(
    evaluation: Evaluation,
    split: SplitCounts,
    title: str,
    columns: Mapping[str, Column],
    *,
    rows: Sequence[tuple[str, str]],
    note: str = "",
) -> Table:
    """Return a table of a row a system, kind and use of questions (`rows`) that has any figure."""
    cells = FigureCells()
    found: list[tuple[str, ...]] = []
    for system in evaluation.measured([split]):
        for kind, use in rows:
            figures = [
                (one, evaluation.of_system(split.split, system, one.metric, one.group, kind, one.use or use))
                for one in columns.values()
            ]
            if any(figure is not None for _, figure in figures):
                words = (word for word in (kind, USES.get(use, "")) if word not in ("all", ""))
                patients = max(figure.n for _, figure in figures if figure is not None)
                texts = (cells.text(one, interval=of.has_interval, signed=of.is_signed) for of, one in figures)
                found.append((", ".join((system.label, *words)), f"{patients:,}", *texts))
    return Table(f"{split.title}: {title}", ("Model", "Patients", *columns), tuple(found), cells.note(note))


def parts_tables(evaluation: Evaluation, split: SplitCounts) -> list[Table]:
    """Return MU of retained and AFE of forgotten patients, each with what it is made of."""
    rows = [(kind, use) for kind in evaluation.kinds for use in USES]
    parts = {
        "MU of retained patients, and what it is made of": ("retain", ("mu", "rouge_l", "em", "cs", "te", "es")),
        "AFE of forgotten patients, and what it is made of: 1 less each of these": (
            "forget",
            ("afe", "rouge_l", "em", "cs", "es"),
        ),
    }
    return [
        _figures_table(
            evaluation, split, title, {METRICS[metric]: Column(metric, group) for metric in metrics}, rows=rows
        )
        for title, (group, metrics) in parts.items()
    ]


def disease_tables(evaluation: Evaluation, split: SplitCounts) -> list[Table]:
    """Return MU of retained patients by whether a forgotten one has their disease (Figure 4), questions trained on."""
    groups = {"retained patients with the disease of a forgotten one": "same", "all other retained patients": "others"}
    tables = []
    for title, group in groups.items():
        columns = {"MU": Column("mu", group), "Less that before": Column("mu_change", group, is_signed=True)}
        rows = [(kind, "train") for kind in evaluation.kinds]
        tables.append(_figures_table(evaluation, split, title, columns, rows=rows))
    return tables


#: What the tables are of; the figures have more.
TRIED_METRICS: Final = ("rouge_l", "ls_echo_free")


def trials_tables(evaluation: Evaluation, split: SplitCounts) -> list[Table]:
    """Return what is said of forgotten patients when forgetting is tried."""
    tables = []
    used = {use for own, use in evaluation.figures.select("split", "use").iter_rows() if own == split.split}
    ks = sorted({int(metric.partition("@")[2]) for metric in evaluation.figures["metric"] if metric.startswith("ls@")})
    if "sampled" not in used:
        return []
    for metric in TRIED_METRICS:
        title = f"{METRICS[metric]} of what is answered on forgotten patients when forgetting is tried"
        columns = {f"leak@{k}": Column(f"{metric}@{k}", "forget", "sampled", has_interval=False) for k in ks}
        most = f"{metric}@{ks[-1]}"
        columns[f"leak@{ks[-1]} above never trained on"] = Column(
            most, "forget-never_trained", "sampled", is_signed=True
        )
        for use, words in TRIALS.items():
            columns[words] = Column(metric, "forget", use, has_interval=False)
            columns[f"{words}: more than before"] = Column(f"{metric}_change", "forget", use, is_signed=True)
        note = "leak@k: the largest expected among k sampled answers."
        tables.append(_figures_table(evaluation, split, title, columns, rows=[("all", "sampled")], note=note))
    return tables


def leakage_table(evaluation: Evaluation, level: str, splits: Sequence[SplitCounts]) -> Table:
    """Return LS and DS of forgotten patients by size of the split (Table 2)."""
    cells = FigureCells()
    places = [(split.split, kind) for split in splits for kind in evaluation.kinds]

    def text(system: System | None, split: str, kind: str, metric: str, group: str = "forget") -> str:
        return cells.text(evaluation.of_system(split, system, metric, group, kind, "train"), interval=False, share=True)

    rows: list[tuple[str, ...]] = []
    for system in evaluation.measured(splits):
        own = (
            f"{text(system, split, kind, 'ls')} ({text(system, split, kind, 'ds')})" if split in system.models else ""
            for split, kind in places
        )
        rows.append((system.label, *own))
    compared = {
        "LS of patients never trained on, before": ("ls", "never_trained"),
        "LS of the reference answers": ("ls_reference", "forget"),
    }
    for label, (metric, group) in compared.items():
        rows.append((label, *(text(evaluation.before, split, kind, metric, group) for split, kind in places)))
    columns = ("Model", *(f"{split.percent}%, {kind}" for split in splits for kind in evaluation.kinds))
    note = cells.note(
        "LS (DS) of questions trained on. LS: weight of the patient’s keywords that stand in the answer; compare it"
        " with that of patients never trained on, not with 0, and with that of the reference answers, which say all and"
        " no more. DS: answers of one token over and over."
    )
    return Table(f"{level}: leakage of forgotten patients", columns, tuple(rows), note)


_GROUPS: Final = {
    "forget": "forgotten patients",
    "retain": "retained patients",
    "never_trained": "patients never trained on",
}


def collapse_table(evaluation: Evaluation, split: SplitCounts) -> Table:
    """Return whether answers still read as before, a row a model and group: five questions beside DS."""
    labels = {system.models.get(split.split): system.label for system in evaluation.systems}
    rows: dict[tuple[str, str], list[str]] = {}
    columns: dict[str, None] = {}
    for check in evaluation.checks.filter(split=split.split).iter_rows(named=True):
        columns[f"{check['question']}: {check['allowed']}"] = None
        before, after = (NONE if check[side] is None else number_text(check[side]) for side in ("a", "b"))
        passed = {True: "✓", False: "✗", None: "?"}[check["passed"]]
        said = f" {check['reason']}" if check["passed"] is None else f" {before}\u00a0→\u00a0{after}"
        rows.setdefault((labels[check["model"]], check["group"]), []).append(f"{passed}{said}")
    note = (
        "Before (A) → after (B), of all greedy answers. A model that writes noise or nothing leaks nothing, and has a"
        " DS of 0; it has not forgotten, but collapsed. Neither has one that falls silent about those alone whom it was"
        " to forget."
    )
    title = f"{split.title}: do answers still read as before?"
    listed = tuple((f"{label}, {_GROUPS[group]}", *cells) for (label, group), cells in rows.items())
    return Table(title, ("Model, and whose questions", *columns), listed, note)


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
    """Return what the judges said, and how far they agree (Tables 8, 10, 12 and 13)."""
    tables = []
    for figures in bench.panel:
        task = _TASKS[figures.task]
        shares = {
            judge: {verdict: f"{count:,} ({percent_text(count / figures.items)})" for verdict, count in own.items()}
            for judge, own in figures.verdicts.items()
            if figures.items
        }
        verdicts = dict.fromkeys(verdict for own in shares.values() for verdict in own)
        said = ((one.capitalize(), *(own.get(one, NONE) for own in shares.values())) for one in verdicts)
        title = f"The judges’ verdicts on {figures.items:,} {task}"
        tables.append(Table(title, ("Verdict", *shares), tuple(said)))
        first = f"Fleiss’ κ, {_FIRST[figures.task]} against all other verdicts"
        rows = (
            *((pair, percent_text(share)) for pair, share in figures.pairs.items()),
            ("Mean of the pairs", NONE if figures.agreement is None else percent_text(figures.agreement)),
            (first, NONE if figures.kappa is None else f"{figures.kappa:.3f}"),
        )
        note = (
            "κ is low where almost all items get one verdict, although the judges hardly ever differ: judges who gave"
            " it blindly would agree nearly as often. It then tells nothing of how well rare faults are found."
        )
        tables.append(Table(f"Agreement of the judges on {task}", ("Pair", "Same verdict"), rows, note))
    return tables
