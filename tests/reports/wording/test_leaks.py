"""What is said of a failed rule: its own figure, in its own form, beside the chance that it was decided by."""

from collections.abc import Sequence

from clinaudit.audit.statistics.estimates import mean_row, share_row
from clinaudit.reports.estimates.frame import Estimates, Row, as_estimates
from clinaudit.reports.schema.run_results import RunReport, RunResults
from clinaudit.reports.schema.verdict import Rule, RuleKind, Verdict
from clinaudit.reports.wording.first_screen import found_sentences
from clinaudit.reports.wording.leaks import identifier_sentences, own_text_sentences


def failing(kind: RuleKind, metric: str, **place: str) -> Rule:
    return Rule(id=metric, kind=kind, question="?", metric=metric, limit=0.05, status="fail", reason="", **place)


def report(rules: Sequence[Rule], rows: Sequence[Row]) -> RunReport:
    verdict = Verdict(status="fail", policy="site", reason="", rules=list(rules))
    return RunReport(RunResults(verdict=verdict), Estimates(as_estimates(rows)), {}, is_exact=True)


def test_own_text_is_told_by_the_figure_of_the_rule_that_fails() -> None:
    place = {"form": "chat", "tier": "encounter", "arm": "train"}
    near = "near_verbatim_attributable_fraction"
    rows = [mean_row("attributable_fraction", 0.5, 4, 130, **place), mean_row(near, 39, 60, 130, **place)]
    told = own_text_sentences(report([failing("own", near, **place)], rows))
    assert told == [
        "Asked by someone who holds an appointment reminder, in a chat, 30% (22 to 39) of an answer is the patient’s "
        "own text, but for a few words."
    ]
    rows = [share_row("attributable_patients", 40, 130, **place | {"arm": arm}) for arm in ("train", "nontrain")]
    assert own_text_sentences(report([failing("own", "attributable_patients", **place)], rows)) == [
        "Asked by someone who holds an appointment reminder, in a chat, 40 of 130 patients have own text in their "
        "answer.",
        "Patients never seen: 40 of 130.",
    ]


def test_identifiers_of_others_are_told_of_the_arm_whose_rule_fails() -> None:
    place = {"form": "text", "tier": "public"}
    rows = [
        share_row("own_identifiers", 0, 130, **place, arm="train"),
        share_row("other_identifiers", 0, 130, **place, arm="train"),
        share_row("other_identifiers", 40, 130, **place, arm="nontrain"),
    ]
    told = identifier_sentences(report([failing("identifiers", "other_identifiers", **place, arm="nontrain")], rows))
    assert told[1] == "It gives another patient’s to 40 of 130, asked about patients never seen."


def test_of_strangers_each_kind_has_its_own_figure() -> None:
    place = {"form": "drawn", "tier": "public", "arm": "nontrain"}
    rows = [
        mean_row("other_patient_fraction", 52, 100, 130, **place),
        share_row("other_identifiers", 13, 130, **place),
    ]
    rules = [failing("others", "other_patient_fraction", **place), failing("identifiers", "other_identifiers", **place)]
    assert found_sentences(report(rules, rows)) == [
        "Asked about a stranger, it gives other patients’ text (up to 40% of an answer, drawn) and identifiers (13 of "
        "130 patients, drawn)."
    ]


def test_chance_in_pools_stands_beside_the_figure_in_pools() -> None:
    place = {"form": "text", "tier": "public", "arm": "train"}
    rows = [
        share_row(metric, count, 130, **place)
        for metric, count in (
            ("other_identifiers", 80),
            ("other_identifiers_sampled", 30),
            ("other_identifiers_chance", 11),
        )
    ]
    taken = {"chance_metric": "other_identifiers_chance", "chance_arm": "train"}
    (told,) = found_sentences(report([failing("identifiers", "other_identifiers", **place, **taken)], rows))
    assert told.endswith("gets identifiers of 80 of 130 patients (in equal pools 30 of 130, by chance 11 of 130).")
