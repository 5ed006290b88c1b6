"""The charts: deterministic SVG without outside addresses, and colours that can be told apart."""

import itertools
import re
from collections.abc import Sequence
from xml.etree import ElementTree

import pytest
from support.results.filled_results import all_null, empty, filled, with_status
from support.results.planted_memorization import memorization_of

from clinaudit.reports.figures import palette
from clinaudit.reports.figures.charts import draw_bars, draw_composition, draw_deltas
from clinaudit.reports.figures.cohorts import balance_figure, overlap_figure
from clinaudit.reports.figures.disclosure import delta_figure, roc_figure
from clinaudit.reports.figures.memorization import (
    composition_figure,
    copy_forward_figure,
    memorization_figure,
    near_verbatim_figure,
)
from clinaudit.reports.schema.cohorts import CohortSummary
from clinaudit.reports.schema.disclosure import RocPoint
from clinaudit.reports.schema.results import Results
from clinaudit.reports.suppression.results import suppress
from clinaudit.reports.tables.table import Figure


def figures(results: Results) -> list[Figure]:
    published = suppress(results)
    return [
        memorization_figure(published),
        composition_figure(published),
        copy_forward_figure(published),
        near_verbatim_figure(published),
        roc_figure(published, arm="train"),
        roc_figure(published, arm="nontrain"),
        *(delta_figure(published, metric=metric) for metric in ("auroc_all", "auroc", "ppv")),
        balance_figure(published),
    ]


@pytest.fixture(scope="module")
def drawn() -> list[Figure]:
    return figures(filled())


def test_every_figure_draws_and_is_labelled_with_its_caption(drawn: list[Figure]) -> None:
    assert [figure.id for figure in drawn if not figure.svg] == ["delta-auroc"]  # every one is suppressed
    for figure in drawn:
        if not figure.svg:
            continue
        root = ElementTree.fromstring(figure.svg)
        assert root.get("role") == "img"
        assert root.get("aria-label") == figure.caption
        assert len(figure.caption) > 20
        assert figure.table.rows


def test_same_data_give_the_same_bytes(drawn: list[Figure]) -> None:
    assert [figure.svg for figure in figures(filled())] == [figure.svg for figure in drawn]


def test_no_address_but_xml_namespaces(drawn: list[Figure]) -> None:
    for figure in drawn:
        assert set(re.findall(r"[a-z]+://[^\s\"'<>)]*", figure.svg)) <= {
            "http://www.w3.org/2000/svg",
            "http://www.w3.org/1999/xlink",
        }
        assert not re.search(r"<(script|style|image|foreignObject|use|a)\b|href|@import|\bon[a-z]+=", figure.svg)


def test_marks_have_no_roles_beside_the_name_of_the_chart(drawn: list[Figure]) -> None:
    for figure in drawn:
        assert figure.svg.count("role=") == (1 if figure.svg else 0)
        assert 'role="graphics' not in figure.svg


def test_the_ticks_of_the_love_plot_are_the_limits_in_full(drawn: list[Figure]) -> None:
    svg = next(figure.svg for figure in drawn if figure.id == "balance")
    ticks = re.findall(r">([\d.]+)</text>", svg)
    assert ticks == ["0", "0.1", "0.25"] * 3


def test_matched_patients_that_are_not_drawn_are_said_to_be_suppressed() -> None:
    whole = filled()
    assert "not drawn" not in overlap_figure(whole).caption
    hidden = {"positive_matched": None, "negative_matched": None}

    def without_matched(cohort: CohortSummary) -> CohortSummary:
        return cohort.model_copy(update={"overlap": [bin_.model_copy(update=hidden) for bin_ in cohort.overlap]})

    cohorts = {name: without_matched(cohort) for name, cohort in whole.cohorts.items()}
    caption = overlap_figure(whole.model_copy(update={"cohorts": cohorts})).caption
    assert "Matched patients are not drawn: their counts are suppressed" in caption
    assert "solid lines" not in caption
    cohorts = {**whole.cohorts, "hiv": cohorts["hiv"]}
    caption = overlap_figure(whole.model_copy(update={"cohorts": cohorts})).caption
    assert "Where the two solid lines lie together" in caption
    assert "In 2 panels the matched patients are suppressed and not drawn." in caption


