"""The table and the chart of other patients' text: by tier and arm, beside chance, with the limit."""

from support.results.filled_published import published

from clinaudit.reports.figures.memorization import others_text_figure
from clinaudit.reports.tables.memorization import others_table


def test_each_tier_and_arm_is_a_row_with_chance_beside() -> None:
    table = others_table(published(others_at=0))
    assert len(table.rows) == 12
    row = dict(zip(table.columns, table.rows[1], strict=True))
    assert (row["Tier"], row["Who"], row["Patients"]) == ("1 Public facts", "never seen", "121–130")
    assert row["Others' text"].startswith("12% (")
    assert row["Chance: text of one never-seen patient there"].startswith("0% (")
    assert row["Others whose text it is"] == "11–20"


def test_a_run_that_has_not_measured_it_has_no_table_and_no_chart() -> None:
    results = published()
    memorization = {
        tier: {arm: own.model_copy(update={"other_patients": None}) for arm, own in arms.items()}
        for tier, arms in results.memorization.items()
    }
    older = results.model_copy(update={"memorization": memorization})
    assert others_table(older).rows == ()
    assert others_text_figure(older).rows == ()


def test_pools_that_are_not_given_are_a_dash() -> None:
    results = published()
    shown = results.memorization["public"]["train"]
    assert shown.other_patients is not None
    few = shown.other_patients.model_copy(update={"sampled_fraction": None, "chance": None})
    public = {"train": shown.model_copy(update={"other_patients": few})}
    (row,) = others_table(results.model_copy(update={"memorization": {"public": public}})).rows
    assert row[4:6] == ("–", "–")


def test_the_chart_has_both_arms_and_the_limit() -> None:
    figure = others_text_figure(published(others_at=0))
    assert len(figure.rows) == 6
    assert figure.columns[1:] == ("Trained on", "Never seen")
    assert all(len(cell.bars) == 1 for row in figure.rows for cell in row.cells)
    assert "the policy's limit, 5%" in figure.key
