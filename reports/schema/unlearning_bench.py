"""What an unlearning benchmark holds, and what its panel of judges said: counts of `bench.json` (docs/unlearning.md).

Exact, and so as private as the benchmark. A field that was never set is not written.
"""

from typing import Literal

from pydantic import Field

from clinaudit.reports.schema.record import Record
from clinaudit.reports.schema.unlearning_scores import QuestionKind


class WordCounts(Record):
    """Lengths of notes, in words."""

    min: int
    mean: float | None
    max: int


class CategoryCounts(Record):
    """The patients of one disease category (AMNESIA, Tables 1 and 4); mean lengths in words."""

    #: Its id in `bench.json`, its name on a page.
    category: str
    patients: int
    share: float
    questions: int
    note_words: WordCounts
    factual_question_words: float | None
    factual_answer_words: float | None
    reasoning_question_words: float | None
    reasoning_answer_words: float | None

    def words(self, kind: QuestionKind, part: Literal["question", "answer"]) -> float | None:
        """Return the mean length of the questions or answers of a kind."""
        found: float | None = getattr(self, f"{kind}_{part}_words")
        return found


class SplitCounts(Record):
    """Who is forgotten and retained by a split (Table 5); questions trained on."""

    split: str
    forget_patients: int
    forget_questions: int
    retain_patients: int
    retain_questions: int


class UnavailableSplit(Record):
    """A split that the patients do not suffice for."""

    category: str
    percent: int
    reason: str


class PanelFigures(Record):
    """What the panel of judges said of one task (AMNESIA, Tables 8 to 10, 12 and 13)."""

    #: `title`: whether a title supports its category; `question`: whether a question is valid.
    task: Literal["title", "question"]
    items: int
    #: Judge -> verdict -> items, and the same of the majority.
    verdicts: dict[str, dict[str, int]]
    panel: dict[str, int]
    #: Of titles: category -> verdict of the majority -> items.
    panel_by_category: dict[str, dict[str, int]] = Field(default_factory=dict)
    #: Two judges -> share of the items on which both give one verdict.
    pairs: dict[str, float]
    agreement: float | None
    kappa: float | None
    #: Both read together, in a sentence.
    reading: str


class PanelCounts(Record):
    """The panel's figures by task."""

    title: PanelFigures
    question: PanelFigures


class BenchCounts(Record):
    """What a benchmark holds, and what was left out of it."""

    patients: int
    patients_trained_on: int
    questions: int
    holdout_questions: int
    rephrased_questions: int
    categories: list[CategoryCounts]
    splits: list[SplitCounts]
    #: Reason -> patients, and questions, left out for it.
    patients_dropped: dict[str, int] = Field(default_factory=dict)
    questions_refused: dict[str, int] = Field(default_factory=dict)
    questions_that_fit_others: int = 0
    holdout_questions_told_in_training: int = 0
    category_sources: dict[str, int] = Field(default_factory=dict)
    splits_unavailable: list[UnavailableSplit] = Field(default_factory=list)
    keywords: int = 0
    questions_without_keyword: int = 0
    #: Null where no panel was asked.
    panel: PanelCounts | None = None

    def judged(self) -> list[PanelFigures]:
        """Return what the panel said, by task; empty where none was asked."""
        return [] if self.panel is None else [self.panel.title, self.panel.question]
