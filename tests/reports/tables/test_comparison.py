"""Tables of a comparison: every change stands once, with its place, both figures and their difference."""

from support.compared_results import compared

from clinaudit.reports.tables.comparison import change_tables


def test_every_change_stands_in_one_table() -> None:
    for exact in (False, True):
        content = compared(exact=exact)
        rows = [
            row
            for direction in ((1, -1), (0,), (None,))
            for table in change_tables(content, direction=direction)
            for row in table.rows
        ]
        assert len(rows) == len(content.changes)
