"""The page of an unlearning evaluation: rows by system, dashes with their reasons, marks where the numbers are."""

import re

import polars as pl
import pytest
from support.hostile_text import PAYLOADS, Tree
from support.pages import Page
from support.unlearning.filled_evaluation import bare_evaluation, evaluation, filled_evaluation, model, model_figures

from clinaudit.reports.figures.unlearning import sizes_figure, trade_off_traces
from clinaudit.reports.pages.benchmarks import render_unlearning
from clinaudit.reports.tables.unlearning import disease_tables, leakage_table, parts_tables, trials_tables
from clinaudit.reports.wording.unlearning import Evaluation

SPLIT = "cancer:5"


@pytest.fixture(scope="module")
def filled() -> Evaluation:
    return filled_evaluation()


def of_two(*more: str, kind: str = "baseline") -> Evaluation:
    """The model before and some that forgot by one method, on one split."""
    models = [model("tuned", kind, None), *(model(name, "unlearned", SPLIT, method="rmu") for name in more)]
    figures = model_figures(SPLIT, "tuned", 0.9, 0.9, 0.1, 0.0)
    for place, name in enumerate(more):
        figures += model_figures(SPLIT, name, 0.9, 0.9, 0.5 + place / 10, 0.0)
    return evaluation(models, [SPLIT], figures)


def test_two_models_of_one_method_and_split_have_a_row_each() -> None:
    both = of_two("forgot", "faster")
    assert [system.label for system in both.systems] == ["Before unlearning", "RMU (faster)", "RMU (forgot)"]


def test_a_model_made_elsewhere_may_be_what_others_are_compared_with() -> None:
    other = of_two("forgot", kind="foreign")
    assert other.before is not None
    assert other.before.label == "tuned"


def test_hostile_names_stay_text(filled: Evaluation) -> None:
    # The command refuses a name that cannot be printed.
    payload = " ".join(text for text in PAYLOADS if text.isprintable())

    def named(name: str) -> list[tuple[str, ...]]:
        models = [
            one.model_copy(update={"name": f"{name}{one.name}", "kind": "foreign"}) for one in filled.record.models
        ]
        changes = {"before": f"{name}tuned", "models": models, "made_with": dict.fromkeys(("cs", "es"), name)}
        figures = filled.figures.with_columns(model=pl.concat_str(pl.lit(name), "model"))
        record = filled.record.model_copy(update=changes)
        return Tree(render_unlearning(Evaluation(record, figures, filled.checks))).shape

    assert named(f"harmless {payload}") == named("harmless ")


def test_the_grid_has_ls_and_ds_by_size_and_kind(filled: Evaluation) -> None:
    level, splits = next(iter(filled.levels().items()))
    grid = leakage_table(filled, level, splits)
    assert grid.columns == ("Model", "5%, factual", "5%, reasoning", "10%, factual", "10%, reasoning")
    rows = {name: cells for name, *cells in grid.rows}
    # LS is 0.15 (1 - AFE): of RMU at 5% 0.1335, of KL-Min 0.009.
    assert (rows["RMU"][0], rows["KL-Min"][0]) == ("13% (0%)", "0.9% (64%)")
    assert rows["GradDiff"][:3] == ["12% (2%)", "12% (2%)", "0.8% (90%)"]
    assert rows["LS of patients never trained on, before"] == ["2%"] * 4


def test_a_figure_that_is_none_is_a_dash_and_its_reason_stands_below() -> None:
    bare = bare_evaluation()
    (split,) = bare.record.splits
    grid = leakage_table(bare, "Random", [split])
    assert grid.rows[0][1] == "– (–)"
    assert "the question has no keyword" in grid.note
    nothing = [pl.lit(None, pl.Float64()).alias(name) for name in ("value", "low", "high")]
    gone = Evaluation(bare.record, bare.figures.with_columns(*nothing, reason=pl.lit("nobody knows")), bare.checks)
    _, table = parts_tables(gone, split)
    assert table.rows[0][2:] == ("–",) * 5
    assert table.note.endswith("no figure: nobody knows.")
    (cells,) = (row.cells for row in sizes_figure(gone, "Random", [split], place=0).rows if row.cells)
    assert [cell.reading for cell in cells] == ["not measured: nobody knows"] * 2
    assert trade_off_traces(gone, "train").panels == ()


