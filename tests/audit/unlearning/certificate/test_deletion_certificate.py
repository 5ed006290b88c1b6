"""The deletion certificate: the rule by hand, and that nothing degenerate or missing ever passes for forgetting."""

import json
import random
import stat
from pathlib import Path

import pytest
from support.runs.compared_pair import NGRAM, Ids, Planted, plant

from clinaudit.audit.commands.main import run as command
from clinaudit.audit.run.directory import RunDirectory
from clinaudit.audit.run.durable_files import make_private_directory
from clinaudit.audit.run.evidence_tables import read_table, write_table
from clinaudit.audit.run.manifest import write_manifest
from clinaudit.audit.unlearning.certificate.forgetting_verdict import find_level


def certify(
    planted: Planted, out: Path, *, ids: list[str] | None = None, options: tuple[str, ...] = ()
) -> tuple[int, dict]:
    listed = out.with_suffix(".txt")
    listed.write_text("\n".join(ids or planted.named) + "\n", encoding="utf-8")
    status = command(
        ["compare", str(planted.a), str(planted.b), "--forgotten", str(listed), "--out", str(out), *options]
    )
    path = out / "evidence" / "certificate.json"
    return status, json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def verdicts(certificate: dict) -> set[str]:
    return {patient["verdict"] for patient in certificate["patients"]}


def reasons(certificate: dict) -> str:
    return " ".join(reason for patient in certificate["patients"] for reason in patient["reasons"])


def test_the_level_is_the_order_statistic_by_hand() -> None:
    # ceil(0.95 * 101) = 96th smallest of 1 to 100; of fewer than 20 there is none.
    assert find_level(list(range(1, 101))).value == 96
    assert find_level(list(range(1, 21))).value == 20
    assert find_level(list(range(1, 20))).value is None


def test_nothing_is_shown_to_be_forgotten_against_another_corpus(tmp_path) -> None:
    # De-identified notes do not hold the names that the model may still write.
    planted = plant(tmp_path, settings_b={"CORPUS": "other"})
    status, certificate = certify(planted, tmp_path / "out", options=("--allow-different-corpus",))
    assert (status, verdicts(certificate)) == (8, {"not shown"})
    assert "different corpora" in reasons(certificate)


def test_patients_at_the_level_of_the_held_out_are_forgotten(tmp_path, capsys) -> None:
    status, certificate = certify(plant(tmp_path), tmp_path / "out")
    assert status == 0, reasons(certificate)
    assert verdicts(certificate) == {"forgotten"}
    assert certificate["collapsed"] is False
    assert all(patient["leaked_before"] for patient in certificate["patients"])
    row = next(
        row
        for row in certificate["patients"][0]["measures"]
        if (row["tier"], row["measure"]) == ("encounter", "longest match in tokens")
    )
    assert (row["before"], row["after"], row["level"], row["controls"]) == (60, 0, 0, 30)


def move_to_included(root: Path, patients: list[str]) -> None:
    """Make of some targets patients whom the site named beside the targets."""
    run = RunDirectory(root)
    make_private_directory(run.included)
    for table in ("generations", "generation_metrics", "regions", "near_verbatim", "judgements", "priors"):
        rows = read_table(run.evidence, table)
        theirs = [row for row in rows if row["generation_id"].rpartition("/")[2] in patients]
        write_table(run.included, table, theirs)
        write_table(run.evidence, table, [row for row in rows if row not in theirs])
    write_manifest(run)


@pytest.mark.parametrize("leaking", [{}, {"pt-train-00": 60}], ids=["forgotten", "still leaks"])
def test_patients_named_beside_the_targets_get_the_verdict_that_targets_get(tmp_path, capsys, leaking) -> None:
    planted = plant(tmp_path, leaking=leaking)
    as_targets = certify(planted, tmp_path / "targets")
    for root in (planted.a, planted.b):
        move_to_included(root, planted.named)
    status, certificate = certify(planted, tmp_path / "included")
    assert (status, certificate["patients"]) == (as_targets[0], as_targets[1]["patients"])
    assert status == (1 if leaking else 0)
    # One whom the site did not ask about now is no control, and nobody retained.
    others = certify(planted, tmp_path / "one", ids=[planted.named[0], planted.train[9]])[1]
    assert {row["group"] for row in others["health"]} == {row["group"] for row in certificate["health"]}
    assert next(row for row in others["patients"] if row["patient_id"] == planted.train[9])["verdict"] == "forgotten"


