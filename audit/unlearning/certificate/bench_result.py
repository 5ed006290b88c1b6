"""What `unlearn evaluate` or `unlearn score` wrote, as a certificate reads it (docs/comparing-runs.md).

Owns which model of a result is the one after and which the one before, that a result is of the audited corpus, and what
answers keep of each patient. No message quotes what stands in a file, which names patients.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Final, TypeVar

import numpy as np
from pydantic import ValidationError

from clinaudit.audit.statistics.grouping import grouped
from clinaudit.audit.statistics.patient_means import Values, harmonic_mean, values_of
from clinaudit.audit.unlearning.certificate.joint_test import ANSWERS, Pool
from clinaudit.audit.unlearning.evaluation.result_files import RECORD_FILE
from clinaudit.audit.unlearning.metrics.means import AFE_PARTS
from clinaudit.errors import BadInputError, IntegrityError, UsageError
from clinaudit.priors.corpus.files import printable
from clinaudit.reports.schema.answer_check import AnswerCheck
from clinaudit.reports.schema.unlearning_evaluation import EvaluatedModel, EvaluationRecord
from clinaudit.reports.schema.unlearning_scores import Document, RolePatient, ScoredAnswer, ScoresDocument
from clinaudit.templates.text_file import read_text_file

_ROLE: Final = "the result of --bench"
_AGAIN: Final = "run `clinaudit unlearn evaluate` (or `unlearn score`) again"
_NAME_IT: Final = "name it with --bench-model"
BY_PATIENT: Final = attrgetter("patient_id")
NOT_ASKED: Final = "the benchmark asks nothing about the patient"
NEVER_TRAINED: Final = "the benchmark says that the patient was never trained on"
#: Of AFE (AMNESIA, equation 3): exact memorization is seen by nobody who is given answers alone.
AFE: Final = tuple(part for part in AFE_PARTS if part != "em")
Read = TypeVar("Read", bound=Document)


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchResult:
    """The answers of the model after beside those of the model before, on one split."""

    model: str
    split: str
    form: str
    seed: int
    patients: Mapping[str, RolePatient]
    after: tuple[ScoredAnswer, ...]
    #: Empty where there is none.
    before: tuple[ScoredAnswer, ...]
    #: Whether the answers of the model after still read as those of the model before; empty where there is none.
    health: tuple[AnswerCheck, ...]


def read_bench_result(path: Path, *, model: str | None, digest: str | None, corpus_digest: str | None) -> BenchResult:
    """Return what a result says of the model after.

    `path` is the directory that `unlearn evaluate` wrote, or the file that `unlearn score` wrote. `model` names the
    model after; None: the one of the `digest`, of a directory, or the only one, of a file. `corpus_digest` is that of
    the audited corpus. Raises `UsageError` where no model is meant or the one that is named is not there,
    `BadInputError` for another corpus, and `IntegrityError` for files that are damaged.
    """
    if not path.is_dir():
        scores = _parse(ScoresDocument, path)
        return _result(scores, after=_only_model(scores, model), before=None)
    name = printable(path.name)
    if not (path / RECORD_FILE).is_file():
        raise BadInputError(f"{name} holds no finished evaluation ({RECORD_FILE} is missing); {_AGAIN}")
    record = _parse(EvaluationRecord, path / RECORD_FILE)
    if corpus_digest is not None and record.corpus_digest != corpus_digest:
        raise BadInputError(f"{_ROLE} {name} is of another corpus than the audits; evaluate with a benchmark of theirs")
    after = _find_model(record, model=model, digest=digest, place=name)
    split = after.split if after.split is not None else next(iter(record.documents), None)
    documents = None if split is None else record.documents.get(split)
    if documents is None:
        raise IntegrityError(f"{RECORD_FILE} of {name} names no document of the model's split; {_AGAIN}")
    scores = _parse(ScoresDocument, path / "evidence" / Path(documents.scores).name)
    return _result(scores, after=after.name, before=None if record.before == after.name else record.before)


def _result(scores: ScoresDocument, *, after: str, before: str | None) -> BenchResult:
    held = scores.models.get(after)
    return BenchResult(
        model=after,
        split=scores.split,
        form=scores.form,
        seed=scores.seed,
        patients=scores.patients,
        after=scores.answers_of(after),
        before=scores.answers_of(before),
        health=() if held is None else tuple(held.health()),
    )


def _only_model(scores: ScoresDocument, model: str | None) -> str:
    names = sorted({one.model for one in scores.items})
    if model is None and len(names) != 1:
        raise UsageError(f"{_ROLE} has {len(names)} models; which of them is the one of RUN_B? {_NAME_IT}")
    if model is not None and model not in names:
        raise UsageError("--bench-model names no model of --bench; give one of those that stand there")
    return names[0] if model is None else model


def _find_model(record: EvaluationRecord, *, model: str | None, digest: str | None, place: str) -> EvaluatedModel:
    for one in record.models:
        if (one.digest == digest) if model is None else (one.name == model):
            return one
    if model is not None:
        raise UsageError("--bench-model names no model of --bench; give one of those that were evaluated")
    raise UsageError(
        f"no model of {place} has the digest of RUN_B's; evaluate that model, or, where it is served, {_NAME_IT}"
    )


def _parse(kind: type[Read], path: Path) -> Read:
    try:
        return kind.model_validate_json(read_text_file(path, role=_ROLE))
    except ValidationError:
        # pydantic quotes what it could not read.
        raise IntegrityError(f"{printable(path.name)} of --bench is not as clinaudit writes it now; {_AGAIN}") from None


def measure_answers(answers: Sequence[ScoredAnswer]) -> dict[str, float | None]:
    """Return what answers keep of each patient: 1 - AFE of the use of questions of which most is kept.

    None where the answers of a use have no such figure.
    """
    found: dict[str, float | None] = {}
    for patient, own in grouped(answers, BY_PATIENT).items():
        kept = [part_means([one for one in own if one.use == use], AFE) for use in {one.use for one in own}]
        shares = [float(1 - harmonic_mean(1 - means)) for means in kept if means is not None]
        found[patient] = max(shares) if len(shares) == len(kept) else None
    return found


def add_answers(pool: Pool | None, answers: Mapping[str, float | None], never_trained: Collection[str]) -> Pool:
    """Return the pool with what answers keep as one measure more; who was not asked is no control any more."""
    figures = {} if pool is None else pool.figures
    added = {
        patient: {**figures.get(patient, {}), **({ANSWERS: answers[patient]} if patient in answers else {})}
        for patient in {*figures, *answers}
    }
    asked = {patient for patient in never_trained if patient in answers}
    never_seen = asked if pool is None else asked & {*pool.never_seen}
    return Pool(added, never_seen, {} if pool is None else pool.chart_tokens)


def column(answers: Sequence[ScoredAnswer], metric: str) -> Values:
    """Return one value an answer, not a number where it has none."""
    return values_of(answer.value(metric) for answer in answers)


def part_means(answers: Sequence[ScoredAnswer], parts: Sequence[str]) -> Values | None:
    """Return the mean of each part over the answers that have it; None where none has one of them."""
    columns = [column(answers, part) for part in parts]
    if not answers or not all(np.isfinite(values).any() for values in columns):
        return None
    return np.array([np.nanmean(values) for values in columns])


def lacks_answers(result: BenchResult, patient: str, after: Collection[str]) -> str | None:
    """Return why the answers say nothing of a patient; None where they do."""
    of = result.patients.get(patient)
    if of is not None and of.role == "never_trained":
        return NEVER_TRAINED
    return None if of is not None and patient in after else NOT_ASKED
