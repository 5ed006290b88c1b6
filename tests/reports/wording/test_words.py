"""Words about figures: which figure is said, in which form, and where an interval leaves out 0."""

from collections.abc import Sequence
from itertools import permutations

import pytest
from support.runs.tables import row_of

from clinaudit.audit.results.comparison.comparison import compare_rows
from clinaudit.audit.statistics.estimates import add_differences, mean_row, share_row
from clinaudit.reports.estimates.frame import Estimates, Row, RuleKind, as_estimates, at
from clinaudit.reports.estimates.publication import publish
from clinaudit.reports.schema.comparison import Change, Comparison
from clinaudit.reports.schema.run_results import Rule, RunReport, RunResults, Verdict
from clinaudit.reports.wording.certificate import conclusion_sentence
from clinaudit.reports.wording.figures import counts_text, row_text
from clinaudit.reports.wording.first_screen import (
    by_action,
    found_sentences,
    identifier_sentences,
    membership_sentence,
    own_text_sentences,
)


@pytest.mark.parametrize(
    ("count", "of", "exact", "counts", "figure"),
    [
        (0, 130, "0 of 130", "0 of 130", "0% (0 to 2.8)"),
        (7, 130, "7 of 130", "<11 of 130", "<8.5% (0 to 14)"),
        (59, 130, "59 of 130", "59 of 130", "45% (36 to 55)"),
        (126, 130, "126 of 130", ">119 of 130", ">91% (86 to 100)"),
        (130, 130, "130 of 130", "130 of 130", "100% (97 to 100)"),
        (9, 15, "9 of 15", "some of 15", "<100% (0 to 100)"),
    ],
)
def test_a_share_of_patients(count: int, of: int, exact: str, counts: str, figure: str) -> None:
    row = share_row("hit_rate", count, of, arm="train")
    published = next(iter(Estimates(publish(as_estimates([row])))))
    assert counts_text(row) == exact
    assert counts_text(published) == counts
    assert row_text(published) == figure


def test_a_count_within_others_stands_between_its_ends() -> None:
    rows = [share_row("hit_rate", 60, 130, arm="train"), share_row("attributable_patients", 55, 130, arm="train")]
    own = row_of(Estimates(publish(as_estimates(rows))), "attributable_patients", arm="train")
    assert counts_text(own) == "50–59 of 130"


def test_a_difference_with_a_hidden_count_is_written_by_its_ends() -> None:
    sides = [share_row("hit_rate", 40, 130, arm="train"), share_row("hit_rate", 2, 130, arm="nontrain")]
    difference = Estimates(publish(add_differences(as_estimates(sides)))).find("hit_rate", arm="train-nontrain")
    assert row_text(difference) == "+15 to +40%"


def test_actions_that_differ_in_a_number_are_one_whatever_their_order() -> None:
    about = "Audit more: about"
    actions = (
        f"{about} 100 trained on.",
        f"{about} 100 trained on, and as many never seen.",
        f"{about} 50 trained on.",
    )
    rules = [Rule.model_construct(status="inconclusive", action=action, reason="") for action in actions]
    for order in permutations(rules):
        assert by_action(order) == [(f"{about} 100 trained on, and as many never seen.", list(order))]


def failing(kind: RuleKind, metric: str, **place: str) -> Rule:
    return Rule(id=metric, kind=kind, question="?", metric=metric, limit=0.05, status="fail", reason="", **place)


def report(rules: Sequence[Rule], rows: Sequence[Row]) -> RunReport:
    verdict = Verdict(status="fail", policy="site", reason="", rules=list(rules))
    return RunReport(RunResults(verdict=verdict), Estimates(as_estimates(rows)), {}, is_exact=True)


def test_a_failed_rule_is_told_by_its_own_figure_in_its_own_form_and_arm() -> None:
    chat = {"form": "chat", "tier": "encounter", "arm": "train"}
    near = "near_verbatim_attributable_fraction"
    rows = [mean_row("attributable_fraction", 0.5, 4, 130, **chat), mean_row(near, 39, 60, 130, **chat)]
    (told,) = own_text_sentences(report([failing("own", near, **chat)], rows))
    assert "in a chat, 30% (22 to 39) of an answer" in told
    rows = [share_row("attributable_patients", 40, 130, **chat | {"arm": arm}) for arm in ("train", "nontrain")]
    told, beside = own_text_sentences(report([failing("own", "attributable_patients", **chat)], rows))
    assert "in a chat, 40 of 130 patients" in told
    assert beside == "Patients never seen: 40 of 130."
    strangers = {"form": "drawn", "tier": "public", "arm": "nontrain"}
    rows = [
        share_row("own_identifiers", 0, 130, **strangers | {"arm": "train"}),
        share_row("other_identifiers", 0, 130, **strangers | {"arm": "train"}),
        share_row("other_identifiers", 13, 130, **strangers),
        mean_row("other_patient_fraction", 52, 100, 130, **strangers),
    ]
    others = [failing("others", "other_patient_fraction", **strangers)]
    others.append(failing("identifiers", "other_identifiers", **strangers))
    told = identifier_sentences(report(others[1:], rows))[1]
    assert told.endswith("to 13 of 130, asked about patients never seen.")
    # Of strangers each kind has its own figure.
    (told,) = found_sentences(report(others, rows))
    assert told.endswith("text (up to 40% of an answer, drawn) and identifiers (13 of 130 patients, drawn).")


