"""Tables of a comparison: every change stands once, with its place, both figures and their difference."""

from support.compared_results import compared

from clinaudit.reports.tables.comparison import change_tables

SHOWN, UNCHANGED, UNKNOWN = (1, -1), (0,), (None,)


def test_every_change_stands_in_one_table() -> None:
    for exact in (False, True):
        content = compared(exact=exact)
        rows = [
            row
            for direction in (SHOWN, UNCHANGED, UNKNOWN)
            for table in change_tables(content, direction=direction)
            for row in table.rows
        ]
        assert len(rows) == len(content.changes)


def test_of_pairs_it_says_how_many_came_and_went_and_of_what_is_published_never() -> None:
    exact = [row for table in change_tables(compared(exact=True), direction=SHOWN) for row in table.rows]
    assert any(row[-1].endswith("; 119 in A alone, 0 in B alone") for row in exact)
    published = [row for table in change_tables(compared(), direction=SHOWN) for row in table.rows]
    assert published
    assert not any("alone" in cell for row in published for cell in row)
