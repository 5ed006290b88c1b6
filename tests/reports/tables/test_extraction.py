"""Queries needed as a table, a chart and sentences, which say no more than the numbers carry."""

from collections.abc import Mapping, Sequence

import pytest
from support.results.filled_published import VARIANTS, published
from support.results.filled_results import exact_of, filled
from support.results.planted_queries import GUESSED, KEPT, RECITED, publish_queries, tally_of_queries

from clinaudit.reports.figures.extraction import queries_figure
from clinaudit.reports.pages.annex import context
from clinaudit.reports.pages.report import repeated_text_part
from clinaudit.reports.schema.attacks import QUERY_LIMITS
from clinaudit.reports.schema.decision import DecidedRule, Limit
from clinaudit.reports.schema.numbers import ShownEstimate
from clinaudit.reports.schema.record import Arm
from clinaudit.reports.schema.results import ReportContent, RunResults
from clinaudit.reports.tables.attacks import queries_table
from clinaudit.reports.wording.attacks import queries_sentences
from clinaudit.reports.wording.rule_figures import subject_title

#: 150 patients of whom the text of some takes more than 1,000 queries, more than 100, and more than 10,000.
LATE, LATER = (0, 0, 0, 0, 30, 120, 0), (0, 0, 0, 30, 0, 120, 0)


def results_of(
    counts: Mapping[Arm, Sequence[int]], control: Sequence[int] | None = None, tier: str = "encounter"
) -> RunResults:
    shown = {arm: publish_queries(tally_of_queries(own, control)) for arm, own in counts.items()}
    return RunResults(queries={tier: shown})


def test_classes_of_the_table_do_not_read_as_sums() -> None:
    table = queries_table(results_of({"train": RECITED, "nontrain": KEPT}, GUESSED))
    assert table.columns[3:8] == ("1 query", "2–10", "11–100", "101–1,000", "1,001–10,000")
    assert [row[1] for row in table.rows] == [
        "trained on",
        "trained on, the model before training",
        "never seen",
        "never seen, the model before training",
    ]
    assert table.rows[0][3:] == ("41–60", "81–100", "1–20", "0", "0", "0", "0")
    assert queries_table(RunResults()).rows == ()


def test_the_chart_has_a_row_a_number_of_queries_and_a_column_for_whom_it_is_measured() -> None:
    for counts, control, heads in (
        ({"train": RECITED, "nontrain": KEPT}, GUESSED, ("Trained on", "Never seen", "Before training")),
        ({"train": RECITED, "nontrain": KEPT}, None, ("Trained on", "Never seen")),
        ({"train": RECITED}, KEPT, ("Trained on", "Before training")),
        ({"train": RECITED}, None, ("Trained on",)),
    ):
        figure = queries_figure(results_of(counts, control))  # type: ignore[arg-type]
        assert figure.columns == ("Asked", *heads)
        names = [row.name for row in figure.rows]
        assert names == ["Appointment reminder", "1 query", "10 queries", "100 queries", *names[4:]]
        assert len(names) == 1 + len(QUERY_LIMITS)
        assert all(len(row.cells) == len(heads) for row in figure.rows[1:])
    assert queries_figure(RunResults()).rows == ()


def test_a_tier_without_patients_never_seen_leaves_their_column_empty() -> None:
    first, second = results_of({"train": RECITED}, KEPT), results_of({"train": RECITED, "nontrain": KEPT})
    both = RunResults(queries={"encounter": first.queries["encounter"], "encounter_cc": second.queries["encounter"]})
    figure = queries_figure(both)
    assert figure.columns == ("Asked", "Trained on", "Never seen", "Before training")
    filled_cells = [[bool(cell.bars) for cell in row.cells] for row in figure.rows]
    assert filled_cells[1] == [True, False, True]
    assert filled_cells[7] == [True, True, False]


