"""`clinaudit unlearn score` from end to end: benchmark and answers in, document of the scores out.

Owns the order of the steps. Nothing but the models of CS and ES is loaded, and those after all input is read.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from clinaudit.audit.console.progress import Progress
from clinaudit.audit.unlearning.benchmark.files import read_bench
from clinaudit.audit.unlearning.benchmark.records import Answer, QuestionForm
from clinaudit.audit.unlearning.metrics.answer_scores import Embedder, compare_with_before, score_answers
from clinaudit.audit.unlearning.metrics.entailment import Entailment, EntailmentByModel, EntailmentByRules
from clinaudit.audit.unlearning.metrics.given_answers import read_answers
from clinaudit.audit.unlearning.metrics.score_document import BesideBefore, Json, Making, describe_scores
from clinaudit.errors import BadInputError, UsageError
from clinaudit.priors.corpus.files import printable
from clinaudit.priors.corpus.header import Header


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRequest:
    """What is to be scored, and with what."""

    bench: Path
    answers: Path
    #: None: the first split of the benchmark.
    split_name: str | None
    form: QuestionForm
    #: The model in the answers that was not yet unlearned, for `cs_before`.
    before: str | None
    #: The directory of an encoder; None: the installed package.
    embeddings: Path | None
    #: The directory of a model of inference; None: rules.
    nli: Path | None
    corpus: Path | None
    seed: int


def score_given_answers(request: ScoreRequest, *, header: Header, progress: Progress) -> Json:
    """Return the document of the scores; raises `BadInputError` for input that cannot be scored."""
    bench = read_bench(request.bench, corpus=request.corpus)
    if not bench.splits:
        raise BadInputError(f"the benchmark {printable(request.bench.name)} has no split, so that nobody is forgotten")
    split = bench.splits[0] if request.split_name is None else bench.split(request.split_name)
    answers = read_answers(request.answers, bench.questions, header=header)
    if request.before is not None and request.before not in answers:
        raise UsageError("--before names no model of the answers; give one of those that stand there as `model`")
    embedder, entailment = load_embedder(request.embeddings), load_entailment(request.nli)
    total = sum(map(len, answers.values()))
    with progress.stage("scoring answers", total=total, unit="answers") as advance:
        scores = {
            model: score_answers(
                bench.questions,
                bench.keywords,
                counted(own, advance),
                embedder=embedder,
                entailment=entailment,
                em=None,
                form=request.form,
            )
            for model, own in answers.items()
        }
    if request.before is not None:
        before = answers[request.before]
        scores = {
            model: own
            if model == request.before
            else compare_with_before(own, answers[model], before, embedder=embedder)
            for model, own in scores.items()
        }
    making = Making(
        split=split,
        form=request.form,
        entailment_metric=entailment.metric,
        made_with={"cs": embedder.name, "es": entailment.name},
        seed=request.seed,
    )
    beside = None if request.before is None else BesideBefore(before=request.before, answers=answers)
    return describe_scores(scores, bench, making, beside=beside)


def load_embedder(directory: Path | None) -> Embedder:
    """Return the embeddings of an encoder in a directory, or of the installed package."""
    from clinaudit.audit.language.encoders import embeddings_of_directory, packaged_embeddings

    return packaged_embeddings() if directory is None else embeddings_of_directory(directory)


def load_entailment(directory: Path | None) -> Entailment:
    """Return entailment by the model in a directory, or by rules."""
    if directory is None:
        return EntailmentByRules()
    from clinaudit.audit.language.encoders import EntailmentModel

    return EntailmentByModel(EntailmentModel(directory))


def counted(answers: Iterable[Answer], advance: Callable[[int], None]) -> Iterator[Answer]:
    """Yield the answers; `advance(1)` after each."""
    for answer in answers:
        yield answer
        advance(1)