def test_a_caption_with_a_backslash_names_its_chart() -> None:
    svg = draw_bars([{"name": "1", "value": 3}], names=["1"], x_title="x", y_title="y", label=r"\u202e \1 \g<0>")
    assert ElementTree.fromstring(svg).get("aria-label") == r"\u202e \1 \g<0>"


def test_a_suppressed_hit_rate_is_drawn_as_a_band(drawn: list[Figure]) -> None:
    assert 'opacity="0.38"' in drawn[0].svg
    none_hidden = filled().model_copy(update={"memorization": {"encounter_cc": filled().memorization["encounter_cc"]}})
    assert 'opacity="0.38"' not in memorization_figure(suppress(none_hidden)).svg


@pytest.mark.parametrize("results", [all_null(), empty()])
def test_nothing_to_draw_is_said_in_words(results: Results) -> None:
    for figure in figures(results):
        if figure.id == "balance" and results.cohorts:
            continue
        assert figure.svg == "", figure.id
        assert "not measured" in figure.caption, figure.id


def test_a_published_curve_is_drawn_as_a_line_and_a_suppressed_one_as_a_box() -> None:
    results = filled()
    pair = results.disclosure.by_diagnosis["hiv"]["encounter"]
    curve = [
        RocPoint(threshold=1.0, true_positive_rate=0.6, false_positive_rate=0.2),
        RocPoint(threshold=0.0, true_positive_rate=1.0, false_positive_rate=1.0),
    ]
    shown = pair.model_copy(update={"train": pair.train.model_copy(update={"roc": curve})})
    hidden = pair.model_copy(update={"train": suppress(results).disclosure.by_diagnosis["abortion"]["public"].train})
    for one, noun in ((shown, "1 curve among"), (hidden, "1 curve is suppressed")):
        disclosure = results.disclosure.model_copy(update={"by_diagnosis": {"hiv": {"encounter": one}}})
        figure = roc_figure(results.model_copy(update={"disclosure": disclosure}), arm="train")
        assert figure.caption.startswith(noun)
        assert figure.svg


def test_hostile_names_stay_text() -> None:
    name = "</svg><script>alert(1)</script>"
    for svg in (
        draw_bars([{"name": name, "value": 3}], names=[name], x_title=name, y_title="y", label=f'"{name}'),
        draw_composition(
            [{"section": name, "kind": "templated, shared", "tokens": 4, "order": 0}], sections=[name], label=name
        ),
        draw_deltas(
            [{"panel": name, "tier": "1", "value": 0.1, "low": 0.0, "high": 0.2}],
            panels=[name],
            tiers=["1"],
            title="t",
            label=name,
        ),
    ):
        assert "<script" not in svg
        assert ElementTree.fromstring(svg).tag.endswith("svg")


# Captions


def test_captions_say_what_the_numbers_say(drawn: list[Figure]) -> None:
    captions = {figure.id: figure.caption for figure in drawn}
    assert "rises from 6.0%" in captions["memorization"]
    assert "the intervals do not overlap" in captions["memorization"]
    assert "38% of the patient-specific" in captions["copy-forward"]
    assert "of 54 standardized mean differences" in captions["balance"]


def test_a_falling_gradient_is_not_called_rising() -> None:
    results = filled()
    tiers = {"public": results.memorization["encounter"], "encounter": results.memorization["public"]}
    caption = memorization_figure(results.model_copy(update={"memorization": tiers})).caption
    assert "goes from 61%" in caption
    assert "rises" not in caption


