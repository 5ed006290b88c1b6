"""Both matchers side by side, as a reader is shown them."""

from support.results.filled_published import published

from clinaudit.reports.schema.disclosure import PublishedSecondMatcher, PublishedSecondMatching
from clinaudit.reports.schema.numbers import CountRange, PublishedEstimate
from clinaudit.reports.tables.cohorts import second_matcher_table


def test_the_report_shows_both_matchers_side_by_side_and_nothing_without_a_second() -> None:
    results = published()
    assert second_matcher_table(results.model_copy(update={"second_matcher": None})) is None
    matching = PublishedSecondMatching(
        status="balanced",
        reason=None,
        sets=CountRange(low=91, high=100),
        largest_smd=0.1,
        delta={
            "encounter": {
                "auroc_all": PublishedEstimate(low=0.11, high=0.19, confidence_low=0.02, confidence_high=0.3),
                "auroc": PublishedEstimate(reason="too few mentions"),
            }
        },
    )
    second = PublishedSecondMatcher(matcher="optimal", diagnoses={"hiv": matching})
    table = second_matcher_table(results.model_copy(update={"second_matcher": second}))
    assert table is not None
    first = table.rows[0]
    assert first[0] == "HIV"
    assert first[4] == "+0.11 to +0.19 (+0.02 to +0.30)"
    assert first[5:] == ("91–100", "Balanced; largest |SMD| 0.1")
    assert table.rows[1][4] == "not measured: too few mentions"
