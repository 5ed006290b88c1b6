"""The tables of a run: what was done of what was planned, and where its figures come from."""

from support.results.filled_published import published

from clinaudit.reports.schema.numbers import NOBODY, CountRange
from clinaudit.reports.schema.results import RunResults, StageResults
from clinaudit.reports.tables.prompts import completeness_table, provenance_table, training_table


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
        missing=NOBODY,
        failed=CountRange(low=1, high=10),
        excluded={"public_name: no name": CountRange(low=11, high=20)},
    )
    table = completeness_table(RunResults(completeness={"priors": stage}))
    assert table.rows == (("Priors", "81–90", "0", "1–10", "Public facts and name: no name: 11–20"),)
    assert completeness_table(RunResults()).rows == ()


def test_the_training_log_says_what_it_lacks() -> None:
    results = published()
    assert results.training is not None
    log = [results.training[0].model_copy(update={"validation_loss": None})]
    (row,) = training_table(results.model_copy(update={"training": log})).rows
    assert row == ("1", "0.1920", "not measured", "1.5050")
