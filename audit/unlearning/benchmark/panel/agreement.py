"""What judges say together, how far they agree, and how they compare with a person (AMNESIA, Tables 8 to 13).

Owns the verdicts, the majority, the figures and the sentence that reads them: where almost all items get one verdict,
kappa is low although the judges hardly ever differ, since chance alone would make them agree. The person's sheet shows
a title and its category, in a drawn order, and no verdict: it is blind to the panel, and PHI.
"""

import csv
import io
import math
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Final, Literal, get_args

import numpy as np

from clinaudit.audit.runtime.run.durable_files import write_atomically
from clinaudit.audit.statistics.agreement import cohen_kappa
from clinaudit.priors.corpus.files import find_given_file
from clinaudit.priors.corpus.header import Header
from clinaudit.priors.corpus.records import Problems, iter_records
from clinaudit.reports.schema.unlearning_bench import BestCategories, JudgeBesideHuman, PanelFigures

#: Whether a title supports its category (appendix F), and whether a question is valid (appendix G).
PanelTask = Literal["title", "question"]
PANEL_TASKS: Final[tuple[PanelTask, ...]] = get_args(PanelTask)
#: Of a judge who gave no usable answer.
UNKNOWN: Final = "unknown"
#: The verdicts of each task; the first is the one that all others are merged against for kappa.
VERDICTS: Final[Mapping[PanelTask, tuple[str, ...]]] = {
    "title": ("supported", "unsupported", "ambiguous", UNKNOWN),
    "question": ("valid", "invalid", UNKNOWN),
}
#: A judge's category of a title of which none can be told.
UNCLEAR: Final = "unclear"
#: The panel's verdict where all three judges differ (Tables 8 and 12).
NO_MAJORITY: Final[Mapping[PanelTask, str]] = {"title": "disagree", "question": "split"}
JUDGES: Final = 3
#: What figures call the majority; no judge has this name.
PANEL: Final = "panel"


@dataclass(frozen=True, slots=True)
class PanelVerdict:
    """What one judge says of one item."""

    item_id: str
    task: PanelTask
    judge: str
    verdict: str
    #: In the judge's words: it may quote the notes. PHI.
    reason: str
    #: Of a title the category that fits best, by its id; None of a question.
    category: str | None = None


def majority(task: PanelTask, verdicts: Sequence[str]) -> str:
    """Return the verdict of at least two of three judges, else what the paper calls it when there is none."""
    if len(verdicts) != JUDGES:
        raise ValueError("a panel has three judges")
    verdict, votes = Counter(verdicts).most_common(1)[0]
    return verdict if votes > 1 else NO_MAJORITY[task]


