"""The tasks that ship are many enough and not alike; a site's own are read, or refused with what is wrong."""

import json
from pathlib import Path

import pytest

from clinaudit.audit.measures.everyday.tasks import MOST_CHARS, load_tasks
from clinaudit.errors import BadInputError


def write(folder: Path, *rows: object) -> Path:
    path = folder / "ours.jsonl"
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def test_a_sites_tasks_stand_after_those_that_ship(tmp_path):
    shipped = load_tasks()
    path = write(tmp_path, {"id": "ours", "text": "Fill our form."}, "", {"id": "b", "text": "x\n", "kind": "form"})
    found = load_tasks(path)
    assert found.tasks[: len(shipped.tasks)] == shipped.tasks
    assert [(task.id, task.kind, task.text) for task in found.tasks[len(shipped.tasks) :]] == [
        ("ours", "site", "Fill our form."),
        ("b", "form", "x\n"),
    ]
    assert (shipped.own, found.own) == ((), found.tasks[-2:])
    assert shipped.digest != found.digest
    assert found.digest == load_tasks(path).digest


def test_tasks_that_name_a_patient_are_counted_whatever_the_case_and_order_of_the_name(tmp_path):
    rows = [
        {"id": "a", "text": "Write to JOSÉ Ruiz-Lee about his cough."},
        {"id": "b", "text": "A letter for Ruiz-Lee, Jose."},
        # One word of a name is many people's, and so are words that stand apart.
        {"id": "c", "text": "Jose asks; another is called Ruiz-Lee. In May."},
    ]
    found = load_tasks(write(tmp_path, *rows))
    assert found.count_naming(["jose ruiz-lee", "May"]) == 2
    assert found.count_naming(["Ann Lee"]) == 0
    # Whom the shipped tasks name is invented.
    named = next(task.text for task in load_tasks().tasks if len(task.text.split()) > 3)
    assert load_tasks().count_naming([" ".join(named.split()[:2])]) == 0


GOOD = {"id": "a", "text": "secret words"}


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([GOOD, "{secret words"], "row 2: is not JSON"),
        ([GOOD, '{"id": "b", "text": "x", "text": "secret words"}'], "row 2: gives one key twice"),
        ([["a", "secret words"]], "row 1: must be an object with id and text"),
        ([{"text": "secret words"}], "row 1: must be an object with id and text"),
        ([{**GOOD, "prompt": "secret words"}], "row 1: must be an object with id and text"),
        ([{**GOOD, "id": 3}], "row 1: id must be a text"),
        ([{**GOOD, "text": None}], "row 1: text must be a text"),
        ([{**GOOD, "text": " \n"}], "row 1: text is empty"),
        ([{**GOOD, "id": ""}], "row 1: id is empty"),
        ([{**GOOD, "text": "secret words " * MOST_CHARS}], "row 1: text has 260,000 characters; 20,000 at most"),
        ([{**GOOD, "id": "a" * 101}], "row 1: id has 101 characters; 100 at most"),
        (['{"id": "a", "text": "\\ud800 secret words"}'], "row 1: text holds half a surrogate pair"),
        ([GOOD, {**GOOD, "text": "other secret words"}], "row 2: its id stands in another row"),
        ([{**GOOD, "id": "referral-01"}], "row 1: its id ships"),
    ],
)
def test_what_is_no_task_is_refused_by_its_row_and_never_quoted(tmp_path, rows, said):
    with pytest.raises(BadInputError) as caught:
        load_tasks(write(tmp_path, *rows))
    message = caught.value.render()
    assert said in message
    assert "ours.jsonl" in message
    assert "secret" not in message
