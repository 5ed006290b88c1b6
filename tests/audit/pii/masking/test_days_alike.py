"""Days without a year: beside a word of time, written as one that stands beside one, and scores that look like them."""

import pytest
from support.pii.masked_by_rules import masked


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Apixaban started 5/30, rash 6/3, next visit 7/11.",
            "Apixaban started <DATE_1>, rash <DATE_2+4d>, next visit <DATE_3+42d>.",
        ),
        ("The last dose 6/2.", "The last dose <DATE_1>."),
        ("It hurt between 2/3 and 2/10.", "It hurt between <DATE_1> and <DATE_2+7d>."),
        ("Pain 3/10, rash 7/10, seen 6/2.", "Pain 3/10, rash <DATE_1>, seen <DATE_2>."),
        ("She fell in march.", "She fell in <DATE_1>."),
        (
            "She called last Tuesday, and since Friday is worse.",
            "She called last <DATE_1>, and since <DATE_2> is worse.",
        ),
        ("He was born in the fall of '46.", "He was born in the <BIRTH_DATE_1>."),
        ("born '46, in the home", "born <BIRTH_DATE_1>, in the home"),
    ],
)
def test_days_without_a_year_are_masked(text: str, expected: str) -> None:
    assert masked(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HIV neg 10/28", "HIV neg <DATE_1>"),
        ("neg on 10/28/24", "neg on <DATE_1>"),
        ("rapid strep negative, 3/14", "rapid strep negative, <DATE_1>"),
        ("HIV neg 10/28, RPR neg 11/5.", "HIV neg <DATE_1>, RPR neg <DATE_2+8d>."),
        ("PPD read 10/30, CT 11/2 clear", "PPD read <DATE_1>, CT <DATE_2+3d> clear"),
        ("A1c 7.2 (10/28)", "A1c 7.2 (<DATE_1>)"),
        ("BCx 10/28 pending", "BCx <DATE_1> pending"),
    ],
)
def test_a_day_after_a_test_or_its_result_is_masked(text: str, expected: str) -> None:
    assert masked(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Labs drawn 10/28 and 11/05", "Labs drawn <DATE_1> and <DATE_2+8d>"),
        ("10/28, 11/05 and 12/1", "<DATE_1>, <DATE_2+8d> and <DATE_3+34d>"),
        ("Dressing changed 10/28, 11/05, 12/1.", "Dressing changed <DATE_1>, <DATE_2+8d>, <DATE_3+34d>."),
        ("drawn 10/28, 11/05 and two more on 12/1", "drawn <DATE_1>, <DATE_2+8d> and two more on <DATE_3+34d>"),
    ],
)
def test_each_day_of_a_list_has_its_tag(text: str, expected: str) -> None:
    assert masked(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "stool guaiac neg 3/3, strep neg 1/2 swabs",
        "Nodes positive 3/12; bcx positive 2/4 bottles",
        "Apgar 8/9, 9/10",
        "MoCA 26/30, MMSE 12/30",
        "4/5 strength, 3/5, 5/5",
        "CT 2/2 trauma",
        # Months, as British notes write them.
        "BP at path 3/12 ago",
        "Took 1/2 tablet and 1/4 tablet",
    ],
)
def test_shares_and_scores_are_no_days_of_tests_nor_of_lists(text: str) -> None:
    assert masked(text) == text


@pytest.mark.parametrize(
    "scores",
    [
        "Strength 4/5, murmur 2/6, pain 3/10, pulses 2/2, reflexes 2+",
        "Strength 5/5 in the right arm, 4/5 in the left, a 2/6 systolic murmur, pain 3/10 at rest, 7/10 on moving",
        "Motor: R 4/5, L 5/5. DTR 2/4, PHQ 9/27, GCS 15/15, BP 120/80",
        "Apgar 8/10 and 9/10, blood cultures 2/4 bottles, 3/4 criteria",
        "AKI 2/2 dehydration, Lotrel 5/10 daily, 2 1/2 tablets, 1/2 NS, half of it, 24/7",
    ],
)
def test_scores_and_doses_beside_a_day_stay(scores: str) -> None:
    assert masked(f"{scores}. Seen 7/11.") == f"{scores}. Seen <DATE_1>."


@pytest.mark.parametrize(
    "text",
    [
        "Cuff repair: 4/5 with 3/10 at rest, 5/30 repeats.",
        "A march fracture; she can march in place. Methotrexate on Mondays.",
        "Started 1/2 tablet; rash 2/2 amoxicillin; increased 1/2 pack.",
    ],
)
def test_without_a_word_of_time_nothing_is_a_day(text: str) -> None:
    assert masked(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Started nitrofurantoin July 29th, rash on Aug 2nd.",
            "Started nitrofurantoin <DATE_1>, rash on <DATE_2+4d>.",
        ),
        # The order goes back: of another year, perhaps.
        ("Seen Dec 30th, and on Jan 2nd.", "Seen <DATE_1>, and on <DATE_2>."),
        # February may have a 29th.
        ("Seen Feb 20th, and on March 2nd.", "Seen <DATE_1>, and on <DATE_2>."),
        ("Seen Feb 20th, and on Feb 22nd.", "Seen <DATE_1>, and on <DATE_2+2d>."),
        # One has a year, so that the other's is not this one for sure.
        ("Seen 07/29/2023, and on Aug 2nd.", "Seen <DATE_1>, and on <DATE_2>."),
        ("Seen July 29th, in August, and on Aug 9th.", "Seen <DATE_1>, in <DATE_2>, and on <DATE_3+11d>."),
    ],
)
def test_days_of_one_year_keep_their_intervals(text: str, expected: str) -> None:
    assert masked(text) == expected
