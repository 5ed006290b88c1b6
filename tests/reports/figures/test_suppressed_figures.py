"""What a reader sees where counts of memorized text are hidden: words and bounds, never a zero."""

from support.results.filled_results import filled, memorization_of

from clinaudit.reports.figures.memorization import composition_figure, copy_forward_figure
from clinaudit.reports.schema.memorization import CopyForwardBin, KBin, Memorization, SectionComposition
from clinaudit.reports.schema.results import Results
from clinaudit.reports.suppression.results import suppress
from clinaudit.reports.tables.memorization import shared_table
from clinaudit.reports.wording.captions import gradient_caption
from clinaudit.reports.wording.findings import headline_sentences, not_measured_sentences

HIDDEN = "suppressed"


def published(train: Memorization, nontrain: Memorization | None = None) -> Results:
    first = memorization_of(0.06, 0.012, 40)
    arms = {"train": train} if nontrain is None else {"train": train, "nontrain": nontrain}
    memorization = {"public": {"train": first}, "encounter": arms}
    return suppress(filled().model_copy(update={"memorization": memorization}))


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


def test_the_headline_is_a_bound_where_few_patients_stand_behind_it() -> None:
    few = memorization_of(0.05, 0.001, 60).model_copy(update={"attributable_patients": 1})
    results = published(memorization_of(0.6, 0.28, 140), few)
    bound = "at most 7.0% (exact figure suppressed)"
    assert f"not trained on, the same figure is {bound}" in " ".join(headline_sentences(results))
    assert f"28% in train and {bound} in nontrain; the ranges do not overlap" in gradient_caption(results)
    assert any(
        "only as a bound" in gap and "Appointment details (nontrain)" in gap for gap in not_measured_sentences(results)
    )

    results = published(few)
    assert f"on average {bound} is patient-attributable" in headline_sentences(results)[0]


def test_a_bound_in_the_gradient_is_not_compared() -> None:
    results = published(memorization_of(0.03, 0.001, 6))
    caption = gradient_caption(results)
    assert "is 6.0% (Public demographics) and at most 13% (exact figure suppressed) (Appointment details)." in caption
    assert "rises" not in caption
