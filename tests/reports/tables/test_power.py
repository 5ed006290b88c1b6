"""The tables of what could have been detected, and of what zeros leave possible."""

from support.results.filled_published import VARIANTS, published

from clinaudit.reports.schema.numbers import CountRange, EstimateRange
from clinaudit.reports.tables.disclosure import power_table
from clinaudit.reports.tables.memorization import memorization_zeros_table


def test_what_each_comparison_could_have_shown_stands_beside_its_sets() -> None:
    results = published()
    assert len(power_table(results).rows) == 36
    pair = results.disclosure.by_diagnosis["hiv"]["public"]
    changed = pair.model_copy(
        update={
            "detectable_delta": EstimateRange(low=1.2, high=1.4),
            "dropped_sets": {"the chief complaint refers to the diagnosis": CountRange(low=1, high=10)},
        }
    )
    disclosure = results.disclosure.model_copy(update={"by_diagnosis": {"hiv": {"public": changed}}})
    rows = power_table(results.model_copy(update={"disclosure": disclosure})).rows
    assert rows[0][0] == "HIV"
    assert rows[0][3:] == ("the chief complaint refers to the diagnosis: 1–10", "none: the cohort is too small")


def test_the_tables_say_what_zeros_leave_possible() -> None:
    assert {row[0] for row in memorization_zeros_table(VARIANTS["pass"]().results).rows} == {
        "1 Public facts",
        "2 Public facts and name",
        "3 Public facts, name, medications",
        "4 Appointment reminder",
        "5 Appointment and chief complaint",
        "6 Appointment, complaint and history",
    }
    found = [(row[0][:1], row[1]) for row in memorization_zeros_table(published()).rows]
    assert ("4", "trained on") not in found
    assert ("4", "never seen") in found
