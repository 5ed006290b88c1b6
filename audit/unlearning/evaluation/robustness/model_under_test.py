"""One model and split under test: who is asked what, and with what answers are scored.

Owns how a test asks and scores, the same for all tests. Knows nothing of what they do to the model.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Self

from clinaudit.audit.console.progress import Progress
from clinaudit.audit.unlearning.benchmark.files import Bench
from clinaudit.audit.unlearning.benchmark.records import Question, QuestionForm, QuestionUse, Scores, Split
from clinaudit.audit.unlearning.evaluation.asked_model import Answerer, AskedModel
from clinaudit.audit.unlearning.evaluation.robustness.relearning import RelearningPlan
from clinaudit.audit.unlearning.evaluation.robustness.sampling import LEAK_AT, SAMPLES, require_sampling
from clinaudit.audit.unlearning.metrics.answer_scores import Embedder, score_answers
from clinaudit.audit.unlearning.metrics.entailment import Entailment

#: Questions in their own words: those trained on, and those withheld.
OWN_WORDS: Final[tuple[QuestionUse, ...]] = ("train", "holdout")


@dataclass(frozen=True, slots=True, kw_only=True)
class RobustnessOptions:
    """What the user may choose of the tests."""

    #: Answers that are sampled a question.
    samples: int = SAMPLES
    #: The k of leak@k, ascending; the largest is at most `samples`.
    leak_at: tuple[int, ...] = LEAK_AT
    relearning: RelearningPlan = field(default_factory=RelearningPlan)

    @classmethod
    def of(cls, *, samples: int | None, steps: int | None, learning_rate: float | None) -> Self:
        """Return what the user chose; None: as by default. Of the usual k those count that `samples` reaches."""
        count = SAMPLES if samples is None else samples
        chosen: dict[str, Any] = {"steps": steps, "learning_rate": learning_rate}
        plan = replace(RelearningPlan(), **{name: value for name, value in chosen.items() if value is not None})
        return cls(samples=count, leak_at=tuple(k for k in LEAK_AT if k <= count), relearning=plan)

    def require_sound(self) -> None:
        """Raise `UsageError` for options that no test can be made with."""
        require_sampling(self.samples, self.leak_at)
        self.relearning.require_sound()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUnderTest:
    """What every test is given."""

    #: Who is asked: the model, or what stands before it.
    answerer: Answerer
    #: The model itself; None where a filter stands before it, or its weights are not at hand.
    model: AskedModel | None
    bench: Bench
    split: Split
    form: QuestionForm
    seed: int
    #: Of the greedy answers, in the form, to at least all questions in their own words and all rephrased ones of the
    #: forgotten and never-trained patients, and to those in their own words of the retained ones.
    scores: Sequence[Scores]
    embedder: Embedder
    entailment: Entailment
    options: RobustnessOptions
    #: An existing private directory, for temporary weights.
    work: Path
    progress: Progress

    def questions_of(self, patients: Collection[str]) -> list[Question]:
        """Return the questions of some patients in their own words, in the benchmark's order."""
        return [one for one in self.bench.questions if one.patient_id in patients and one.use in OWN_WORDS]

    def ask(self, questions: Sequence[Question], *, title: str, form: QuestionForm | None = None) -> list[Scores]:
        """Return the scores of greedy answers, asked now; exact memorization where the model itself is at hand."""
        asked_form = self.form if form is None else form
        with self.progress.stage(title, total=len(questions), unit="answers") as advance:
            answers = self.answerer.answer(questions, asked_form, advance=advance)
        em = None if self.model is None else self.model.exact_memorization(questions, asked_form)
        return score_answers(
            questions,
            self.bench.keywords,
            answers,
            embedder=self.embedder,
            entailment=self.entailment,
            em=em,
            form=asked_form,
        )
