"""What `unlearn evaluate` or `unlearn score` wrote, as a certificate reads it (docs/comparing-runs.md).

Owns which model of a result is the one after, which the one before and which the retrained reference, and that a result
is of the audited corpus. No message quotes what stands in a file, which names patients.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

from pydantic import BaseModel, ValidationError

from clinaudit.audit.unlearning.evaluation.result_files import RECORD_FILE
from clinaudit.audit.unlearning.evaluation.robustness.document import RobustnessDocument
from clinaudit.errors import BadInputError, IntegrityError, UsageError
from clinaudit.priors.corpus.files import printable
from clinaudit.reports.schema.answer_check import AnswerCheck
from clinaudit.templates.text_file import read_text_file

_ROLE: Final = "the result of --bench"
_AGAIN: Final = "run `clinaudit unlearn evaluate` (or `unlearn score`) again"
_NAME_IT: Final = "name it with --bench-model"
Read = TypeVar("Read", bound=BaseModel)


class ScoredAnswer(BaseModel):
    """One answer as documents of scores hold it; metrics that certificates do not look at are left out."""

    model: str
    qa_id: str
    patient_id: str
    use: str
    rouge_l: float
    cs: float | None = None
    es: float | None = None
    es_rules: float | None = None
    te: float | None = None
    te_words: float | None = None
    ls: float | None = None
    ls_echo_free: float | None = None

    def value(self, metric: str) -> float | None:
        """Return a metric's value; entailment by whatever it was measured.

        Entropy without token ids is that of words, and that of an empty answer is 0, as in MU.
        """
        if metric == "es":
            return self.es_rules if self.es is None else self.es
        if metric == "te":
            return next((value for value in (self.te, self.te_words) if value is not None), 0.0)
        value: float | None = getattr(self, metric)
        return value


class BenchPatientRole(BaseModel):
    """A patient of the benchmark."""

    role: Literal["forget", "retain", "never_trained", "set_aside"]
    category: str


class _Collapse(BaseModel):
    checks: list[AnswerCheck]


class _ModelScores(BaseModel):
    #: None of the model before, and where there is none.
    collapse: _Collapse | None = None


class _Scores(BaseModel):
    format: Literal[1]
    split: str
    form: str
    seed: int
    models: dict[str, _ModelScores]
    patients: dict[str, BenchPatientRole]
    items: list[ScoredAnswer]

    def answers_of(self, model: str | None) -> tuple[ScoredAnswer, ...]:
        """Return a model's answers; empty where there is no such model."""
        return tuple(one for one in self.items if one.model == model)

    def health_of(self, model: str) -> tuple[AnswerCheck, ...]:
        """Return whether a model's answers still read as before; empty where they were compared with nothing."""
        held = self.models.get(model)
        return () if held is None or held.collapse is None else tuple(held.collapse.checks)


class _Model(BaseModel):
    name: str
    kind: str
    split: str | None
    digest: str


class _Documents(BaseModel):
    scores: str
    #: None where nothing was tried.
    robustness: str | None


class _Record(BaseModel):
    format: Literal[2]
    corpus_digest: str
    before: str | None
    models: list[_Model]
    documents: dict[str, _Documents]


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchResult:
    """The answers of the model after, beside those it is compared with, on one split."""

    model: str
    split: str
    form: str
    seed: int
    patients: Mapping[str, BenchPatientRole]
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
    record = _parse(_Record, path / RECORD_FILE)
    if corpus_digest is not None and record.corpus_digest != corpus_digest:
        raise BadInputError(f"{_ROLE} {name} is of another corpus than the audits; evaluate with a benchmark of theirs")
    after = _find_model(record, model=model, digest=digest, place=name)
    split = after.split if after.split is not None else next(iter(record.documents), None)
    documents = None if split is None else record.documents.get(split)
    if split is None or documents is None:
        raise IntegrityError(f"{RECORD_FILE} of {name} names no document of the model's split; {_AGAIN}")
    retrained = next((one.name for one in record.models if one.kind == "retrained" and one.split == split), None)
    reference = None if retrained == after.name else retrained
    before = None if record.before == after.name else record.before
    scores = _parse(_Scores, path / "evidence" / Path(documents.scores).name)
    tried: Mapping[str, RobustnessDocument] = {}
    if documents.robustness is not None:
        tried = _read_robustness(path / "evidence" / Path(documents.robustness).name, (after.name, reference))
    return BenchResult(
        model=after.name,
        split=split,
        form=scores.form,
        seed=scores.seed,
        patients=scores.patients,
        after=scores.answers_of(after.name),
        before=scores.answers_of(before),
        reference=scores.answers_of(reference),
        robustness=tried.get(after.name),
        reference_robustness=tried.get(reference or ""),
        health=scores.health_of(after.name),
    )


def _read_file(path: Path, *, model: str | None) -> BenchResult:
    scores = _parse(_Scores, path)
    names = sorted({one.model for one in scores.items})
    if model is None and len(names) != 1:
        raise UsageError(f"{_ROLE} has {len(names)} models; which of them is the one of RUN_B? {_NAME_IT}")
    after = names[0] if model is None else model
    if after not in names:
        raise UsageError("--bench-model names no model of --bench; give one of those that stand there")
    return BenchResult(
        model=after,
        split=scores.split,
        form=scores.form,
        seed=scores.seed,
        patients=scores.patients,
        after=scores.answers_of(after),
        health=scores.health_of(after),
    )


def _find_model(record: _Record, *, model: str | None, digest: str | None, place: str) -> _Model:
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
        return kind.model_validate(_read_json(path))
    except ValidationError:
        # pydantic quotes what it could not read.
        raise IntegrityError(f"{printable(path.name)} is not as clinaudit writes it now; {_AGAIN}") from None


def _read_robustness(path: Path, models: Collection[str | None]) -> dict[str, RobustnessDocument]:
    """Return what these models withstand, of those that were tried."""
    try:
        held = _read_json(path).get("models", {})
        return {name: RobustnessDocument.model_validate(own) for name, own in held.items() if name in models and own}
    except (ValidationError, AttributeError):
        raise IntegrityError(
            "the document of what the models of --bench withstand is damaged; run `clinaudit unlearn evaluate` again"
        ) from None


def _read_json(path: Path) -> dict[str, Any]:
    try:
        held = json.loads(read_text_file(path, role=_ROLE))
    except ValueError:
        held = None
    if not isinstance(held, dict):
        raise IntegrityError(f"{printable(path.name)} of --bench is damaged; {_AGAIN}")
    return held
