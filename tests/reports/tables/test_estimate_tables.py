"""Every row of the table of estimates stands in one cell of the tables, under the right heads."""

import dataclasses
import re

from support.invented_estimates import invented_estimates

from clinaudit.reports.estimates.frame import Estimates, Row, as_estimates, at
from clinaudit.reports.estimates.publication import publish
from clinaudit.reports.tables.estimates import EstimateTable, estimate_tables, evidence_address


def shown(*rows: Row) -> list[EstimateTable]:
    return estimate_tables(Estimates(as_estimates(rows)))


def figure(metric: str, value: float, **place: str) -> Row:
    return at(metric, **place)._replace(value=value)


def test_every_figure_is_shown_once_and_under_a_name_of_its_own() -> None:
    table = invented_estimates(forms=("text", "chat"))
    found = estimate_tables(Estimates(table))
    assert len({each.id for each in found}) == len(found)
    filled = [cell for each in found for _, cells in each.rows for cell in cells if cell.text]
    assert len(filled) == table.height
    for each in found:
        assert len({heads for heads, _ in each.rows}) == len(each.rows)
        assert {len(cells) for _, cells in each.rows} == {len(each.heads)}
        assert {len(heads) for heads, _ in each.rows} == {len(each.row_heads)}


def test_tiers_and_forms_head_rows_in_their_order_and_arms_head_columns() -> None:
    rows = [
        Row("hit_rate", form, tier, arm, value=0.5, low=0.25, high=0.75, count_low=2, count_high=2, of_low=4, of_high=4)
        for form in ("chat", "text")
        for tier in ("encounter", "public")
        for arm in ("nontrain", "train")
    ]
    (table,) = shown(*rows, Row("hit_rate", "text", "public", "train-nontrain", value=0.0, low=-0.5, high=0.5))
    assert table.title == "Patients with a match"
    assert table.row_heads == ("Who asks", "Form")
    assert table.heads == ("Trained on", "Never seen", "Trained on − never seen")
    assert [heads for heads, _ in table.rows] == [
        ("1 Public facts", "Plain text"),
        ("1 Public facts", "In a chat"),
        ("4 Appointment reminder", "Plain text"),
        ("4 Appointment reminder", "In a chat"),
    ]
    first = table.rows[0][1]
    assert (first[0].text, first[0].detail, first[0].bar) == ("50% (25 to 75)", "2 of 4", 0.5)
    assert (first[2].text, first[2].detail, first[2].bar) == ("0% (−50 to +50)", "", None)
    assert table.rows[1][1][2].text == ""


def test_a_hidden_count_reads_as_its_bound() -> None:
    hidden = {"low": 0.0, "high": 0.08, "of_low": 130, "of_high": 130}
    few = Row("hit_rate", "text", "public", "train", **hidden, count_low=1, count_high=10)
    many = few._replace(arm="nontrain", low=0.92, high=1.0, count_low=120, count_high=129)
    (table,) = shown(few, many)
    assert [(cell.text, cell.detail) for cell in table.rows[0][1]] == [
        ("<8.5% (0 to 8)", "<11 of 130"),
        (">91% (92 to 100)", ">119 of 130"),
    ]


def test_a_figure_leads_to_its_texts_and_only_in_the_exact_report() -> None:
    row = figure("auroc", 0.5, form="chat", tier="public", arm="train", diagnosis="hiv")
    other = row._replace(tier="encounter")
    assert evidence_address(row) == "#tier=public&arm=train&form=chat&diagnosis=hiv"
    assert evidence_address(row._replace(diagnosis="mean")) == "#tier=public&arm=train&form=chat"
    for arm in ("control", "train-nontrain", ""):
        assert evidence_address(row._replace(arm=arm)) == ""
    table = as_estimates([row, other])
    (inside,), (outside,) = (estimate_tables(Estimates(table), is_exact=exact) for exact in (True, False))
    assert inside.rows[0][1][0].link == evidence_address(row)
    assert outside.rows[0][1][0].link == ""
    assert dataclasses.replace(inside.rows[0][1][0], link="") == outside.rows[0][1][0]


def test_a_figure_that_is_not_there_is_a_dash_and_its_reason_stands_above_the_table_once() -> None:
    few, none = "a count of 1 to 10 patients is a part of it", "there was nothing to count"
    rows = [
        at("hit_rate", tier="public", arm=arm)._replace(reason=reason)
        for arm, reason in (("train", few), ("nontrain", none))
    ]
    (table,) = shown(*rows, at("hit_rate", tier="encounter", arm="train")._replace(reason=few))
    assert [[cell.text for cell in cells] for _, cells in table.rows] == [["– [1]", "– [2]"], ["– [1]", ""]]
    assert table.note.endswith("[1] A count of 1 to 10 patients is a part of it. [2] There was nothing to count.")
    (lone,) = shown(at("everyday_patients")._replace(reason=none))
    assert lone.rows[0][1][0].text == "– [1]"
    assert "[1] There" in lone.rows[0][0][1]


def test_the_published_table_shows_no_count_of_one_to_ten() -> None:
    found = estimate_tables(Estimates(publish(invented_estimates(forms=("text", "chat")))))
    texts = [text for each in found for _, cells in each.rows for cell in cells for text in (cell.text, cell.detail)]
    counts = [int(text.split()[0]) for text in texts if re.fullmatch(r"\d+ of [\d,]+", text)]
    assert len(counts) > 100
    assert not {*range(1, 11)} & {*counts}
    assert any(text.startswith("<11 of ") for text in texts)
    # A dash says why.
    assert "–" not in texts
    assert any(text.startswith(">") for text in texts)
