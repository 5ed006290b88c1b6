"""What tables leave out, join and explain, and that charts draw nothing that the tables do not give."""

import re

import pytest
from support.results.filled_results import all_null, empty, filled, memorization_of, population

from clinaudit.reports.figures.disclosure import delta_figure, roc_figure
from clinaudit.reports.figures.drawn_ranges import Mark, drawn_range, is_drawn, not_drawn_sentence
from clinaudit.reports.figures.groups import distribution_figure, subgroup_figure
from clinaudit.reports.figures.memorization import composition_figure
from clinaudit.reports.pages.report import render_page
from clinaudit.reports.schema.corpus import CorpusSummary
from clinaudit.reports.schema.disclosure import DisclosurePair
from clinaudit.reports.schema.disclosure import TestedDelta as Delta
from clinaudit.reports.schema.estimate import REASON, Estimate
from clinaudit.reports.schema.judge import Agreement, CorrectedMetrics, CorrectedPair, JudgeQuality
from clinaudit.reports.schema.results import Results, StageCompleteness
from clinaudit.reports.suppression.results import suppress
from clinaudit.reports.tables.corpus import corpus_tables
from clinaudit.reports.tables.disclosure import disclosure_table
from clinaudit.reports.tables.judge import corrected_sentence, corrected_table
from clinaudit.reports.tables.run import completeness_table
from clinaudit.reports.tables.table import join_suppressed_rows

HIDDEN = Estimate(value=None, reason=REASON)
NEARLY_ALL = Estimate(value=None, low=0.1, high=0.95, reason=REASON)
SHOWN = Estimate(value=0.5, low=0.4, high=0.6, n=90)


def with_pair(results: Results, pair: DisclosurePair) -> Results:
    disclosure = results.disclosure.model_copy(update={"by_diagnosis": {"hiv": {"encounter": pair}}, "mean": {}})
    return results.model_copy(update={"disclosure": disclosure})


def headline_pair() -> DisclosurePair:
    return filled().disclosure.by_diagnosis["hiv"]["encounter"]


def a_judge() -> JudgeQuality:
    rate = Estimate(value=0.9, low=0.8, high=0.95, n=90)
    return JudgeQuality(
        judge="lexicon",
        labels="shipped",
        texts=90,
        matrix=[],
        sensitivity=rate,
        specificity=rate,
        agreement=Agreement(agreement=rate, kappa=rate, alpha=rate),
        accuracy_by_class={},
        accuracy_by_diagnosis={},
        flip_rate=rate,
        hiding_rate=rate,
    )


def with_delta(metric: str, delta: Delta) -> Results:
    pair = headline_pair()
    assert pair.delta is not None
    return with_pair(filled(), pair.model_copy(update={"delta": pair.delta.model_copy(update={metric: delta})}))


# Rows


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


def test_the_ledger_says_what_is_missing_also_where_sizes_are_suppressed() -> None:
    stages = {
        "generations": StageCompleteness(planned=90, done=80, failed=4),
        "judgements": StageCompleteness(planned=None, done=None, failed=0, missing=0),
    }
    table = completeness_table(Results(completeness=stages))
    assert [row[1:5] for row in table.rows] == [("90", "80", "4", "6"), ("suppressed", "suppressed", "0", "0")]
    assert "0 failed and 0 missing say that all was done" in table.note
    assert "all was done" not in completeness_table(Results(completeness={"generations": stages["generations"]})).note


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


# Charts


def test_a_band_that_says_almost_nothing_is_not_drawn() -> None:
    assert not is_drawn(drawn_range(NEARLY_ALL))
    assert is_drawn(drawn_range(NEARLY_ALL, signed=True))  # of a difference, from -1 to 1
    assert is_drawn(drawn_range(NEARLY_ALL, share=False))
    assert not is_drawn(drawn_range(HIDDEN))
    assert is_drawn(drawn_range(SHOWN))


def test_what_is_suppressed_and_not_drawn_is_named_by_arm() -> None:
    marks = [
        Mark("Memorized", "Age: 18-34", "train", HIDDEN),
        Mark("Memorized", "Age: 80+", "train", HIDDEN),
        Mark("Memorized", "Sex: Male", "nontrain", NEARLY_ALL),
        Mark("Memorized", "Sex: Female", "nontrain", SHOWN),
        Mark("Memorized", "Sex: Female", "train", Estimate(value=None, reason="nobody")),
    ]
    assert not_drawn_sentence(marks) == (
        " Suppressed in train, and not drawn: Age 18-34/80+. Suppressed in nontrain, and not drawn: Sex Male."
    )
    marks = [Mark("Hit rate", "4 Appointment details", "train", HIDDEN), *marks[3:]]
    assert not_drawn_sentence(marks) == " Suppressed in train, and not drawn: Hit rate of 4 Appointment details."
    assert not_drawn_sentence(marks[1:]) == ""


