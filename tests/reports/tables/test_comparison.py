"""Tables of a comparison: every change stands once, with its place, both figures and their difference."""

import re

from support.compared_results import compared, forgetting

from clinaudit.reports.tables.comparison import change_tables, forgetting_table, health_table

SHOWN, UNCHANGED, UNKNOWN = (1, -1), (0,), (None,)


def test_a_metric_stands_with_both_runs_and_their_difference() -> None:
    content = compared(exact=True)
    tables = {table.caption: table for table in change_tables(content, direction=SHOWN)}
    rows = {row[:2]: row[2:] for row in tables["Patients with own text"].rows}
    (change,) = content.changes_of("attributable_patients", tier="encounter_cc_hpi", arm="train")
    a, b, difference = rows["6 Appointment, complaint and history", "trained on"]
    assert re.fullmatch(rf"{100 * (change.a.value or 0):.0f}% \(\d+ to \d+\)", a)
    assert "%" in b
    assert re.fullmatch(r"−\d+% \(−\d+ to −\d+\)", difference)
    queries = next(iter(tables["Within so many queries"].rows))
    assert queries[0].endswith(" queries")


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


def test_the_certificate_without_names() -> None:
    assert dict(forgetting_table(forgetting(exact=True)).rows) == {
        "Named patients": "14",
        "Still leaks": "1",
        "Not shown": "0",
        "Forgotten": "13",
        "Stood out among the never seen already in A": "13 of 14",
        "Never seen, and would stand out by chance or by shared text": "5 of 123",
        "Share of the never seen who would not pass either": "4.1% (1.3 to 9.2)",
    }
    published = dict(forgetting_table(forgetting()).rows)
    assert "Still leaks" not in published
    assert published["Share of the never seen who would not pass either"] == "not measured: not published"


def test_a_health_check_says_its_rule_in_words_and_never_a_share_of_generations() -> None:
    published, exact = (health_table(forgetting(exact=exact).health).rows for exact in (False, True))
    assert published[0][2:] == ("120", "120", "no less than half of A: 59", "✓ yes")
    assert published[1][2:] == ("–", "–", "at most 0.10 above A, never above 0.50", "✓ yes")
    assert exact[1][2:] == ("0.004", "0.008", "at most 0.10 above A, never above 0.50: 0.104", "✓ yes")
