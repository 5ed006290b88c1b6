"""Tables in the paper's layout: Table 1 with its rates and marks, composition and copy-forward at every tier."""

from dataclasses import replace

from support.results.filled_published import VARIANTS, published
from support.results.filled_results import empty, exact_of, filled, published_of

from clinaudit.reports.schema.numbers import CountRange, EstimateRange
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.tables.corpus import corpus_tables
from clinaudit.reports.tables.disclosure import power_table
from clinaudit.reports.tables.memorization import FEW_PATIENTS, memorization_zeros_table
from clinaudit.reports.tables.paper import composition_tables, copy_forward_tables, table1_tables
from clinaudit.reports.tally.leaves import SharesOfText


def exact() -> RunResults:
    return exact_of(filled())


def test_table_1_has_two_columns_a_diagnosis_and_its_rates_on_top() -> None:
    train, nontrain = table1_tables(exact())
    assert len(train.columns) == 1 + 2 * 6
    assert [row[0] for row in train.rows[:2]] == ["Training prevalence", "Average mention rate over tiers"]
    assert [row[0] for row in nontrain.rows[:1]] == ["Average mention rate over tiers"]
    assert {len(row) for row in train.rows} == {13}
    # 60 of 150 train candidates have the first diagnosis.
    assert train.rows[0][1:3] == ("40%", "")
    assert table1_tables(published_of(empty())) == []


def test_marks_stand_where_the_exact_figure_is_at_the_threshold_or_above() -> None:
    train, _ = table1_tables(exact())
    diagnoses = list(exact().disclosure.by_diagnosis)
    checked = 0
    for row in train.rows[2:]:
        tier = list(exact().memorization)[int(row[0][0]) - 1]
        for place, cell in enumerate(row[1:]):
            metric, least = (("auroc", 0.65), ("ppv", 0.8))[place % 2]
            value = exact().disclosure.by_diagnosis[diagnoses[place // 2]][tier].train[metric].value
            assert value is not None
            assert cell.endswith("*") == (value >= least)
            checked += cell.endswith("*")
    assert 0 < checked < 72


def test_every_tier_and_arm_has_its_composition() -> None:
    tables = composition_tables(exact())
    assert len(tables) == 12
    assert len({table.caption for table in tables}) == 12
    evidence = exact().memorization["encounter"]["train"].evidence
    assert evidence is not None
    row = next(row for row in evidence.sections if row.section == "review_of_systems")
    templated = row.templated_single + row.templated_shared
    share = templated / (templated + row.revealing_single + row.revealing_shared)
    shown = next(table for table in tables if table.caption.endswith("4 Appointment reminder, trained on"))
    assert next(cells for cells in shown.rows if cells[0] == "Review of systems")[-1] == f"{100 * share:.0f}%"


def test_few_patients_are_explained() -> None:
    summary = filled().memorization["encounter"]["train"]
    few = replace(summary, copy_forward=SharesOfText.of({"1": (240, 80), "2": (80, 4)}))
    tally = replace(filled(), memorization={"encounter": {"train": few}}, decision=None)
    (table,) = copy_forward_tables(published_of(tally))
    assert table.rows == (("1", "100%"), ("2", FEW_PATIENTS))
    assert "1 to 20" in table.note


def test_people_have_percentages_beside_counts() -> None:
    assert exact().corpus is not None
    race = next(table for table in corpus_tables(exact().corpus) if table.caption == "Race and ethnicity")
    column = race.columns.index("Black")
    assert next(row for row in race.rows if row[0] == "Trained on")[column] == "14 (9.3%)"


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
