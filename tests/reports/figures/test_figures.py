"""Bars: what of a number is solid, pale, a line, and where the policy's limit stands."""

from xml.etree import ElementTree

import pytest
from support.results.filled_published import VARIANTS, exact, published, unmeasured

from clinaudit.reports.figures.bars import (
    BarFigure,
    Mark,
    MarkKind,
    Scale,
    difference_bar,
    difference_scale,
    fitting_scale,
    share_bar,
    stacked_bar,
)
from clinaudit.reports.figures.disclosure import draw_roc, excess_figure, roc_panels, stated_figure
from clinaudit.reports.figures.flow import flow_steps
from clinaudit.reports.figures.memorization import (
    copy_forward_figure,
    groups_figure,
    own_text_figure,
    sections_figure,
    shared_figure,
)
from clinaudit.reports.schema.corpus import GroupResults, SubgroupResults
from clinaudit.reports.schema.disclosure import RocPoint
from clinaudit.reports.schema.memorization import CopiedPieces, SectionComposition
from clinaudit.reports.schema.numbers import NOBODY, CountRange, ShownEstimate
from clinaudit.reports.schema.results import RunResults, StageResults

RANGE = ShownEstimate(low=0.4, high=0.6, confidence_low=0.3, confidence_high=0.75)
EXACT = ShownEstimate(value=0.5, low=0.5, high=0.5)
ABSENT = ShownEstimate(reason="nobody to count")


def test_a_range_is_solid_up_to_its_low_end_and_pale_to_its_high_end() -> None:
    marks = share_bar(RANGE, series="trained", limit=0.05).marks
    assert marks == (Mark("solid", 0.0, 40.0), Mark("pale", 40.0, 20.0), Mark("chance", 30.0, 45.0), Mark("limit", 5.0))


def test_an_exact_number_has_nothing_pale() -> None:
    assert share_bar(EXACT, series="never").marks == (Mark("solid", 0.0, 50.0),)


def test_a_whole_percent_is_drawn_as_the_number_that_is_published() -> None:
    mean = ShownEstimate(value=0.71, low=0.705, high=0.715, confidence_low=0.62, confidence_high=0.79)
    marks = share_bar(mean, series="trained").marks
    assert marks == (Mark("solid", 0.0, 71.0), Mark("chance", 62.0, 17.0))


@pytest.mark.parametrize("estimate", [ABSENT, None])
def test_a_number_that_is_missing_draws_no_bar_of_zero(estimate: ShownEstimate | None) -> None:
    assert share_bar(estimate, series="trained").marks == ()
    assert {mark.kind for mark in difference_bar(estimate, scale=Scale(-1, 1)).marks} == {"zero"}


def test_a_difference_is_placed_between_its_ends_with_a_line_at_zero() -> None:
    marks = difference_bar(ShownEstimate(low=-0.25, high=0.5), scale=Scale(-0.5, 0.5), limit=0.25).marks
    assert marks == (Mark("zero", 50.0), Mark("pale", 25.0, 75.0), Mark("limit", 75.0))
    assert Mark("solid", 66.67) in difference_bar(EXACT, scale=Scale(-0.5, 1.0)).marks


def test_parts_of_a_stack_follow_each_other_and_unknown_ones_take_no_room() -> None:
    parts: tuple[tuple[MarkKind, float | None], ...] = (
        ("revealing-single", 0.2),
        ("revealing-shared", None),
        ("templated-single", 0.1),
    )
    assert stacked_bar(parts, scale=Scale(0.0, 0.4)).marks == (
        Mark("revealing-single", 0.0, 50.0),
        Mark("templated-single", 50.0, 25.0),
    )


def test_what_lies_outside_a_scale_stands_at_its_end_and_a_limit_outside_is_not_drawn() -> None:
    bar = share_bar(RANGE, series="trained", scale=Scale(0.0, 0.2), limit=0.5)
    assert bar.marks[0] == Mark("solid", 0.0, 100.0)
    assert "limit" not in {mark.kind for mark in bar.marks}


