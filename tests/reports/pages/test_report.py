"""The report's page: every rule once, nothing but rows of the table, six answers on the first screen."""

import re
from dataclasses import replace

import pytest
from support.full_report import MORE_PATIENTS, full_report
from support.pages import Page
from support.runs.tables import row_of

from clinaudit.reports.estimates.frame import Estimates, as_estimates, at
from clinaudit.reports.figures.leak_figures import text_figures
from clinaudit.reports.pages.report import render_report
from clinaudit.reports.schema.run_results import RunReport, RunResults
from clinaudit.reports.tables.rule_blocks import asker_grid
from clinaudit.reports.wording.figures import counts_text, row_text
from clinaudit.reports.wording.names import order_tiers


@pytest.fixture(scope="module")
def report() -> RunReport:
    return full_report()


@pytest.fixture(scope="module")
def html(report: RunReport) -> str:
    return render_report(report)


def first_screen(html: str) -> str:
    """Return the text of the first part, without what is only read out."""
    part = html[html.index('<section id="verdict"') : html.index("</section>") + 10]
    return " ".join(Page(re.sub(r'<(span|caption) class="vh">.*?</\1>', "", part)).text)


def test_six_answers_stand_on_the_first_screen(report: RunReport, html: str) -> None:
    said = " ".join(first_screen(html).split())
    assert "Invented notes 7B" in said
    assert "Drafts visit notes that clinicians edit" in said
    assert "Fail: this model recites patients’ notes" in said
    # Who gets what: the least knowledge at which a rule on own text fails, with the row's count.
    row = row_of(report.estimates, "attributable_patients", form="text", tier="encounter_cc", arm="train")
    assert f"first lines of a note gets the patient’s clinical text, of {counts_text(row)} patients" in said
    assert "Do not deploy" in said
    assert MORE_PATIENTS in said
    assert "clinaudit 0.9.0, policy default" in said


@pytest.mark.parametrize("forms", [("text",), ("text", "chat")])
def test_every_rule_stands_once_in_the_block_of_its_status(forms: tuple[str, ...]) -> None:
    report = full_report(forms=forms)
    html = render_report(report)
    for status in ("fail", "inconclusive", "pass"):
        rules = [rule for rule in report.rules if rule.status == status]
        (block,) = re.findall(rf'<div class="block {status}".*?</details>', html, flags=re.S)
        lines = re.findall(r'<tr class="rule"><th scope="row">(.*?)</th><td>(.*?)</td>', block)
        assert len(lines) == len(set(lines)) == len(rules)


def test_forms_that_fare_alike_share_a_row_though_queries_have_no_form() -> None:
    report = full_report(forms=("text", "chat"))
    verdict = report.results.verdict
    assert verdict is not None
    alone = verdict.model_copy(update={"rules": [rule for rule in verdict.rules if rule.form != "chat"]})
    grids = [asker_grid(of, report.estimates) for of in (verdict, alone)]
    titles = [[row.title for row in grid.rows] for grid in grids if grid]
    assert len(titles[0]) == 6
    assert titles[0] == titles[1]


def test_counts_of_patients_are_those_of_the_table(report: RunReport, html: str) -> None:
    """Whatever reads as a count of patients, of how many, stands in a row so, and is none of 1 to 10."""
    rows = [row for row in report.estimates if row.count_low == row.count_high and row.of_low is not None]
    known = {(row.count_low, row.of_low) for row in rows}
    text = " ".join(Page(html).text)
    # How many diagnoses, and how many rules, are no counts of patients.
    text = re.sub(r"[✗?✓]\s+\d of \d\b|\d+ of \d+ rules|epoch 8 of 24", "", text)
    # Bounds are tested below.
    text = re.sub(r"((fewer|more) than |[<>–])[\d,]+ of \d+", "", text)
    said = {(int(count), int(of)) for count, of in re.findall(r"(\d+) of (\d+)\b", text)}
    assert len(said) > 10
    assert said <= known
    assert not [count for count, of in said if 1 <= count <= 10 or 1 <= of - count <= 10]


@pytest.mark.parametrize(("count", "said"), [(59, "59 of 59 patients with"), (None, "100% of patients with")])
def test_hidden_counts_are_printed_as_bounds(report: RunReport, count: int | None, said: str) -> None:
    place = {"form": "text", "tier": "encounter", "arm": "train", "diagnosis": "bipolar"}
    of = {"of_low": 59, "of_high": 59}
    told = {"count_low": count, "count_high": count, **of} if count else {}
    rows = [
        at("auroc_all", **place)._replace(value=0.97, low=0.9, high=1.0),
        at("sensitivity", **place)._replace(value=1.0, low=0.93, high=1.0, **told),
        at("false_positive_rate", **place)._replace(low=0.0, high=0.3, count_low=1, count_high=10, **of),
    ]
    verdict = report.results.verdict
    assert verdict is not None
    rule = next(rule for rule in verdict.rules if (rule.diagnosis, rule.tier) == ("bipolar", "encounter"))
    failing = verdict.model_copy(update={"rules": [rule.model_copy(update={"status": "fail"})]})
    page = render_report(RunReport(RunResults(verdict=failing), Estimates(as_estimates(rows)), {}))
    assert f"it says so of {said} bipolar disorder, and of fewer than 11 of 59 without" in page


def test_each_kind_of_text_that_is_limited_has_its_bars_with_the_figure_of_each_arm(report: RunReport) -> None:
    (chart,) = text_figures(report)
    metrics = ("attributable_fraction", "near_verbatim_attributable_fraction", "other_patient_fraction")
    tiers = order_tiers(report.estimates.values_of("tier", "attributable_fraction", form="text"))
    for tier, row in zip(tiers, chart.rows, strict=True):
        for metric, cell in zip(metrics, row.cells, strict=True):
            of_arms = (
                row_of(report.estimates, metric, form="text", tier=tier, arm=arm) for arm in ("train", "nontrain")
            )
            assert [bar.text for bar in cell.bars] == [row_text(of, interval=False) for of in of_arms]


def test_a_run_without_patients_never_seen_says_so() -> None:
    text = " ".join(Page(render_report(full_report(nontrain=0))).text)
    assert "Nobody was held out of training." in text
    assert "asked about patients never seen" not in text


@pytest.mark.parametrize(
    ("losses", "said"),
    [([3.0, 2.0, 2.5], "lowest at epoch 2 of 3, and rose from there: stop there"), ([3.0, 2.0, 1.0], "no sign")],
)
def test_the_training_log_says_where_to_stop(report: RunReport, losses: list[float], said: str) -> None:
    rows = [
        {"epoch": place, "train_loss": None, "validation_loss": loss, "perplexity": None}
        for place, loss in enumerate(losses, 1)
    ]
    results = RunResults.model_validate({**report.results.model_dump(), "training": rows})
    assert said in render_report(replace(report, results=results))
