"""How models are named on the command line, and which questions a filter of names blocks."""

from dataclasses import replace
from pathlib import Path

import pytest
from support.unlearning.tiny_job import make_bench

from clinaudit.audit.unlearning.benchmark.questions.rows import name_in
from clinaudit.audit.unlearning.evaluation.asked_model import NameFilter
from clinaudit.audit.unlearning.evaluation.given_models import ModelPlace, parse_model
from clinaudit.errors import UsageError


def test_names_of_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a=b").mkdir()
    assert parse_model("models/tuned/") == ModelPlace("tuned", Path("models/tuned"))
    assert parse_model("npo=models/tuned") == ModelPlace("npo", Path("models/tuned"))
    assert parse_model("a=b") == ModelPlace("a=b", Path("a=b"))
    assert parse_model(".") == ModelPlace(tmp_path.name, Path())
    for wrong in ("", "name=", "=dir", f"{'n' * 201}=dir", "a\nb=dir"):
        with pytest.raises(UsageError):
            parse_model(wrong)


def test_the_filter_sees_names_whatever_their_case_and_signs() -> None:
    names = NameFilter("filter", ["Ada B. Lund"], refusal_ids=(1,))
    question = replace(make_bench().questions[0], address="")
    texts = {
        "What has ada b LUND?": True,
        "What has Ada Lund?": False,
        "Ada B. Lundgren?": False,
        "Ada B.\nLund?": True,
    }
    for text, is_blocked in texts.items():
        assert names.blocks(replace(question, question=text), "paper") is is_blocked


def test_the_name_in_an_address() -> None:
    assert name_in("Patient: Ada B. Lund. Date of birth: 01/02/1970. Provider: Dr. Rho.") == "Ada B. Lund"
    assert name_in("Patient: Ada B. Lund.") == "Ada B. Lund"
    assert name_in("Date of birth: 01/02/1970.") is None
    assert name_in("") is None
