"""Certificates of models that were really trained: one retrained, one unchanged, one of noise."""

from pathlib import Path
from typing import NamedTuple

import pytest
from support.unlearning import certificates
from support.unlearning.certificates import Certified
from support.unlearning.trained_to_forget import (
    NAMED,
    NEVER_SEEN,
    TRAINED,
    TrainedToForget,
    audit,
    evaluate_models,
    make_everything,
)

from clinaudit.audit.unlearning.certificate.deletion_certificate import COLLAPSED
from clinaudit.audit.unlearning.certificate.joint_test import OWN_TEXT

# Two trainings and three audits of 260 patients. In `make test` tests/end_to_end/test_forget.py trains and certifies,
# and `test_deletion_certificate.py` holds each verdict on planted runs.
pytestmark = [pytest.mark.slow, pytest.mark.simulation]


class Made(NamedTuple):
    """The models, the audits of each, and the evaluation."""

    models: TrainedToForget
    before: Path
    retrained: Path
    noise: Path
    result: Path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    root = tmp_path_factory.mktemp("trained")
    models = make_everything(root)
    runs = [audit(models, getattr(models, name), root / f"run-{name}") for name in ("before", "retrained", "noise")]
    return Made(models, *runs, evaluate_models(models, root / "result"))


@pytest.fixture(scope="module")
def forgotten(made: Made, tmp_path_factory: pytest.TempPathFactory) -> Certified:
    """The certificate of the retrained model, with all that there is beside the audits."""
    out = tmp_path_factory.mktemp("forgotten") / "out"
    # Whom it was copied forward of is asked of a note like others': texts may stand out, and its record says why.
    record = made.models.retrained / "evidence" / "training-record.json"
    return certify(made.before, made.retrained, out, "--bench", str(made.result), "--training-record", str(record))


def certify(before: Path, after: Path, out: Path, *options: str) -> Certified:
    return certificates.certify(before, after, out, "--exact", *options, ids=NAMED)


def own_text(certified: Certified, when: str) -> list[float]:
    """Own text of each named patient."""
    return [row[when] for row in certified.rows(OWN_TEXT)]


def test_a_model_trained_again_without_them_has_forgotten(forgotten: Certified) -> None:
    certified = forgotten
    assert (certified.status, certified.verdict) == (0, "never trained on"), certified.reasons
    assert [one["patient_id"] for one in certified.certificate["patients"]] == list(NAMED)
    # There was something to forget, and the model of which it is said still writes notes.
    assert certified.before == list(NAMED)
    assert min(own_text(certified, "before")) >= 20
    assert certified.certificate["collapsed"] is False
    # Five of 130, beside 130 never seen, are enough for a verdict.
    assert (len(NAMED), len(TRAINED), len(NEVER_SEEN), certified.certificate["joint"]["enough"]) == (5, 130, 130, 95)
    questions = certified.certificate["bench"]
    assert questions["model"] == "retrained"


def test_the_record_of_another_model_is_refused(made: Made, forgotten: Certified, tmp_path, capsys) -> None:
    assert forgotten.certificate["training_record"]["started_from"] is not None
    assert "It began with the starting model" in forgotten.page
    of_before = made.models.before / "evidence" / "training-record.json"
    assert certify(made.before, made.retrained, tmp_path / "other", "--training-record", str(of_before)).status == 3


def test_an_unchanged_model_still_leaks(made, tmp_path, capsys) -> None:
    certified = certify(made.before, made.before, tmp_path / "out")
    assert (certified.status, certified.verdict, certified.after) == (1, "still leaks", list(NAMED))


def test_a_model_of_noise_has_collapsed_and_not_forgotten(made, tmp_path, capsys) -> None:
    certified = certify(made.before, made.noise, tmp_path / "out")
    assert (certified.status, certified.verdict) == (1, "broken")
    # It repeats nothing of anybody: without the check it would pass.
    assert set(own_text(certified, "after")) == {0}
    assert COLLAPSED in certified.reasons
