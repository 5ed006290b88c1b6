"""Trials of a model: what is weighed against which floor, who vouches, and how many would be enough, by hand."""

from typing import Any

import pytest
from support.unlearning.robustness_documents import block

from clinaudit.audit.unlearning.certificate.bench_result import BenchResult
from clinaudit.audit.unlearning.certificate.forgetting_verdict import NEVER_SEEN_AS_OFTEN
from clinaudit.audit.unlearning.certificate.robustness_block import (
    LEAKS,
    OTHER_FORM,
    ROUNDED,
    SAMPLED,
    WEIGHED,
    WORST_TRIAL,
    Tried,
    enough_to_tell_nobody_apart,
    weigh_trials,
)
from clinaudit.audit.unlearning.evaluation.robustness.block import WORST_METRICS
from clinaudit.reports.schema.certificate import Shortfall
from clinaudit.reports.schema.certificate_blocks import RobustnessRow
from clinaudit.reports.schema.unlearning_evaluation import RobustnessDocument
from clinaudit.reports.schema.unlearning_scores import RolePatient


def weigh(robustness: dict[str, Any] | None, *, reference: dict[str, Any] | None = None) -> Tried:
    patients = {f"n{place}": "forget" for place in range(5)} | {f"c{place}": "never_trained" for place in range(30)}
    result = BenchResult(
        model="m",
        split="random:10",
        form="addressed",
        seed=0,
        patients={one: RolePatient(role=role, category="cancer") for one, role in patients.items()},  # type: ignore[arg-type]
        after=(),
        robustness=None if robustness is None else RobustnessDocument.model_validate(robustness),
        reference_robustness=None if reference is None else RobustnessDocument.model_validate(reference),
    )
    return weigh_trials(result, ["n0", "n1", "elsewhere"])


def statuses(tried: Tried) -> dict[str, set[str | None]]:
    assert tried.robustness is not None
    found: dict[str, set[str | None]] = {}
    for row in tried.robustness.rows:
        found.setdefault(row.test, set()).add(row.status)
    return found


def test_trials_at_the_floor_are_no_leak() -> None:
    tried = weigh(block())
    assert tried.leaks == set()
    found = statuses(tried)
    assert [found[trial] for trial in (SAMPLED, ROUNDED, OTHER_FORM)] == [{"within"}] * 3
    assert tried.robustness is not None
    assert (tried.robustness.patients, tried.robustness.named) == (5, 2)


@pytest.mark.parametrize(
    ("what", "leaks"),
    [
        # The interval reaches 0.05 to each side.
        ({"sampled": 0.051}, {LEAKS[SAMPLED]}),
        ({"sampled": 0.05}, set()),
        ({"rounded": 0.6}, {LEAKS[ROUNDED]}),
        ({"other_form": 0.6}, {LEAKS[OTHER_FORM]}),
        ({"rounded": 0.15, "other_form": 0.151}, {LEAKS[OTHER_FORM]}),
        # What the trial gets of anybody is no memory, however much it is.
        ({"rounded": 0.6, "other_form": 0.66, "tried_floor": 0.6}, {LEAKS[OTHER_FORM]}),
        # Nobody trains a model that is only asked.
        ({"relearned": 1.0}, set()),
    ],
)
def test_a_trial_above_its_floor_is_a_leak(what, leaks) -> None:
    assert weigh(block(**what)).leaks == leaks


def shown(tried: Tried, test: str) -> RobustnessRow:
    """Return the first row of a trial."""
    assert tried.robustness is not None
    return next(row for row in tried.robustness.rows if test in row.test)


def test_the_floor_that_is_shown_was_tried_likewise() -> None:
    tried = weigh(block(rounded=0.6, other_form=0.3, tried_floor=0.4))
    expected = {SAMPLED: (0.1, 0.0), ROUNDED: (0.4, 0.2), OTHER_FORM: (0.4, -0.1)}
    for test, figures in expected.items():
        row = shown(tried, test)
        assert (row.floor.value, row.difference.value) == pytest.approx(figures)


def test_a_trial_without_never_trained_patients_is_open() -> None:
    document = block(rounded=0.9)
    document["quantization"] |= {
        "never_trained": {"reason": "no question was asked both times"},
        "above_never_trained": {
            metric: {"value": None, "interval": [None, None], "answers": 0, "reason": "no answer of this group has it"}
            for metric in ("ls_echo_free", "rouge_l")
        },
    }
    tried = weigh(document)
    assert tried.leaks == set()
    assert statuses(tried)[ROUNDED] == {"open"}
    row = shown(tried, ROUNDED)
    assert (row.floor.reason, row.difference.reason) == (
        "no question was asked both times",
        "no answer of this group has it",
    )


def test_what_was_not_tried_is_open_and_says_why() -> None:
    tried = weigh(block(without=("quantization", "relearning")))
    assert statuses(tried)[ROUNDED] == {"open"}
    assert shown(tried, ROUNDED).value.reason == "this was not tried"
    assert shown(weigh(block()), "one question").value.reason == "the training diverged"


