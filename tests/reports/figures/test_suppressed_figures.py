"""What charts and tables show where counts of memorized text are hidden: words and bounds, never a zero."""

from support.results.planted_memorization import memorization_of
from support.results.published_tiers import published

from clinaudit.reports.figures.memorization import composition_figure, copy_forward_figure
from clinaudit.reports.schema.memorization import CopyForwardBin, KBin, SectionComposition
from clinaudit.reports.tables.memorization import shared_table

HIDDEN = "suppressed"


def section(name: str, single: int, shared: int, *, patients: int) -> SectionComposition:
    return SectionComposition(
        section=name,
        revealing_single=single,
        revealing_shared=shared,
        templated_single=0,
        templated_shared=0,
        patients={"revealing_single": patients, "revealing_shared": 1},
    )


def test_the_composition_draws_the_pooled_row_and_says_what_is_hidden() -> None:
    sections = [
        section("plan", 900, 0, patients=50),
        section("hpi", 100, 0, patients=20),
        section("vitals", 33, 0, patients=1),
    ]
    train = memorization_of(0.6, 0.28, 140).model_copy(update={"sections": sections})
    figure = composition_figure(published(train))
    assert [row[:2] for row in figure.table.rows] == [("Plan", "900"), ("Text of few patients, any section", "133")]
    assert figure.caption.startswith("Of the memorized tokens 100% are")

    thin = [section("plan", 900, 33, patients=50)]
    figure = composition_figure(published(train.model_copy(update={"sections": thin})))
    assert figure.table.rows[0] == ("Plan", "900", HIDDEN, "0", "0")
    assert "suppressed in part" in figure.caption
    assert "revealing, shared" in figure.caption
    assert figure.svg


def test_hidden_bins_are_words_and_the_rest_is_drawn() -> None:
    train = memorization_of(0.6, 0.28, 140).model_copy(
        update={
            "k_distribution": [KBin(k="1", pieces=1, patients=1), KBin(k="2-10", pieces=40, patients=40)],
            "copy_forward": [
                CopyForwardBin(notes="1", pieces=90, patients=50),
                CopyForwardBin(notes="2", pieces=40, patients=20),
                CopyForwardBin(notes="3", pieces=3, patients=2),
            ],
        }
    )
    results = published(train)
    assert [row[2:] for row in shared_table(results).rows[-2:]] == [("1", HIDDEN), ("2-10", "40")]
    figure = copy_forward_figure(results)
    assert figure.table.rows == (("1", "90"), ("2", HIDDEN), ("3", HIDDEN))
    assert "suppressed in part" in figure.caption
    assert figure.svg
