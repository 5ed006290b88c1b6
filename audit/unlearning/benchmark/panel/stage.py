"""The panel of a benchmark: what is drawn, who is asked, what is written (AMNESIA, appendices F and G).

Owns the order. Titles are drawn in equal parts from the three largest categories, questions one factual and one
reasoning one a patient, of the training set. The verdicts and the blind sheet stand under `evidence/`. A stopped panel
goes on: answers are kept.
"""

import hashlib
import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from clinaudit.audit.runtime.served.answering_model import Reading
from clinaudit.audit.runtime.served.forms import Inquiry
from clinaudit.audit.unlearning.benchmark.charts import notes_to_send
from clinaudit.audit.unlearning.benchmark.files import Bench, write_table
from clinaudit.audit.unlearning.benchmark.panel.agreement import (
    PANEL,
    PANEL_TASKS,
    UNKNOWN,
    PanelTask,
    PanelVerdict,
    SheetRow,
    by_item,
    categories_by_item,
    confusion,
    majority,
    measure_categories,
    measure_panel,
    read_sheet,
    write_sheet,
)
from clinaudit.audit.unlearning.benchmark.panel.judges import Judged, inquire_of_question, inquire_of_title
from clinaudit.audit.unlearning.benchmark.records import QUESTION_KINDS, BenchPatient, Question
from clinaudit.audit.unlearning.benchmark.taxonomy import OTHER, name_of, ranked
from clinaudit.reports.schema.unlearning_bench import HumanChecks, PanelCounts

PANEL_SCHEMA: Final = dict.fromkeys(("item_id", "task", "judge", "verdict", "reason", "category"), "text")
SHEET_FILE: Final = "titles-to-check.csv"
#: The paper's categories: the three most populated ones.
_CATEGORIES: Final = 3
#: A judge's name -> its readings of some inquiries, in order.
AskJudge = Callable[[str, PanelTask, Sequence[Inquiry[Judged]]], Iterable[Reading[Judged]]]


@dataclass(frozen=True, slots=True)
class PanelSample:
    """What the judges see."""

    titles: Mapping[str, BenchPatient]
    questions: Mapping[str, Question]


def draw_sample(bench: Bench, *, titles: int, questions: int, seed: int) -> PanelSample:
    """Return the titles and questions to be judged, by item id; all there are where fewer than asked for."""
    rng = random.Random(f"clinaudit unlearning panel {seed}")
    titled = [patient for patient in bench.patients if patient.title]
    sizes = Counter(patient.category for patient in titled if patient.category != OTHER)
    drawn: list[BenchPatient] = []
    for place, category in enumerate(ranked(sizes)[:_CATEGORIES]):
        members = [patient for patient in titled if patient.category == category]
        # What equal parts leave over goes to the largest: of one title, that of the largest category.
        part = titles // _CATEGORIES + (place < titles % _CATEGORIES)
        drawn.extend(rng.sample(members, min(part, len(members))))
    by_patient: dict[str, dict[str, list[Question]]] = {}
    for question in bench.questions:
        if question.use == "train":
            by_patient.setdefault(question.patient_id, {}).setdefault(question.kind, []).append(question)
    both = [held for held in by_patient.values() if len(held) == len(QUESTION_KINDS)]
    chosen = [
        rng.choice(held[kind])
        for held in rng.sample(both, min(math.ceil(questions / len(QUESTION_KINDS)), len(both)))
        for kind in QUESTION_KINDS
    ][:questions]
    return PanelSample(
        titles={_title_id(patient): patient for patient in drawn},
        questions={question.qa_id: question for question in chosen},
    )


def ask_panel(bench: Bench, sample: PanelSample, judges: Sequence[str], ask: AskJudge) -> list[PanelVerdict]:
    """Return all verdicts, judge by judge; an answer that cannot be used is `unknown`, with the reason."""
    verdicts: list[PanelVerdict] = []
    for judge in judges:
        for task in PANEL_TASKS:
            inquiries = _inquiries(bench, sample, task)
            readings = ask(judge, task, list(inquiries.values()))
            for item_id, reading in zip(inquiries, readings, strict=True):
                said = reading.found or Judged(UNKNOWN, reading.reason or "")
                verdicts.append(PanelVerdict(item_id, task, judge, said.verdict, said.reason, said.category))
    return verdicts


def write_panel(evidence: Path, sample: PanelSample, verdicts: Sequence[PanelVerdict], *, seed: int) -> None:
    """Write the verdicts, and the sheet for a person, who must not see them; one that is there is left as it is.

    Somebody may have filled it. Titles and seed are settings of the benchmark: it is of the same titles.
    """
    write_table(evidence / "panel.parquet", PANEL_SCHEMA, [asdict(verdict) for verdict in verdicts])
    rows = [SheetRow(item_id, patient.title, name_of(patient.category)) for item_id, patient in sample.titles.items()]
    if not (evidence / SHEET_FILE).is_file():
        write_sheet(evidence / SHEET_FILE, rows, seed=seed)


def count_panel(
    sample: PanelSample, verdicts: Sequence[PanelVerdict], judges: Sequence[str], *, sheet: Path | None
) -> PanelCounts:
    """Return the figures of a panel; with a filled sheet those of the person too."""
    of_task = {task: by_item(verdicts, task, judges) for task in PANEL_TASKS}
    figures = {task: measure_panel(task, of_task[task], judges) for task in PANEL_TASKS}
    titles = of_task["title"]
    by_category: dict[str, Counter[str]] = {}
    for item, row in titles.items():
        by_category.setdefault(sample.titles[item].category, Counter()).update([majority("title", row)])
    sorted_counts = {category: dict(sorted(counts.items())) for category, counts in sorted(by_category.items())}
    assigned = {item: patient.category for item, patient in sample.titles.items()}
    best = measure_categories(categories_by_item(verdicts, judges), titles, assigned, judges)
    figures["title"] = figures["title"].model_copy(update={"panel_by_category": sorted_counts, "best": best})
    if sheet is None:
        return PanelCounts(**figures)
    human = read_sheet(sheet, list(titles))
    of_judge = {judge: {item: row[place] for item, row in titles.items()} for place, judge in enumerate(judges)}
    of_judge[PANEL] = {item: majority("title", row) for item, row in titles.items()}
    checks = HumanChecks(
        yes=sum(human.values()),
        no=len(human) - sum(human.values()),
        judges={judge: confusion(human, held) for judge, held in of_judge.items()},
    )
    return PanelCounts(**figures, human=checks)


def _inquiries(bench: Bench, sample: PanelSample, task: PanelTask) -> dict[str, Inquiry[Judged]]:
    if task == "title":
        return {item: inquire_of_title(one.title, name_of(one.category)) for item, one in sample.titles.items()}
    return {
        item: inquire_of_question(notes_to_send(bench.notes[one.patient_id], facts=one.facts), one.question, one.answer)
        for item, one in sample.questions.items()
    }


def _title_id(patient: BenchPatient) -> str:
    return "t" + hashlib.sha256(f"{patient.patient_id}\0{patient.title}".encode()).hexdigest()[:16]
