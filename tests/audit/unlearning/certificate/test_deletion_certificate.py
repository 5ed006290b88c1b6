"""The deletion certificate: the rule by hand, and that nothing degenerate or missing ever passes for forgetting."""

import json
import random
import stat
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from support.runs.compared_pair import NGRAM, Ids
from support.unlearning.certificates import certify_planted as certify
from support.unlearning.certificates import plant_enough as plant

from clinaudit.audit.commands.main import run as command
from clinaudit.audit.results.publication.published_files import RESULTS
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.evidence_tables import read_table, schema_of, write_table
from clinaudit.audit.runtime.run.manifest import write_manifest
from clinaudit.audit.unlearning.certificate.deletion_certificate import (
    COLLAPSED,
    DOUBTED,
    FEW_NEVER_SEEN,
    NOT_PROBED,
    OWN_COLLAPSE,
    SILENCED,
    Found,
    decide,
    reasons_of_request,
)
from clinaudit.audit.unlearning.certificate.joint_test import DIAGNOSES, OWN_TEXT, JointTest, JointTests
from clinaudit.audit.unlearning.certificate.patient_figures import NO_TIER, missing_of
from clinaudit.priors.tiers import TIER_IDS


def test_nothing_is_shown_to_be_forgotten_against_another_corpus(tmp_path) -> None:
    # De-identified notes do not hold the names that the model may still write.
    planted = plant(tmp_path, settings_b={"CORPUS": "other"})
    found = certify(planted, tmp_path / "out", "--allow-different-corpus")
    assert (found.status, found.verdict) == (8, "not shown")
    assert "different corpora" in " ".join(found.reasons)


def test_patients_at_the_level_of_the_held_out_are_forgotten(tmp_path, capsys) -> None:
    found = certify(plant(tmp_path), tmp_path / "out")
    assert (found.status, found.verdict, found.reasons) == (0, "forgotten", set())
    assert found.certificate["collapsed"] is False
    assert (found.before, found.after) == (list(dict.fromkeys(f"pt-train-{place:02}" for place in range(5))), [])
    row = found.rows("own text, in tokens")[0]
    assert (row["before"], row["after"], row["below"], row["controls"]) == (60, 0, 0, 95)
    # Five of 100 stand out before, and none after.
    joint = found.certificate["joint"]
    assert (joint["named"], joint["never_seen"], joint["enough"], joint["most_as_large"]) == (5, 95, 95, 0)
    assert (joint["p_value_before"], joint["p_value"]) == (0.05, 1)
    assert {one["measure"]: one["value"] for one in joint["smallest"]} == {OWN_TEXT: 1, DIAGNOSES: 0.01}
    assert "The test finds a leak in the old model (p = 0.0500), and finds none in the new one" in found.page


def move_to_included(root: Path, patients: list[str]) -> None:
    """Make of some targets patients whom the site named beside the targets."""
    run = RunDirectory(root)
    for table in ("generations", "generation_metrics", "priors"):
        named = pl.col("patient_id").is_in(patients)
        rows = pl.DataFrame(read_table(run.evidence, table), schema=schema_of(table))
        role = pl.when(named).then(pl.lit("included")).otherwise("role")
        write_table(run.evidence, table, rows.with_columns(role=role))
    write_manifest(run)


@pytest.mark.parametrize("leaking", [{}, {"pt-train-00": 60}], ids=["forgotten", "still leaks"])
def test_patients_named_beside_the_targets_get_the_verdict_that_targets_get(tmp_path, capsys, leaking) -> None:
    planted = plant(tmp_path, leaking=leaking)
    as_targets = certify(planted, tmp_path / "targets")
    for root in (planted.a, planted.b):
        move_to_included(root, planted.named)
    found = certify(planted, tmp_path / "included")
    assert (found.status, found.certificate["patients"]) == (as_targets.status, as_targets.certificate["patients"])
    assert found.status == (1 if leaking else 0)
    # One whom the site did not ask about now is no control, and nobody retained.
    others = certify(planted, tmp_path / "one", ids=[planted.named[0], planted.train[9]])
    known, all_named = ({row["group"] for row in one.certificate["health"]} for one in (others, found))
    assert known == all_named
    assert (others.verdict, others.after) == ("still leaks" if leaking else "forgotten", list(leaking))


