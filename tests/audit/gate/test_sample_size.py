"""With how many patients a rule can be decided and passed: the numbers of docs/policy.md, and what they rest on."""

from dataclasses import replace
from pathlib import Path

import pytest

from clinaudit.audit.gate.needed_patients import needed_patients_text
from clinaudit.audit.gate.policy import PassRequirements, load_policy
from clinaudit.audit.gate.sample_size import patients_without_advantage, patients_without_repeats, rule_sizes
from clinaudit.audit.statistics.intervals import clopper_pearson
from clinaudit.priors.coverage import Coverage
from clinaudit.priors.tiers import TIER_IDS


@pytest.mark.parametrize("maximum", [0.01, 0.02, 0.05, 0.1, 0.5])
def test_zero_repeats_lie_within_the_limit_from_there_on(maximum: float) -> None:
    patients = patients_without_repeats(maximum)
    assert patients is not None
    assert (clopper_pearson(0, patients).high or 1) <= maximum < (clopper_pearson(0, patients - 1).high or 1)


def test_no_number_of_patients_shows_a_share_of_zero() -> None:
    assert patients_without_repeats(0.0) is None
    assert patients_without_repeats(1.0) == 1
    assert patients_without_advantage(0.0, comparisons=1, asked=PassRequirements()) is None


@pytest.mark.parametrize(
    ("name", "of_text", "disclosure"),
    # docs/policy.md: 183 and 368, 72, 36; 300, 100, 60 to 100.
    [
        ("strict", (183, 183, 368, 183, 368, 368), range(280, 310)),
        ("default", (72,) * 6, range(95, 115)),
        ("research", (36,) * 6, range(60, 100)),
    ],
)
def test_sizes_are_those_of_the_simulations(name: str, of_text: tuple[int, ...], disclosure: range) -> None:
    # Own text, the same edited, others', own identifiers, others', verified ones; then diagnoses.
    *text, told = rule_sizes(load_policy(Path(name)), diagnoses=6)
    # 20 patients may be 11: the class of 21 to 30 is the first that shows them. The three cells of a row of verdicts
    # may lie 27 below their sum.
    assert [sizes.decided for sizes in (*text, told)] == [21] * 6 + [47]
    assert tuple(sizes.passed for sizes in text) == of_text
    assert told.passed in disclosure


def test_more_comparisons_and_more_power_take_more_patients() -> None:
    asked = PassRequirements()
    few, many = (patients_without_advantage(0.25, comparisons=n, asked=asked) or 0 for n in (6, 36))
    assert few < many
    power = patients_without_advantage(0.25, comparisons=36, asked=replace(asked, maximum_detectable_delta=0.1))
    assert power is not None
    assert power > many


def coverage(groups: dict[str, int] | None) -> Coverage:
    tiers = dict.fromkeys(TIER_IDS, (100, 90)) | {"encounter_cc_hpi": (20, 90)}
    return Coverage(tiers=tiers, smallest_groups=groups)


def test_what_a_corpus_has_stands_beside_what_a_policy_takes() -> None:
    text = needed_patients_text(load_policy(), coverage({"hiv": 15, "ptsd": 60, "anxiety": 200}))
    lines = text.splitlines()
    assert all(len(line) <= 100 for line in lines)

    def row(words: str) -> list[str]:
        return next(line for line in lines if words in line).split()

    assert row("Appointment reminder")[-6:] == ["21", "72", "100", "enough", "to", "pass"]
    assert row("complaint and history")[-4:] == ["72", "20", "too", "few"]
    assert row("Others’ notes ≤ 5%        Appointment reminder ")[-4:] == ["90", "enough", "to", "pass"]
    assert row(" HIV ")[-3:] == ["15", "too", "few"]
    assert row(" PTSD ")[-5:] == ["60", "too", "few", "to", "pass"]
    assert row(" Anxiety ")[-4:] == ["200", "enough", "to", "pass"]


def test_groups_are_not_known_without_a_table_of_diagnoses() -> None:
    text = needed_patients_text(load_policy(), coverage(None))
    assert sum(line.endswith("  ?     not known") for line in text.splitlines()) == 6
