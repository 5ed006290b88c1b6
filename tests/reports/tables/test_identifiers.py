"""Tables of identifiers: HIPAA's 18 in the rule's words, tiers and arms, patients by values a query."""

import pytest
from support.results.filled_published import published

from clinaudit.reports.schema.hipaa import HIPAA_IDENTIFIERS
from clinaudit.reports.schema.identifiers import IdentifiersResults
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.tables.identifiers import hipaa_table, identifier_bins_table, identifiers_table
from clinaudit.reports.wording.identifiers import chance_sentences
from clinaudit.reports.wording.names import HIPAA_TITLES
from clinaudit.reports.wording.numbers import estimate_text, rate_text

LETTERS = "ABCDEFGHIJKLMNOPQR"


def shown(results: RunResults) -> IdentifiersResults:
    assert results.identifiers is not None
    return results.identifiers


def test_each_of_the_18_is_tested_or_says_why_not() -> None:
    rows = hipaa_table(published()).rows
    assert [row[0][:3] for row in rows] == [f"({letter})" for letter in LETTERS]
    told = {row[0][1]: row for row in rows}
    assert told["G"][1:3] == ("yes", "46–60 of 121–140")
    assert told["G"][7] == "154 of 200: 77% (70 to 83)"
    assert told["P"][1:] == ("no", "–", "–", "–", "–", "–", "text holds none")
    assert told["O"][2:7] == ("0 of 121–140", "0 of 121–140", "0 of 121–140", "0", "0")


def test_verified_values_of_the_never_seen_stand_beside_those_of_the_trained_on() -> None:
    table = hipaa_table(published())
    assert table.columns[5:7] == ("Verified per 1,000 queries, trained on", "… never seen")
    (names,) = [row for row in table.rows if row[0].startswith("(A)")]
    arms = shown(published()).categories["A"]
    assert names[5:7] == tuple(rate_text(arms[arm].verified_per_1000) for arm in ("train", "nontrain"))
    assert names[5] != names[6]
    assert hipaa_table(published(nontrain=False)).rows[0][6] == "–"


def test_the_note_says_what_planted_formats_do_not_show_and_how_often_a_date_is_chance() -> None:
    note = hipaa_table(published()).note
    assert "in real text, more is missed than is shown here" in note
    dates = shown(published()).categories["C"]["train"]
    assert dates.sampled is not None
    assert dates.chance is not None
    sampled, chance = (estimate_text(share, share=True) for share in (dates.sampled, dates.chance))
    assert f"{sampled} of patients trained on (by chance {chance})" in note
    assert note.endswith(").")


def test_without_pools_it_says_that_chance_was_not_measured_and_without_dates_nothing() -> None:
    identifiers = shown(published())
    bare = {arm: figures.model_copy(update={"chance": None}) for arm, figures in identifiers.categories["C"].items()}
    alone = identifiers.model_copy(update={"categories": {"C": bare}})
    assert chance_sentences(alone)[1] == "How often was not measured: that needs other patients in both splits."
    assert chance_sentences(identifiers.model_copy(update={"categories": {}})) == []


def test_the_names_are_of_the_18_in_their_order() -> None:
    assert tuple(HIPAA_TITLES) == HIPAA_IDENTIFIERS == tuple(LETTERS)
    assert HIPAA_TITLES["C"].startswith("Elements of dates (except year)")


def test_what_is_in_no_table_was_not_looked_for() -> None:
    results = published()
    assert results.identifiers is not None
    less = results.identifiers.model_copy(
        update={
            "categories": {name: arms for name, arms in results.identifiers.categories.items() if name != "E"},
            "recall": [row for row in results.identifiers.recall if row.identifier != "E"],
        }
    )
    rows = hipaa_table(results.model_copy(update={"identifiers": less})).rows
    assert rows[4][1] == "no"


def test_tiers_and_arms_have_shares_pools_and_rates() -> None:
    rows = identifiers_table(published()).rows
    assert [row[1] for row in rows] == ["trained on", "never seen"] * 6
    assert rows[6][0] == "4 Appointment reminder"
    assert rows[6][3].startswith("61–83% (")
    assert rows[6][7].startswith("400–2,149 (")
    exact = identifiers_table(published(exact=True)).rows
    assert exact[6][2:4] == ("125", "79% (71 to 86)")


def test_patients_lie_in_bins_the_last_without_end() -> None:
    table = identifier_bins_table(published())
    assert table.columns[2:] == ("Up to 0.25", "0.25–0.5", "0.5–1", "1–2", "1–5", "2–5", "5–20", "More than 20")
    assert table.rows[6][2:] == ("0", "0", "41–60", "–", "21–40", "–", "0", "0")


@pytest.mark.parametrize("table", [hipaa_table, identifiers_table, identifier_bins_table])
def test_a_run_that_did_not_look_has_no_table(table: object) -> None:
    assert table(RunResults()).rows == ()  # type: ignore[operator]