def test_a_diagnosis_of_one_named_beside_the_targets_is_a_figure(tmp_path, capsys) -> None:
    # No cohort has such a patient: that the notes say so stands in the labels alone.
    planted = plant(tmp_path, stated=["pt-train-01"])
    for root in (planted.a, planted.b):
        run = RunDirectory(root)
        members = read_table(run.evidence, "cohorts")
        write_table(run.evidence, "cohorts", [row for row in members if row["patient_id"] not in planted.named])
        spans = {f"{kind}_spans": [] for kind in ("diagnosis", "icd10", "symptom", "medication")}
        labels = {"diagnosis": "hiv", "present": True, "in_note_start": False, "in_hpi": False, **spans}
        rows = [{"patient_id": patient, **labels, "medications_to_remove": []} for patient in planted.named]
        move_to_included(root, planted.named)
        write_table(run.evidence, "annotations", rows)
        write_manifest(run)
    found = certify(planted, tmp_path / "out")
    assert (found.status, found.after) == (1, ["pt-train-01"])
    assert [row["after"] for row in found.rows(DIAGNOSES)] == [0, 1, 0, 0, 0]


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


FAULTS = (empty, gibberish, short, too_short, repeating)
#: Of some patients alone.
ALONE = [*FAULTS[:2], *(pytest.param(fault, marks=pytest.mark.simulation) for fault in FAULTS[2:])]


@pytest.mark.parametrize("fault", FAULTS)
def test_degenerate_output_never_passes_for_forgetting(tmp_path, capsys, fault) -> None:
    found = certify(plant(tmp_path, fault=fault), tmp_path / "out")
    assert (found.status, found.verdict, found.certificate["collapsed"]) == (1, "broken", True)


@pytest.mark.parametrize("fault", ALONE)
def test_output_that_is_degenerate_for_one_named_patient_alone_is_seen(tmp_path, capsys, fault) -> None:
    def for_one(patient: str, tier: str, ids: Ids) -> Ids:
        return fault(patient, tier, ids) if patient == "pt-train-02" else ids

    found = certify(plant(tmp_path, fault=for_one), tmp_path / "out")
    assert (found.status, found.verdict) == (1, "broken")
    # Of a patient of whom hardly anything is written it is not said that the text stands out.
    why = SILENCED if fault in (empty, too_short) else OWN_COLLAPSE
    reasons = {one["patient_id"]: one["reasons"] for one in found.certificate["patients"] if one["reasons"]}
    assert reasons == {"pt-train-02": [why]}


@pytest.mark.parametrize("fault", ALONE)
def test_output_that_is_degenerate_for_the_retained_alone_is_seen(tmp_path, capsys, fault) -> None:
    def for_the_rest(patient: str, tier: str, ids: Ids) -> Ids:
        return ids if patient < "pt-train-05" else fault(patient, tier, ids)

    assert certify(plant(tmp_path, fault=for_the_rest), tmp_path / "out").verdict == "broken"


def test_a_missing_generation_is_not_shown(tmp_path, capsys) -> None:
    def missing(patient: str, tier: str, ids: Ids) -> Ids | None:
        return None if (patient, tier) == ("pt-train-04", "public") else ids

    found = certify(plant(tmp_path, fault=missing), tmp_path / "out")
    assert (found.status, found.reasons) == (8, {"a level of access was not tried in both runs"})


def test_unknown_and_held_out_patients_are_not_shown(tmp_path, capsys) -> None:
    found = certify(plant(tmp_path), tmp_path / "out", ids=["nobody", "pt-held-00"])
    assert found.status == 8
    assert "was not probed" in " ".join(found.reasons)
    assert "not in the training data" in " ".join(found.reasons)


def test_a_purged_run_shows_nothing(tmp_path, capsys) -> None:
    planted = plant(tmp_path)
    assert command(["purge", str(planted.a), "--yes"]) == 0
    found = certify(planted, tmp_path / "out")
    assert (found.status, found.verdict) == (8, "not shown")
    assert found.reasons == {"the evidence of a run was purged", FEW_NEVER_SEEN}


def test_a_model_that_may_not_be_as_it_was_trained_has_forgotten_nobody(tmp_path) -> None:
    planted = plant(tmp_path)
    for run, expected in ((planted.b, (8, "not shown", {DOUBTED})), (planted.a, (0, "forgotten", set()))):
        # What was doubted of the old model, too, is not new.
        results = run / RESULTS
        results.write_text(json.dumps(json.loads(results.read_text()) | {"doubts": ["It may be another."]}))
        write_manifest(RunDirectory(run))
        found = certify(planted, tmp_path / f"out-{run.name}")
        assert (found.status, found.verdict, found.reasons) == expected
        assert found.published["reasons"] == sorted(expected[2])