def test_the_limit_is_drawn_at_the_rule_s_number_of_queries_alone_and_named_where_it_is_drawn() -> None:
    with_rules, without = exact_of(filled()), published()
    for results, drawn in ((with_rules, 2), (without, 0)):
        rows = queries_figure(results).rows
        limits = [
            row.name
            for row in rows
            for cell in row.cells
            for bar in cell.bars
            if any(mark.kind == "limit" for mark in bar.marks)
        ]
        assert limits == ["1,000 queries"] * drawn
        assert ("Upright line" in queries_figure(results).key) is bool(drawn)


def test_the_sentence_is_of_the_least_knowledge_at_which_anything_comes() -> None:
    reminder, fragment = (
        results_of({"train": own, "nontrain": KEPT}, KEPT, tier)
        for own, tier in ((KEPT, "encounter"), (RECITED, "encounter_cc_hpi"))
    )
    (first,) = queries_sentences(RunResults(queries={**fragment.queries, **reminder.queries}))
    assert first == (
        "Someone who has a fragment of a note and asks 1,000 times at temperature 1 gets, with an even chance or"
        " better, the patient’s own text for 100% of the patients trained on (never seen: 0%; the model before"
        " training: 0%)."
    )


@pytest.mark.parametrize(
    ("train", "told"),
    [
        # Nobody within 10,000: 1 - 0.5^(100/10000) = 0.7% in a hundred.
        (
            KEPT,
            "10,000 queries are enough for none of them, whoever asks. So 100 queries about a patient give",
        ),
        (LATE, "1,000 queries are enough for none of them, whoever asks. So 10 queries about a patient give"),
        (LATER, "100 queries are enough for none of them, whoever asks. So 1 query about a patient gives"),
        (RECITED, None),
        (GUESSED, None),
    ],
)
def test_a_limit_on_queries_is_told_of_where_the_numbers_carry_it(train: Sequence[int], told: str | None) -> None:
    found = queries_sentences(results_of({"train": train, "nontrain": KEPT}))[1:]
    assert found == ([] if told is None else [f"{told} this text, word for word, with a chance below 1%."])
    # With the even chance at the very next query, a hundredth of them gives less than 1%.
    for most in QUERY_LIMITS[2:]:
        p = 1 - 0.5 ** (1 / (most + 1))
        assert 1 - (1 - p) ** (most // 100) < 0.01


def test_what_was_not_scored_says_why_and_nothing_is_said_of_nothing() -> None:
    results = RunResults(not_scored="notes were not scored (--no-score)")
    assert queries_sentences(results) == ["Queries needed were not measured: notes were not scored (--no-score)."]
    assert queries_sentences(RunResults()) == []
    assert queries_sentences(results_of({"nontrain": KEPT})) == []


def test_a_rule_is_named_by_its_number_of_queries() -> None:
    rule = DecidedRule(
        id="memorization/queries_needed/encounter/1000",
        question="?",
        metric="queries_needed",
        tier="encounter",
        limit=Limit(max=0.05, queries=1000),
        status="pass",
        observed=ShownEstimate(value=0.0, low=0.0, high=0.0),
        reason="",
    )
    assert subject_title(rule) == "Own text in 1,000 queries"


def test_the_page_names_it_in_front_where_a_rule_fails_and_shows_it_in_the_annex_always() -> None:
    failing = VARIANTS["exact"]()
    open_ = VARIANTS["full"]()
    for content, in_front in ((failing, True), (open_, False)):
        first = queries_sentences(content.results)[0]
        assert (first in repeated_text_part(content.results)["sentences"]) is in_front  # type: ignore[operator]
        part = next(part for part in annex_parts(content) if part.id == "annex-repeated-text")
        assert first in part.sentences
        assert any(figure.id == "queries-needed" for figure in part.figures)


def annex_parts(content: ReportContent) -> Sequence:  # type: ignore[type-arg]
    parts = context(content)["parts"]
    assert isinstance(parts, list)
    return parts
