"""The paper's tables as CSV: the same functions on published and on exact content, and marks where they belong."""

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
from support.results.filled_results import all_null, empty, exact_of, filled, published_of

from clinaudit.reports.exports.csv_table import CsvTable, count_cells, csv_text, estimate_cells
from clinaudit.reports.exports.paper import FILE_NAMES, MENTION_RATE, PREVALENCE, paper_files
from clinaudit.reports.schema.numbers import CountRange, EstimateRange
from clinaudit.reports.schema.results import ReportContent, to_json
from clinaudit.reports.tally.tally import Tally
from clinaudit.reports.wording.names import BOLD, is_bold

Rows = list[dict[str, str]]


def tables_of(content: ReportContent) -> dict[str, Rows]:
    return {
        name.removeprefix("paper/").removesuffix(".csv"): list(csv.DictReader(io.StringIO(text)))
        for name, text in paper_files(content).items()
    }


def published_tables(tally: Tally) -> dict[str, Rows]:
    return tables_of(ReportContent(published_of(tally), {}))


def exact_tables(tally: Tally) -> dict[str, Rows]:
    return tables_of(ReportContent(exact_of(tally), {}, is_exact=True))


def numbers_of(node: Any) -> Iterator[float]:
    if isinstance(node, dict):
        for item in node.values():
            yield from numbers_of(item)
    elif isinstance(node, list):
        for item in node:
            yield from numbers_of(item)
    elif isinstance(node, int | float) and not isinstance(node, bool):
        yield float(node)


def as_number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


@pytest.mark.parametrize("options", [{}, {"cell": 30}, {"nontrain": False}])
def test_no_published_file_holds_a_number_that_the_results_do_not_hold(options: dict[str, Any]) -> None:
    results = filled(**options)
    known = set(numbers_of(json.loads(to_json(published_of(results)))))
    # Table headings such as K = 1.
    labels = {"k", "notes", "band", "group"}
    found = [
        (name, column, number)
        for name, rows in published_tables(results).items()
        for row in rows
        for column, cell in row.items()
        if column not in labels or name == "table5_corpus"
        for number in [as_number(cell)]
        if number is not None
    ]
    assert len(found) > 1000
    assert [item for item in found if item[2] not in known] == []


def test_every_file_has_its_name_and_a_table_without_a_row_has_none() -> None:
    assert tuple(paper_files(ReportContent(published_of(filled()), {}))) == FILE_NAMES
    assert paper_files(ReportContent(published_of(empty()), {})) == {}
    assert "paper/table8_training.csv" not in paper_files(ReportContent(published_of(all_null()), {}))


def test_table_1_has_its_two_rates_and_six_tiers_for_both_arms() -> None:
    rows = published_tables(filled())["table1_disclosure"]
    of_hiv = [(row["arm"], row["row"]) for row in rows if row["diagnosis"] == "hiv"]
    tiers = ["public", "public_name", "public_name_meds", "encounter", "encounter_cc", "encounter_cc_hpi"]
    assert of_hiv == [
        ("train", PREVALENCE),
        ("train", MENTION_RATE),
        *(("train", tier) for tier in tiers),
        ("nontrain", MENTION_RATE),
        *(("nontrain", tier) for tier in tiers),
    ]


def test_the_average_mention_rate_is_the_mean_over_the_tiers() -> None:
    results = filled()
    rows = exact_tables(results)["table1_disclosure"]
    (rate,) = [float(r["rate"]) for r in rows if (r["arm"], r["row"], r["diagnosis"]) == ("train", MENTION_RATE, "hiv")]
    by_tier = [
        pair.train["mention_rate"].value or 0 for pair in exact_of(results).disclosure.by_diagnosis["hiv"].values()
    ]
    assert rate == pytest.approx(sum(by_tier) / 6, abs=1e-6)
    shown_rate = published_of(results).cohorts["hiv"].mention_rate["train"]
    assert shown_rate.low is not None
    assert shown_rate.high is not None
    assert shown_rate.low <= rate <= shown_rate.high
    assert shown_rate.confidence_low is None


@pytest.mark.parametrize(
    ("low", "value", "is_marked"),
    [(0.65, None, True), (0.6499, None, False), (0.7, 0.7, True), (None, None, False), (0.2, 0.9, False)],
)
def test_a_mark_needs_the_whole_range(low: float | None, value: float | None, is_marked: bool) -> None:
    assert is_bold(EstimateRange(value=value, low=low, high=0.95), "auroc") is is_marked


