"""The annex's tables: what they leave out, and how they write what is not exact."""

from dataclasses import replace
from itertools import pairwise

import pytest
from support.results.filled_published import VARIANTS, exact, published, unmeasured
from support.results.filled_results import filled, published_of

from clinaudit.reports.figures.memorization import others_text_figure
from clinaudit.reports.schema.corpus import CorpusResults
from clinaudit.reports.schema.disclosure import MeasuredPair
from clinaudit.reports.schema.judge import ANSWER_CELLS, AnswersResults, JudgeResults
from clinaudit.reports.schema.numbers import CountRange, ShownEstimate
from clinaudit.reports.schema.results import RunResults, StageResults
from clinaudit.reports.tables.corpus import corpus_tables, group_means_tables, subgroup_tables
from clinaudit.reports.tables.disclosure import (
    balance_table,
    cohorts_table,
    metric_table,
    metric_tables,
    p_values_table,
    power_table,
    verdicts_table,
)
from clinaudit.reports.tables.judge import (
    judge_caveat_sentences,
    judge_matrix_table,
    judge_metrics_table,
    judge_sentence,
)
from clinaudit.reports.tables.memorization import (
    FEW_PATIENTS,
    above_table,
    bins_table,
    composition_tables,
    copy_forward_tables,
    memorization_table,
    memorization_zeros_table,
    near_verbatim_table,
    others_table,
    regions_table,
    sections_table,
    shared_table,
    spread_table,
)
from clinaudit.reports.tables.prompts import completeness_table, provenance_table, training_table
from clinaudit.reports.tables.table import Table
from clinaudit.reports.tally.leaves import SharesOfText

RESULTS = published()


def every_table(results: RunResults) -> list[Table]:
    """Return all tables of the annex that need no exact parts."""
    tables = [
        memorization_table(results),
        above_table(results),
        bins_table(results),
        regions_table(results),
        shared_table(results),
        sections_table(results),
        near_verbatim_table(results),
        *metric_tables(results),
        verdicts_table(results),
        *subgroup_tables(results),
        cohorts_table(results),
        balance_table(results),
        judge_matrix_table(results),
        judge_metrics_table(results),
    ]
    return tables if results.corpus is None else [*tables, *corpus_tables(results.corpus)]


@pytest.mark.parametrize("variant", ["full", "small", "train-only", "all-null", "pass", "exact"])
def test_every_row_is_as_long_as_its_head(variant: str) -> None:
    for table in every_table(VARIANTS[variant]().results):
        assert {len(row) for row in table.rows} <= {len(table.columns)}, table.caption
        assert not any("suppressed" in cell for row in table.rows for cell in row)


def test_tables_in_which_nothing_was_measured_have_no_rows() -> None:
    for table in (*metric_tables(unmeasured()), near_verbatim_table(unmeasured())):
        assert table.rows == ()
    assert subgroup_tables(RunResults()) == []


def test_a_metric_has_both_arms_and_their_difference_a_tier_and_the_mean_last() -> None:
    table = metric_table(RESULTS, "sensitivity")
    assert table.columns[-1] == "Mean"
    assert [row[1] for row in table.rows[:3]] == ["trained on", "never seen", "difference"]
    assert table.rows[9][0] == "4 Appointment reminder"
    assert table.rows[9][2].startswith("100% (")
    assert " to +" in table.rows[11][2]
    alone = metric_table(VARIANTS["train-only"]().results, "sensitivity")
    assert {row[1] for row in alone.rows} == {"trained on"}


def test_a_metric_that_nobody_measured_has_no_table() -> None:
    titles = [table.caption for table in metric_tables(RESULTS)]
    assert "AUROC over all patients" in titles
    assert metric_tables(unmeasured()) == []


def test_p_values_are_shown_with_exact_results_alone() -> None:
    assert p_values_table(RESULTS).rows == ()
    results = exact()
    measured = results.disclosure.by_diagnosis["anxiety"]["public"].evidence
    assert measured is not None
    assert measured.delta is not None
    tested = measured.delta.auroc_all.model_copy(update={"p_value": 0.0132, "p_holm": 0.0004})
    told = measured.model_copy(update={"delta": measured.delta.model_copy(update={"auroc_all": tested})})
    assert p_values_table(_with_evidence(results, told)).rows[0][1] == "0.013 (below 0.001)"


