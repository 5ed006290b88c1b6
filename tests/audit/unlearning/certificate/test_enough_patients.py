"""How many patients would be enough: by hand, and that so many are."""

import json
from pathlib import Path

import pytest
from support.runs.compared_pair import plant

from clinaudit.audit.commands.main import run as command

STATED = "states the patient's diagnosis: hiv"


def certify(folder: Path, **planted: object) -> tuple[int, dict, str]:
    made = plant(folder, **planted)  # type: ignore[arg-type]
    (folder / "ids.txt").write_text("\n".join(made.named), encoding="utf-8")
    status = command(
        ["compare", str(made.a), str(made.b), "--forgotten", str(folder / "ids.txt"), "--out", str(folder / "out")]
    )
    evidence = folder / "out" / "evidence"
    page = (evidence / "certificate.html").read_text(encoding="utf-8")
    return status, json.loads((evidence / "certificate.json").read_text(encoding="utf-8")), page


def short(certificate: dict) -> list[tuple[str, str, int, int]]:
    return [(one["figure"], one["group"], one["patients"], one["enough"]) for one in certificate["shortfalls"]]


def test_held_out_patients_too_few_for_a_level_are_counted_and_one_more_is_enough(tmp_path, capsys) -> None:
    status, certificate, page = certify(tmp_path / "few", held_out=19)
    # Of 19 the largest would have the coverage; the rule takes 20.
    texts = (
        "attributable tokens",
        "longest match in tokens",
        "longest near-verbatim text in tokens",
        "memorized tokens",
    )
    assert (status, short(certificate)) == (8, [(figure, "controls", 19, 20) for figure in texts])
    assert "<td>19</td><td>20</td><td>1</td>" in page
    status, certificate, page = certify(tmp_path / "enough", held_out=20)
    assert (status, short(certificate)) == (0, [])
    assert "would be enough?" not in page


@pytest.mark.parametrize(("held_out", "of_diagnosis"), [(30, 15), (38, 19)])
def test_of_a_diagnosis_only_those_count_who_have_it(tmp_path, capsys, held_out, of_diagnosis) -> None:
    # Half of the held-out have it.
    status, certificate, _ = certify(tmp_path, held_out=held_out, stated=["pt-train-01"])
    assert (status, short(certificate)) == (8, [(STATED, "controls", of_diagnosis, 20)])


def test_with_so_many_the_diagnosis_is_decided(tmp_path, capsys) -> None:
    status, certificate, _ = certify(tmp_path, held_out=40, stated=["pt-train-01"])
    assert (status, short(certificate)) == (1, [])


def test_nothing_that_is_published_says_how_many_are_missing(tmp_path, capsys) -> None:
    certify(tmp_path, held_out=19)
    for name in ("compare.json", "compare.html"):
        text = (tmp_path / "out" / name).read_text(encoding="utf-8")
        assert "would be enough" not in text
        assert "shortfall" not in text
