"""A list of patient ids: what is said of lines that cannot be probed, without an id."""

from pathlib import Path

import pytest

from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.patient import read_patient_list


def test_a_patient_of_the_validation_split_is_not_called_unknown(tmp_path: Path) -> None:
    (tmp_path / "ids.txt").write_text("known\nheld\n\nother\n")
    with pytest.raises(BadInputError) as caught:
        read_patient_list(tmp_path / "ids.txt").require_known({"known"}, validation={"held"})
    assert list(caught.value.problems) == [
        "ids.txt line 2: is of the validation split, which is never probed",
        "ids.txt line 4: no patient with notes has this id",
    ]
    assert caught.value.message == "ids.txt names patients who cannot be probed; correct these lines"


def test_other_ids_of_a_person_are_the_person_by_the_first_line(tmp_path: Path) -> None:
    (tmp_path / "ids.txt").write_text("b2\na\nb\n")
    people = read_patient_list(tmp_path / "ids.txt").as_people({"b": "b", "b2": "b"})
    assert people.lines == {"b": 1, "a": 2}
