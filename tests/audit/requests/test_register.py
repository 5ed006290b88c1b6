"""The register of deletion requests: each request once, all others named, nothing lost or guessed."""

from datetime import date
from pathlib import Path

import polars as pl
import pytest

from clinaudit.audit import deletion_requests as door
from clinaudit.audit.deletion_requests import REGISTER_FILE, REQUEST_FILE, enter_request, read_register
from clinaudit.errors import BadInputError, UsageError

TODAY = date(2026, 5, 4)


def enter(tmp_path: Path, name: str, *ids: str, register: str = "register"):
    return enter_request(tmp_path / name, ids, tmp_path / register, today=TODAY)[:2]


def test_each_request_has_a_number_and_names_all_others(tmp_path):
    assert enter(tmp_path, "one", "P1", "P2") == (1, [])
    assert enter(tmp_path, "two", "P3", "P1") == (2, ["P2"])
    # Ids may hold what a CSV is made of.
    assert enter(tmp_path, "three", 'P"4,') == (3, ["P1", "P2", "P3"])
    # Gone on with, it is the same request, and knows of those that came later, too.
    assert enter(tmp_path, "one", "P2", "P1") == (1, ["P3", 'P"4,'])
    rows = read_register(tmp_path / "register").drop("key").rows()
    assert rows == [
        (number, patient, "2026-05-04") for number, patient in ((1, "P1"), (1, "P2"), (2, "P3"), (2, "P1"), (3, 'P"4,'))
    ]
    for path in (tmp_path / "register" / REGISTER_FILE, tmp_path / "one" / REQUEST_FILE):
        assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


@pytest.mark.parametrize("file", [REGISTER_FILE, REQUEST_FILE])
def test_a_request_that_was_stopped_while_it_was_entered_is_never_lost(tmp_path, monkeypatch, file):
    whole = door.write_atomically

    def stop(path: Path, content: str) -> None:
        if path == tmp_path / ("one" if file == REQUEST_FILE else "register") / file:
            raise KeyboardInterrupt
        whole(path, content)

    with monkeypatch.context() as patch:
        patch.setattr(door, "write_atomically", stop)
        with pytest.raises(KeyboardInterrupt):
            enter(tmp_path, "one", "P1")
    enter(tmp_path, "two", "P2")
    enter(tmp_path, "one", "P1")
    assert enter(tmp_path, "three", "P3")[1] == (["P1", "P2"] if file == REQUEST_FILE else ["P2", "P1"])


def test_a_folder_is_of_one_request_of_one_register(tmp_path):
    enter(tmp_path, "one", "P1")
    with pytest.raises(UsageError, match="other patients"):
        enter(tmp_path, "one", "P1", "P2")
    enter(tmp_path, "of another", "P9", register="other")
    with pytest.raises(BadInputError, match="does not hold this request"):
        enter(tmp_path, "one", "P1", register="other")
    (tmp_path / "register" / REGISTER_FILE).unlink()
    with pytest.raises(BadInputError, match="does not hold this request"):
        enter(tmp_path, "one", "P1")
    (tmp_path / "one" / REQUEST_FILE).write_text("{")
    with pytest.raises(BadInputError, match=r"request\.json"):
        enter(tmp_path, "one", "P1")


HEAD = "request,key,patient_id,entered\n"


@pytest.mark.parametrize(
    "text",
    [
        "",
        HEAD,
        "request,patient_id\n1,P1\n",
        f"{HEAD}x,k,P1,2026-05-04\n",
        # A row that was cut; a request that is missing.
        f"{HEAD}1,k,P1,2026-05-04\n1,k,P0",
        f"{HEAD}1,k,P1,2026-05-04\n3,l,P2,2026-05-04\n",
    ],
)
def test_a_damaged_register_is_not_written_over(tmp_path, text):
    (tmp_path / "register" / "evidence").mkdir(parents=True)
    path = tmp_path / "register" / REGISTER_FILE
    path.write_text(text)
    with pytest.raises(BadInputError, match="is damaged"):
        enter(tmp_path, "one", "P1")
    assert path.read_text() == text


def test_a_link_to_nowhere_is_no_empty_register(tmp_path):
    (tmp_path / "register" / "evidence").mkdir(parents=True)
    (tmp_path / "register" / REGISTER_FILE).symlink_to(tmp_path / "gone.csv")
    with pytest.raises(BadInputError, match="is damaged"):
        enter(tmp_path, "one", "P1")
    assert isinstance(read_register(tmp_path / "another"), pl.DataFrame)
