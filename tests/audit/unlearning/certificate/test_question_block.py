"""What answers and trials keep of patients, as figures and as what is shown of all named together, by hand."""

from pathlib import Path
from typing import Any

import pytest
from support.unlearning.bench_results import Kept, constant, except_for, write_bench_result
from support.unlearning.robustness_documents import block

from clinaudit.audit.unlearning.certificate.bench_result import BenchResult, read_bench_result
from clinaudit.audit.unlearning.certificate.joint_figures import bench_families, run_joint_tests
from clinaudit.audit.unlearning.certificate.question_block import (
    ECHO_FREE,
    KEPT,
    NEVER_TRAINED,
    NOT_ASKED,
    answer_rows,
    describe_answers,
    lacks_answers,
    measure_answers,
    never_trained,
)
from clinaudit.audit.unlearning.certificate.robustness_block import (
    OTHER_FORM,
    ROUNDED,
    SAMPLED,
    TRIED,
    WEIGHED,
    describe_detectability,
    describe_trials,
    enough_to_tell_nobody_apart,
    measure_trials,
    trial_rows,
)
from clinaudit.audit.unlearning.evaluation.robustness.block import WORST_METRICS
from clinaudit.reports.schema.certificate import RobustnessRow

NAMED = [f"n{place}" for place in range(5)]
RETAINED = [f"r{place}" for place in range(6)]
#: Kept of the i-th never-trained: i / 200.
CONTROLS = {f"c{place:02}": place / 200 for place in range(95)}


def result(root: Path, after: Kept, *, controls: int = 95, **others: Any) -> BenchResult:
    """The result of a model that keeps so much; `before` and `retrained` of others, by name."""
    known = dict(list(CONTROLS.items())[:controls])
    robustness = others.pop("robustness", None)
    models = {"after": except_for(known, after), **others}
    write_bench_result(root, models, forget=NAMED, retain=RETAINED, never_trained=list(known), robustness=robustness)
    return read_bench_result(root, model=None, digest="b" * 64, corpus_digest="c" * 64)


def test_what_answers_keep_of_a_patient_is_weighed_by_the_use_of_the_questions(tmp_path) -> None:
    found = result(tmp_path, except_for({"n0": 0.3}, constant(0.1, 0.1)), before=constant(0.9, 0.5))
    after, controls = measure_answers(found.after), never_trained(found, NAMED)
    rows = answer_rows("n0", after, measure_answers(found.before), {}, controls)
    # Kept: 1 - AFE of parts that are all alike is what is kept.
    assert {(row.use, row.measure) for row in rows} == {
        (use, measure) for use in ("train", "holdout", "rephrased") for measure in (KEPT, ECHO_FREE)
    }
    row = next(row for row in rows if (row.use, row.measure) == ("holdout", KEPT))
    assert (row.before, row.after) == (pytest.approx(0.9), pytest.approx(0.3))
    # 0.000 to 0.295 are below 0.3, and 0.3 itself of the 61st within a rounding.
    assert row.below in (60, 61)
    assert (row.controls, row.reason) == (95, None)


def test_the_means_of_all_named_are_shown_beside_the_floor(tmp_path) -> None:
    found = result(tmp_path, constant(0.28, 0.28))
    shown = describe_answers(found, NAMED, never_trained(found, NAMED))
    group = next(one for one in shown.groups if (one.use, one.measure) == ("train", KEPT))
    assert (group.patients, group.controls, group.after.value) == (5, 95, pytest.approx(0.28))
    # The mean of each part over all never-trained is 0.235.
    assert group.floor.value == pytest.approx(0.235)
    assert group.before.reason == "no such model was evaluated"


def test_patients_whom_the_benchmark_does_not_ask_about_are_lacking(tmp_path) -> None:
    found = result(tmp_path, constant(0.1))
    after = measure_answers(found.after)
    assert [lacks_answers(found, one, after) for one in ("n0", "nobody", "c03")] == [None, NOT_ASKED, NEVER_TRAINED]
    # One who is named is no control.
    assert "c03" not in never_trained(found, ["c03"])


def jointly(found: BenchResult) -> set[str]:
    """The named patients who stand out over answers and trials."""
    after = run_joint_tests(list(bench_families(found, NAMED)), NAMED).after
    return {patient for patient in NAMED if after.fails(patient)}


def test_one_who_stands_out_of_the_never_trained_leaks_and_who_does_not_does_not(tmp_path) -> None:
    assert jointly(result(tmp_path / "x", except_for({"n0": 0.9}, constant(0.28, 0.28)))) == {"n0"}
    assert jointly(result(tmp_path / "y", except_for({"n0": 0.47}, constant(0.28, 0.28)))) == set()
    assert jointly(result(tmp_path / "z", constant(0.9, 0.9))) == set(NAMED)
    assert jointly(result(tmp_path / "few", constant(0.9, 0.9), controls=94)) == set()


def test_what_a_retrained_model_keeps_as_well_is_no_memory(tmp_path) -> None:
    # It must not stand out itself: of those it never saw it keeps as much.
    alike = except_for(dict.fromkeys(CONTROLS, 0.9), constant(0.9, 0.9))
    assert jointly(result(tmp_path / "x", constant(0.9, 0.9), retrained=alike)) == set()
    assert jointly(result(tmp_path / "y", constant(0.95, 0.95), retrained=alike)) == set(NAMED)
    remembers = except_for(dict.fromkeys(CONTROLS, 0.1), constant(0.9, 0.9))
    assert jointly(result(tmp_path / "z", constant(0.9, 0.9), retrained=remembers)) == set(NAMED)


