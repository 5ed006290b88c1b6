"""What an evaluation is given: models, each with the split that measures it, or answers made elsewhere.

A directory that `unlearn finetune` or `run` wrote says what it is in its `unlearn.json`, of any other the command says
it. A problem of a file of answers is named by line and field, never by what stands there. Loads no weights.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from clinaudit.audit.runtime.model.adapter import is_adapter
from clinaudit.audit.runtime.model.files import ModelFiles, inspect_adapted, inspect_model
from clinaudit.audit.unlearning.benchmark.files import Answer, Bench, GivenText, Question, Split, checked_rows
from clinaudit.audit.unlearning.methods.model_folder import read_record
from clinaudit.errors import BadInputError, UsageError
from clinaudit.priors.corpus.files import JSONL_ENDINGS, find_given_file, printable
from clinaudit.priors.corpus.header import Header
from clinaudit.priors.corpus.records import Problems
from clinaudit.reports.schema.unlearning import EvaluatedModel

_LONGEST_NAME_CHARS: Final = 200
#: A name stands in tables and in CSV files, where a spreadsheet would read one that begins so as a formula.
_FORMULA: Final = ("=", "+", "-", "@")
BAD_NAME: Final = (
    f"is blank, longer than {_LONGEST_NAME_CHARS} characters, begins with =, +, - or @, or holds a character that "
    "cannot be printed"
)


def is_name(name: str) -> bool:
    """Whether a model may be called so."""
    is_short = 0 < len(name.strip()) <= len(name) <= _LONGEST_NAME_CHARS
    return is_short and name.isprintable() and not name.startswith(_FORMULA)


@dataclass(frozen=True, slots=True)
class ModelPlace:
    """A model as the command names it."""

    name: str
    directory: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenModel:
    """One model to be evaluated."""

    described: EvaluatedModel
    files: ModelFiles

    @property
    def name(self) -> str:
        """What the command calls it."""
        return self.described.name


def parse_model(value: str) -> ModelPlace:
    """Return the model of `DIR` or `NAME=DIR`; raises `UsageError` for a name that may not be one."""
    if not value or value.endswith("="):
        raise UsageError("a model's path is empty; name one (. is the present directory)")
    name, sign, directory = value.partition("=")
    path = Path(directory)
    if not sign or Path(value).is_dir():
        path = Path(value)
        # Of `.` too.
        name = path.absolute().name
    if not is_name(name):
        raise UsageError(f"a model's name {BAD_NAME}; give one as NAME=DIR")
    return ModelPlace(name, path)


def read_models(
    places: Sequence[ModelPlace], bench: Bench, *, split: Split | None, before: str | None, base: Path | None
) -> list[GivenModel]:
    """Return the models in the order of the command, each checked.

    `split` is that of models made elsewhere, `base` the model that adapters were trained on. Raises `UsageError` where
    two have one name or a split is missing, `BadInputError` where one was made with another benchmark.
    """
    names = [place.name for place in places]
    if len(set(names)) < len(names):
        raise UsageError("two models have the same name; name them apart, as NAME=DIR")
    if before is not None and before not in names:
        raise UsageError(
            "--before names none of the models; give the name of one, which is its directory's or its NAME"
        )
    return [_read_model(place, bench, split=split, is_before=place.name == before, base=base) for place in places]


def splits_of(models: Sequence[GivenModel], bench: Bench, split: Split | None) -> list[Split]:
    """Return the splits that the models are measured by; `split` where none has one. Raises `UsageError` with none."""
    own = dict.fromkeys(model.described.split for model in models)
    found = [bench.split(name) for name in own if name is not None] or ([] if split is None else [split])
    if not found:
        raise UsageError("no model says who was to be forgotten; give the split's name with --split, such as random:10")
    return found


def find_before(models: Sequence[GivenModel], name: str | None) -> GivenModel | None:
    """Return the model that others are compared with: that of the name, else the only baseline; None: there is none."""
    if name is not None:
        return next(model for model in models if model.name == name)
    baselines = [model for model in models if model.described.kind == "baseline"]
    if len(baselines) > 1:
        raise UsageError("several models are baselines; name the one that the others are compared with by --before")
    return baselines[0] if baselines else None


def _read_model(
    place: ModelPlace, bench: Bench, *, split: Split | None, is_before: bool, base: Path | None
) -> GivenModel:
    record, directory = read_record(place.directory), printable(place.directory.name)
    if base is not None and is_adapter(place.directory):
        files = inspect_adapted(place.directory, base=base)
    else:
        files = inspect_model(place.directory)
    own: Split | None = None
    # One that was trained again on notes alone knows no benchmark, and no split.
    if record is None or record.settings.bench_digest is None:
        if split is None and not is_before:
            raise UsageError(
                f"{directory} was made elsewhere, and does not say whom it was to forget; give the split's name with "
                "--split, such as random:10"
            )
        own = None if is_before else split
        described: dict[str, Any] = {"kind": "foreign"}
    else:
        settings, plan = record.settings, record.settings.plan
        if settings.bench_digest != bench.digest:
            raise BadInputError(
                f"{directory} was made with another benchmark; give that one with --bench, or make the model again "
                "with this one"
            )
        name = plan.split if settings.task == "unlearn" else plan.without
        own = None if name is None else bench.split(name)
        described = {
            "kind": "unlearned" if settings.task == "unlearn" else "baseline" if own is None else "retrained",
            "made_from": settings.model_digest,
            "method": plan.method,
            "trained_form": plan.training.get("form"),
        }
    of_split = None if own is None else own.name
    return GivenModel(
        described=EvaluatedModel(name=place.name, split=of_split, digest=files.digest, **described), files=files
    )


_ROLE: Final = "the answers"


def _require_name(name: str) -> str:
    if not is_name(name):
        raise ValueError(BAD_NAME)
    return name


class _GivenAnswer(BaseModel):
    """One line of the file."""

    model_config = ConfigDict(strict=True)

    model: Annotated[GivenText, AfterValidator(_require_name)]
    qa_id: GivenText
    text: GivenText
    #: A tokenizer's numbers are 32 bits wide.
    token_ids: list[Annotated[int, Field(ge=0, lt=2**31)]] | None = None


ANSWER_FIELDS: Final = tuple(_GivenAnswer.model_fields)


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
    for line, given in checked_rows(file, _GivenAnswer, header=header, problems=problems):
        first = first_lines.setdefault((given.model, given.qa_id), line)
        if given.qa_id not in known:
            problems.add(file.name, "is no question of this benchmark", row=line, column="qa_id")
        elif first != line:
            what = f"answers the same question of the same model as row {first}; keep one of them"
            problems.add(file.name, what, row=line)
        else:
            token_ids = None if given.token_ids is None else tuple(given.token_ids)
            answer = Answer(given.model, given.qa_id, given.text, token_ids)
            by_model.setdefault(given.model, {})[given.qa_id] = answer
    # A line that could not be read may hold what seems to be missing.
    is_read = not len(problems)
    if is_read and not by_model:
        problems.add(file.name, "has no rows")
    for place, answers in enumerate(by_model.values() if is_read else (), start=1):
        lacking = [number for number, question in enumerate(questions, start=1) if question.qa_id not in answers]
        if lacking:
            # By place: an id may show of whom a question is.
            what = (
                f"model {place} of {len(by_model)} leaves {len(lacking):,} of {len(questions):,} questions unanswered, "
                f"the first of them in row {lacking[0]} of the benchmark's table qa; answer all of them"
            )
            problems.add(file.name, what, column=f"qa_id (model {place})")
    problems.raise_any(_ROLE)
    return {model: [answers[question.qa_id] for question in questions] for model, answers in by_model.items()}
