"""The panel of judges: majority, agreement and kappa by hand and from the paper's tables."""

from collections import Counter
from itertools import product
from pathlib import Path

import pytest

from clinaudit.audit.unlearning.benchmark.files import QUESTION_KINDS, Bench, BenchPatient, Question
from clinaudit.audit.unlearning.benchmark.panel import draw_sample, majority, measure_panel, merged_kappa, read_judges
from clinaudit.errors import BadInputError

JUDGES = ("a", "b", "c")
YES, NO, MAYBE = "supported", "unsupported", "ambiguous"


@pytest.mark.parametrize(
    ("task", "verdicts", "together"),
    [
        ("title", (YES, YES, NO), YES),
        ("title", (NO, MAYBE, NO), NO),
        ("title", (MAYBE,) * 3, MAYBE),
        ("title", (YES, NO, MAYBE), "disagree"),
        # Table 12: the one split case.
        ("question", ("unknown", "valid", "invalid"), "split"),
    ],
)
def test_two_of_three_decide(task, verdicts, together) -> None:
    assert majority(task, verdicts) == together
    with pytest.raises(ValueError, match="three judges"):
        majority(task, verdicts[:2])


def test_agreement_and_kappa_of_four_items_by_hand() -> None:
    rows = {"1": (YES, YES, YES), "2": (YES, YES, NO), "3": (NO, MAYBE, NO), "4": (YES, NO, MAYBE)}
    measured = measure_panel("title", rows, JUDGES)
    # a and b agree on items 1, 2; a and c on 1, 3; b and c on 1.
    assert measured.pairs == {"a and b": 0.5, "a and c": 0.5, "b and c": 0.25}
    assert measured.agreement == pytest.approx(1.25 / 3)
    assert measured.verdicts["b"] == {YES: 2, NO: 1, MAYBE: 1, "unknown": 0}
    assert measured.verdicts["Majority"] == {YES: 2, NO: 1, MAYBE: 0, "unknown": 0, "disagree": 1}
    # Merged: supported 3, 2, 0, 1 of 3. Agreement of pairs: 1, 1/3, 1, 1/3, mean 2/3; supported is half of all
    # verdicts, so chance is 1/2 and kappa (2/3 - 1/2) / (1/2) = 1/3.
    assert measured.kappa == pytest.approx(1 / 3)


def kappa_of_shares(agreement: float, share: float) -> float:
    """Return Fleiss' kappa of two verdicts from the mean agreement and the share of the first among all verdicts.

    (agreement - chance) / (1 - chance), chance being share² + (1 - share)²: what a published table allows to recompute.
    """
    chance = share**2 + (1 - share) ** 2
    return (agreement - chance) / (1 - chance)


def test_kappa_equals_its_definition_on_every_small_table() -> None:
    for rows in product([(YES, YES, YES), (YES, YES, NO), (YES, NO, NO), (NO, MAYBE, NO)], repeat=3):
        share = sum(row.count(YES) for row in rows) / 9
        agreeing = sum(3 if row.count(YES) in (0, 3) else 1 for row in rows) / 9
        if 0 < share < 1:
            assert merged_kappa("title", rows) == pytest.approx(kappa_of_shares(agreeing, share))
        else:
            assert merged_kappa("title", rows) is None


def test_alike_verdicts_have_no_kappa_and_no_items_no_agreement() -> None:
    assert measure_panel("title", {"1": (YES,) * 3}, JUDGES).kappa is None
    nothing = measure_panel("title", {}, JUDGES)
    assert (nothing.agreement, nothing.kappa) == (None, None)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("x = [", "is no TOML"),
        ("[[judge]]\nname = 'a'\n", "must have 3 tables"),
        ("[[judge]]\nname='a'\nurl='u'\nmodel='m'\n" * 3, "names two judges alike"),
        ("[[judge]]\nname='a'\nurl='u'\n" * 3, "judge.0.model: missing"),
        ("".join(f"[[judge]]\nname='{name}'\nurl='u'\nmodel='m'\n" for name in ("a", "Majority", "c")), "one Majority"),
        ("[[judge]]\nname='a'\nurl='u'\nmodel='m'\nkey='k'\n" * 3, "judge.0.key: extra_forbidden"),
    ],
)
def test_a_panel_of_other_than_three_named_judges_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "panel.toml"
    path.write_text(text)
    with pytest.raises(BadInputError) as caught:
        read_judges(path)
    assert problem in caught.value.render()


def test_a_judges_key_lies_beside_the_panels_file(tmp_path: Path) -> None:
    path = tmp_path / "panel.toml"
    tables = [f"[[judge]]\nname='{name}'\nurl='http://127.0.0.1:1/v1'\nmodel='m'\n" for name in JUDGES]
    path.write_text("".join(tables) + "key_file='key'\n")
    assert [judge.key_file for judge in read_judges(path).values()] == [None, None, tmp_path / "key"]


@pytest.mark.parametrize(
    ("titles", "questions", "drawn"),
    [(1, 1, ((1, 0, 0), 1)), (2, 2, ((1, 1, 0), 2)), (5, 3, ((2, 2, 1), 3)), (99, 99, ((3, 2, 1), 12))],
)
def test_as_many_are_drawn_as_are_asked_for_of_each_category_in_equal_parts(titles, questions, drawn) -> None:
    known = ("cancer", "kidney", "arthritis_bone")
    categories = [category for number, category in zip((3, 2, 1), known, strict=True) for _ in range(number)]
    patients = [
        BenchPatient(f"p{place}", category, "given", f"title {place}", is_trained=True)
        for place, category in enumerate(categories)
    ]
    asked = [
        Question(f"{kind}-{one.patient_id}", one.patient_id, kind, "train", "Why?", "So.", (), (), "given", "")
        for one in patients
        for kind in QUESTION_KINDS
    ]
    bench = Bench(tuple(patients), tuple(asked), (), (), {}, "", "", {}, None)
    sample = draw_sample(bench, titles=titles, questions=questions, seed=0)
    by_category = Counter(patient.category for patient in sample.titles.values())
    assert (tuple(by_category[category] for category in known), len(sample.questions)) == drawn