def by_item(verdicts: Iterable[PanelVerdict], task: PanelTask, judges: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the verdicts of each item of a task, in the order of the judges, each of whom judged every item."""
    return _of_items(((one.item_id, one.judge, one.verdict) for one in verdicts if one.task == task), judges)


def categories_by_item(verdicts: Iterable[PanelVerdict], judges: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the categories that fit each title best, in the order of the judges."""
    titles = ((one.item_id, one.judge, one.category or UNKNOWN) for one in verdicts if one.task == "title")
    return _of_items(titles, judges)


def _of_items(said: Iterable[tuple[str, str, str]], judges: Sequence[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, str]] = {}
    for item_id, judge, what in said:
        found.setdefault(item_id, {})[judge] = what
    return {item_id: tuple(held[judge] for judge in judges) for item_id, held in found.items()}


#: From where agreement is called high, and below which kappa low [choice]; Table 13 has 93.9% and 0.216.
_HIGH_AGREEMENT = 0.9
_LOW_KAPPA = 0.4
#: Names of kappa's ranges (Landis and Koch 1977), by their upper ends.
_RANGES = (
    (0.0, "poor"),
    (0.2, "slight"),
    (0.4, "fair"),
    (0.6, "moderate"),
    (0.8, "substantial"),
    (1.0, "almost perfect"),
)


def measure_panel(task: PanelTask, verdicts: Mapping[str, Sequence[str]], judges: Sequence[str]) -> PanelFigures:
    """Return the agreement on the items of a task; `verdicts` holds those of each item, in the order of the judges."""
    rows = list(verdicts.values())
    known = VERDICTS[task]
    together = Counter(majority(task, row) for row in rows)
    pairs, agreement = _agreement(rows, judges)
    kappa = merged_kappa(task, rows)
    return PanelFigures(
        task=task,
        items=len(rows),
        verdicts={
            judge: {verdict: sum(row[place] == verdict for row in rows) for verdict in known}
            for place, judge in enumerate(judges)
        },
        panel={verdict: together[verdict] for verdict in (*known, NO_MAJORITY[task])},
        pairs=pairs,
        agreement=agreement,
        kappa=kappa,
        reading=read_agreement(agreement, kappa),
    )


def merged_kappa(task: PanelTask, rows: Sequence[Sequence[str]]) -> float | None:
    """Return Fleiss' kappa (1971) of the task's first verdict against all others; None where it is not defined.

    It is not where there are no items, or all verdicts are alike: chance agreement is 1 then.
    """
    first = VERDICTS[task][0]
    return _fleiss_kappa([(count := row.count(first), JUDGES - count) for row in rows])


def measure_categories(
    named: Mapping[str, Sequence[str]],
    verdicts: Mapping[str, Sequence[str]],
    assigned: Mapping[str, str],
    judges: Sequence[str],
) -> BestCategories:
    """Return how far the judges agree on the category that fits best, and with the one that was assigned.

    All are by title: what each judge names, what each says of the assigned category, and that category.
    """
    rows = list(named.values())
    pairs, agreement = _agreement(rows, judges)
    known = sorted({category for row in rows for category in row})
    kappa = _fleiss_kappa([[row.count(category) for category in known] for row in rows])
    together = {item: majority("title", row) for item, row in named.items()}
    by_assigned: dict[str, Counter[str]] = {}
    for item, category in together.items():
        by_assigned.setdefault(assigned[item], Counter()).update([category])
    return BestCategories(
        judges={judge: _counts(row[place] for row in rows) for place, judge in enumerate(judges)},
        panel=_counts(together.values()),
        by_assigned={category: _counts(by_assigned[category].elements()) for category in sorted(by_assigned)},
        as_assigned=sum(together[item] == assigned[item] for item in together) / len(rows) if rows else None,
        contradictions={
            judge: sum(_contradicts(verdicts[item][place], row[place], assigned[item]) for item, row in named.items())
            for place, judge in enumerate(judges)
        },
        pairs=pairs,
        agreement=agreement,
        kappa=kappa,
        reading=read_agreement(agreement, kappa, same="name the same category of", items="titles"),
    )


def _contradicts(verdict: str, category: str, assigned: str) -> bool:
    if category in (UNCLEAR, UNKNOWN):
        return False
    return verdict == ("unsupported" if category == assigned else "supported")


def _counts(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items()))


def _agreement(rows: Sequence[Sequence[str]], judges: Sequence[str]) -> tuple[dict[str, float], float | None]:
    """Return the share of the rows in which two judges say the same, by pair, and the mean of the pairs."""
    pairs = {
        f"{judges[one]} and {judges[other]}": sum(row[one] == row[other] for row in rows) / len(rows)
        for one, other in combinations(range(JUDGES), 2)
        if rows
    }
    return pairs, sum(pairs.values()) / len(pairs) if pairs else None


def _fleiss_kappa(table: Sequence[Sequence[int]]) -> float | None:
    """Return Fleiss' kappa (1971) of the judges that name each class, an item a row; None where one class is all."""
    from statsmodels.stats.inter_rater import fleiss_kappa

    if not table or sum(any(counts) for counts in zip(*table, strict=True)) < 2:
        return None
    kappa = float(fleiss_kappa(table, method="fleiss"))
    return None if math.isnan(kappa) else kappa


