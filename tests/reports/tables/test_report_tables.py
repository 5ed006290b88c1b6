"""What tables leave out, join and explain."""

import re

import pytest
from support.results.filled_results import all_null, empty, filled
from support.results.one_pair import HIDDEN, SHOWN, headline_pair, with_delta, with_pair
from support.results.planted_people import population

from clinaudit.reports.pages.report import render_page
from clinaudit.reports.schema.corpus import CorpusSummary
from clinaudit.reports.schema.disclosure import TestedDelta as Delta
from clinaudit.reports.schema.estimate import REASON, Estimate
from clinaudit.reports.schema.judge import CorrectedMetrics, CorrectedPair
from clinaudit.reports.schema.results import Results
from clinaudit.reports.suppression.results import suppress
from clinaudit.reports.tables.corpus import corpus_tables
from clinaudit.reports.tables.disclosure import disclosure_table
from clinaudit.reports.tables.judge import corrected_sentence, corrected_table
from clinaudit.reports.tables.table import join_suppressed_rows


def test_rows_of_which_nothing_is_shown_are_joined_under_their_names() -> None:
    rows = [
        ("4", "race", "Asian", "suppressed", "suppressed"),
        ("4", "race", "White", "60", "suppressed"),
        ("4", "race", "Black", "suppressed", "suppressed"),
        ("5", "race", "Asian", "suppressed", "suppressed"),
    ]
    assert join_suppressed_rows(rows, names=2) == (
        ("4", "race", "Asian, Black", "suppressed", "suppressed"),
        ("4", "race", "White", "60", "suppressed"),
        ("5", "race", "Asian", "suppressed", "suppressed"),
    )
    assert join_suppressed_rows([]) == ()


def test_a_partition_of_which_nothing_is_shown_is_one_sentence() -> None:
    hidden = population(200).model_copy(update={"race": {"asian": None, "white": None}})
    corpus = CorpusSummary(
        counterfactual=True, labels="table", splits={"train": hidden, "nontrain": hidden}, cohorts={}, warnings=[]
    )
    race = next(table for table in corpus_tables(corpus) if table.caption == "Race and ethnicity")
    assert (race.rows, race.note) == ((), "Race and ethnicity: suppressed in every group of every split and cohort.")
    page = render_page(filled().model_copy(update={"corpus": corpus}), {})
    assert "<p>Race and ethnicity: suppressed in every group" in page
    assert "<caption>Race and ethnicity" not in page


@pytest.mark.parametrize(
    ("delta", "told"),
    [
        (Delta(value=-0.5, low=-0.6, high=-0.4, p_value=0.99, p_holm=1.0), "1.000"),
        (Delta(value=0.5, low=0.4, high=0.6, p_value=0.0, p_holm=0.0), "at most 0.001"),
        (Delta(value=None, low=0.3, high=0.4, reason=REASON, p_holm=0.05), "at most 0.05"),
        (Delta(value=None, low=-0.1, high=0.1, reason=REASON, p_holm=1.0), "above 0.05"),
        # Both arms are shown to two decimals: the difference is, its test is not.
        (Delta(value=0.5, low=0.4, high=0.6), "suppressed"),
        (Delta(value=None, reason=REASON), "suppressed"),
        (Delta(value=0.5, reason="too few of one class"), "not tested"),
        (Delta(value=None, reason="nobody mentions it"), "not tested"),
    ],
)
def test_the_p_column_says_what_became_of_the_test(delta: Delta, told: str) -> None:
    table = disclosure_table(with_delta("ppv", delta))
    (row,) = [row for row in table.rows if row[2] == "PPV among mentions"]
    assert row[-1] == told
    assert "one-sided" in table.note


def test_rows_without_a_corrected_figure_are_left_out_and_counted() -> None:
    hidden = CorrectedMetrics(auroc_all=HIDDEN, sensitivity=HIDDEN, ppv=HIDDEN)
    shown = CorrectedMetrics(auroc_all=SHOWN, sensitivity=HIDDEN, ppv=HIDDEN)
    pair = headline_pair().model_copy(
        update={"corrected": CorrectedPair(train=hidden, nontrain=shown, delta=hidden)},
    )
    results = with_pair(filled(), pair)
    table = corrected_table(results)
    assert [row[2] for row in table.rows] == ["AUROC over all patients"]
    assert table.note == "Left out: 2 of 3 rows, in which no corrected figure is shown."
    sentence = corrected_sentence(results)
    assert sentence.startswith("Corrected figures are shown for 1 of 2 arms")
    assert "In 2 they are suppressed" in sentence
    assert "tells the four classes apart" not in sentence

    errs = Estimate(value=None, reason="the judge errs too much")
    none = CorrectedMetrics(auroc_all=errs, sensitivity=errs, ppv=errs)
    pair = pair.model_copy(update={"corrected": CorrectedPair(train=none, nontrain=None, delta=None)})
    assert corrected_sentence(with_pair(filled(), pair)) == (
        "Corrected figures are shown for 0 of 1 arms (a diagnosis at a tier, in train or nontrain). Where the labelled"
        " texts do not show that the judge tells the four classes apart, there are none."
    )
    assert corrected_table(with_pair(filled(), pair)).rows == ()


@pytest.mark.parametrize("results", [filled(), filled(cell=30), filled(nontrain=False), all_null(), empty()])
def test_no_empty_table_is_folded_or_printed_as_data(results: Results) -> None:
    published = suppress(results)
    assert not re.search(r"<details>(?:(?!</details>).)*nothing to list", render_page(published, {}), re.S)
    paper = render_page(published, {}, for_paper=True)
    assert "nothing to list" not in paper.partition("<h2>Data tables</h2>")[2]
