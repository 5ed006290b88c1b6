"""The register of deletion requests: each request once, all earlier ones named, nothing guessed."""

from datetime import date
from pathlib import Path

import pytest

from clinaudit.audit.requests.register import REGISTER_FILE, REQUEST_FILE, enter_request, read_register
from clinaudit.errors import BadInputError, UsageError

TODAY = date(2026, 5, 4)


def enter(tmp_path: Path, name: str, *ids: str):
    return enter_request(tmp_path / name, ids, tmp_path / "register", trigger="gdpr-17", today=TODAY)


def test_each_request_has_a_number_and_names_all_before_it(tmp_path: Path) -> None:
    assert enter(tmp_path, "one", "P1", "P2") == (1, [])
    assert enter(tmp_path, "two", "P3", "P1") == (2, ["P2"])
    assert enter(tmp_path, "three", "P4") == (3, ["P1", "P2", "P3"])
    # Gone on with, it is the same request, and knows of none that came later.
    assert enter(tmp_path, "one", "P2", "P1") == (1, [])
    rows = read_register(tmp_path / "register").rows()
    assert rows == [
        (number, patient, "gdpr-17", "2026-05-04")
        for number, patient in ((1, "P1"), (1, "P2"), (2, "P3"), (2, "P1"), (3, "P4"))
    ]
    for path in (tmp_path / "register" / REGISTER_FILE, tmp_path / "one" / REQUEST_FILE):
        assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_a_request_that_was_stopped_before_it_was_entered_is_entered_once(tmp_path: Path) -> None:
    enter(tmp_path, "one", "P1")
    (tmp_path / "register" / REGISTER_FILE).unlink()
    assert enter(tmp_path, "one", "P1") == (1, [])
    assert read_register(tmp_path / "register").height == 1


def test_a_folder_is_of_one_request(tmp_path: Path) -> None:
    enter(tmp_path, "one", "P1")
    with pytest.raises(UsageError, match="other patients"):
        enter(tmp_path, "one", "P1", "P2")
    (tmp_path / "one" / REQUEST_FILE).write_text("{")
    with pytest.raises(BadInputError, match=r"request\.json"):
        enter(tmp_path, "one", "P1")


@pytest.mark.parametrize("text", ["", "request,patient_id\n1,P1\n", "request,patient_id,trigger,entered\nx,P1,,\n"])
def test_a_damaged_register_is_not_written_over(tmp_path: Path, text: str) -> None:
    (tmp_path / "register" / "evidence").mkdir(parents=True)
    path = tmp_path / "register" / REGISTER_FILE
    path.write_text(text)
    with pytest.raises(BadInputError, match="cannot be read"):
        enter(tmp_path, "one", "P1")
    assert path.read_text() == text