def test_one_who_still_leaks_fails_all(tmp_path, capsys) -> None:
    planted = plant(tmp_path, leaking={"pt-train-03": 31})
    status, certificate = certify(planted, tmp_path / "out")
    assert status == 1
    by_id = {patient["patient_id"]: patient["verdict"] for patient in certificate["patients"]}
    assert by_id == {patient: "still leaks" if patient == "pt-train-03" else "forgotten" for patient in planted.named}


def test_a_diagnosis_that_is_still_stated_is_a_leak_where_the_held_out_would_show_it(tmp_path, capsys) -> None:
    # 15 of the 30 held-out have the diagnosis: too few for a level, so that it is not shown; of 60 it is.
    status, certificate = certify(plant(tmp_path / "few", stated=["pt-train-01"]), tmp_path / "out")
    assert (status, verdicts(certificate)) == (8, {"forgotten", "not shown"})
    status, certificate = certify(plant(tmp_path / "many", stated=["pt-train-01"], held_out=60), tmp_path / "out")
    assert (status, verdicts(certificate)) == (1, {"forgotten", "still leaks"})


def empty(patient: str, tier: str, ids: Ids) -> Ids:
    return []


def short(patient: str, tier: str, ids: Ids) -> Ids:
    return ids[: NGRAM + 2]


def too_short(patient: str, tier: str, ids: Ids) -> Ids:
    return ids[: NGRAM - 1]


def repeating(patient: str, tier: str, ids: Ids) -> Ids:
    return [7] * len(ids)


def gibberish(patient: str, tier: str, ids: Ids) -> Ids:
    chance = random.Random(patient + tier)
    return [chance.randrange(60) for _ in ids]


FAULTS = (empty, short, too_short, repeating, gibberish)


@pytest.mark.parametrize("fault", FAULTS)
def test_degenerate_output_never_passes_for_forgetting(tmp_path, capsys, fault) -> None:
    status, certificate = certify(plant(tmp_path, fault=fault), tmp_path / "out")
    assert status == 8
    assert verdicts(certificate) == {"collapsed"}
    assert certificate["verdict"] == "collapsed"
    assert certificate["collapsed"] is True


@pytest.mark.parametrize("fault", FAULTS)
def test_output_that_is_degenerate_for_one_named_patient_alone_is_seen(tmp_path, capsys, fault) -> None:
    def for_one(patient: str, tier: str, ids: Ids) -> Ids:
        return fault(patient, tier, ids) if patient == "pt-train-02" else ids

    status, certificate = certify(plant(tmp_path, fault=for_one), tmp_path / "out")
    assert status == 8
    one = next(patient for patient in certificate["patients"] if patient["patient_id"] == "pt-train-02")
    assert one["verdict"] == "collapsed"


@pytest.mark.parametrize("fault", FAULTS)
def test_output_that_is_degenerate_for_the_retained_alone_is_seen(tmp_path, capsys, fault) -> None:
    def for_the_rest(patient: str, tier: str, ids: Ids) -> Ids:
        return ids if patient < "pt-train-05" else fault(patient, tier, ids)

    assert certify(plant(tmp_path, fault=for_the_rest), tmp_path / "out")[0] == 8


def test_a_leak_is_one_even_where_the_output_collapsed(tmp_path, capsys) -> None:
    status, _ = certify(plant(tmp_path, fault=short, leaking={"pt-train-00": 32}), tmp_path / "out")
    assert status == 1


def test_a_missing_generation_is_not_shown(tmp_path, capsys) -> None:
    def missing(patient: str, tier: str, ids: Ids) -> Ids | None:
        return None if (patient, tier) == ("pt-train-04", "public") else ids

    status, certificate = certify(plant(tmp_path, fault=missing), tmp_path / "out")
    assert status == 8
    assert "a level of access was not tried in both runs" in reasons(certificate)


def test_too_few_held_out_patients_are_not_shown(tmp_path, capsys) -> None:
    status, certificate = certify(plant(tmp_path, held_out=19), tmp_path / "out")
    assert status == 8
    assert "fewer than 20 patients never seen" in reasons(certificate)