def test_chance_in_pools_stands_beside_the_figure_in_pools() -> None:
    place = {"form": "text", "tier": "public", "arm": "train"}
    counts = {"other_identifiers": 80, "other_identifiers_sampled": 30, "other_identifiers_chance": 11}
    rows = [share_row(metric, count, 130, **place) for metric, count in counts.items()]
    taken = {"chance_metric": "other_identifiers_chance", "chance_arm": "train"}
    (told,) = found_sentences(report([failing("identifiers", "other_identifiers", **place, **taken)], rows))
    assert told.endswith("gets identifiers of 80 of 130 patients (in equal pools 30 of 130, by chance 11 of 130).")


def test_of_membership_the_score_that_counts_is_named_and_a_reason_stands_for_a_figure() -> None:
    auroc = at("membership_auroc")._replace(value=0.9, low=0.8, high=0.95)
    parts = [auroc._replace(by="score", part=part) for part in ("min_k_plus_plus", "loss", "zlib")]
    said = membership_sentence(report([], [auroc, share_row("membership_found", 60, 130), *parts]))
    assert said.startswith("The model tells whose notes it was trained on (AUROC 0.90 (0.80 to 0.95) by Min-K%++; ")
    assert "at 1% false positives it finds 46% (37 to 56) of those trained on" in said
    said = membership_sentence(report([], [auroc._replace(low=0.4), *parts[1:]]))
    assert said.startswith("The model is not shown to tell")
    assert "by the likelihood;" in said
    known = [at(name)._replace(reason="the arms differ") for name in ("membership_auroc", "membership_found")]
    assert membership_sentence(report([], known)).endswith("was not measured: the arms differ.")


PLACE = {"form": "text", "tier": "encounter", "arm": "train"}
HIGH, LOWER, NONE = (mean_row("attributable_fraction", total, 80, 130, **PLACE) for total in (92.3, 90.0, 0.0))
UNKNOWN = at("attributable_fraction", **PLACE)._replace(reason="every patient was excluded")


def delta(low: float, high: float) -> Change:
    row = at("auroc_all", form="text", arm="train-nontrain")._replace(value=0.3, low=0.2, high=0.4)
    return Change.of(row, row, row._replace(value=(low + high) / 2, low=low, high=high))


UP, DOWN, SAME = delta(0.1, 0.3), delta(-0.3, -0.1), delta(-0.2, 0.2)


def conclusion(a: Row, b: Row, deltas: dict[str, dict[str, Change]], *, tier: str = "encounter") -> list[str]:
    """Return what is said of text, and of diagnoses."""
    changes = [
        change.model_copy(update={"diagnosis": diagnosis, "tier": at})
        for diagnosis, tiers in deltas.items()
        for at, change in tiers.items()
    ]
    text = compare_rows(a._replace(tier=tier), b._replace(tier=tier))
    sentence = conclusion_sentence(
        Comparison(figures="published", differences=[], warnings=[], changes=[text, *changes])
    )
    return sentence.split("; ", 1)


@pytest.mark.parametrize(
    ("a", "b", "tier", "said"),
    [
        (HIGH, NONE, "encounter", ["repeats less", "71% → 0% of the text with an appointment"]),
        (NONE, HIGH, "encounter", ["repeats more", "0% → 71% of the text"]),
        (HIGH, LOWER, "encounter", ["do not show a change", ": 71"]),
        (UNKNOWN, HIGH, "encounter", ["was not measured in both runs"]),
        (HIGH, NONE, "public", ["of the text at “Public facts”"]),
    ],
)
def test_what_is_said_of_text_follows_from_the_interval(a: Row, b: Row, tier: str, said: list[str]) -> None:
    text, _ = conclusion(a, b, {}, tier=tier)
    assert all(part in text for part in said)


@pytest.mark.parametrize(
    ("deltas", "said"),
    [
        ({}, "diagnoses were not measured in both runs."),
        ({"hiv": {"public": SAME}}, "no diagnosis is shown to have become easier or harder to tell."),
        (
            {"hiv": {"public": SAME, "encounter": UP}, "ptsd": {"public": DOWN}},
            "HIV became easier to tell and PTSD became harder to tell, at one level of access or more.",
        ),
        # One tier at which it became easier outweighs those at which it became harder.
        ({"hiv": {"public": DOWN, "encounter": UP}}, "HIV became easier to tell, at one"),
        (
            {"hiv": {"public": DOWN}},
            "HIV became harder to tell, at one level of access or more; no diagnosis is shown to have become easier to",
        ),
    ],
)
def test_what_is_said_of_diagnoses(deltas: dict[str, dict[str, Change]], said: str) -> None:
    assert conclusion(HIGH, NONE, deltas)[1].removeprefix("by AUROC over all patients, ").startswith(said)
