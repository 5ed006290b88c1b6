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


class BestCategories(Record):
    """Which category each judge takes to fit a title best (AMNESIA, appendix F.1): whatever was assigned."""

    #: Judge -> category -> titles, and the same of the majority. `unclear`: none can be told; `unknown`: no usable
    #: answer; `disagree`: all three differ.
    judges: dict[str, dict[str, int]]
    panel: dict[str, int]
    #: Assigned category -> the majority's -> titles.
    by_assigned: dict[str, dict[str, int]]
    #: Share of the titles of which the majority names the assigned one.
    as_assigned: float | None
    #: Judge -> titles of which verdict and category contradict each other.
    contradictions: dict[str, int]
    #: Two judges -> share of the titles of which both name one category.
    pairs: dict[str, float]
    agreement: float | None
    #: Fleiss' kappa over all categories.
    kappa: float | None
    reading: str


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
    #: Of titles: the category that fits best. Null of questions.
    best: BestCategories | None = None
    #: Two judges -> share of the items on which both give one verdict.
    pairs: dict[str, float]
    agreement: float | None
    kappa: float | None
    #: Both read together, in a sentence.
    reading: str


class JudgeBesideHuman(Record):
    """A judge, or the panel, against the person who checked (AMNESIA, Table 11)."""

    both_supported: int
    human_only: int
    judge_only: int
    neither: int
    #: Verdicts that are neither, such as ambiguous ones.
    left_out: int
    agreement: float | None
    kappa: float | None


class HumanChecks(Record):
    """What the person who checked titles says, and how each judge and the panel stand beside it."""

    yes: int
    no: int
    judges: dict[str, JudgeBesideHuman]


class PanelCounts(Record):
    """The panel's figures by task, and the person's; null where nobody checked."""

    title: PanelFigures
    #: Null where none was judged.
    question: PanelFigures | None = None
    human: HumanChecks | None = None


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
        panels = [] if self.panel is None else [self.panel.title, self.panel.question]
        return [own for own in panels if own is not None]

    def beside_human(self) -> dict[str, JudgeBesideHuman]:
        """Return each judge, and the panel, beside the person; empty where nobody checked."""
        return {} if self.panel is None or self.panel.human is None else self.panel.human.judges
