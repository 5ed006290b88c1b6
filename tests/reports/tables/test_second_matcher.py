"""Both matchers side by side, as a reader is shown them."""

from support.results.filled_results import filled
from support.results.planted_disclosure import pair_from, planted_table
from support.results.second_matching import second

from clinaudit.reports.suppression.results import suppress
from clinaudit.reports.tables.cohorts import second_matcher_table


def test_the_report_shows_both_matchers_side_by_side_and_nothing_without_a_second() -> None:
    assert second_matcher_table(filled()) is None
    results = suppress(second(pair_from(planted_table(97, 40, 12), planted_table(97, 15, 14)), sets=97))
    table = second_matcher_table(results)
    assert table is not None
    first_row = table.rows[0]
    assert first_row[0] == "HIV"
    assert "0.14" in first_row[4]
    assert first_row[5:] == ("97", "Balanced; largest SMD 0.05")
