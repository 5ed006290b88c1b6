"""With how many patients a rule can be decided and passed: the numbers of docs/policy.md, and what they rest on."""

from dataclasses import replace
from pathlib import Path

import pytest

from clinaudit.audit.results.gate.needed_patients import needed_patients_text
from clinaudit.audit.results.gate.policy import PassRequirements, TextRule, load_policy
from clinaudit.audit.results.gate.sample_size import (
    patients_without_advantage,
    patients_without_findings,
    rule_sizes,
    would_pass,
)
from clinaudit.audit.statistics.intervals import clopper_pearson
from clinaudit.priors.fragments import Coverage
from clinaudit.priors.tiers import TIER_IDS


@pytest.mark.parametrize("maximum", [0.01, 0.02, 0.05, 0.1])
def test_zero_repeats_lie_within_the_limit_from_there_on(maximum: float) -> None:
    rule = TextRule("attributable_fraction", ("public",), maximum)
    patients = patients_without_findings(replace(load_policy(), memorization=(rule,)), rule)
    assert patients is not None
    # The low end of a class of twenty, and the first of which nothing found lies within the limit.
    assert patients % 20 == 1
    assert (clopper_pearson(0, patients).high or 1) <= maximum < (clopper_pearson(0, patients - 20).high or 1)


def test_no_number_of_patients_shows_an_advantage_of_zero() -> None:
    assert patients_without_advantage(0.0, comparisons=1, asked=PassRequirements()) is None


@pytest.mark.parametrize(
    ("name", "of_text", "disclosure"),
    # docs/policy.md: classes whose low end is at least 183 and 368, 72 and 36, 36 and 17; 300, 100, 60 to 100.
    [
        ("strict", (201, 201, 381, 201, 381, 381), range(280, 310)),
        ("default", (81, 81, 81, 41, 41, 41), range(95, 115)),
        ("research", (41, 41, 41, 21, 21, 21), range(60, 100)),
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

    assert row("Appointment reminder")[-6:] == ["21", "81", "100", "enough", "to", "pass"]
    assert row("Appointment, complaint")[-4:] == ["81", "20", "too", "few"]
    assert row("Others’ text ≤ 5%          Appointment reminder")[-4:] == ["90", "enough", "to", "pass"]
    assert row(" HIV ")[-3:] == ["15", "too", "few"]
    assert row(" PTSD ")[-5:] == ["60", "too", "few", "to", "pass"]
    assert row(" Anxiety ")[-4:] == ["200", "enough", "to", "pass"]


def test_rules_about_tiers_that_were_not_asked_are_not_listed() -> None:
    policy = load_policy()
    whole = coverage({"hiv": 60})
    alone = Coverage(tiers={"encounter": (100, 90)}, smallest_groups={"hiv": 60})
    listed, few = (needed_patients_text(policy, of) for of in (whole, alone))
    assert "Appointment, complaint" in listed
    assert "Appointment, complaint" not in few
    assert "Appointment reminder" in few
    assert "Not listed" not in listed
    assert "rules about 5 kinds of asker that --tier leaves out" in " ".join(few.split())
    # Six comparisons where there would be 36: fewer patients pass.
    sizes = [
        int(next(line for line in text.splitlines() if " HIV " in line).split()[-5 if text is few else -6])
        for text in (few, listed)
    ]
    assert sizes[0] < sizes[1]


def test_groups_are_not_known_without_a_table_of_diagnoses() -> None:
    text = needed_patients_text(load_policy(), coverage(None))
    assert sum(line.endswith("  ?     not known") for line in text.splitlines()) == 6


def test_what_is_promised_is_what_the_gate_decides() -> None:
    """72 patients are enough by number, and not by their class of 61 to 80; `strict` asks for some never seen."""
    rule = load_policy().memorization[0]
    sizes = {"public": (72, 72), "encounter": (81, 81)}
    found = would_pass(load_policy(), rule, sizes)
    assert (found["public"], found["encounter"], found["public_name"]) == (False, True, False)
    strict = load_policy(Path("strict"))
    assert would_pass(strict, strict.memorization[0], {"public": (400, 0), "encounter": (400, 400)}) == {
        tier: tier == "encounter" for tier in TIER_IDS
    }
