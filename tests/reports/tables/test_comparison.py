"""Tables of a comparison: one notation for ranges, exact figures without them, and no p-value in what is published."""

import re
from collections.abc import Callable
from functools import partial

from support.results.compared_results import compared, forgetting
from support.results.published_numbers import Notation

from clinaudit.reports.tables.comparison import (
    changes_table,
    disclosure_tables,
    forgetting_table,
    health_table,
    memorization_tables,
)
from clinaudit.reports.tables.table import Table

APPOINTMENT = "4 Appointment reminder"


def test_a_metric_stands_with_both_runs_and_the_range_of_their_difference() -> None:
    changed, rest = (tables(changed=changed) for changed in (True, False))
    own = "Own text"
    assert changed[own][APPOINTMENT, "trained on"] == ("70% (61 to 78)", "0% (0 to 4)", "−70% (−78 to −57)")
    assert rest[own][APPOINTMENT, "never seen"][2] == "0% (−4 to +4)"
    hits, identifiers = (changed[name][APPOINTMENT, "trained on"] for name in ("With a match", "Identifiers"))
    assert hits == ("100% (96 to 100)", "0–8% (0 to 14)", "−100 to −92% (−100 to −83)")
    assert identifiers == ("61–83% (52 to 89)", "0–5% (0 to 10)", "−82 to −57% (−89 to −43)")
    assert "Others’ text" not in changed
    assert set(rest["Others’ text"].values()) == {("0% (0 to 4)", "0% (0 to 4)", "0% (−4 to +4)")}
    # Every row stands once, with what is shown to have changed or with the rest.
    assert all(
        len(changed.get(name, {})) + len(rest.get(name, {})) == (6 if name == "In 1,000 queries" else 12)
        for name in changed.keys() | rest.keys()
    )


def test_a_metric_that_a_run_has_not_measured_has_no_rows() -> None:
    comparison = compared()
    memorization = {
        tier: {arm: change.model_copy(update={"other_patient_fraction": None}) for arm, change in arms.items()}
        for tier, arms in comparison.memorization.items()
    }
    older = comparison.model_copy(update={"memorization": memorization})
    for changed in (True, False):
        tables = memorization_tables(older, changed=changed)
        assert not [table for table in tables if table.caption.startswith("Others")]


def test_exact_ranges_have_no_width_and_no_change_is_a_share_beyond_all() -> None:
    published, exact = ([*each(changed=True), *each(changed=False)] for each in map(deltas, (False, True)))
    for tables in (published, exact):
        assert {table.caption for table in tables} == {"AUROC over all patients: trained on minus never seen"}
        assert not [cell for table in tables for row in table.rows for cell in row if "%" in cell]
    assert " to " in published[0].rows[0][4].split(" (")[0]
    assert re.fullmatch(r"[−+]0\.\d\d \(.*\)", exact[0].rows[0][4])


def tables(*, changed: bool) -> dict[str, dict[tuple[str, str], tuple[str, ...]]]:
    found = memorization_tables(compared(), changed=changed)
    return {table.caption.split(":")[0]: {(row[0], row[1]): row[2:] for row in table.rows} for table in found}


def deltas(exact: bool) -> Callable[..., list[Table]]:
    return partial(disclosure_tables, compared(exact=exact))


def test_who_had_a_match_in_which_run_is_a_class_and_the_p_value_is_exact_alone() -> None:
    published, exact = changes_table(compared()), changes_table(compared(exact=True))
    assert published.rows[0][2:] == ("1–10", "111–120", "0", "1–10", "0, 1–10")
    assert exact.rows[0][2:] == ("4", "119", "0", "2", "0, 3", "below 0.001")
    assert len(exact.columns) == len(published.columns) + 1 == len(exact.rows[0])


def test_a_purged_run_has_no_pairs_to_list() -> None:
    comparison = compared()
    memorization = {
        tier: {arm: change.model_copy(update={"patients": None}) for arm, change in arms.items()}
        for tier, arms in comparison.memorization.items()
    }
    purged = comparison.model_copy(update={"memorization": memorization})
    assert changes_table(purged).rows == ()


def test_the_certificate_without_names() -> None:
    assert dict(forgetting_table(forgetting(Notation())).rows) == {
        "Named patients": "11–20",
        "Still leaks": "1–10",
        "Not shown": "0",
        "Forgotten": "11–20",
        "Stood out among the never seen already in A": "11–20 of 12–30",
        "Never seen, and would stand out by chance or by shared text": "1–10 of 112–130",
        "Share of the never seen who would not pass either": "0–9% (0 to 15)",
    }


def test_a_health_check_says_its_rule_in_words_and_never_a_share_of_generations() -> None:
    published, exact = (health_table(forgetting(Notation(exact)).health).rows for exact in (False, True))
    assert published[0][2:] == ("120", "120", "no less than half of A: 59", "✓ yes")
    assert published[1][2:] == ("–", "–", "at most 0.10 above A, never above 0.50", "✓ yes")
    assert exact[1][2:] == ("0.004", "0.008", "at most 0.10 above A, never above 0.50: 0.104", "✓ yes")
