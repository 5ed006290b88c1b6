"""Problems of an input: one line for what many cells of a column share, at most twenty lines, and a count."""

import pytest

from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.records import Problems


def test_cells_of_a_column_with_one_problem_are_one_line() -> None:
    problems = Problems()
    for row in (9, 4, 12, 700, 3, 5):
        problems.add("patients.csv", "is no age", row=row, column="age")
    problems.add("patients.csv", "is above 130", row=1, column="age")
    problems.add("patients.csv", "is no date", row=4, column="dob")
    problems.add("patients.csv", "is no date", row=4, column="age")
    problems.add("notes.csv", "has too few fields", row=2)
    problems.add("notes.csv", "has too few fields", row=8)
    problems.add("notes.csv", "is missing", column="text")
    assert problems.listed() == (
        "notes.csv, column text: is missing",
        "notes.csv, in 2 rows (2, 8): has too few fields",
        "patients.csv, row 1, column age: is above 130",
        "patients.csv, column age, in 6 rows (3, 4, 5, 9, 12, ...): is no age",
        "patients.csv, row 4, column dob: is no date",
    )
    assert len(problems) == 11


def test_lines_beyond_twenty_are_counted() -> None:
    problems = Problems()
    for number in range(33):
        problems.add(f"{number:02}.csv", "is empty")
    with pytest.raises(BadInputError) as caught:
        problems.raise_any("the corpus c")
    lines = caught.value.render().splitlines()
    assert lines[0] == (
        "error[BAD_INPUT]: 33 problems in the corpus c; nothing was run: correct and try again (the first 20 of 33)"
    )
    assert lines[1:] == [f"  {number:02}.csv: is empty" for number in range(20)]


def test_many_rows_of_one_column_are_one_problem() -> None:
    problems = Problems()
    for row in range(1, 1313):
        problems.add("notes.csv", "is blank", row=row, column="text")
    with pytest.raises(BadInputError, match=r"^1 problem in the corpus c") as caught:
        problems.raise_any("the corpus c")
    assert caught.value.problems == ("notes.csv, column text, in 1,312 rows (1, 2, 3, 4, 5, ...): is blank",)
