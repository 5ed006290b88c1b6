"""The training record of a model that was trained again: on whom, bound to its weights (docs/comparing-runs.md).

It is its trainer's word that the model never saw the named. Such a model was not made to forget, so that nothing is
hidden where it writes otherwise than the model before: another seed alone does that. A leak wins over the record.
"""

import json
from collections.abc import Collection, Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from clinaudit.audit.results.comparison.run_pair import RunPair
from clinaudit.audit.runtime.model.files import digest_of_listed
from clinaudit.errors import BadInputError


class TrainingRecord(BaseModel):
    """What a trainer states of one model; other keys are left alone."""

    model_config = ConfigDict(strict=True, frozen=True)

    #: Name -> SHA-256 of the files in the model's directory.
    files: dict[str, str]
    #: Ids of all patients with a note that it was trained on.
    trained_on: list[str]
    #: Digest of the audited model whose weights it began with; null: weights that never saw a patient of the corpus.
    started_from: str | None


def read_training_record(
    path: Path, pair: RunPair, named: Collection[str], person_of: Mapping[str, str]
) -> TrainingRecord:
    """Read the record of the model of run B.

    Raises `BadInputError` where the file is none, is of another model, or says that B was trained on the named or began
    with the weights of the model before.
    """
    try:
        record = TrainingRecord.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise BadInputError(f"cannot read {path.name}: {error.strerror}") from None
    except ValidationError as error:
        # The first problem's place alone: what stands there may be a patient's id.
        where = ".".join(map(str, error.errors()[0]["loc"][:1])) or "the whole"
        raise BadInputError(
            f"{path.name} is no training record (see {where}); it needs files, trained_on and started_from"
        ) from None
    except ValueError:
        raise BadInputError(f"{path.name} is no training record: it is not JSON in UTF-8") from None
    if digest_of_listed(record.files) != pair.b.model:
        raise BadInputError(
            f"{path.name} is of another model than run B's: its files have other digests; audit the model that it names"
        )
    if record.started_from is not None and record.started_from == pair.a.model:
        raise BadInputError(
            f"{path.name} says that the model after began with the weights of the model before, which saw the named"
        )
    seen = {person_of.get(patient, patient) for patient in record.trained_on} & set(named)
    if seen:
        raise BadInputError(f"{path.name} says that the model after was trained on {len(seen)} of the named patients")
    return record
