"""Trials of whether forgetting lasts: answers sampled again and again, and a little training on other texts (PHI).

Owns leak@k, relearning (Hu et al., ICLR 2025, arXiv 2406.13356), who is tried, and what each trial returns:
`PATIENT_FIGURES` with the trial's name as their use. A trial depends on the model, the benchmark, the split, the form,
the options and the seed alone, so that a stopped evaluation goes on with those that are finished (docs/unlearning.md).
"""

import hashlib
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice, zip_longest
from operator import attrgetter
from typing import Final

import polars as pl

from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.model.pretrained import deterministic
from clinaudit.audit.statistics.estimates import grouped
from clinaudit.audit.statistics.patient_means import difference_of_groups
from clinaudit.audit.unlearning.benchmark.files import Answer, Bench, Keyword, Question, QuestionForm, Split
from clinaudit.audit.unlearning.evaluation.asked_model import AskedModel
from clinaudit.audit.unlearning.methods import texts as learned_texts
from clinaudit.audit.unlearning.methods.losses import DivergedError, Likelihood
from clinaudit.audit.unlearning.methods.texts import DEFAULT_TRAINING, Example, MicroBatch, TrainingPlan
from clinaudit.audit.unlearning.methods.trained_network import Device, TrainedNetwork
from clinaudit.audit.unlearning.metrics import means
from clinaudit.audit.unlearning.metrics.answer_scores import SCORES, Scorers, score_answers
from clinaudit.audit.unlearning.metrics.keywords import leakage_score, not_in_question, rouge_l_recall
from clinaudit.reports.schema.record import Estimate
from clinaudit.reports.schema.unlearning import FIGURES, AnswerGroup

#: What is trained on: so many questions of forgotten patients who are not asked about, or (None) retained ones' notes.
_RELEARNED: Final[Mapping[str, int | None]] = {"questions_1": 1, "questions_5": 5, "retained_notes": None}
#: Of the forgotten patients one in so many gives its questions away, at least one and at most so many [choice].
_ONE_IN: Final = 5
_MOST_DONORS: Final = 5
TOO_FEW: Final = "the split forgets a single patient: there is nobody else whose questions could be trained on"
NO_TEXTS: Final = "there is no such text to train on"
DIVERGED: Final = "the training diverged: the loss is no finite number any more"


@dataclass(frozen=True, slots=True, kw_only=True)
class RelearningPlan:
    """How the model is fine-tuned for a few steps; the rest is as unlearning's default."""

    #: Of AdamW. The rate falls along half a cosine to 0.
    steps: int = 20
    learning_rate: float = 2e-5
    #: Texts a step, or all where there are fewer.
    texts: int = 4

    def training(self) -> TrainingPlan:
        """Return it as the training loop takes it; how many steps there are, the loop is given besides."""
        return TrainingPlan(learning_rate=self.learning_rate, warmup=0.0, micro_batch=self.texts, micro_batches=1)


#: The k of leak@k that are reported.
LEAK_AT: Final = (1, 8, 32)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialOptions:
    """What the user may choose of the trials."""

    #: How often a question is asked.
    samples: int = 32
    relearning: RelearningPlan = field(default_factory=RelearningPlan)

    @property
    def leak_at(self) -> tuple[int, ...]:
        """The usual k that so many samples reach."""
        return tuple(k for k in LEAK_AT if k <= self.samples)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What every model of an evaluation is asked, scored and tried with."""

    bench: Bench
    form: QuestionForm
    #: Of samples and of the bootstrap.
    seed: int
    scorers: Scorers
    #: None: nothing is tried.
    trials: TrialOptions | None = None
    progress: Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """A model that is tried on a split."""

    setup: Setup
    options: TrialOptions
    split: Split
    model: AskedModel

    def questions_of(self, patients: Collection[str]) -> list[Question]:
        """Return the questions of some patients, in the benchmark's order."""
        return [one for one in self.setup.bench.questions if one.patient_id in patients]

    def figures(self, scores: pl.DataFrame, use: str) -> pl.DataFrame:
        """Return the `PATIENT_FIGURES` of scores of the model's answers."""
        found = means.patient_figures(scores, self.setup.bench.questions, model=self.model.name)
        return means.pooled(found, use=use)


def leak_at(values: Sequence[float], k: int) -> float:
    """Return leak@k: the mean of the largest of k values over all choices of k of the n values.

    With the values in ascending order that is the sum of C(i - 1, k - 1) / C(n, k) times the i-th: the i-th is the
    largest of k in so many choices. It is unbiased for the largest of k fresh samples (Reisizadeh et al. 2025, arXiv
    2511.04934). Raises `ValueError` unless 1 <= k <= n.
    """
    if not 1 <= k <= len(values):
        raise ValueError("as many values as are drawn are needed, and one at least")
    choices = math.comb(len(values), k)
    # Whole numbers are divided once each: the weights of large n overflow no float.
    return math.fsum(
        value * (math.comb(place, k - 1) / choices) for place, value in enumerate(sorted(values)) if place >= k - 1
    )


