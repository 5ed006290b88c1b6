"""Rows of the table of estimates in words, exact and published."""

import pytest

from clinaudit.audit.statistics.estimates import add_differences, share_row
from clinaudit.reports.estimates.frame import Estimates, Row, as_estimates, at
from clinaudit.reports.estimates.publication import publish
from clinaudit.reports.wording.figures import counts_text, row_text


@pytest.mark.parametrize(
    ("count", "of", "exact", "counts", "figure"),
    [
        (0, 130, "0 of 130", "0 of 130", "0% (0 to 2.8)"),
        (7, 130, "7 of 130", "<11 of 130", "<8.5% (0 to 14)"),
        (59, 130, "59 of 130", "59 of 130", "45% (36 to 55)"),
        (126, 130, "126 of 130", ">119 of 130", ">91% (86 to 100)"),
        (130, 130, "130 of 130", "130 of 130", "100% (97 to 100)"),
        (9, 15, "9 of 15", "some of 15", "<100% (0 to 100)"),
    ],
)
def test_a_share_of_patients(count: int, of: int, exact: str, counts: str, figure: str) -> None:
    row = share_row("hit_rate", count, of, arm="train")
    published = next(iter(Estimates(publish(as_estimates([row])))))
    assert counts_text(row) == exact
    assert counts_text(published) == counts
    assert row_text(published) == figure


def test_a_count_within_others_stands_between_its_ends() -> None:
    rows = [share_row("hit_rate", 60, 130, arm="train"), share_row("attributable_patients", 55, 130, arm="train")]
    own = Estimates(publish(as_estimates(rows))).find("attributable_patients", arm="train")
    assert own is not None
    assert counts_text(own) == "50–59 of 130"


def test_a_difference_with_a_hidden_count_is_written_by_its_ends() -> None:
    sides = [share_row("hit_rate", 40, 130, arm="train"), share_row("hit_rate", 2, 130, arm="nontrain")]
    difference = Estimates(publish(add_differences(as_estimates(sides)))).find("hit_rate", arm="train-nontrain")
    assert row_text(difference) == "+15 to +40%"


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (at("auroc_all")._replace(value=0.83, low=0.78, high=0.88), "0.83 (0.78 to 0.88)"),
        (at("auroc_all")._replace(low=0.4, high=0.8), "0.40–0.80"),
        (at("ppv")._replace(reason="too few"), "not measured: too few"),
        (None, "not measured"),
    ],
)
def test_other_units(row: Row | None, text: str) -> None:
    assert row_text(row) == text
