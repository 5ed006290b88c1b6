"""`clinaudit unlearn score` from end to end: a benchmark and answers made elsewhere in, document and table out.

Owns what each line must hold, and that every model answers every question once (docs/unlearning.md). A problem
is named by file, line and field, never by what stands there. Nothing but the models of CS and ES is loaded, and those
after all input is read.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.unlearning.benchmark.files import read_bench
from clinaudit.audit.unlearning.benchmark.records import Answer, Question, QuestionForm
from clinaudit.audit.unlearning.metrics.answer_scores import (
    Entailment,
    EntailmentByModel,
    EntailmentByRules,
    score_answers,
)
from clinaudit.audit.unlearning.metrics.score_document import Making, describe_scores
from clinaudit.errors import BadInputError, UsageError
from clinaudit.priors.corpus.cells import NOT_UNICODE
from clinaudit.priors.corpus.files import JSONL_ENDINGS, find_given_file, printable
from clinaudit.priors.corpus.header import Header
from clinaudit.priors.corpus.records import Problems, Record, is_encodable, iter_records
from clinaudit.reports.schema.unlearning_scores import Figure, ScoresDocument
from clinaudit.reports.terminal.layout import align_columns
from clinaudit.reports.wording.escaped_text import harmless_text
from clinaudit.reports.wording.unlearning import NONE

if TYPE_CHECKING:
    from clinaudit.audit.runtime.language.encoders import SentenceEmbeddings

ANSWER_FIELDS: Final = ("model", "qa_id", "text", "token_ids")
_ROLE: Final = "the answers"
#: Longest name of a model: it stands in tables.
_LONGEST_NAME_CHARS: Final = 200
#: What a tokenizer can number: ids are 32 bits wide.
_LARGEST_ID: Final = 2**31 - 1


def read_answers(path: Path, questions: Sequence[Question], *, header: Header) -> dict[str, list[Answer]]:
    """Return the answers by model, in the order of the questions; models as they come in the file.

    `header`, of `ANSWER_FIELDS`, says at the end which other fields were not read. Raises `BadInputError` listing all
    problems: lines that are no answer, answers to no question, second answers of a model to one question, since which
    of the two is meant cannot be known, and questions that a model did not answer.
    """
    file = find_given_file(path, _ROLE, JSONL_ENDINGS)
    problems = Problems()
    known = {question.qa_id for question in questions}
    by_model: dict[str, dict[str, Answer]] = {}
    first_lines: dict[tuple[str, str], int] = {}
    for line, record in iter_records(file, header=header, problems=problems):
        answer = _read_answer(record, file.name, line, problems)
        if answer is None:
            continue
        if answer.qa_id not in known:
            problems.add(file.name, "is no question of this benchmark", row=line, column="qa_id")
        elif first_lines.setdefault((answer.model, answer.qa_id), line) != line:
            first = first_lines[answer.model, answer.qa_id]
            what = f"answers the same question of the same model as row {first}; keep one of them"
            problems.add(file.name, what, row=line)
        else:
            by_model.setdefault(answer.model, {})[answer.qa_id] = answer
    # A line that could not be read may hold what seems to be missing.
    if not len(problems):
        _require_all(by_model, questions, file.name, problems)
    problems.raise_any(_ROLE)
    return {model: [answers[question.qa_id] for question in questions] for model, answers in by_model.items()}


def _require_all(
    by_model: dict[str, dict[str, Answer]], questions: Sequence[Question], file: str, problems: Problems
) -> None:
    if not by_model:
        problems.add(file, "has no rows")
    for place, answers in enumerate(by_model.values(), start=1):
        lacking = [number for number, question in enumerate(questions, start=1) if question.qa_id not in answers]
        if lacking:
            # By place: an id may show of whom a question is.
            what = (
                f"model {place} of {len(by_model)} leaves {len(lacking):,} of {len(questions):,} questions unanswered, "
                f"the first of them in row {lacking[0]} of the benchmark's table qa; answer all of them"
            )
            problems.add(file, what, column=f"qa_id (model {place})")


def _read_answer(record: Record, file: str, line: int, problems: Problems) -> Answer | None:
    """Return the answer of one line; None where a field is wrong, which is then a problem."""
    checks = {"model": _problem_of_name, "qa_id": _problem_of_text, "text": _problem_of_text}
    checks["token_ids"] = _problem_of_ids
    found = {field: what for field, problem_of in checks.items() if (what := problem_of(record.get(field)))}
    for field, what in found.items():
        problems.add(file, what if field in record else "is missing", row=line, column=field)
    if found:
        return None
    ids = record.get("token_ids")
    return Answer(
        model=str(record["model"]),
        qa_id=str(record["qa_id"]),
        text=str(record["text"]),
        token_ids=tuple(ids) if isinstance(ids, list) else None,
    )


def _problem_of_text(value: object) -> str | None:
    if not isinstance(value, str):
        return "is not text"
    return None if is_encodable(value) else NOT_UNICODE


def _problem_of_name(value: object) -> str | None:
    if not isinstance(value, str) or not is_encodable(value):
        return "is not text"
    if not value.strip() or len(value) > _LONGEST_NAME_CHARS or not value.isprintable():
        return f"is blank, longer than {_LONGEST_NAME_CHARS} characters, or holds one that cannot be printed"
    return None


def _problem_of_ids(value: object) -> str | None:
    is_list = isinstance(value, list) and all(type(item) is int and 0 <= item <= _LARGEST_ID for item in value)
    if value is None or is_list:
        return None
    return f"is not a list of token ids (whole numbers from 0 to {_LARGEST_ID:,})"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringRequest:
    """By which benchmark answers are scored, and with what."""

    bench: Path
    #: Who is forgotten; None: as the models themselves say, or the first split of the benchmark.
    split_name: str | None = None
    form: QuestionForm = "addressed"
    #: The model that the others are compared with; None: the baseline, where it is known.
    before: str | None = None
    #: The directory of an encoder; None: the installed package.
    embeddings: Path | None = None
    #: The directory of a model of inference; None: rules.
    nli: Path | None = None
    #: Where the benchmark's corpus lies now, if elsewhere than when it was built.
    corpus: Path | None = None
    #: Of samples and of the bootstrap.
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRequest(ScoringRequest):
    """What is to be scored."""

    answers: Path


def score_given_answers(request: ScoreRequest, *, header: Header, progress: Progress) -> ScoresDocument:
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
    making = Making(
        split=split,
        form=request.form,
        entailment_metric=entailment.metric,
        made_with={"cs": embedder.name, "es": entailment.name},
        seed=request.seed,
        before=request.before,
        answers=answers,
    )
    return describe_scores(scores, bench, making)


def load_embedder(directory: Path | None) -> "SentenceEmbeddings":
    """Return the embeddings of an encoder in a directory, or of the installed package."""
    from clinaudit.audit.runtime.language.encoders import embeddings_of_directory, packaged_embeddings

    return packaged_embeddings() if directory is None else embeddings_of_directory(directory)


def load_entailment(directory: Path | None) -> Entailment:
    """Return entailment by the model in a directory, or by rules."""
    if directory is None:
        return EntailmentByRules()
    from clinaudit.audit.runtime.language.encoders import EntailmentModel

    return EntailmentByModel(EntailmentModel(directory))


def counted(answers: Iterable[Answer], advance: Callable[[int], None]) -> Iterator[Answer]:
    """Yield the answers; `advance(1)` after each."""
    for answer in answers:
        yield answer
        advance(1)


_COLUMNS: Final = {
    "LS": "ls",
    "ref": "ls_reference",
    "free": "ls_echo_free",
    "ROUGE": "rouge_l",
    "CS": "cs",
    "TE": "te",
    "DS": "ds",
    "MU": "mu_without_em",
    "AFE": "afe_without_em",
}


def score_text(document: ScoresDocument) -> str:
    """Return the tables of what `describe_scores` returned, in at most 100 columns."""
    lines = [
        f"{document.question_count:,} questions, split {document.split}; means over answers, MU and AFE without "
        "exact memorization"
    ]
    for model, scores in document.models.items():
        rows = [("questions", "patients", *_COLUMNS)]
        for role, kinds in scores.counts.items():
            rows.append((role.replace("_", " "), "", *("" for _ in _COLUMNS)))
            for kind, uses in kinds.items():
                for use, counts in uses.items():
                    found = (scores.find(metric, role, kind, use) for metric in _COLUMNS.values())
                    rows.append((f"  {kind}, {use}", f"{counts.patients:,}", *map(figure_cell, found)))
        lines += ["", harmless_text(model), align_columns(rows)]
    return "\n".join(lines)


def figure_cell(figure: Figure | None) -> str:
    """Return a figure in a table on a terminal, or a dash."""
    return NONE if figure is None or figure.value is None else f"{figure.value:.3f}"