def test_ids_stand_in_the_evidence_alone_which_others_cannot_read(tmp_path, capsys) -> None:
    planted = plant(tmp_path, leaking={"pt-train-03": 31})
    out = tmp_path / "out"
    capsys.readouterr()
    aggregates = certify(planted, out, ids=[*planted.named, "nobody-known"]).published
    printed = capsys.readouterr()
    shown = [printed.out, printed.err, *((out / name).read_text("utf-8") for name in ("compare.json", "compare.html"))]
    assert not [text for text in shown for patient in (*planted.patients, "nobody-known") if patient in text]
    for name in ("certificate.json", "certificate.html"):
        path = out / "evidence" / name
        assert "pt-train-03" in path.read_text(encoding="utf-8")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE((out / "evidence").stat().st_mode) == stat.S_IMODE(out.stat().st_mode) == 0o700
    assert aggregates["verdict"] == "still leaks"
    # Six were named: how many of them leak, and what their text is like, is not published.
    assert aggregates["named"] == "<11"
    assert (aggregates["before"], aggregates["after"]) == (None, None)
    assert {check["a"] for check in aggregates["health"]} == {None}


def test_a_comparison_without_names_leaves_no_earlier_certificate(tmp_path, capsys) -> None:
    planted = plant(tmp_path)
    certify(planted, tmp_path / "out")
    assert command(["compare", str(planted.a), str(planted.b), "--out", str(tmp_path / "out")]) == 0
    assert not list((tmp_path / "out" / "evidence").iterdir())


def test_an_exact_certificate_counts_its_patients_under_evidence_alone(tmp_path, capsys) -> None:
    planted = plant(tmp_path, leaking={"pt-train-03": 31})
    out = tmp_path / "out"
    found = certify(planted, out, "--exact")
    assert found.status == 1
    assert [path.name for path in out.iterdir()] == ["evidence"]
    exact = json.loads((out / "evidence" / "compare.json").read_text(encoding="utf-8"))["forgetting"]
    assert exact["named"] == "5"
    assert (exact["before"], exact["after"]) == ("5 of 5", "1 of 5")
    assert found.certificate["verdict"] == exact["verdict"] == "still leaks"


@pytest.mark.parametrize("leaking", [{}, {"pt-train-03": 60}])
def test_fewer_than_95_patients_never_seen_show_nothing_of_five(tmp_path, capsys, leaking) -> None:
    # Too few for the test to fail: a leak is not shown either, and nobody passes.
    found = certify(plant(tmp_path, held_out=94, leaking=leaking), tmp_path / "out")
    assert (found.status, found.verdict) == (8, "not shown")
    joint = found.certificate["joint"]
    assert (joint["never_seen_before"], joint["never_seen"], joint["enough"]) == (94, 94, 95)
    # Nobody reads there that a patient who was not tested had nothing to forget.
    assert found.page.count("? not tested</h2>") == 5
    said = "can find no leak of 5 named patients: audit both models with 95 or more."
    assert said in found.page
    # Nothing that is published says how many are missing, nor that they are: it tells how many are named.
    for name in ("compare.json", "compare.html"):
        text = (tmp_path / "out" / name).read_text(encoding="utf-8")
        assert said not in text
        assert "too few patients never seen" not in text


def test_who_had_nothing_to_forget_does_not_pass(tmp_path, capsys) -> None:
    planted = plant(tmp_path)
    found = certify(planted, tmp_path / "out", ids=planted.train[10:15])
    assert (found.status, found.verdict) == (8, "not shown")
    assert found.reasons == {"the joint test does not fail for the old model: that it passes now would show nothing"}
    # The verdict is of the request: of four of five it says that they did not stand out before.
    beside = certify(planted, tmp_path / "beside", ids=[planted.named[0], *planted.train[10:14]])
    assert (beside.status, beside.verdict, beside.before) == (0, "forgotten", planted.named[:1])