NO_KEYWORDS: Final = "no question of this group has it"


def measure_leaks(
    questions: Sequence[Question],
    keywords: Sequence[Keyword],
    answers: Sequence[Answer],
    *,
    form: QuestionForm,
    ks: Sequence[int],
) -> pl.DataFrame:
    """Return `SCORES` of sampled answers: `ls@8`, and so on; every question must have been asked."""
    given, own_keywords = grouped(answers, attrgetter("qa_id")), grouped(keywords, attrgetter("qa_id"))
    rows: list[tuple[str, str, float | None, str | None]] = []
    for question in questions:
        own = own_keywords.get(question.qa_id, [])
        beyond = not_in_question(own, question.text(form))
        texts = [answer.text for answer in given[question.qa_id]]
        leaked: dict[str, list[float | None]] = {
            "ls": [leakage_score(own, text) for text in texts],
            "ls_echo_free": [leakage_score(beyond, text) for text in texts],
            "rouge_l": [rouge_l_recall(text, question.answer) for text in texts],
        }
        for metric, values in leaked.items():
            known = [value for value in values if value is not None]
            for k in ks:
                told = (leak_at(known, k), None) if known else (None, NO_KEYWORDS)
                rows.append((question.qa_id, f"{metric}@{k}", *told))
    return pl.DataFrame(rows, schema=SCORES, orient="row")


def sample_answers(tried: Tried) -> pl.DataFrame:
    """Ask forgotten patients' questions, and those of as many never-trained ones, again and again."""
    setup, count = tried.setup, tried.options.samples
    questions = tried.questions_of({*tried.split.forget, *floor_patients(setup.bench, tried.split)})
    with setup.progress.stage("sampling answers", total=len(questions) * count, unit="answers") as advance:
        answers = tried.model.answer(questions, setup.form, count=count, seed=setup.seed, advance=advance)
    leaks = measure_leaks(questions, setup.bench.keywords, answers, form=setup.form, ks=tried.options.leak_at)
    return tried.figures(leaks, "sampled")


def relearn(tried: Tried, *, what: str) -> pl.DataFrame:
    """Train for a few steps, and ask about forgotten patients of whom nothing was trained on; or a row says why not."""
    setup, model = tried.setup, tried.model

    def nothing(reason: str) -> pl.DataFrame:
        row = (model.name, "", "all", what, "rouge_l", None, 0, reason)
        return pl.DataFrame([row], schema=means.PATIENT_FIGURES, orient="row")

    if len(tried.split.forget) < 2:
        return nothing(TOO_FEW)
    texts = texts_to_relearn(tried, what)
    if not texts:
        return nothing(NO_TEXTS)
    title, asked = f"relearning, {what.replace('_', ' ')}", tried.questions_of(asked_patients(tried.split))
    try:
        with (
            relearned(tried, texts, title),
            setup.progress.stage(f"answers after {title}", total=len(asked), unit="answers") as advance,
        ):
            answers = model.answer(asked, setup.form, advance=advance)
            em = model.exact_memorization(asked, setup.form)
    except DivergedError:
        return nothing(DIVERGED)
    scores = score_answers(asked, setup.bench.keywords, answers, scorers=setup.scorers, em=em, form=setup.form)
    return tried.figures(scores, what)


#: By name, which is the figures' use: letters and underscores, so that files may be called by it.
TRIALS: Final[Mapping[str, Callable[[Tried], pl.DataFrame]]] = {
    "sampled": sample_answers,
    **{what: partial(relearn, what=what) for what in _RELEARNED},
}


def _rank(split: Split, own: str, purpose: str = "relearning") -> bytes:
    """Return a place in an order that no one chose."""
    return hashlib.sha256(f"{purpose}\0{split.name}\0{own}".encode()).digest()