def tried(own: dict[str, float], *, controls: int = 95, **options: Any) -> dict[str, Any]:
    """A block in which trials get so much of these, and 0.01, 0.02, ... of the never-trained."""
    of = {"forget": own, "never_trained": {one: place / 100 for place, one in enumerate(list(CONTROLS)[:controls])}}
    most = {group: {one: {"rouge_l": value} for one, value in held.items()} for group, held in of.items()}
    return block(**options) | {"by_patient": most}


def test_what_a_trial_gets_of_one_patient_is_weighed_as_answers_are(tmp_path) -> None:
    quiet = constant(0.0, 0.0)
    own = {**dict.fromkeys(NAMED, 0.1), "n1": 0.99}
    found = result(tmp_path / "x", quiet, robustness={"after": tried(own)})
    rows = trial_rows("n1", measure_trials(found.robustness), {}, CONTROLS)
    assert [(row.use, row.after, row.below, row.controls) for row in rows] == [(TRIED, 0.99, 95, 95)]
    # Answers of the never-trained keep more than those on n1: six figures of theirs outweigh one.
    assert jointly(found) == set()
    # Whoever was not tried counts as never seen no longer: 94 are too few.
    few = result(tmp_path / "y", constant(0.9, 0.9), robustness={"after": tried(own, controls=94)})
    assert jointly(few) == set()
    enough = result(tmp_path / "z", constant(0.9, 0.9), robustness={"after": tried(own)})
    assert jointly(enough) == set(NAMED)


def test_each_measure_that_certificates_weigh_is_kept_of_each_patient() -> None:
    # One that the evaluation leaves out would silently be weighed of nobody.
    assert set(WEIGHED) == set(WORST_METRICS)


def shown_row(root: Path, document: dict[str, Any], test: str) -> RobustnessRow:
    trials = describe_trials(result(root, constant(0.1), robustness={"after": document}), ["n0", "n1", "elsewhere"])
    assert trials is not None
    assert (trials.patients, trials.named) == (5, 2)
    return next(row for row in trials.rows if test in row.test)


@pytest.mark.parametrize(
    ("what", "test", "status", "figures"),
    [
        # The interval reaches 0.05 to each side.
        ({"sampled": 0.051}, SAMPLED, "above", (0.1, 0.051)),
        ({"sampled": 0.05}, SAMPLED, "within", (0.1, 0.05)),
        ({"rounded": 0.6}, ROUNDED, "above", (0.1, 0.5)),
        # The floor that is shown was tried likewise.
        ({"other_form": 0.63, "tried_floor": 0.6}, OTHER_FORM, "within", (0.6, 0.03)),
    ],
)
def test_the_means_of_trials_are_shown_beside_their_floor(tmp_path, what, test, status, figures) -> None:
    row = shown_row(tmp_path, block(**what), test)
    assert row.status == status
    assert (row.floor.value, row.difference.value) == pytest.approx(figures)


def test_what_was_not_tried_is_open_and_says_why(tmp_path) -> None:
    row = shown_row(tmp_path / "x", block(without=("quantization", "relearning")), ROUNDED)
    assert (row.status, row.value.reason) == ("open", "this was not tried")
    assert shown_row(tmp_path / "y", block(), "one question").value.reason == "the training diverged"
    assert describe_trials(result(tmp_path / "z", constant(0.1)), NAMED) is None


def test_so_many_forgotten_patients_hold_the_auroc_near_a_half() -> None:
    # 131 / (12 * 130 * 0.0026032 - 1) = 42.8: with 43 the half-width is at most 0.1, with 42 it is not.
    assert enough_to_tell_nobody_apart(130) == 43
    for forgotten, is_enough in ((43, True), (42, False)):
        half = 1.959964 * ((forgotten + 131) / (12 * forgotten * 130)) ** 0.5
        assert (half <= 0.1) is is_enough
    # Of 32 the never-trained alone are too few, whoever was forgotten: 12 * 32 * 0.0026032 < 1.
    assert [enough_to_tell_nobody_apart(number) for number in (32, 33)] == [None, 1102]


@pytest.mark.parametrize(
    ("told_apart", "patients", "short"),
    [
        (True, (5, 130), []),
        (False, (5, 130), [("named", 5, 43)]),
        (False, (43, 130), []),
        (None, (3, 30), [("named", 3, None)]),
    ],
)
def test_too_few_to_say_that_nobody_is_told_apart(tmp_path, told_apart, patients, short) -> None:
    document = block(told_apart=told_apart, patients=patients)
    # Behind a filter there are answers, and no losses: a trait that can be read of nobody is no lack of patients.
    unread = {**document["detectability"]["traits"]["note_loss"], "patients": {"forget": 0, "never_trained": 0}}
    document["detectability"]["traits"]["answer_loss"] = unread
    shown, shortfalls = describe_detectability(result(tmp_path, constant(0.1), robustness={"after": document}))
    assert [(one.group, one.patients, one.enough) for one in shortfalls] == short
    assert shown is not None
    assert (shown.told_apart, shown.forgotten, shown.never_trained) == (told_apart, *patients)