def _with_evidence(results: RunResults, measured: MeasuredPair) -> RunResults:
    """Return the results of one diagnosis at one tier, of which this was measured."""
    pair = results.disclosure.by_diagnosis["anxiety"]["public"].model_copy(update={"evidence": measured})
    disclosure = results.disclosure.model_copy(update={"by_diagnosis": {"anxiety": {"public": pair}}})
    return results.model_copy(update={"disclosure": disclosure})


def test_thresholds_that_say_the_same_are_left_out() -> None:
    arms = RESULTS.memorization["encounter"]
    above = arms["train"].attributable_fraction.above
    table = above_table(RESULTS)
    columns = list(zip(*(row[2:] for row in table.rows), strict=True))
    assert len(above) > len(columns)
    assert all(one != other for one, other in pairwise(columns))


def test_a_bin_in_which_nobody_is_at_any_tier_has_no_column() -> None:
    table = bins_table(RESULTS)
    for place in range(2, len(table.columns)):
        assert {row[place] for row in table.rows} != {"0"}
    assert table.columns[2] == "None"


def test_text_of_few_patients_is_said_and_explained() -> None:
    arms = RESULTS.memorization["encounter"]
    few = arms["train"].model_copy(update={"stitched_share": None})
    results = RESULTS.model_copy(update={"memorization": {"encounter": {"train": few}}})
    table = regions_table(results)
    assert table.rows[0][2] == "few patients"
    assert "1 to 20 patients" in table.note
    assert table.rows[0][-3:-1] == ("140", "680")


def test_what_only_the_evidence_holds_has_tables_of_their_own() -> None:
    assert spread_table(RESULTS).rows == ()
    assert group_means_tables(RESULTS) == []
    assert spread_table(exact()).columns[2] == "10% have at most"
    assert group_means_tables(exact())[0].rows[0][:3] == ("Age", "18-34", "4")


def test_subgroups_stand_a_tier_a_column_and_an_arm_a_table() -> None:
    tables = subgroup_tables(RESULTS)
    assert [table.caption.rpartition(", ")[2] for table in tables] == ["trained on", "never seen"] * 2
    assert "all of 11–20" in {cell for row in tables[0].rows for cell in row}


def test_a_group_of_nobody_anywhere_has_no_column() -> None:
    corpus = RESULTS.corpus
    assert corpus is not None
    bands = {**corpus.splits["train"].age_bands, "<18": CountRange(low=0, high=0)}
    split = corpus.splits["train"].model_copy(update={"age_bands": bands, "race": {}})
    tables = {table.caption: table for table in corpus_tables(corpus_of(split, corpus))}
    assert "<18" not in tables["Age"].columns
    assert "Race and ethnicity" not in tables
    assert tables["Size"].rows[0][1:4] == ("121–130", "560", "210,000")


def corpus_of(split: object, corpus: CorpusResults) -> CorpusResults:
    """Return the corpus with this split alone."""
    return corpus.model_copy(update={"splits": {"train": split}, "cohorts": {}})


def judged(sensitivity: ShownEstimate, specificity: ShownEstimate) -> JudgeResults:
    """Return the judge's quality with these two."""
    quality = RESULTS.judge_quality
    assert quality is not None
    return quality.model_copy(update={"sensitivity": sensitivity, "specificity": specificity})


@pytest.mark.parametrize(
    ("sensitivity", "specificity", "missed", "wrong"),
    [
        ((0.833, 0.833), (0.897, 0.897), "about 1 in 6", "about 1 in 10"),
        ((1.0, 1.0), (0.5, 0.5), "none", "about 5 in 10"),
        ((0.8, 0.9), (0.95, 1.0), "1 in 10 to 1 in 5", "up to 1 in 20"),
    ],
)
def test_the_judge_errs_in_natural_frequencies(
    sensitivity: tuple[float, float], specificity: tuple[float, float], missed: str, wrong: str
) -> None:
    first, second = (ShownEstimate(low=low, high=high) for low, high in (sensitivity, specificity))
    said = judge_sentence(judged(first, second))
    assert (
        f"it misses {missed} of those that state the diagnosis, and wrongly finds it in {wrong} of the others" in said
    )