def test_a_retrained_reference_decides_nothing_and_must_be_comparable(tmp_path, capsys) -> None:
    planted = plant(tmp_path / "x")
    found = certify(planted, tmp_path / "out", "--retrained", str(planted.a))
    assert (found.status, found.certificate["forget_quality"]["p_value"]) == (0, None)
    assert "the notes of the named were not scored in both runs" in found.page
    other = plant(tmp_path / "y", settings_b={"--seed": 1})
    assert certify(planted, tmp_path / "other", "--retrained", str(other.b)).status == 3


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--retrained", "x"), "--forgotten"),
        (("--bench", "x"), "--bench"),
        (("--forgotten", "ids.txt", "--bench-model", "x"), "--bench"),
    ],
)
def test_options_that_need_others_are_refused_without_them(tmp_path, capsys, options, named) -> None:
    planted = plant(tmp_path)
    assert command(["compare", str(planted.a), str(planted.b), *options]) == 2
    assert named in capsys.readouterr().err


@pytest.mark.parametrize(
    ("stated", "status", "below"),
    [
        (["pt-train-01"], 1, 47),
        # Of one never seen it is told as well: who has the diagnosis stands among these, and nobody is shown to leak.
        (["pt-train-01", "pt-held-00"], 0, 46),
    ],
)
def test_a_diagnosis_that_is_still_stated_is_one_figure_more(tmp_path, capsys, stated, status, below) -> None:
    # Half of the held-out have it: 47 of 95.
    found = certify(plant(tmp_path, stated=stated), tmp_path / "out")
    row = next(row for row in found.rows(DIAGNOSES) if row["after"] == 1)
    assert (found.status, row["below"], row["controls"]) == (status, below, 47)


@pytest.mark.parametrize(
    ("tiers", "missing"),
    [
        ((TIER_IDS, TIER_IDS), set()),
        # Where one run alone has the fact there is nothing to compare; where neither has it nobody can ask.
        ((TIER_IDS, TIER_IDS[1:]), {NO_TIER}),
        ((TIER_IDS[1:], TIER_IDS[1:]), set()),
    ],
)
def test_what_is_missing_of_a_patients_audits_is_named(tiers, missing) -> None:
    before, after = (
        SimpleNamespace(
            asked={("p", tier): {"g"} for tier in own}, without_facts=[("p", of) for of in TIER_IDS if of not in own]
        )
        for own in tiers
    )
    assert missing_of("p", before, after, same_prompts=True) == missing


def joint(as_large: int, *, never_seen: int = 95) -> JointTest:
    """The test of five named patients, of whom four do not stand out."""
    others = dict.fromkeys((f"n{place}" for place in range(4)), never_seen)
    return JointTest(never_seen, {"p": as_large, **others}, {})


FAILS, PASSES, FEW = joint(0), joint(1), joint(0, never_seen=94)
SOUND, LACKS, BROKEN = Found(), Found(lacking={NOT_PROBED}), Found(breaks={COLLAPSED})


@pytest.mark.parametrize(
    ("before", "after", "found", "by_hand", "by_record"),
    [
        (FAILS, PASSES, SOUND, "forgotten", "never trained on"),
        (FAILS, FAILS, SOUND, "still leaks", "still leaks"),
        # A model that knows nothing of them, or of whom nothing can be known, passes by lack of data; a record needs no
        # positive control.
        (PASSES, PASSES, SOUND, "not shown", "never trained on"),
        (FEW, PASSES, SOUND, "not shown", "never trained on"),
        (FAILS, FEW, SOUND, "not shown", "not shown"),
        (FAILS, PASSES, LACKS, "not shown", "not shown"),
        (FAILS, PASSES, BROKEN, "broken", "broken"),
        (FAILS, FAILS, BROKEN, "still leaks", "still leaks"),
        (PASSES, PASSES, BROKEN, "broken", "broken"),
    ],
)
def test_the_first_that_holds_decides(before, after, found, by_hand, by_record) -> None:
    for is_by_record, verdict in ((False, by_hand), (True, by_record)):
        tests = JointTests(after, before, None, ())  # type: ignore[arg-type]
        reasons = reasons_of_request(tests, is_by_record=is_by_record)
        assert decide([SOUND, found], tests, reasons, is_by_record=is_by_record) == verdict


def test_a_request_of_nobody_is_not_shown() -> None:
    tests = JointTests(JointTest(95, {}, {}), JointTest(95, {}, {}), None, ())  # type: ignore[arg-type]
    for is_by_record in (False, True):
        assert reasons_of_request(tests, is_by_record=is_by_record) == [FEW_NEVER_SEEN]
        assert decide([], tests, [], is_by_record=is_by_record) == "not shown"
