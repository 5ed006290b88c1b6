"""The robustness tests as pieces of work: each asks one model and split under test, and says in JSON what it found.

A piece depends on the model, the benchmark, the split, the form, the options and the seed alone, so that a stopped
evaluation goes on with the pieces that are there. Pieces hold ids of questions: they are PHI, and belong below
`evidence/`; document.py says what they mean. One test is whether a reader can tell who was forgotten from who was never
there: a model too surprised by these patients, or that writes noise about them, discloses who asked to be deleted
(Deepak et al., EMNLP 2025).
"""

import hashlib
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self

from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.statistics.auroc import auroc_of_values
from clinaudit.audit.statistics.intervals import holm
from clinaudit.audit.unlearning.benchmark.files import Bench
from clinaudit.audit.unlearning.benchmark.records import Question, QuestionForm, Scores, Split
from clinaudit.audit.unlearning.evaluation.asked_model import AskedModel, TokenLoss
from clinaudit.audit.unlearning.evaluation.robustness.relearning import (
    NO_TEXTS,
    RELEARNED,
    TOO_FEW,
    Relearned,
    RelearningPlan,
    asked_patients,
    relearned,
    texts_to_relearn,
)
from clinaudit.audit.unlearning.evaluation.robustness.sampling import (
    LEAK_AT,
    SAMPLES,
    SampledLeaks,
    measure_leaks,
)
from clinaudit.audit.unlearning.methods.losses import DivergedError
from clinaudit.audit.unlearning.methods.texts import DEFAULT_TRAINING, answered_question, note_pieces
from clinaudit.audit.unlearning.metrics.answer_scores import Entailment, score_answers
from clinaudit.reports.estimates.intervals import ALPHA
from clinaudit.reports.schema.unlearning_evaluation import GroupPatients, RobustnessChoices, Trait
from clinaudit.reports.schema.unlearning_scores import Figure, QuestionUse