def read_agreement(
    agreement: float | None, kappa: float | None, *, same: str = "give the same verdict on", items: str = "items"
) -> str:
    """Return what both figures say together, in a sentence."""
    if agreement is None:
        return "nothing was judged"
    said = f"two judges {same} {100 * agreement:.1f}% of the {items}"
    if kappa is None:
        return f"{said}; kappa is not defined, since all verdicts are alike"
    name = next(name for end, name in _RANGES if kappa <= end)
    said += f"; Fleiss' kappa is {kappa:.3f} ({name})"
    if agreement >= _HIGH_AGREEMENT and kappa <= _LOW_KAPPA:
        said += (
            ": low although the judges agree, because almost all items get one verdict, and judges who gave it blindly "
            "would agree nearly as often; it is no sign of dispute, and tells nothing of how well rare faults are found"
        )
    return said


SHEET_COLUMNS: Final = ("item_id", "title", "category", "supported")
_ROLE: Final = "the sheet"
_SUPPORTED, _UNSUPPORTED = "supported", "unsupported"
_ANSWERS: Final = {"yes": True, "no": False}
#: A spreadsheet would take a cell that begins so for a formula.
_FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True)
class SheetRow:
    """A title that the panel judges."""

    item_id: str
    title: str
    #: The category's name.
    category: str


def matrix_of(
    both_supported: int, human_only: int, judge_only: int, neither: int, *, left_out: int
) -> JudgeBesideHuman:
    """Return a judge, or the panel, against the person (Table 11), with their agreement and Cohen's kappa.

    No agreement without items, and no kappa where both give one verdict throughout.
    """
    items = both_supported + human_only + judge_only + neither
    table = np.array([[both_supported, human_only], [judge_only, neither]], dtype=np.float64)
    kappa = float(cohen_kappa(table))
    return JudgeBesideHuman(
        both_supported=both_supported,
        human_only=human_only,
        judge_only=judge_only,
        neither=neither,
        left_out=left_out,
        agreement=(both_supported + neither) / items if items else None,
        kappa=None if np.isnan(kappa) else kappa,
    )


def write_sheet(path: Path, rows: Sequence[SheetRow], *, seed: int) -> None:
    """Write the sheet to be filled in: `supported` is empty, for yes or no."""
    drawn = sorted(rows, key=lambda row: row.item_id)
    random.Random(f"clinaudit unlearning sheet {seed}").shuffle(drawn)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(SHEET_COLUMNS)
    writer.writerows((row.item_id, _harmless(row.title), row.category, "") for row in drawn)
    write_atomically(path, text.getvalue())


def read_sheet(path: Path, items: Sequence[str]) -> dict[str, bool]:
    """Return by item whether the person says that the title supports the category; empty cells are left out.

    Raises `BadInputError` listing all problems: items that the sheet did not have, answers that are neither yes nor no,
    and an item that stands twice.
    """
    file = find_given_file(path, _ROLE)
    known, problems, first_rows = frozenset(items), Problems(), dict[str, int]()
    found: dict[str, bool] = {}
    for row, record in iter_records(file, header=Header(SHEET_COLUMNS), problems=problems):
        item, answer = (str(record.get(column) or "").strip() for column in ("item_id", "supported"))
        if item not in known:
            problems.add(file.name, "is no item of this panel", row=row, column="item_id")
        elif first_rows.setdefault(item, row) != row:
            problems.add(file.name, f"stood in row {first_rows[item]} already", row=row, column="item_id")
        elif answer.lower() in _ANSWERS:
            found[item] = _ANSWERS[answer.lower()]
        elif answer:
            problems.add(file.name, "is neither yes nor no", row=row, column="supported")
    if not found and not len(problems):
        problems.add(file.name, "answers nothing", column="supported")
    problems.raise_any(_ROLE)
    return found


def confusion(human: Mapping[str, bool], verdicts: Mapping[str, str]) -> JudgeBesideHuman:
    """Return the matrix of one judge's verdicts, or the panel's, over the items that the person answered."""
    cells = Counter((human[item], verdict) for item, verdict in verdicts.items() if item in human)
    counts = [cells[says, verdict] for says in (True, False) for verdict in (_SUPPORTED, _UNSUPPORTED)]
    return matrix_of(*counts, left_out=cells.total() - sum(counts))


def _harmless(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text