def test_published_marks_are_a_part_of_the_exact_ones() -> None:
    results = filled()
    marks = [
        {
            (row["arm"], row["row"], row["diagnosis"], metric)
            for row in tables(results)["table1_disclosure"]
            for metric in BOLD
            if row[f"{metric}_bold"]
        }
        for tables in (published_tables, exact_tables)
    ]
    assert marks[0]
    assert marks[0] < marks[1]


def test_exact_numbers_stand_in_the_evidence_alone() -> None:
    results = filled()
    exact, published = (tables(results)["figure2_figure8_memorization"] for tables in (exact_tables, published_tables))
    assert (exact[0]["patients_low"], exact[0]["patients_high"]) == ("150", "150")
    assert (published[0]["patients_low"], published[0]["patients_high"]) == ("141", "160")


def test_shares_of_table_6_are_of_all_patients_of_the_row() -> None:
    results = filled()
    rows = {
        (row["population"], row["group"]): row
        for row in exact_tables(results)["table6_race_sex"]
        if row["partition"] == "race"
    }
    # 14 of 150.
    assert float(rows["train", "black"]["share"]) == pytest.approx(14 / 150, abs=1e-6)
    ranges = {
        (row["population"], row["group"]): (float(row["share_low"]), float(row["share_high"]))
        for row in published_tables(results)["table6_race_sex"]
        if row["partition"] == "race"
    }
    # 1 to 20 of 142 to 160: the largest total of the ages' bands is 160, the least 142.
    low, high = ranges["train", "black"]
    assert low == pytest.approx(1 / 160, abs=1e-4)
    assert high == pytest.approx(20 / 142, abs=1e-4)


def test_cells_are_written_plainly_and_never_as_a_formula() -> None:
    table = CsvTable(
        "any",
        [
            {"name": "=1+1", "share": 0.1234567, "count": 3.0},
            {"name": "plan\u202e", "share": None, "count": -0.0, **count_cells("n", CountRange(low=1, high=10))},
            {"name": "-", **estimate_cells("x", None)},
        ],
    )
    assert csv_text(table).splitlines() == [
        "name,share,count,n_low,n_high,x,x_low,x_high",
        "'=1+1,0.123457,3,,,,,",
        "plan\ufffd,,0,1,10,,,",
        "'-,,,,,,,",
    ]


def test_identifiers_have_a_row_a_tier_and_arm_and_a_row_each_of_the_18_and_arm() -> None:
    of_tiers, of_kinds = (published_tables(filled())[f"identifiers_by_{name}"] for name in ("tier", "kind"))
    assert [(row["tier"], row["arm"]) for row in of_tiers[6:8]] == [("encounter", "train"), ("encounter", "nontrain")]
    assert of_tiers[6]["verified_per_1000"] == ""
    assert 0 < float(of_tiers[6]["verified_per_1000_low"]) < float(of_tiers[6]["verified_per_1000_high"])
    assert len({row["identifier"] for row in of_kinds}) == 18
    (photographs,) = [row for row in of_kinds if row["identifier"] == "Q"]
    assert (photographs["not_tested"], photographs["arm"], photographs["own_patients_low"]) == (
        "text holds none",
        "",
        "",
    )
    (names,) = [row for row in of_kinds if (row["identifier"], row["arm"]) == ("A", "train")]
    assert (names["title"], names["planted"], names["planted_found"]) == ("Names", "200", "196")


def test_values_by_chance_are_a_range_that_holds_the_exact_one() -> None:
    shown_row, exact_row = (
        tables["identifiers_by_tier"][6] for tables in (published_tables(filled()), exact_tables(filled()))
    )
    assert shown_row["chance_per_1000"] == ""
    ends = (float(shown_row[f"chance_per_1000_{end}"]) for end in ("low", "high"))
    assert next(ends) <= float(exact_row["chance_per_1000"]) <= next(ends)
    assert float(exact_row["chance_per_1000"]) == float(exact_row["chance_per_1000_low"]) > 0
    assert float(shown_row["chance_low"]) <= float(exact_row["chance"]) <= float(shown_row["chance_high"])
