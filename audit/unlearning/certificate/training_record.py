"""The training record of a model that was trained again: on whom, bound to its weights (docs/forgetting.md).

It is its trainer's word. A model that was not made to forget hides nothing where it writes otherwise than the model
before: another seed alone does that. A leak wins over the record.
"""

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from clinaudit.audit.results.comparison.run_pair import RunPair
from clinaudit.audit.runtime.model.files import digest_of_listed
from clinaudit.errors import BadInputError
from clinaudit.reports.schema.record import Arm


class TrainingRecord(BaseModel):
    """What a trainer states of one model; other keys are left alone."""

    model_config = ConfigDict(strict=True, frozen=True)

    #: Name -> SHA-256 of the files in the model's directory.
    files: dict[str, str]
    #: Ids of all patients with a note that it was trained on.
    trained_on: list[str]
    #: Digest of the audited model whose weights it began with; null: weights that never saw a patient of the corpus.
    started_from: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None

    def require_fitting(self, arms: Mapping[str, Arm], named: Collection[str]) -> None:
        """Raise `BadInputError` where it lists patients never seen, or not whom run B's corpus has as trained on."""
        listed = {*self.trained_on}
        if seen := {patient for patient, arm in arms.items() if arm == "nontrain"} & listed:
            raise BadInputError(
                f"the training record lists {len(seen)} patients whom the corpus has as never seen: they cannot be "
                "compared with; audit both models against a corpus that says who is trained on"
            )
        others = {patient for patient, arm in arms.items() if arm == "train"} - {*named}
        if len(others & listed) < len(others) / 2:
            raise BadInputError(
                "the training record lists fewer than half of the others whom the corpus has as trained on; look at "
                "how ids are spelled, and list all patients of the training"
            )


def read_training_record(
    path: Path, pair: RunPair, named: Collection[str], person_of: Mapping[str, str]
) -> TrainingRecord:
    """Read the record of the model of run B.

    Raises `BadInputError` where the file is none, is of another model, or says that B was trained on the named or began
    with the weights of the model before.
    """
    try:
        record = TrainingRecord.model_validate(json.loads(path.read_text(encoding="utf-8")))
        # `sha256sum model/*` names them with the directory.
        digest = digest_of_listed({name.rpartition("/")[2]: of for name, of in record.files.items()})
    except OSError as error:
        raise BadInputError(f"cannot read {path.name}: {error.strerror}") from None
    except ValidationError as error:
        # The first problem's place alone: what stands there may be a patient's id.
        where = ".".join(map(str, error.errors()[0]["loc"][:1])) or "the whole"
        raise BadInputError(
            f"{path.name} is no training record (see {where}); it needs files, trained_on and started_from"
        ) from None
    except (ValueError, RecursionError):
        raise BadInputError(f"{path.name} is no training record: it is not JSON in UTF-8") from None
    if pair.b.model is None or digest != pair.b.model:
        raise BadInputError(
            f"{path.name} is not of run B's model: its files have other digests; audit the model that it names (an "
            "adapter or a served model has no record: merge it, or give a directory)"
        )
    if record.started_from in (pair.a.model, pair.b.model):
        raise BadInputError(
            f"{path.name} says that the model after began with the weights of the model before, or with its own; it "
            "must begin with weights that never saw the named"
        )
    listed = [person_of.get(patient.strip(), patient.strip()) for patient in record.trained_on]
    if seen := {one.casefold() for one in listed} & {one.casefold() for one in named}:
        raise BadInputError(f"{path.name} says that the model after was trained on {len(seen)} of the named patients")
    return record.model_copy(update={"trained_on": listed})