def test_a_judge_that_was_not_scored_is_said_to_be_unknown() -> None:
    assert "not known" in judge_sentence(None)
    assert "not known" in judge_caveat_sentences(None)
    nothing = ShownEstimate(reason="no labelled text")
    assert "could not be measured" in judge_sentence(judged(nothing, nothing))


def test_texts_without_a_rating_have_a_column_only_where_there_are_any() -> None:
    quality = RESULTS.judge_quality
    assert quality is not None
    assert judge_matrix_table(RESULTS).columns[-1] == "Not mentioned"
    unread = quality.matrix[0].model_copy(update={"unjudged": CountRange(low=2, high=2)})
    changed = quality.model_copy(update={"matrix": [unread, *quality.matrix[1:]]})
    table = judge_matrix_table(RESULTS.model_copy(update={"judge_quality": changed}))
    assert table.columns[-1] == "Not rated"
    assert table.rows[0][-1] == "2"


def test_what_became_of_the_questions_is_told_where_it_is_not_one_verdict_each() -> None:
    quality = RESULTS.judge_quality
    assert quality is not None

    def rows(**cells: int) -> dict[str, str]:
        counts = {cell: CountRange(low=cells.get(cell, 0), high=cells.get(cell, 0)) for cell in ANSWER_CELLS}
        alpha = ShownEstimate(value=0.8, low=0.8, high=0.8, confidence_low=0.7, confidence_high=0.9)
        each = cells.get("each", 1)
        answers = AnswersResults(answers_each=each, alpha=alpha if each > 1 else None, **counts)
        changed = quality.model_copy(update={"answers": answers})
        table = judge_metrics_table(RESULTS.model_copy(update={"judge_quality": changed}))
        assert table.rows[: len(plain)] == plain
        return dict(table.rows[len(plain) :])

    plain = judge_metrics_table(RESULTS).rows
    assert rows(unanimous=50) == {}
    assert rows(unanimous=50, refused=2) == {"Without a verdict, as the model refused to answer: labelled texts": "2"}
    assert rows(each=3, unanimous=40, majority=8, no_majority=1, without_span=3) == {
        "Asked 3 times, with as many equal answers: labelled texts": "40",
        "Asked 3 times, with two equal answers, which count: labelled texts": "8",
        "Without a verdict, as no two usable answers are equal: labelled texts": "1",
        "Without a verdict, as nothing was quoted for a mention: labelled texts": "3",
        "Agreement of the judge with itself, beyond chance (Krippendorff's alpha): labelled texts": (
            "0.80 (0.70 to 0.90)"
        ),
    }


def test_the_shipped_labels_are_called_so_beside_their_digest() -> None:
    run = {"settings": {"--judge-labels": "b008", "--seed": 0}}
    assert provenance_table(run, has_shipped_labels=True).rows[0] == ("settings.--judge-labels", "shipped set (b008)")
    assert provenance_table(run).rows[0] == ("settings.--judge-labels", "b008")


def test_nested_records_lists_and_what_was_not_given_are_words() -> None:
    rows = {
        row[0]: row[1]
        for row in provenance_table(
            {"a": {"b": {"c": 1}}, "list": [], "tiers": ["x", "y"], "no": None, "on": True}
        ).rows
    }
    assert rows == {"a.b.c": "1", "list": "none", "tiers": "x, y", "no": "not given", "on": "true"}


def test_exclusions_name_their_tier_by_its_title() -> None:
    stage = StageResults(
        planned=CountRange(low=81, high=90),
        missing=CountRange(low=1, high=10),
        excluded={"public_name: no name": CountRange(low=11, high=20)},
    )
    table = completeness_table(RunResults(completeness={"priors": stage}))
    assert table.rows == (("Priors", "81–90", "1–10", "Public facts and name: no name: 11–20"),)
    assert completeness_table(RunResults()).rows == ()


def test_the_training_log_says_what_it_lacks() -> None:
    results = published()
    assert results.training is not None
    log = [results.training[0].model_copy(update={"validation_loss": None})]
    (row,) = training_table(results.model_copy(update={"training": log})).rows
    assert row == ("1", "0.1920", "not measured", "1.5050")


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
            "detectable_delta": ShownEstimate(low=1.2, high=1.4),
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