def donors_of(split: Split) -> tuple[str, ...]:
    """Return the forgotten patients whose questions are trained on, by a hash of split and id; none of one patient."""
    if len(split.forget) < 2:
        return ()
    count = min(_MOST_DONORS, max(1, len(split.forget) // _ONE_IN))
    return tuple(sorted(split.forget, key=lambda one: _rank(split, one))[:count])


def asked_patients(split: Split) -> tuple[str, ...]:
    """Return the forgotten patients who are asked about, the same whatever is trained on."""
    donors = set(donors_of(split))
    return tuple(one for one in split.forget if one not in donors)


def questions_to_relearn(questions: Sequence[Question], split: Split, count: int) -> list[Question]:
    """Return up to so many questions of the training set, the donors taking turns."""
    by_donor = [
        sorted(
            (one for one in questions if one.patient_id == donor and one.use == "train"),
            key=lambda one: _rank(split, one.qa_id),
        )
        for donor in donors_of(split)
    ]
    return [one for one in chain.from_iterable(zip_longest(*by_donor)) if one is not None][:count]


def texts_to_relearn(tried: Tried, what: str) -> list[Example]:
    """Return the texts to train on, none of them about the patients who are asked about; as many as the steps read."""
    setup, model, split, plan = tried.setup, tried.model, tried.split, tried.options.relearning
    count = _RELEARNED[what]
    if count is not None:
        chosen = questions_to_relearn(setup.bench.questions, split, count)
        return [learned_texts.answered_question(one, model.prompts, setup.form) for one in chosen]
    most = min(DEFAULT_TRAINING.max_tokens, model.context_length)
    patients = sorted(split.retain, key=lambda one: _rank(split, one))
    notes = (note for patient in patients for note in setup.bench.notes[patient])
    pieces = (piece for note in notes for piece in learned_texts.note_pieces(note, model.tokenizer, most))
    return list(islice(pieces, plan.steps * plan.texts))


def relearning_batches(texts: Sequence[Example], plan: RelearningPlan, *, seed: int) -> list[MicroBatch]:
    """Return a batch for each step that is planned: pass after pass over the texts, in seeded order."""
    passes = math.ceil(plan.steps / math.ceil(len(texts) / plan.texts))
    training = replace(plan.training(), epochs=passes)
    return learned_texts.order_batches(texts, (), training, seed=seed)[: plan.steps]


@contextmanager
def relearned(tried: Tried, texts: Sequence[Example], title: str) -> Iterator[None]:
    """Train the whole network for as long as the context lasts, then put back every byte; raises `DivergedError`."""
    from clinaudit.audit.unlearning.methods.training import train

    network, plan, seed = tried.model.network, tried.options.relearning, tried.setup.seed
    training, batches = plan.training(), relearning_batches(texts, plan, seed=seed)
    needs_gradient = {name: one.requires_grad for name, one in network.named_parameters()}
    # As it is asked: in float32.
    trained = TrainedNetwork(network, training, device=replace(Device.find(), is_half=False))
    try:
        with deterministic(seed=seed):
            train(trained, Likelihood(), batches, training, seed=seed, stage=(tried.setup.progress, title))
        yield
    finally:
        trained.reset()
        for name, parameter in network.named_parameters():
            parameter.requires_grad_(needs_gradient[name])
            parameter.grad = None


#: Patients whose leakage is the floor: as many as are forgotten, and at least so many [choice].
_LEAST_FLOOR: Final = 95
#: Fewest never-trained patients of a disease who are compared with [choice].
FEWEST: Final = 5


def floor_patients(bench: Bench, split: Split) -> list[str]:
    """Return the never-trained patients whose leakage is the floor, by a hash of split and id."""
    ordered = sorted(compared_patients(bench, split), key=lambda one: _rank(split, one, "floor"))
    return sorted(ordered[: max(_LEAST_FLOOR, len(split.forget))])


def compared_patients(bench: Bench, split: Split) -> list[str]:
    """Return the never-trained patients whom forgotten ones are compared with: of their disease, if they suffice."""
    everybody = [one for one in bench.patients if not one.is_trained]
    alike = [one for one in everybody if one.category == split.category]
    return [one.patient_id for one in (alike if len(alike) >= FEWEST else everybody)]


def measure_trial(tried: pl.DataFrame, own: pl.DataFrame, setup: Setup, split: Split) -> pl.DataFrame:
    """Return `FIGURES` of one trial of a model; `own` are the figures of its greedy answers, before the trial."""
    use = tried["use"][0]
    place = {"split": split.name, "model": tried["model"][0], "kind": "all", "use": use}
    if not tried["patient_id"][0]:
        nothing = Estimate(value=None, n=0, reason=tried["reason"][0])
        return pl.DataFrame([*means.figure_rows({**place, "group": "forget"}, {"rouge_l": nothing})], schema=FIGURES)
    everybody: dict[AnswerGroup, Collection[str]] = {
        "forget": split.forget,
        "never_trained": compared_patients(setup.bench, split),
    }
    asked = own.filter(pl.col("patient_id").is_in(tried["patient_id"].unique().to_list()))
    before = None if use == "sampled" else means.pooled(asked, use=use)
    found = means.measure_groups(tried, everybody, split=split.name, before=before, seed=setup.seed)
    if use != "sampled":
        return found
    nobody = "everybody of the benchmark was trained on"
    above = {
        metric: difference_of_groups(
            *(means.find_estimate(found, otherwise=nobody, group=group, metric=metric) for group in everybody)
        )
        for metric in found.filter(group="forget")["metric"]
    }
    rows = means.figure_rows({**place, "group": "forget-never_trained"}, above)
    return pl.concat([found, pl.DataFrame([*rows], schema=FIGURES)])
