"""How models are named on the command line."""

from pathlib import Path

import pytest

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
