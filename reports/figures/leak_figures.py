"""The charts of the report: own and others' text by who asks, and diagnoses for one asker."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from clinaudit.reports.estimates.frame import Estimates, Row
from clinaudit.reports.figures.bars import SHARES, BarFigure, Cell, Series, Swatch, row_bar, row_scale, tier_row
from clinaudit.reports.schema.run_results import Rule, RunReport
from clinaudit.reports.wording.figures import counts_text, figure_words, highest, row_text
from clinaudit.reports.wording.first_screen import SIGNS
from clinaudit.reports.wording.names import asker_words, display_title, order_tiers
from clinaudit.reports.wording.numbers import NOT_MEASURED, percent_text
from clinaudit.reports.wording.rule_rows import SHORT_ARMS, how_words, order_forms

_SERIES: Final[dict[str, Series]] = {"train": "trained", "nontrain": "never", "control": "plain"}
_TEXT: Final = {
    "attributable_fraction": "The patient’s own text",
    "near_verbatim_attributable_fraction": "The same, but for a few words",
    "other_patient_fraction": "Other patients’ text",
}


def text_figures(report: RunReport) -> list[BarFigure]:
    """Return how much of an answer is own text, as it is and edited, and others', by who asks: a chart a form."""
    return [
        _text_figure(form, report) for form in order_forms(report.estimates.values_of("form", "attributable_fraction"))
    ]


def _text_figure(form: str, report: RunReport) -> BarFigure:
    estimates = report.estimates
    tiers = order_tiers(estimates.values_of("tier", "attributable_fraction", form=form))
    arms = [arm for arm in _SERIES if estimates.rows("attributable_fraction", form=form, arm=arm)]
    heads: list[str] = []
    columns: list[list[Cell]] = []
    for metric, title in _TEXT.items():
        limit = next((rule.limit for rule in report.rules if (rule.metric, rule.form) == (metric, form)), None)
        shown = [[(arm, estimates.find(metric, form=form, tier=tier, arm=arm)) for arm in arms] for tier in tiers]
        scale = row_scale((row for of_tier in shown for _, row in of_tier), limit=limit)
        limited = "" if limit is None else f", limit {percent_text(limit)}"
        heads.append(f"{title} (scale to {percent_text(scale.high)}{limited})")
        columns.append([])
        for of_tier in shown:
            bars = tuple(
                row_bar(row, series=_SERIES[arm], text=row_text(row, interval=False), scale=scale, limit=limit)
                for arm, row in of_tier
                if row is not None
            )
            columns[-1].append(Cell(bars, "" if bars else NOT_MEASURED))
    by_control = "the control model, about patients trained on"
    return BarFigure(
        f"text-{form}",
        f"Share of an answer that is …{how_words(form)}",
        "",
        ("Who asks", *heads),
        tuple(tier_row(tier, cells) for tier, *cells in zip(tiers, *columns, strict=True)),
        key="Line across: the limit. Thin line: 95% interval. Pale: a bound, where 1 to 10 patients have any; the rule "
        "was decided on the exact figure. Means over patients.",
        swatches=tuple(
            Swatch(_SERIES[arm], by_control if arm == "control" else f"asked about patients {SHORT_ARMS[arm]}")
            for arm in arms
        ),
    )


class DiagnosisTable(NamedTuple):
    """The diagnoses for one asker; a row has the keys of `_diagnosis_row`."""

    title: str
    #: Who shows chance: never seen, control model, or nothing.
    chance: str
    rows: list[dict[str, Any]]


def diagnosis_tables(report: RunReport) -> list[DiagnosisTable]:
    """Return a table an asker, that for whom most rules fail first, and the largest differences."""
    estimates = report.estimates
    places = dict.fromkeys((row.tier, row.form) for row in estimates.rows("auroc_all", arm="train") if row.tier)
    tiers = order_tiers({tier for tier, _ in places})

    def badness(place: tuple[str, str]) -> tuple[int, float, int]:
        tier, form = place
        rules = _rules(report, tier, form)
        beyond = [row for row in estimates.rows("auroc_all", form=form, tier=tier) if "-" in row.arm]
        most = max((highest(row) for row in beyond), default=0.0)
        return -len({rule.diagnosis for rule in rules if rule.status == "fail"}), -most, tiers.index(tier)

    return [_diagnosis_table(report, tier, form) for tier, form in sorted(places, key=badness)]


def _diagnosis_table(report: RunReport, tier: str, form: str) -> DiagnosisTable:
    estimates = report.estimates
    place = {"form": form, "tier": tier}
    chance = next((arm for arm in ("nontrain", "control") if estimates.rows("auroc_all", arm=arm, **place)), "")
    names = [name for name in estimates.values_of("diagnosis", "auroc_all", **place) if name != "mean"]
    rules = _rules(report, tier, form)
    rows = [_diagnosis_row(estimates, rules, place, name, chance) for name in sorted(names)]
    return DiagnosisTable(f"Asked by {asker_words(tier)}{how_words(form)}", SHORT_ARMS.get(chance, ""), rows)


def _diagnosis_row(
    estimates: Estimates, rules: Sequence[Rule], place: dict[str, str], name: str, chance: str
) -> dict[str, Any]:
    arms = ["train", *([chance] if chance else [])]
    status = next((rule.status for rule in rules if rule.diagnosis == name and rule.metric == "auroc_all"), "")

    def found(metric: str, arm: str) -> Row | None:
        return estimates.find(metric, **place, arm=arm, diagnosis=name)

    shares = ((found(metric, arm), arm) for arm in arms for metric in ("sensitivity", "false_positive_rate"))
    areas = [figure_words(found("auroc_all", arm)) for arm in arms]
    beyond = found("auroc_all", f"train-{chance}") if chance else None
    return {
        "sign": SIGNS[status],
        "status": status,
        "title": display_title(name),
        # With the diagnosis, without it; then the same of the arm that shows chance.
        "bars": [
            row
            and row_bar(row, series=_SERIES[arm], text=counts_text(row) or row_text(row, interval=False), scale=SHARES)
            for row, arm in shares
        ],
        "areas": " / ".join(areas),
        "beyond": "–" if beyond is None else figure_words(beyond, interval=True),
        "judge": judge_errors(estimates, name),
    }


def judge_errors(estimates: Estimates, diagnosis: str = "") -> str:
    """Return "misses 7%, invents 2%" of a diagnosis, or the judge's accuracy there, or of all."""
    right = (
        estimates.find("judge_sensitivity", diagnosis=diagnosis),
        estimates.find("judge_specificity", diagnosis=diagnosis),
    )
    sensitivity, specificity = (None if row is None else row.value for row in right)
    if sensitivity is not None and specificity is not None:
        return f"misses {percent_text(round(1 - sensitivity, 4))}, invents {percent_text(round(1 - specificity, 4))}"
    accuracy = estimates.find("judge_accuracy", diagnosis=diagnosis)
    return "–" if accuracy is None or accuracy.value is None else f"errs {percent_text(round(1 - accuracy.value, 4))}"


def _rules(report: RunReport, tier: str, form: str) -> list[Rule]:
    return [rule for rule in report.rules if rule.diagnosis and (rule.tier, rule.form) == (tier, form)]
