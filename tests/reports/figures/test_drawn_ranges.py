"""Charts draw nothing that the tables do not give, and say what is not drawn."""

import re

from support.results.filled_results import filled
from support.results.one_pair import HIDDEN, NEARLY_ALL, SHOWN, headline_pair, with_delta, with_pair
from support.results.planted_memorization import memorization_of

from clinaudit.reports.figures.disclosure import delta_figure, roc_figure
from clinaudit.reports.figures.drawn_ranges import Mark, drawn_range, is_drawn, not_drawn_sentence
from clinaudit.reports.figures.groups import distribution_figure, subgroup_figure
from clinaudit.reports.figures.memorization import composition_figure
from clinaudit.reports.schema.disclosure import TestedDelta as Delta
from clinaudit.reports.schema.estimate import REASON, Estimate


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