if TYPE_CHECKING:
    from clinaudit.audit.runtime.language.encoders import SentenceEmbeddings

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

    def described(self) -> RobustnessChoices:
        """Return them as files hold them."""
        return RobustnessChoices.model_validate(asdict(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What every model of an evaluation is asked, scored and tested with."""

    bench: Bench
    form: QuestionForm
    #: Of samples and of the bootstrap.
    seed: int
    embedder: "SentenceEmbeddings"
    entailment: Entailment
    #: Whether the robustness tests are run.
    has_robustness: bool = True
    options: RobustnessOptions = field(default_factory=RobustnessOptions)
    progress: Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUnderTest:
    """What every test is given."""

    setup: Setup
    split: Split
    model: AskedModel
    #: Of the greedy answers to all questions, in the form.
    scores: Sequence[Scores]

    def questions_of(self, patients: Collection[str]) -> list[Question]:
        """Return the questions of some patients in their own words, in the benchmark's order."""
        return [one for one in self.setup.bench.questions if one.patient_id in patients and one.use in OWN_WORDS]

    def ask(self, questions: Sequence[Question], *, title: str, form: QuestionForm | None = None) -> list[Scores]:
        """Return the scores of greedy answers, asked now."""
        asked_form = self.setup.form if form is None else form
        with self.setup.progress.stage(title, total=len(questions), unit="answers") as advance:
            answers = self.model.answer(questions, asked_form, advance=advance)
        return score_answers(
            questions,
            self.setup.bench.keywords,
            answers,
            embedder=self.setup.embedder,
            entailment=self.setup.entailment,
            em=self.model.exact_memorization(questions, asked_form),
            form=asked_form,
        )


#: What is read off the model, one number a patient.
TRAITS: Final = ("answer_loss", "answer_entropy", "note_loss", "note_entropy", "te")
#: Fewest patients of a group that is tested [choice].
FEWEST: Final = 5
FEW_PATIENTS: Final = f"fewer than {FEWEST} patients of one of the groups have it"


def detect(
    forgotten: Sequence[Mapping[str, float | None]], never_trained: Sequence[Mapping[str, float | None]]
) -> dict[str, Trait]:
    """Return trait -> how far it distinguishes forgotten from never-trained patients, each a mapping.

    The AUROC is the probability that a forgotten patient has more of it; 0.5 is best. The two-sided p is adjusted for
    the number of traits (Holm 1979); at 5% it is shown that the groups differ.
    """
    values = {trait: (_values(forgotten, trait), _values(never_trained, trait)) for trait in TRAITS}
    compared = {trait: auroc_of_values(*both, fewest=FEWEST, reason=FEW_PATIENTS) for trait, both in values.items()}
    tested = {trait: one.p_value for trait, one in compared.items() if one.p_value is not None}
    adjusted = dict(zip(tested, holm(list(tested.values())), strict=True))
    return {
        trait: Trait(
            auroc=Figure.of(compared[trait].auroc, counted="patients", method="delong"),
            patients=GroupPatients(forget=len(first), never_trained=len(second)),
            p_value=(p_value := adjusted.get(trait)),
            told_apart=None if p_value is None else p_value < ALPHA,
        )
        for trait, (first, second) in values.items()
    }


def _values(patients: Sequence[Mapping[str, float | None]], trait: str) -> list[float]:
    return [value for one in patients if (value := one[trait]) is not None]


@dataclass(frozen=True, slots=True)
class SampledPiece:
    """What sampled answers leak, question by question."""

    forget: list[SampledLeaks]
    never_trained: list[SampledLeaks]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialPiece:
    """The scores of the answers in one trial; the `reason` alone where it could not be made."""

    reason: str | None = None
    scores: list[Scores] | None = None
    #: Texts that were trained on.
    texts: int | None = None
    #: How questions were asked.
    form: QuestionForm | None = None


@dataclass(frozen=True, slots=True)
class TraitsPiece:
    """What is read off the model, a row a patient without its id."""

    compared_with: str
    forget: list[dict[str, float | None]]
    never_trained: list[dict[str, float | None]]


#: What a part found, as it is kept.
Piece = SampledPiece | TrialPiece | TraitsPiece
#: Patients whose leakage is the floor: as many as are forgotten, and at least so many [choice].
_LEAST_FLOOR: Final = 95
DIVERGED: Final = "the training diverged: the loss is no finite number any more"


def sample_answers(tested: ModelUnderTest) -> SampledPiece:
    """Ask forgotten patients' questions, and those of as many never-trained ones, again and again."""
    groups = {"forget": tested.split.forget, "never_trained": floor_patients(tested.setup.bench, tested.split)}
    count = tested.setup.options.samples
    found: dict[str, list[SampledLeaks]] = {}
    for name, patients in groups.items():
        questions = tested.questions_of(patients)
        title = f"sampling answers, {name.replace('_', ' ')}"
        with tested.setup.progress.stage(title, total=len(questions) * count, unit="answers") as advance:
            answers = tested.model.answer(
                questions, tested.setup.form, count=count, seed=tested.setup.seed, advance=advance
            )
        found[name] = measure_leaks(questions, tested.setup.bench.keywords, answers, form=tested.setup.form)
    return SampledPiece(**found)


def relearn(tested: ModelUnderTest, *, what: Relearned) -> TrialPiece:
    """Train for a few steps, and ask questions on the forgotten patients of whom nothing was trained on."""
    if len(tested.split.forget) < 2:
        return TrialPiece(reason=TOO_FEW)
    plan = tested.setup.options.relearning
    texts = texts_to_relearn(what, tested.model, tested.setup.bench, tested.split, plan, form=tested.setup.form)
    if not texts:
        return TrialPiece(reason=NO_TEXTS)
    title = f"relearning, {what.replace('_', ' ')}"
    try:
        with relearned(
            tested.model,
            texts,
            plan,
            seed=tested.setup.seed,
            progress=tested.setup.progress,
            title=title,
        ):
            asked = tested.questions_of(asked_patients(tested.split))
            scores = tested.ask(asked, title=f"answers after {title}")
    except DivergedError:
        return TrialPiece(reason=DIVERGED)
    return TrialPiece(texts=len(texts), scores=scores)


def ask_in_other_form(tested: ModelUnderTest) -> TrialPiece:
    """Ask forgotten and never-trained patients' questions in the other form.

    The rephrased ones are among the scores at hand.
    """
    questions = tested.questions_of({*tested.split.forget, *floor_patients(tested.setup.bench, tested.split)})
    other: QuestionForm = "paper" if tested.setup.form == "addressed" else "addressed"
    scores = tested.ask(questions, title=f"answers to questions in {other} form", form=other)
    return TrialPiece(form=other, scores=scores)


def read_traits(tested: ModelUnderTest) -> TraitsPiece:
    """Read off the model what may distinguish forgotten from never-trained patients, a row each without its id."""
    never_trained, compared_with = compared_patients(tested.setup.bench, tested.split)
    found: dict[str, list[dict[str, float | None]]] = {}
    te = {one.qa_id: one.te for one in tested.scores}
    for name, patients in (("forget", tested.split.forget), ("never_trained", never_trained)):
        rows: dict[str, dict[str, float | None]] = {one: {} for one in patients}
        questions = tested.questions_of(rows)
        by_patient: dict[str, list[float]] = {one: [] for one in patients}
        for question in questions:
            # An answer of less than two tokens has no entropy: it is as poor as one that repeats itself.
            by_patient[question.patient_id].append(te[question.qa_id] or 0.0)
        for patient, values in by_patient.items():
            rows[patient]["te"] = sum(values) / len(values) if values else None
        _read_losses(tested, questions, rows, title=name.replace("_", " "))
        found[name] = [{trait: row.get(trait) for trait in TRAITS} for row in rows.values()]
    return TraitsPiece(compared_with, **found)


#: Name -> what makes the piece. Names are of letters, digits and hyphens: files may be called by them.
PARTS: Final[Mapping[str, Callable[[ModelUnderTest], Piece]]] = {
    "sampling": sample_answers,
    **{f"relearning-{what.replace('_', '-')}": partial(relearn, what=what) for what in RELEARNED},
    "paraphrase": ask_in_other_form,
    "detectability": read_traits,
}
#: Of the pieces that are no trial.
PIECE_TYPES: Final[Mapping[str, type[Piece]]] = {"sampling": SampledPiece, "detectability": TraitsPiece}


def floor_patients(bench: Bench, split: Split) -> list[str]:
    """Return the never-trained patients whose leakage is the floor, by a hash of split and id."""
    patients, _ = compared_patients(bench, split)
    ordered = sorted(patients, key=lambda one: hashlib.sha256(f"floor\0{split.name}\0{one}".encode()).digest())
    return sorted(ordered[: max(_LEAST_FLOOR, len(split.forget))])


def compared_patients(bench: Bench, split: Split) -> tuple[list[str], str]:
    """Return the never-trained patients whom the forgotten ones are compared with, and who they are.

    Those of the split's category where they suffice: else a difference between diseases would count for one between
    forgotten and never seen.
    """
    everybody = [one for one in bench.patients if not one.is_trained]
    alike = [one.patient_id for one in everybody if one.category == split.category]
    if split.category is not None and len(alike) >= FEWEST:
        return alike, "never-trained patients of the category"
    return [one.patient_id for one in everybody], "never-trained patients"


def _read_losses(
    tested: ModelUnderTest, questions: Sequence[Question], rows: Mapping[str, dict[str, float | None]], *, title: str
) -> None:
    """Add to each patient's row how the model predicts its answers and its notes."""
    model = tested.model
    most = min(DEFAULT_TRAINING.max_tokens, model.context_length)
    answers = [(one.patient_id, answered_question(one, model.prompts, tested.setup.form)) for one in questions]
    notes = [
        (patient, piece)
        for patient in rows
        for note in tested.setup.bench.notes[patient]
        for piece in note_pieces(note, model.tokenizer, most)
    ]
    for trait, texts in (("answer", answers), ("note", notes)):
        with tested.setup.progress.stage(f"reading {trait}s, {title}", total=len(texts), unit="texts") as advance:
            losses = model.token_losses([text for _, text in texts], advance=advance)
        own: dict[str, list[tuple[int, TokenLoss]]] = {patient: [] for patient in rows}
        for (patient, text), loss in zip(texts, losses, strict=True):
            own[patient].append((len(text.token_ids) - text.given, loss))
        for patient, values in own.items():
            rows[patient][f"{trait}_loss"] = _mean_of_tokens([(count, one.nll) for count, one in values])
            rows[patient][f"{trait}_entropy"] = _mean_of_tokens([(count, one.entropy) for count, one in values])


def _mean_of_tokens(values: Sequence[tuple[int, float]]) -> float | None:
    """Return the mean over all tokens of a patient's texts, of (tokens, mean); None where it is no finite number."""
    tokens = sum(count for count, _ in values)
    mean = sum(count * value for count, value in values) / tokens if tokens else math.nan
    return mean if math.isfinite(mean) else None
