"""What is said of how a run was measured, and what a rule read, by small tables made by hand."""

import pytest

from clinaudit.reports.estimates.frame import Estimates, as_estimates, at
from clinaudit.reports.schema.judge import LabelSource
from clinaudit.reports.schema.run_results import RunReport, RunResults
from clinaudit.reports.schema.verdict import Rule, Verdict
from clinaudit.reports.tables.measured import guards_table, judge_sentences, measured_items
from clinaudit.reports.wording.rule_rows import in_order, rule_rows


def test_a_guard_shows_its_worst_place() -> None:
    rows = [
        at("long_answers", form="text", tier=tier, arm="train")._replace(value=value)
        for tier, value in (("public", 0.97), ("encounter", 0.62), ("encounter_cc", 0.93))
    ]
    rows += [at("refused", form="chat", tier="public", arm=arm)._replace(value=0.01) for arm in ("train", "nontrain")]
    rows.append(at("refused", form="chat", tier="encounter", arm="nontrain")._replace(value=0.3))
    # Guards read no answers of the control.
    rows.append(at("refused", form="chat", tier="encounter", arm="control")._replace(value=0.9))
    table = guards_table(Estimates(as_estimates(rows)))
    assert [row[1:4] for row in table.rows] == [
        ("at least 90%", "62%", "Appointment reminder, trained on"),
        ("at most 20%", "30%", "Appointment reminder, in a chat, never seen"),
    ]


@pytest.mark.parametrize(
    ("labels", "said"), [("shipped", "On synthetic labelled texts that ship:"), ("site", "On the site’s own labelled")]
)
def test_whose_texts_a_judge_was_scored_on(labels: LabelSource, said: str) -> None:
    results = RunResults(judge="lexicon", judge_labels=labels)
    assert said in judge_sentences(RunReport(results, Estimates(as_estimates([])), {}))


BY_CONTROL = {"chance_metric": "attributable_fraction", "chance_arm": "control"}


def a_rule(metric: str, **fields: str) -> Rule:
    return Rule(id=metric, kind="own", question="?", metric=metric, limit=0.05, status="pass", reason="", **fields)


def test_a_rule_reads_its_figure_its_chance_and_the_difference() -> None:
    place = {"form": "text", "tier": "public"}
    rows = [
        at("attributable_fraction", **place, arm=arm)._replace(value=value)
        for arm, value in (("train", 0.2), ("control", 0.05), ("train-control", 0.15))
    ]
    estimates = Estimates(as_estimates(rows))
    read = rule_rows(a_rule("attributable_fraction", **place, arm="train", **BY_CONTROL), estimates)
    assert [row and row.value for row in (read.figure, read.chance, read.beyond)] == [0.2, 0.05, 0.15]
    alone = rule_rows(a_rule("attributable_fraction", **place, arm="train"), estimates)
    assert (alone.chance, alone.beyond) == (None, None)


def test_a_rule_on_others_reads_equal_pools() -> None:
    place = {"form": "text", "tier": "public", "arm": "nontrain"}
    rows = [
        at("other_identifiers", **place)._replace(value=0.4),
        at("other_identifiers_sampled", **place)._replace(value=0.1),
        at("other_identifiers_chance", **place)._replace(value=0.02),
    ]
    in_pools = {"chance_metric": "other_identifiers_chance", "chance_arm": "nontrain"}
    read = rule_rows(a_rule("other_identifiers", **place, **in_pools), Estimates(as_estimates(rows)))
    assert [row and row.value for row in (read.figure, read.pooled, read.chance)] == [0.4, 0.1, 0.02]
    # Where chance was not known, none is shown beside the figure.
    alone = rule_rows(a_rule("other_identifiers", **place), Estimates(as_estimates(rows)))
    assert (alone.pooled, alone.chance) == (None, None)


def test_what_was_taken_off_is_said_of_the_rules_that_it_was_taken_off() -> None:
    rules = [
        a_rule("attributable_fraction", **BY_CONTROL),
        a_rule("everyday_tasks", chance_metric="everyday_tasks", chance_arm="control"),
        a_rule("other_identifiers", chance_metric="other_identifiers_chance", chance_arm="train"),
        a_rule("other_patient_fraction"),
    ]
    results = RunResults(verdict=Verdict(status="pass", policy="site", reason="", rules=rules))
    assert dict(measured_items(RunReport(results, Estimates(as_estimates([])), {})))["Chance"] == (
        "Taken off: the figure of the control model. Of others’ identifiers: what the same answers hold with the "
        "splits exchanged, in equal pools."
    )


def test_rules_stand_in_the_order_of_forms() -> None:
    rules = [a_rule("own_identifiers", form=form, tier="public") for form in ("drawn", "chat", "text")]
    assert [rule.form for rule in in_order(rules)] == ["text", "chat", "drawn"]