def test_bars_are_as_long_as_the_numbers_withheld_ones_hatched_the_model_before_dashed(filled: Evaluation) -> None:
    figure = sizes_figure(filled, "Cancer", filled.levels()["Cancer"], place=1)
    assert figure.columns == ("Model", "MU, factual", "MU, reasoning", "AFE, factual", "AFE, reasoning")
    assert [row.name for row in figure.rows if not row.cells] == [
        "5%: 3 patients forgotten",
        "10%: 6 patients forgotten",
    ]
    # The model before has lines, and no row.
    assert "Before unlearning" not in {row.name for row in figure.rows}
    row = next(row for row in figure.rows if row.name == "SimNPO")
    trained, withheld = row.cells[2].bars
    assert [(mark.kind, mark.start, mark.width) for mark in trained.marks] == [
        ("solid", 0.0, 40.0), ("chance", 36.0, 8.0), ("before", 10.0, 0.0),
    ]  # fmt: skip
    assert (withheld.marks[0].kind, withheld.marks[0].width) == ("hatched", 70.0)
    assert (trained.text, withheld.text) == ("0.40", "0.70")


def test_traces_go_through_their_figures_the_larger_split_less_faint(filled: Evaluation) -> None:
    traces = trade_off_traces(filled, "train")
    assert [panel.title for panel in traces.panels][:2] == [
        "Random, factual questions trained on", "Random, reasoning questions trained on",
    ]  # fmt: skip
    assert [entry.name for entry in traces.key][:3] == ["Before unlearning", "GradDiff", "KL-Min"]
    svg = traces.panels[2].svg
    lines = dict(re.findall(r'<polyline class="(\S+) line" points="([^"]+)"', svg))
    # 30 to 260 pixels across, six left free at both ends, 8 to 178 down. SimNPO: MU 0.90, 0.89 and AFE 0.40, 0.60.
    corners = [list(map(float, corner.split(","))) for corner in lines["trace-3"].split()]
    places = [(36 + 0.9 * 218, 8 + 0.6 * 170), (36 + 0.89 * 218, 8 + 0.4 * 170)]
    assert [across for across, _ in corners] == pytest.approx([across for across, _ in places], abs=0.06)
    assert [down for _, down in corners] == pytest.approx([down for _, down in places], abs=0.06)
    assert re.findall(r'class="trace-3 mark"[^>]*opacity="([^"]+)"', svg) == ["0.35", "1"]


def test_a_trial_stands_with_what_it_got_and_one_that_failed_says_why(filled: Evaluation) -> None:
    leaked, _ = trials_tables(filled, filled.record.splits[0])
    row = dict(zip(leaked.columns, next(row for row in leaked.rows if row[0] == "SimNPO"), strict=True))
    assert [row[f"leak@{k}"] for k in (1, 8, 32)] == ["0.88", "0.98", "1.00"]
    assert row["Learning notes of others"] == "0.89"
    assert row["Learning notes of others: more than before"].startswith("+0.01")
    assert row["Learning five questions again"] == "–"
    assert "the training diverged" in leaked.note
    bare = bare_evaluation()
    assert trials_tables(bare, bare.record.splits[0]) == []


def test_the_price_is_told_by_disease(filled: Evaluation) -> None:
    same, others = disease_tables(filled, filled.record.splits[-1])
    for table, shown in ((same, "0.37 (0.33 to 0.41)"), (others, "0.89 (0.85 to 0.93)")):
        assert next(row for row in table.rows if row[0] == "SimNPO, factual, trained on")[1:3] == ("3", shown)


def test_five_questions_stand_beside_ds(filled: Evaluation) -> None:
    place = {"split": "random:5", "model": "sim_npo-random-5", "group": "forget", "allowed": "half", "limit": None}
    asked = [("length", 12.0, 11.0, True), ("pairs", 0.55, 0.02, False), ("loops", 0.25, 0.75, None)]
    checks = [
        {
            **place,
            "question": name,
            "a": a,
            "b": b,
            "passed": passed,
            "reason": "too little" if passed is None else None,
        }
        for name, a, b, passed in asked
    ]
    assert "Five questions beside DS" not in Page(render_unlearning(filled)).words
    words = Page(render_unlearning(filled_evaluation(checks=checks))).words
    assert "Five questions beside DS: do answers still read as before?" in words
    assert "✗ 0.55 → 0.02" in words
    assert "✓ 12.00 → 11.00" in words
    # What could not be asked has not failed, though it was measured.
    assert words.count("? too little") == 1
    assert "0.25 → 0.75" not in words
