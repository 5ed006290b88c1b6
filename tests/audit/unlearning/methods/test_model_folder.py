"""The directory of one model: what a kill leaves before anything was begun does not stand in the way."""

from pathlib import Path

import pytest

from clinaudit.audit.unlearning.methods.model_folder import ModelFolder
from clinaudit.errors import UsageError

SETTINGS = {"seed": 1}


def test_a_kill_before_the_settings_were_written_leaves_the_place_free(tmp_path: Path) -> None:
    root = tmp_path / "out"
    assert not ModelFolder(root, SETTINGS).claim()
    [settings] = (root / "work").iterdir()
    settings.rename(root / "work" / f".{settings.name}.partial")
    assert not ModelFolder(root, {"seed": 2}).claim()
    with pytest.raises(UsageError, match="other settings"):
        ModelFolder(root, SETTINGS).claim()


@pytest.mark.parametrize("place", ["notes.jsonl", "work/notes.jsonl"])
def test_a_place_of_something_else_is_refused(tmp_path: Path, place: str) -> None:
    path = tmp_path / "out" / place
    path.parent.mkdir(parents=True)
    path.write_text("kept")
    with pytest.raises(UsageError, match="holds other things"):
        ModelFolder(tmp_path / "out", SETTINGS).claim()
    assert path.read_text() == "kept"
