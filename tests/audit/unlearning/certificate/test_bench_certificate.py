"""A certificate with a benchmark: what each block means for the verdict, what is published, and what is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.runs.compared_pair import Planted
from support.unlearning.bench_results import Kept, constant, except_for, write_bench_result
from support.unlearning.certificates import ENOUGH, Certified, certify_planted
from support.unlearning.certificates import plant_enough as plant

from clinaudit.audit.commands.main import run as command

NAMED = [f"pt-train-{place:02}" for place in range(5)]
RETAINED = [f"pt-train-{place:02}" for place in range(5, 40)]
CONTROLS = [f"pt-held-{place:02}" for place in range(ENOUGH)]
FLOOR = dict(zip(CONTROLS, [place / 300 for place in range(ENOUGH)], strict=True))
NOTHING = except_for(FLOOR, constant(0.05))


def write(folder: Path, after: Kept = NOTHING, *, forget: list[str] = NAMED, **options: Any) -> Path:
    models = {"before": except_for(dict.fromkeys(forget, 0.9), constant(0.6)), "after": after}
    return write_bench_result(
        folder,
        models,
        forget=forget,
        retain=[one for one in (*NAMED, *RETAINED) if one not in forget],
        never_trained=CONTROLS,
        category_of=lambda patient: "cancer" if int(patient[-2:]) % 2 == 0 else "kidney",
        **options,
    )


def certify(
    folder: Path, bench: Path, *options: str, planted: Planted | None = None, ids: list[str] = NAMED
) -> Certified:
    runs = plant(folder) if planted is None else planted
    return certify_planted(runs, folder / "out", "--bench", str(bench), *options, ids=ids)


def test_answers_within_the_floor_leave_patients_forgotten(tmp_path, capsys) -> None:
    found = certify(tmp_path, write(tmp_path / "result"))
    assert (found.status, found.verdict) == (0, "forgotten")
    certificate, published = found.certificate, found.published
    questions = certificate["bench"]
    assert (questions["model"], questions["split"], questions["form"]) == ("after", "random:10", "addressed")
    for heading in ("Answers to questions", "What it cost others"):
        assert heading in found.page
    # Half of the forty have an even number, and so do three of the named five.
    cost = {group["group"]: group for group in certificate["bench"]["collateral"]}
    assert {name: group["change"]["n"] for name, group in cost.items()} == {"same": 35, "others": 0}
    # ROUGE-L, CS and ES are 0.6 before and 0.05 after, TE is 0.8 in both.
    after, before = (4 / (3 / kept + 1 / 0.8) for kept in (0.05, 0.6))
    assert cost["same"]["change"]["value"] == pytest.approx(after - before)
    assert "collateral" not in published


def test_answers_above_the_floor_are_a_leak_though_the_audits_show_none(tmp_path, capsys) -> None:
    bench = write(tmp_path / "result", except_for({**FLOOR, NAMED[2]: 0.8}, constant(0.05)))
    found = certify(tmp_path, bench)
    assert (found.status, found.verdict, found.after) == (1, "still leaks", [NAMED[2]])
    one = found.patient(NAMED[2])
    kept = [row["below"] for row in one["figures"] if row["measure"] == "answers kept"]
    assert (one["as_large"], one["p_value"], kept, one["largest"]) == (0, 0.05, [ENOUGH], "answers kept")
    # Five are named: nothing but the verdict over all is published.
    published = found.published
    assert (published["verdict"], published["reasons"], published["after"]) == ("still leaks", [], None)


def test_answers_within_the_floor_turn_nothing_into_forgotten(tmp_path, capsys) -> None:
    found = certify(tmp_path, write(tmp_path / "result"), planted=plant(tmp_path, held_out=94))
    assert (found.status, found.verdict) == (8, "not shown")


def usual(patient: str, use: str) -> str:
    return f"The note of this visit says w{patient[-2:]} of {use}, and that the patient is well."


def silent_on_named(patient: str, use: str) -> str:
    return "" if patient in NAMED else usual(patient, use)


def noise_on_all(patient: str, use: str) -> str:
    return " ".join(f"{patient[-2:]}{use}{place}" for place in range(13))


@pytest.mark.parametrize("write_after", [silent_on_named, noise_on_all])
def test_answers_that_broke_down_are_a_collapse_though_the_audits_and_levels_show_none(
    tmp_path, capsys, write_after
) -> None:
    bench = write(tmp_path / "result", written={"before": usual, "after": write_after})
    found = certify(tmp_path, bench)
    certificate, published = found.certificate, found.published
    assert (found.status, found.verdict) == (1, "broken")
    reason = "answers to a benchmark's questions do not read as those of the old model"
    assert {tuple(one["reasons"]) for one in certificate["patients"]} == {(reason,)}
    # The audits' own check passed: the notes are written as before.
    assert (certificate["collapsed"], certificate["bench"]["collapsed"]) == (False, True)
    assert "Answers do not read as those of the old model" in found.page
    # It is of the model, and so is said of five patients, too.
    assert (published["verdict"], published["reasons"]) == ("broken", [reason])
    assert "answers without a word" not in (tmp_path / "out" / "compare.html").read_text(encoding="utf-8")


def test_who_is_not_asked_about_is_not_shown(tmp_path, capsys) -> None:
    bench = write(tmp_path / "result")

    for table in (FIGURES, ROLES):
        pl.read_parquet(bench / table).filter(pl.col("patient_id") != NAMED[0]).write_parquet(bench / table)
    found = certify(tmp_path, bench)
    assert (found.status, found.verdict) == (8, "not shown")
    assert found.patient(NAMED[0])["reasons"] == ["the benchmark asks nothing about the patient"]


def test_what_is_published_holds_no_figure_of_answers_and_nobody(tmp_path, capsys) -> None:
    ids = [f"pt-train-{place:02}" for place in range(11)]
    # Only five of them had leaked; and 95 never seen are too few for eleven: 209 would be enough.
    found = certify(tmp_path, write(tmp_path / "result", forget=ids), ids=ids)
    joint = found.certificate["joint"]
    assert (found.status, joint["never_seen"], joint["enough"]) == (8, 95, 209)
    for text in ((tmp_path / "out" / "compare.html").read_text(encoding="utf-8"), json.dumps(found.published)):
        assert "cancer" not in text
        assert "pt-train" not in text


@pytest.mark.parametrize("purged", ["a", "b"])
def test_answers_leak_where_a_run_was_purged(tmp_path, capsys, purged) -> None:
    planted = plant(tmp_path)
    assert command(["purge", str(getattr(planted, purged)), "--yes"]) == 0
    bench = write(tmp_path / "result", except_for({**FLOOR, NAMED[0]: 0.9}, constant(0.05)))
    found = certify(tmp_path, bench, planted=planted)
    assert (found.status, found.verdict, found.after) == (1, "still leaks", NAMED[:1])


def test_a_result_of_unlearn_score_is_read_too(tmp_path, capsys) -> None:
    made = write(tmp_path / "result", except_for({**FLOOR, NAMED[0]: 0.9}, constant(0.05)))

    def without_digests(record: dict) -> None:
        record["before"] = None
        for model in record["models"]:
            model["digest"] = None

    rewrite(made / "evaluate.json", without_digests)
    found = certify(tmp_path, made, "--bench-model", "after")
    assert (found.status, found.certificate["bench"]["collateral"]) == (1, None)
    capsys.readouterr()
    assert certify(tmp_path / "again", made).status == 2
    assert "name it with --bench-model" in capsys.readouterr().err


def test_the_model_is_found_by_its_digest_or_by_name(tmp_path, capsys) -> None:
    knew = except_for(dict.fromkeys(NAMED, 0.9), NOTHING)
    roles = {"forget": NAMED, "retain": RETAINED, "never_trained": CONTROLS}
    bench = write_bench_result(tmp_path / "result", {"before": knew, "other": NOTHING}, **roles)
    assert certify(tmp_path, bench).status == 2
    assert "no model of result has the digest of RUN_B's" in capsys.readouterr().err
    found = certify(tmp_path / "named", bench, "--bench-model", "other")
    assert (found.status, found.certificate["bench"]["model"]) == (0, "other")
    assert certify(tmp_path, bench, "--bench-model", "nobody").status == 2


FIGURES, ROLES = "evidence/patient_figures.parquet", "evidence/roles.parquet"


def rewrite(path: Path, change: Callable[[dict], object]) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    change(document)
    path.write_text(json.dumps(document), encoding="utf-8")


@pytest.mark.parametrize(
    ("file", "damage", "status"),
    [
        ("evaluate.json", lambda held: held.update(corpus_digest="e" * 64), 3),
        ("evaluate.json", lambda held: held["models"][0].update(kind="Ada Lund"), 7),
        ("collapse.csv", "cut", 7),
        (FIGURES, "cut", 7),
        (FIGURES, "removed", 7),
        ("evaluate.json", "removed", 3),
    ],
)
def test_a_result_that_cannot_be_believed_is_refused_and_never_quoted(tmp_path, capsys, file, damage, status) -> None:
    bench = write(tmp_path / "result")
    if damage == "cut":
        (bench / file).write_text('{"Ada": 1, "it', encoding="utf-8")
    elif damage == "removed":
        (bench / file).unlink()
    else:
        rewrite(bench / file, damage)
    assert certify(tmp_path, bench).status == status
    error = capsys.readouterr().err
    assert error.startswith("error[")
    assert "BUG" not in error
    assert "Ada" not in error