def test_unknown_and_held_out_patients_are_not_shown(tmp_path, capsys) -> None:
    status, certificate = certify(plant(tmp_path), tmp_path / "out", ids=["nobody", "pt-held-00"])
    assert status == 8
    assert "was not probed" in reasons(certificate)
    assert "not in the training data" in reasons(certificate)


def test_a_purged_run_shows_nothing(tmp_path, capsys) -> None:
    planted = plant(tmp_path)
    assert command(["purge", str(planted.a), "--yes"]) == 0
    status, certificate = certify(planted, tmp_path / "out")
    assert status == 8
    assert verdicts(certificate) == {"not shown"}
    assert "purged" in reasons(certificate)


def test_ids_stand_in_the_evidence_alone_which_others_cannot_read(tmp_path, capsys) -> None:
    planted = plant(tmp_path, leaking={"pt-train-03": 31})
    out = tmp_path / "out"
    capsys.readouterr()
    certify(planted, out, ids=[*planted.named, "nobody-known"])
    printed = capsys.readouterr()
    shown = [printed.out, printed.err, *((out / name).read_text("utf-8") for name in ("compare.json", "compare.html"))]
    assert not [text for text in shown for patient in (*planted.patients, "nobody-known") if patient in text]
    for name in ("certificate.json", "certificate.html"):
        path = out / "evidence" / name
        assert "pt-train-03" in path.read_text(encoding="utf-8")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE((out / "evidence").stat().st_mode) == stat.S_IMODE(out.stat().st_mode) == 0o700
    aggregates = json.loads((out / "compare.json").read_text(encoding="utf-8"))["forgetting"]
    assert aggregates["verdict"] == "still leaks"
    # Six were named: how many of them leak, and what their text is like, is not published.
    assert aggregates["named"] == {"low": 1, "high": 10}
    assert aggregates["patients"] == {}
    assert aggregates["before"] is None
    assert aggregates["controls"] == {"above": 0, "within": {"low": 21, "high": 40}}
    share = aggregates["controls_above_level"]
    assert (share["low"], share["high"], share["confidence_low"]) == (0.0, 0.0, 0.0)
    assert {check["b"] for check in aggregates["health"] if check["group"] == "named"} == {None}
    assert {check["passed"] for check in aggregates["health"] if check["group"] == "named"} == {True}
    lengths = [check["a"] for check in aggregates["health"] if check["question"] == "mean length in tokens"]
    assert lengths == [None, 120.0, 120.0]


def test_a_comparison_without_names_leaves_no_earlier_certificate(tmp_path, capsys) -> None:
    planted = plant(tmp_path)
    certify(planted, tmp_path / "out")
    assert command(["compare", str(planted.a), str(planted.b), "--out", str(tmp_path / "out")]) == 0
    assert not list((tmp_path / "out" / "evidence").iterdir())


def test_an_exact_certificate_counts_its_patients_under_evidence_alone(tmp_path, capsys) -> None:
    planted = plant(tmp_path, leaking={"pt-train-03": 31})
    out = tmp_path / "out"
    status, certificate = certify(planted, out, options=("--exact",))
    assert status == 1
    assert [path.name for path in out.iterdir()] == ["evidence"]
    exact = json.loads((out / "evidence" / "compare.json").read_text(encoding="utf-8"))["forgetting"]
    assert (exact["named"], exact["controls"], exact["controls_above"]) == (5, 30, 0)
    assert exact["patients"] == {"still leaks": 1, "collapsed": 0, "not shown": 0, "forgotten": 4}
    assert certificate["verdict"] == exact["verdict"] == "still leaks"


def test_an_empty_list_of_ids_is_bad_input(tmp_path, capsys) -> None:
    planted = plant(tmp_path)
    (tmp_path / "ids.txt").write_text("\n\n", encoding="utf-8")
    arguments = ["compare", str(planted.a), str(planted.b), "--forgotten", str(tmp_path / "ids.txt")]
    assert command(arguments) == 3


def test_hostile_ids_are_escaped_in_the_certificate(tmp_path, capsys) -> None:
    status, _ = certify(plant(tmp_path), tmp_path / "out", ids=["<script>alert(1)</script>"])
    assert status == 8
    assert "<script>" not in (tmp_path / "out" / "evidence" / "certificate.html").read_text(encoding="utf-8")
