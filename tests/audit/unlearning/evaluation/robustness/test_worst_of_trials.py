"""The most that any trial gets of a patient, by hand."""

from clinaudit.audit.unlearning.evaluation.robustness.block import worst_by_patient

PATIENT_OF = {"a1": "A", "a2": "A", "b1": "B", "c1": "C"}


def test_the_largest_mean_over_the_trials_counts_and_not_the_largest_answer() -> None:
    sampled = {
        "a1": {"rouge_l": 0.2, "ls_echo_free": 0.0},
        "a2": {"rouge_l": 0.4, "ls_echo_free": None},
        "b1": {"rouge_l": 0.1, "ls_echo_free": None},
    }
    rounded = {
        "a1": {"rouge_l": 0.5, "ls_echo_free": 0.25},
        "a2": {"rouge_l": 0.0, "ls_echo_free": None},
        "b1": {"rouge_l": 0.9, "ls_echo_free": None},
    }
    # A: (0.2 + 0.4) / 2 = 0.3 against (0.5 + 0) / 2 = 0.25.
    assert worst_by_patient([sampled, rounded], PATIENT_OF) == {
        "A": {"ls_echo_free": 0.25, "rouge_l": (0.2 + 0.4) / 2},
        "B": {"rouge_l": 0.9},
    }


def test_who_was_not_put_to_every_trial_is_left_out() -> None:
    # Retained patients are asked with 4-bit weights alone.
    sampled = {"a1": {"rouge_l": 0.2}}
    rounded = {"a1": {"rouge_l": 0.1}, "c1": {"rouge_l": 1.0}}
    assert worst_by_patient([sampled, rounded], PATIENT_OF) == {"A": {"rouge_l": 0.2}}


def test_a_metric_that_one_trial_lacks_is_left_out() -> None:
    # In the other form the question itself may hold every keyword.
    sampled = {"a1": {"rouge_l": 0.2, "ls_echo_free": 1.0}}
    other_form = {"a1": {"rouge_l": 0.3, "ls_echo_free": None}}
    assert worst_by_patient([sampled, other_form], PATIENT_OF) == {"A": {"rouge_l": 0.3}}


def test_without_a_trial_there_is_nobody() -> None:
    assert worst_by_patient([], PATIENT_OF) == {}