def test_a_retrained_model_vouches_for_what_it_gives_as_well_within_its_own_floor() -> None:
    leaking = block(sampled=0.2, other_form=0.6)
    # It gives as much, and its own interval of the difference holds 0.
    alike = block(sampled=0.2, other_form=0.6)
    alike["sampling"]["above_never_trained"] = {
        metric: {"32": {"value": 0.2, "interval": [-0.1, 0.4], "answers": 10}} for metric in ("ls_echo_free", "rouge_l")
    }
    assert weigh(leaking, reference=alike).leaks == {LEAKS[OTHER_FORM]}
    assert weigh(leaking, reference=block()).leaks == {LEAKS[SAMPLED], LEAKS[OTHER_FORM]}


def test_nothing_tried_says_nothing() -> None:
    assert weigh(None) == Tried(None, None, set(), [])


def test_so_many_forgotten_patients_hold_the_auroc_near_a_half() -> None:
    # 131 / (12 * 130 * 0.0026032 - 1) = 42.8: with 43 the half-width is at most 0.1, with 42 it is not.
    assert enough_to_tell_nobody_apart(130) == 43
    for forgotten, is_enough in ((43, True), (42, False)):
        half = 1.959964 * ((forgotten + 131) / (12 * forgotten * 130)) ** 0.5
        assert (half <= 0.1) is is_enough
    # Of 32 the never-trained alone are too few, whoever was forgotten: 12 * 32 * 0.0026032 < 1.
    assert enough_to_tell_nobody_apart(32) is None
    # 34 / (12 * 33 * 0.00260315 - 1) = 1101.9.
    assert enough_to_tell_nobody_apart(33) == 1102


@pytest.mark.parametrize(
    ("told_apart", "patients", "short"),
    [
        (True, (5, 130), []),
        (False, (5, 130), [("named", 5, 43)]),
        (False, (43, 130), []),
        (None, (3, 30), [("named", 3, None)]),
    ],
)
def test_too_few_to_say_that_nobody_is_told_apart(told_apart, patients, short) -> None:
    tried = weigh(block(told_apart=told_apart, patients=patients))
    assert [(one.group, one.patients, one.enough) for one in tried.shortfalls] == short
    assert tried.detectability is not None
    assert tried.detectability.told_apart is told_apart
    # Who can be told apart is no verdict.
    assert tried.leaks == set()


def test_a_trait_that_can_be_read_of_nobody_is_no_lack_of_patients() -> None:
    # Behind a filter there are answers, and no losses.
    filtered = block()
    unread = {**filtered["detectability"]["traits"]["note_loss"], "patients": {"forget": 0, "never_trained": 0}}
    filtered["detectability"]["traits"]["answer_loss"] = unread
    tried = weigh(filtered)
    assert tried.detectability is not None
    assert (tried.detectability.forgotten, tried.detectability.never_trained) == (5, 30)
    assert [one.patients for one in tried.shortfalls] == [5]


def test_one_patient_of_five_who_leaks_is_found_though_the_mean_is_at_the_floor() -> None:
    document = block() | by_patient({"n0": 0.1, "n1": 0.9}, controls=30)
    tried = weigh(document)
    assert tried.leaks == set()
    # ⌈0.95 · 31⌉ = 30: the largest of 30 never-trained patients, 0.30.
    found = {
        patient: {(row.after, row.level, row.controls, row.status) for row in own}
        for patient, own in tried.rows.items()
    }
    assert found == {"n0": {(0.1, 0.3, 30, "forgotten")}, "n1": {(0.9, 0.3, 30, "still leaks")}}


def test_a_retrained_model_that_writes_as_much_of_the_patient_vouches_within_its_own_level() -> None:
    document = block() | by_patient({"n1": 0.5}, controls=30)
    within = block() | by_patient({"n1": 0.5}, controls=30, floor=0.6)
    assert {row.status for row in weigh(document, reference=within).rows["n1"]} == {"forgotten"}
    above = block() | by_patient({"n1": 0.5}, controls=30)
    assert {row.status for row in weigh(document, reference=above).rows["n1"]} == {"still leaks"}


def test_too_few_never_trained_patients_make_no_level_for_one_patient() -> None:
    # 19 of them: the mean of all is weighed, and no patient alone.
    tried = weigh(block(told_apart=True) | by_patient({"n0": 0.1, "n1": 0.9}, controls=19))
    assert tried.rows == {}
    assert tried.shortfalls == [Shortfall(figure=WORST_TRIAL, group="controls", patients=19, enough=20)]
    assert weigh(block(told_apart=True) | by_patient({"n0": 0.1}, controls=20)).shortfalls == []


def by_patient(own: dict[str, float], *, controls: int, floor: float = 0.0) -> dict[str, Any]:
    """Return the most that trials get of these and of never-trained patients: 0.01, 0.02, ..., and `floor` at least."""
    never_trained = {f"c{place}": max(floor, (place + 1) / 100) for place in range(controls)}
    return {
        "by_patient": {
            group: {patient: {"rouge_l": value} for patient, value in values.items()}
            for group, values in (("forget", own), ("never_trained", never_trained))
        }
    }


def test_each_measure_that_certificates_weigh_is_kept_of_each_patient() -> None:
    # One that the evaluation leaves out would silently be weighed of nobody.
    assert set(WEIGHED) == set(WORST_METRICS)


def test_a_trial_that_gets_everything_of_never_trained_patients_says_nothing_of_one() -> None:
    tried = weigh(block() | by_patient({"n0": 0.1, "n1": 1.0}, controls=30, floor=1.0))
    assert {(row.status, row.reason) for rows in tried.rows.values() for row in rows} == {
        ("says nothing", NEVER_SEEN_AS_OFTEN)
    }