def test_the_report_says_that_near_verbatim_text_is_counted_separately() -> None:
    figure = near_verbatim_figure(suppress(filled()))
    assert figure.caption.startswith("Counted separately, never part of the figures above")
    assert "at most 3 tokens added, left out or changed in any 30 in a row" in figure.caption
    assert all(row[2] == "3 of 30" for row in figure.table.rows)
    bare = memorization_of(0.5, 0.1, 100).model_copy(update={"near_verbatim": None})
    without = near_verbatim_figure(filled().model_copy(update={"memorization": {"public": {"train": bare}}}))
    assert (without.caption, without.svg, without.table.rows) == ("Near-verbatim text was not measured.", "", ())


def test_why_no_propensities_are_drawn_is_one_reason() -> None:
    assert "there is no matched cohort" in overlap_figure(with_status("unavailable", overlap=[])).caption
    hidden = overlap_figure(with_status("balanced", overlap=[])).caption
    assert "suppressed" in hidden
    assert "no matched cohort" not in hidden


# Colours


def _linear(colour: str) -> tuple[float, float, float]:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return r, g, b


def _contrast(one: str, other: str) -> float:
    """WCAG 2.2 contrast ratio."""
    light, dark = sorted(
        (sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), _linear(colour), strict=True)) for colour in (one, other)),
        reverse=True,
    )
    return (light + 0.05) / (dark + 0.05)


#: Machado, Oliveira and Fernandes 2009, severity 1.0, on linear RGB.
_DEFICIENCIES = {
    "none": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.3039)),
}


def _lab(rgb: Sequence[float]) -> tuple[float, float, float]:
    """Linear RGB to CIE L*a*b* (D65)."""
    m = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    white = (0.9505, 1.0, 1.089)
    xyz = [max(0.0, sum(a * c for a, c in zip(row, rgb, strict=True))) / w for row, w in zip(m, white, strict=True)]
    fx, fy, fz = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in xyz)
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def _distance(one: str, other: str, deficiency: str) -> float:
    seen = [
        _lab([min(1.0, max(0.0, sum(a * c for a, c in zip(row, _linear(colour), strict=True)))) for row in matrix])
        for colour in (one, other)
        for matrix in [_DEFICIENCIES[deficiency]]
    ]
    return sum((a - b) ** 2 for a, b in zip(*seen, strict=True)) ** 0.5


@pytest.mark.parametrize(
    "colour",
    [*palette.ARM_COLOURS.values(), *palette.TIER_COLOURS, *palette.COMPOSITION.values(), palette.RULE],
)
def test_marks_stand_out_from_the_paper(colour: str) -> None:
    assert _contrast(colour, palette.PAPER) >= 3.0


@pytest.mark.parametrize("colour", [palette.INK, palette.MUTED_INK])
def test_text_is_readable(colour: str) -> None:
    assert _contrast(colour, palette.PAPER) >= 4.5


@pytest.mark.parametrize("deficiency", list(_DEFICIENCIES))
@pytest.mark.parametrize("group", [palette.ARM_COLOURS.values(), palette.COMPOSITION.values()])
def test_colours_that_meet_stay_apart(group: Sequence[str], deficiency: str) -> None:
    for one, other in itertools.combinations(group, 2):
        assert _distance(one, other, deficiency) >= 20, (one, other)


@pytest.mark.parametrize("deficiency", list(_DEFICIENCIES))
def test_tiers_next_to_each_other_stay_apart(deficiency: str) -> None:
    for one, other in itertools.pairwise(palette.TIER_COLOURS):
        assert _distance(one, other, deficiency) >= 10, (one, other)


def test_tiers_darken_with_access() -> None:
    contrasts = [_contrast(colour, palette.PAPER) for colour in palette.TIER_COLOURS]
    assert contrasts == sorted(contrasts)
    assert len(set(palette.TIER_SHAPES)) == len(palette.TIER_COLOURS)