def test_chart_caption_and_table_of_differences_agree() -> None:
    nothing = Delta(value=None, low=-0.8, high=0.82, reason=REASON)
    figure = delta_figure(with_delta("ppv", nothing), metric="ppv")
    assert figure.svg == ""
    assert "suppressed for every diagnosis" in figure.caption
    assert figure.table.rows[0][2] == "suppressed (the band says almost nothing)"

    point = Delta(value=None, low=0.48, high=0.48, reason=REASON)
    figure = delta_figure(with_delta("ppv", point), metric="ppv")
    assert "band above zero for HIV (of 1 shown" in figure.caption
    # The outline of a band of a single value has no height, and is seen.
    assert re.search(r'fill-opacity="0.38"[^>]*stroke="#b04a00"', figure.svg)


def test_a_tier_without_a_difference_keeps_its_place_and_is_named() -> None:
    pair = headline_pair()
    assert pair.delta is not None
    hidden = Delta(value=None, reason=REASON)
    without = pair.model_copy(update={"delta": pair.delta.model_copy(update={"ppv": hidden})})
    results = filled()
    disclosure = results.disclosure.model_copy(
        update={"by_diagnosis": {"hiv": {"encounter": pair, "encounter_cc": without}}, "mean": {}}
    )
    results = results.model_copy(update={"disclosure": disclosure, "memorization": {}})
    figure = delta_figure(results, metric="ppv")
    assert "Not drawn, since suppressed or not measured: tier 5 (all)." in figure.caption
    assert ">5</text>" in figure.svg


def test_rates_whose_band_says_nothing_have_no_box() -> None:
    pair = headline_pair()
    train = pair.train.model_copy(
        update={"roc": None, "auroc": HIDDEN, "sensitivity": NEARLY_ALL, "false_positive_rate": SHOWN}
    )
    figure = roc_figure(with_pair(filled(), pair.model_copy(update={"train": train})), arm="train")
    assert figure.svg == ""
    assert figure.caption.startswith("ROC in train was not measured or is suppressed")


def test_the_legend_of_the_composition_names_only_what_is_drawn() -> None:
    train = memorization_of(0.6, 0.28, 140)
    sections = [row.model_copy(update={"templated_shared": None}) for row in train.sections]
    results = filled()
    arms = {**results.memorization["encounter"], "train": train.model_copy(update={"sections": sections})}
    figure = composition_figure(results.model_copy(update={"memorization": {"encounter": arms}}))
    legend = figure.svg
    assert ">templated, shared<" not in legend
    assert ">templated, this patient only<" in legend
    assert "Templated, shared" in figure.table.columns


def test_groups_stand_in_the_order_of_their_numbers_and_kinds() -> None:
    figure = subgroup_figure(filled())
    names = re.findall(r">(Age: [^<]+|Sex: [^<]+|Number of notes: [^<]+)</text>", figure.svg)
    kinds = [name.partition(":")[0] for name in names]
    assert kinds == sorted(kinds, key=["Age", "Sex", "Number of notes"].index)
    ages = [int(name.removeprefix("Age: ")[:2]) for name in names if name.startswith("Age: ")]
    assert len(ages) > 1
    assert ages == sorted(ages)


def test_a_share_of_patients_that_is_not_drawn_is_said() -> None:
    results = filled()
    train = results.memorization["encounter"]["train"]
    assert train.distribution is not None
    above = [item.model_copy(update={"share": NEARLY_ALL}) for item in train.distribution.above]
    spread = train.distribution.model_copy(update={"above": above})
    arms = {"train": train.model_copy(update={"distribution": spread})}
    figure = distribution_figure(results.model_copy(update={"memorization": {"encounter": arms}}))
    assert figure.svg == ""
    assert figure.caption.endswith("Suppressed in train, and not drawn: 4 Appointment details.")


# Layout


def test_an_option_in_a_sentence_is_one_piece() -> None:
    page = render_page(filled().model_copy(update={"judge_quality": a_judge()}), {})
    assert 'of its own <span class="option">(--judge-labels</span>).' in " ".join(page.split())
