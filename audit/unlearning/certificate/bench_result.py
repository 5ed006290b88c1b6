"""What `unlearn evaluate` or `unlearn score` wrote, as a certificate reads it (docs/comparing-runs.md).

Owns which model of a result is the one after, which the one before and which the retrained reference, and that a result
is of the audited corpus. No message quotes what stands in a file, which names patients.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from pydantic import ValidationError

from clinaudit.audit.unlearning.evaluation.result_files import RECORD_FILE
from clinaudit.errors import BadInputError, IntegrityError, UsageError
from clinaudit.priors.corpus.files import printable
from clinaudit.reports.schema.answer_check import AnswerCheck
from clinaudit.reports.schema.unlearning_evaluation import (
    EvaluatedModel,
    EvaluationRecord,
    RobustnessDocument,
    RobustnessFile,
)
from clinaudit.reports.schema.unlearning_scores import Document, RolePatient, ScoredAnswer, ScoresDocument
from clinaudit.templates.text_file import read_text_file

_ROLE: Final = "the result of --bench"
_AGAIN: Final = "run `clinaudit unlearn evaluate` (or `unlearn score`) again"
_NAME_IT: Final = "name it with --bench-model"
Read = TypeVar("Read", bound=Document)


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchResult:
    """The answers of the model after, beside those it is compared with, on one split."""

    model: str
    split: str
    form: str
    seed: int
    patients: Mapping[str, RolePatient]
    after: tuple[ScoredAnswer, ...]
    #: Empty where there is none.
    before: tuple[ScoredAnswer, ...] = ()
    #: Of a model that was retrained without the forgotten patients; empty where there is none.
    reference: tuple[ScoredAnswer, ...] = ()
    #: The robustness blocks of the model after and of the reference; None where nothing was tried.
    robustness: RobustnessDocument | None = None
    reference_robustness: RobustnessDocument | None = None
    #: Whether the answers of the model after still read as those of the model before; empty where there is none.
    health: tuple[AnswerCheck, ...] = ()


def read_bench_result(path: Path, *, model: str | None, digest: str | None, corpus_digest: str | None) -> BenchResult:
    """Return what a result says of the model after.

    `path` is the directory that `unlearn evaluate` wrote, or the file that `unlearn score` wrote. `model` names the
    model after; None: the one of the `digest`, of a directory, or the only one, of a file. `corpus_digest` is that of
    the audited corpus. Raises `UsageError` where no model is meant or the one that is named is not there,
    `BadInputError` for another corpus, and `IntegrityError` for files that are damaged.
    """
    name = printable(path.name)
    if not path.is_dir():
        return _read_file(path, model=model)
    if not (path / RECORD_FILE).is_file():
        raise BadInputError(f"{name} holds no finished evaluation ({RECORD_FILE} is missing); {_AGAIN}")
    record = _parse(EvaluationRecord, path / RECORD_FILE)
    if corpus_digest is not None and record.corpus_digest != corpus_digest:
        raise BadInputError(f"{_ROLE} {name} is of another corpus than the audits; evaluate with a benchmark of theirs")
    after = _find_model(record, model=model, digest=digest, place=name)
    split = after.split if after.split is not None else next(iter(record.documents), None)
    documents = None if split is None else record.documents.get(split)
    if split is None or documents is None:
        raise IntegrityError(f"{RECORD_FILE} of {name} names no document of the model's split; {_AGAIN}")
    retrained = next((one.name for one in record.models if one.kind == "retrained" and one.split == split), None)
    scores = _parse(ScoresDocument, path / "evidence" / Path(documents.scores).name)
    tried: Mapping[str, RobustnessDocument] = {}
    if documents.robustness is not None:
        tried = _parse(RobustnessFile, path / "evidence" / Path(documents.robustness).name).models
    return _result(
        scores,
        after=after.name,
        before=None if record.before == after.name else record.before,
        reference=None if retrained == after.name else retrained,
        tried=tried,
    )


def _read_file(path: Path, *, model: str | None) -> BenchResult:
    scores = _parse(ScoresDocument, path)
    names = sorted({one.model for one in scores.items})
    if model is None and len(names) != 1:
        raise UsageError(f"{_ROLE} has {len(names)} models; which of them is the one of RUN_B? {_NAME_IT}")
    after = names[0] if model is None else model
    if after not in names:
        raise UsageError("--bench-model names no model of --bench; give one of those that stand there")
    return _result(scores, after=after)


def _result(
    scores: ScoresDocument,
    *,
    after: str,
    before: str | None = None,
    reference: str | None = None,
    tried: Mapping[str, RobustnessDocument] | None = None,
) -> BenchResult:
    held, tested = scores.models.get(after), tried or {}
    return BenchResult(
        model=after,
        split=scores.split,
        form=scores.form,
        seed=scores.seed,
        patients=scores.patients,
        after=scores.answers_of(after),
        before=scores.answers_of(before),
        reference=scores.answers_of(reference),
        robustness=tested.get(after),
        reference_robustness=tested.get(reference or ""),
        health=() if held is None else tuple(held.health()),
    )


def _find_model(record: EvaluationRecord, *, model: str | None, digest: str | None, place: str) -> EvaluatedModel:
    # A filter has the digest of the model behind it, and is another system.
    found = [
        one
        for one in record.models
        if (one.digest == digest and one.kind != "filter" if model is None else one.name == model)
    ]
    if found:
        return found[0]
    if model is not None:
        raise UsageError("--bench-model names no model of --bench; give one of those that were evaluated")
    raise UsageError(
        f"no model of {place} has the digest of RUN_B's; evaluate that model, or, where it is served or behind a "
        f"filter, {_NAME_IT}"
    )


def _parse(kind: type[Read], path: Path) -> Read:
    try:
        return kind.model_validate_json(read_text_file(path, role=_ROLE))
    except ValidationError:
        # pydantic quotes what it could not read.
        raise IntegrityError(f"{printable(path.name)} of --bench is not as clinaudit writes it now; {_AGAIN}") from None