@pytest.mark.parametrize(
    ("highest", "limit", "end"), [(0.7, 0.05, 1.0), (0.03, 0.05, 0.1), (0.004, None, 0.02), (0.01, 0.1, 0.2)]
)
def test_a_scale_of_shares_holds_all_numbers_and_twice_the_limit(
    highest: float, limit: float | None, end: float
) -> None:
    assert fitting_scale([ShownEstimate(value=highest), ABSENT, None], limit=limit) == Scale(0.0, end)


def test_a_scale_of_differences_grows_to_both_sides() -> None:
    small = ShownEstimate(low=-0.1, high=0.1)
    assert difference_scale([small], limit=0.1) == Scale(-0.25, 0.25)
    assert difference_scale([small, ShownEstimate(low=-0.6, high=0.3)], limit=0.25) == Scale(-1.0, 0.5)


RESULTS = published()
FIGURES = (own_text_figure, sections_figure, groups_figure, stated_figure, excess_figure)


def with_headline(results: RunResults, **update: object) -> RunResults:
    """Return the results with fields of the headline tier's summary, trained on, replaced."""
    arms = results.memorization["encounter"]
    changed = {**arms, "train": arms["train"].model_copy(update=update)}
    return results.model_copy(update={"memorization": {**results.memorization, "encounter": changed}})


def texts(figure: BarFigure) -> list[list[str]]:
    """Return the words beside the bars, row by row."""
    return [[bar.text for cell in row.cells for bar in cell.bars] for row in figure.rows]


def test_own_text_stands_trained_on_beside_never_seen_with_the_limit_in_every_bar() -> None:
    figure = own_text_figure(RESULTS)
    assert figure.columns == ("Someone who knows …", "Trained on", "Never seen")
    assert len(figure.rows) == 6
    for row in figure.rows:
        assert [cell.bars[0].series for cell in row.cells] == ["trained", "never"]
        for cell in row.cells:
            assert [mark.start for mark in cell.bars[0].marks if mark.kind == "limit"] == [5.0]
    assert texts(figure)[3][0].startswith("70% (")
    assert "limit, 5%" in figure.key


def test_no_limit_is_drawn_without_a_policy() -> None:
    figure = own_text_figure(RESULTS.model_copy(update={"decision": None}))
    kinds = {mark.kind for row in figure.rows for cell in row.cells for bar in cell.bars for mark in bar.marks}
    assert "limit" not in kinds
    assert "limit" not in figure.key


def test_a_tier_that_was_not_measured_keeps_its_row_and_says_so() -> None:
    missing = unmeasured().memorization["public"]
    results = RESULTS.model_copy(update={"memorization": {**RESULTS.memorization, "public": missing}})
    first = own_text_figure(results).rows[0]
    assert all(not cell.bars for cell in first.cells)
    assert first.cells[0].reading == "not measured: every patient was excluded"


@pytest.mark.parametrize("results", [RunResults(), unmeasured()], ids=["empty", "all-null"])
def test_what_was_not_measured_draws_nothing(results: RunResults) -> None:
    for make in FIGURES:
        assert make(results).rows == ()


@pytest.mark.parametrize("variant", ["full", "small", "pass", "exact"])
def test_every_mark_stays_on_its_track(variant: str) -> None:
    results = VARIANTS[variant]().results
    for make in FIGURES:
        for row in make(results).rows:
            for mark in (mark for cell in row.cells for bar in cell.bars for mark in bar.marks):
                assert 0 <= mark.start <= 100
                assert mark.start + mark.width <= 100.01


def test_sections_are_ranked_and_the_smaller_ones_pooled() -> None:
    sections = [
        SectionComposition(
            section=f"part_{place}",
            revealing_single=0.01 * place,
            revealing_shared=None,
            templated_single=0.0,
            templated_shared=0.0,
        )
        for place in range(1, 13)
    ]
    figure = sections_figure(with_headline(RESULTS, sections=sections))
    assert [row.name for row in figure.rows[:2]] == ["Part 12", "Part 11"]
    assert figure.rows[-1].name == "Smaller sections, together"
    assert texts(figure)[-1] == ["3%"]
    assert [swatch.words for swatch in figure.swatches] == ["medical, this patient's alone"]
    assert "Text that comes from only 1 to 20 patients is left out." in figure.caption


