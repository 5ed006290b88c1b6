"""The table and the sentence of membership: published, exact, refused and not measured."""

import pytest

from clinaudit.reports.schema.attacks import BLIND_FEATURES, BlindBaseline, MembershipEvidence, MembershipResults
from clinaudit.reports.schema.numbers import CountRange, Estimate, ShownEstimate
from clinaudit.reports.tables.attacks import membership_table
from clinaudit.reports.wording.attacks import membership_sentence

NONE = ShownEstimate(reason="nobody was scored")
PUBLISHED = MembershipResults(
    score="min_k_plus_plus",
    is_interpretable=True,
    differ_in=[],
    never_seen=CountRange(low=101, high=120),
    trained={"above_99": CountRange(low=101, high=120)},
    auroc=ShownEstimate(low=0.913, high=0.998, confidence_low=0.86, confidence_high=1.0),
    found_at_10=ShownEstimate(low=0.92, high=1.0, confidence_low=0.89, confidence_high=1.0),
    found_at_1=ShownEstimate(reason="too few"),
    p_value=ShownEstimate(low=0.0, high=0.0124),
)


def cells(results: MembershipResults) -> list[str]:
    table = membership_table(results)
    assert {len(row) for row in table.rows} == {len(table.columns)}
    return [row[-1] for row in table.rows]


def test_what_is_published() -> None:
    assert cells(PUBLISHED) == [
        "0.91–1.00 (0.86 to 1.00)",
        "92–100% (89 to 100)",
        "not measured: too few",
        "at most 0.012",
        "without the model, the notes do not tell both groups apart",
    ]
    assert membership_table(PUBLISHED).note.startswith("By Min-K%++. Figures are of all patients together")
    assert membership_sentence(PUBLISHED) == (
        "Of a patient trained on and one never seen, the model finds the notes of the former more familiar with a"
        " probability of 0.91–1.00 (0.86 to 1.00), more than the 0.5 of chance."
    )


def test_a_figure_that_may_be_chance_is_not_called_more() -> None:
    unsure = PUBLISHED.model_copy(update={"auroc": ShownEstimate(low=0.5, high=0.7, confidence_low=0.4)})
    assert membership_sentence(unsure).endswith("0.50–0.70, not shown to be more than the 0.5 of chance.")


def test_the_exact_table_has_the_area_of_the_blind_baseline() -> None:
    area = Estimate(value=0.531, low=0.42, high=0.63, n=200)
    same = dict.fromkeys(BLIND_FEATURES, area)
    blind = BlindBaseline(auroc=area, alone=same, without=same)
    evidence = MembershipEvidence(
        patients={"train": 100, "nontrain": 100},
        notes={"train": 100, "nontrain": 100},
        auroc={},
        p_value=0.0000004,
        blind=blind,
    )
    matched = blind.model_copy(update={"auroc": Estimate(value=0.22, low=0.07, high=0.4, n=48)})
    alike = PUBLISHED.model_copy(update={"evidence": evidence.model_copy(update={"blind": matched})})
    assert cells(alike)[4].endswith("tell both groups apart; they are more alike than groups drawn at random")
    p_value = ShownEstimate(value=0.0000004, low=0.0000004, high=0.0000004)
    assert cells(PUBLISHED.model_copy(update={"evidence": evidence, "p_value": p_value}))[3:] == [
        "below 0.001",
        "0.53 (0.42 to 0.63): without the model, the notes do not tell both groups apart",
    ]


@pytest.mark.parametrize(
    ("named", "said"),
    [
        (["dates"], "without the model, both groups are told apart by dates of visits alone"),
        (["words", "dates"], "without the model, both groups are told apart by words and dates of visits alone"),
        ([], "without the model, words, lengths, number and dates of the notes together tell both groups apart"),
    ],
)
def test_where_the_arms_differ_it_says_in_what(named: list[str], said: str) -> None:
    none = dict.fromkeys(("auroc", "found_at_10", "found_at_1", "p_value"), NONE)
    refused = PUBLISHED.model_copy(update={**none, "is_interpretable": False, "differ_in": named, "trained": {}})
    assert cells(refused) == ["not measured: nobody was scored", said]
    assert membership_sentence(refused) == f"Whether the model tells who was trained on cannot be said: {said}."


def test_where_nothing_was_measured_it_says_why() -> None:
    none = dict.fromkeys(("auroc", "found_at_10", "found_at_1", "p_value"), NONE)
    missing = PUBLISHED.model_copy(update={**none, "is_interpretable": None, "score": None})
    assert cells(missing)[-1] == "not measured"
    assert membership_table(missing).note.startswith("Figures")
    assert membership_sentence(missing) == (
        "Whether the model tells who was trained on was not measured: nobody was scored."
    )
