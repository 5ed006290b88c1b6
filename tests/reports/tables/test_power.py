"""The tables of what could have been detected, and of what zeros leave possible."""

from support.results.filled_results import filled

from clinaudit.reports.tables.power import memorization_zeros_table, power_table


def test_the_tables_say_what_zeros_leave_possible():
    results = filled()
    rows = power_table(results).rows
    assert len(rows) == 36
    assert {row[2] for row in rows} == {"0.17"}
    assert {row[3] for row in rows} == {"no zero"}
    assert memorization_zeros_table(results).rows == ()