def test_a_chart_of_one_bar_is_a_sentence() -> None:
    bins = [CopiedPieces(notes="1", share=1.0), CopiedPieces(notes="2", share=0.0)]
    figure = copy_forward_figure(with_headline(RESULTS, copy_forward=bins))
    assert figure.rows == ()
    assert figure.caption.endswith("all that are shown have 1.")
    assert len(shared_figure(RESULTS).rows) == 2


def test_says_has_it_has_four_bars_a_cell_and_words_for_those_without_numbers() -> None:
    figure = stated_figure(RESULTS)
    row = figure.rows[3]
    assert figure.columns[1] == "Mean"
    assert [bar.series for bar in row.cells[1].bars] == ["trained", "trained", "never", "never"]
    assert all(bar.text for bar in row.cells[0].bars)
    assert row.cells[1].reading.startswith("trained on: ")
    assert "never seen: " in row.cells[1].reading
    alone = stated_figure(VARIANTS["train-only"]().results)
    assert [len(cell.bars) for cell in alone.rows[3].cells] == [2] * 7
    assert len(alone.swatches) == 2


def test_the_excess_has_its_limit_and_its_range_in_words() -> None:
    figure = excess_figure(RESULTS)
    cell = figure.rows[3].cells[0]
    assert {mark.kind for mark in cell.bars[0].marks} >= {"zero", "pale", "chance", "limit"}
    assert " to +" in cell.reading
    assert "Of 36 comparisons 18 fail" in figure.caption
    alone = excess_figure(VARIANTS["train-only"]().results)
    assert alone.rows == ()
    assert "needs patients whom the model never saw" in alone.caption


def group(name: str, low: float, high: float) -> GroupResults:
    """Return a group by age with an interval of its share."""
    share = ShownEstimate(low=low, high=high, confidence_low=low, confidence_high=high)
    count = CountRange(low=11, high=20)
    return GroupResults(partition="age", group=name, patients=count, affected=NOBODY, share=share)


def test_groups_are_ordered_by_their_numbers_and_worse_ones_are_named() -> None:
    groups = [group("80+", 0.1, 0.2), group("<18", 0.5, 0.9), group("18-34", 0.15, 0.6)]
    subgroups = SubgroupResults(memorization={"encounter": {"train": groups}})
    figure = groups_figure(RESULTS.model_copy(update={"subgroups": subgroups}))
    assert [row.name for row in figure.rows] == ["Age", "<18", "18-34", "80+"]
    assert figure.rows[0].cells == ()
    assert figure.caption.endswith("age <18.")


def test_the_flow_adds_classes_and_takes_the_excluded_away() -> None:
    stage = StageResults(planned=CountRange(low=4001, high=4100), missing=NOBODY)
    results = RESULTS.model_copy(update={"completeness": {**RESULTS.completeness, "judgements": stage}})
    steps = {step.title: step for step in flow_steps(results)}
    assert steps["In the corpus"].counts == ("121–130 trained on", "121–130 never seen")
    # 242 to 260 in both splits, less 1 to 10 of unknown age or sex.
    assert steps["Eligible"].counts == ("232–259 patients for each diagnosis",)
    assert steps["Eligible"].note == "Left out: age or sex unknown, 1–10."
    assert steps["Matched"].counts == ("4 groups of 51–60 patients for each diagnosis",)
    assert steps["Judged"].counts == ("4,001–4,100 readings",)
    assert steps["Judged"].note == "Each answer is read once for each diagnosis; every one has a verdict."


def test_a_flow_of_nothing_says_not_measured_at_every_step() -> None:
    assert {count for step in flow_steps(RunResults()) for count in step.counts} == {"not measured"}


def test_roc_curves_start_at_the_origin_and_need_exact_results() -> None:
    assert roc_panels(published().disclosure) == []
    panels = roc_panels(exact().disclosure)
    assert len(panels) == 12
    assert panels[0].title == "Anxiety, trained on"
    points = [
        RocPoint(threshold=0.0, true_positive_rate=1.0, false_positive_rate=1.0),
        RocPoint(threshold=1.0, true_positive_rate=0.8, false_positive_rate=0.2),
    ]
    svg = ElementTree.fromstring(draw_roc({"encounter": points}, arm="nontrain", label='a "label" & more'))
    assert svg.get("aria-label") == 'a "label" & more'
    assert [line.get("points") for line in svg.iter("polyline")] == ["0,100 20,20 100,0"]
