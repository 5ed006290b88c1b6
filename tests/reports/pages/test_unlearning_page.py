"""The page of an unlearning evaluation: what is not there is a dash with its reason, marks where the numbers are."""

import csv
import io
import re
from collections.abc import Iterator

import pytest
from support.hostile_text import PAYLOADS
from support.pages import Page
from support.unlearning.filled_evaluation import (
    SPLITS,
    bare_evaluation,
    filled_evaluation,
    none,
)

from clinaudit.reports.exports.unlearning import csv_text, unlearning_files
from clinaudit.reports.figures.unlearning import sizes_figure, trade_off_traces
from clinaudit.reports.pages.unlearning import render_unlearning
from clinaudit.reports.schema.answer_check import AnswerCheck
from clinaudit.reports.schema.unlearning import UnlearningEvaluation
from clinaudit.reports.tables.unlearning import (
    detection_table,
    leakage_table,
    parts_table,
    trials_table,
)
from clinaudit.reports.wording.unlearning import levels_of


def arrow(before: str, after: str) -> str:
    return f"{before}\u00a0→\u00a0{after}"


@pytest.fixture(scope="module")
def filled() -> UnlearningEvaluation:
    return filled_evaluation()


@pytest.fixture(scope="module")
def page(filled: UnlearningEvaluation) -> Page:
    return Page(render_unlearning(filled))


def test_the_page_says_that_it_is_phi_and_no_certificate(page: Page) -> None:
    assert "Contains PHI: exact figures of few patients; stays inside the institution" in page.words
    assert "No certificate and no verdict." in page.words


def test_hostile_names_stay_text_ids_are_unique_and_headings_skip_no_level(filled: UnlearningEvaluation) -> None:
    payload = " ".join(PAYLOADS)
    names = {model.name: f"{payload}{model.name}" for model in filled.models}
    changes = {
        "before": names["tuned"],
        "models": [model.model_copy(update={"name": names[model.name], "kind": "foreign"}) for model in filled.models],
        "figures": {
            split: {names[name]: own for name, own in models.items()} for split, models in filled.figures.items()
        },
        "made_with": dict.fromkeys(("cs", "es"), payload),
    }
    for evaluation in (filled, filled.model_copy(update=changes), bare_evaluation()):
        own = Page(render_unlearning(evaluation))
        assert not {"script", "img", "iframe", "object", "form", "base", "link"} & {tag for tag, _ in own.tags}
        assert not [name for _, attrs in own.tags for name in attrs if name.startswith("on")]
        assert len(own.ids) == len(set(own.ids))
        assert max(after - before for before, after in zip(own.headings, own.headings[1:], strict=False)) <= 1


def test_the_grid_marks_the_methods_lowest_and_highest_and_no_reference(filled: UnlearningEvaluation) -> None:
    level, splits = next(iter(levels_of(filled).items()))
    grid = leakage_table(filled, level, splits)
    assert grid.columns == ("Model", "5%, factual", "5%, reasoning", "10%, factual", "10%, reasoning")
    rows = {name: [(cell.text, cell.mark) for cell in cells] for name, cells in grid.rows}
    # LS is 0.15 (1 - AFE): of RMU at 5% 0.1335, of KL-Min 0.009.
    assert rows["RMU"][0] == ("13% (0%)", "highest")
    assert rows["KL-Min"][0] == ("0.9% (64%)", "lowest")
    assert rows["GradDiff"][:3] == [
        ("12% (2%)", ""), ("12% (2%)", ""), ("0.8% (90%)", ""),
    ]  # fmt: skip
    assert {mark for name in ("Before unlearning", "Retrained without them") for _, mark in rows[name]} == {""}
    assert rows["LS of patients never trained on, before"] == [("2%", "")] * 4
    text = render_unlearning(filled)
    assert re.search(r'<td class="lowest">0\.9% \(64%\)<span class="vh">, lowest</span></td>', text)


def test_a_figure_that_is_none_is_a_dash_and_its_reason_stands_below() -> None:
    (split,) = bare_evaluation().splits
    grid = leakage_table(bare_evaluation(), "Random", [split])
    assert grid.rows[0][1][0].text == "– (–)"
    assert "the question has no keyword" in grid.note
    figures = bare_evaluation().figures["random:5"]["elsewhere"]
    forgotten = figures.answers["forget"]["factual"]["train"]
    gone = forgotten.model_copy(update={"metrics": {name: none("nobody knows") for name in forgotten.metrics}})
    answers = {"forget": {"factual": {"train": gone}}}
    bare = bare_evaluation().model_copy(
        update={"figures": {"random:5": {"elsewhere": figures.model_copy(update={"answers": answers})}}}
    )
    table = parts_table(bare, split, "afe")
    assert table.rows[0][2:] == ("–",) * 5
    assert table.note.endswith("no figure: nobody knows.")
    (cells,) = (row.cells for row in sizes_figure(bare, "Random", [split], place=0).rows if row.cells)
    assert [cell.bars for cell in cells] == [(), ()]
    assert [cell.reading for cell in cells] == ["not measured", "not measured: nobody knows"]
    assert trade_off_traces(bare, "train").panels == ()


def test_bars_are_as_long_as_the_numbers_withheld_ones_hatched_the_model_before_dashed(
    filled: UnlearningEvaluation,
) -> None:
    figure = sizes_figure(filled, "Cancer", levels_of(filled)["Cancer"], place=1)
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


def test_traces_go_through_their_figures_the_larger_split_less_faint(filled: UnlearningEvaluation) -> None:
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


def test_where_marks_crowd_an_inset_shows_them_larger(filled: UnlearningEvaluation) -> None:
    # As in the paper, GradDiff and KL-Min: of cancer at MU 0.45 to 0.60 and AFE 0.92 to 0.96.
    svg = trade_off_traces(filled, "train").panels[2].svg
    assert re.findall(r'class="(\S+) mark zoomed"', svg) == ["trace-0", "trace-0", "trace-1", "trace-1"]
    assert "MU 0.45 to 0.60, AFE 0.85 to 1.00" in svg
    (frame,) = re.findall(r'<rect class="inset" x="(\S+)" y="(\S+)" width="(\S+)" height="(\S+)"', svg)
    left, top, width, height = map(float, frame)
    marks = re.findall(r'cx="(\S+)" cy="(\S+)"[^>]* class="\S+ mark zoomed"', svg)
    assert len(marks) == 2
    assert all(left - 1 < float(x) < left + width + 1 and top - 1 < float(y) < top + height + 1 for x, y in marks)


def test_trials_stand_beside_what_never_trained_patients_get(filled: UnlearningEvaluation) -> None:
    table = trials_table(filled, filled.splits[0], "rouge_l")
    assert table.columns[:5] == ("Model", "leak@1", "leak@8", "leak@32", "leak@32 above never trained on")
    row = dict(zip(table.columns, next(row for row in table.rows if row[0] == "SimNPO"), strict=True))
    assert row["Asking in the other form"] == arrow("0.88", "0.89 (+0.78)")
    assert row["Rephrasing"] == arrow("0.88", "0.89")
    assert row["Learning five questions again"] == "–"
    assert "the training diverged" in table.note
    told = detection_table(filled, filled.splits[0])
    assert [(one[0], one[1]) for one in told.rows][2:] == [("RMU", "yes"), ("SimNPO", "not shown")]


def _rows(files: dict[str, str], name: str) -> Iterator[dict[str, str]]:
    return iter(csv.DictReader(io.StringIO(files[f"tables/{name}.csv"])))


def test_the_files_have_every_number_with_its_interval_and_why_one_is_none(filled: UnlearningEvaluation) -> None:
    files = unlearning_files(filled)
    wanted = {"model": "sim_npo-cancer-10", "patients_are": "same", "kind": "factual", "use": "train", "metric": "mu"}
    (row,) = (row for row in _rows(files, "scores") if wanted.items() <= row.items())
    assert (row["value"], row["value_ci_low"], row["value_ci_high"], row["reason"]) == ("0.37", "0.33", "0.41", "")
    counted = sum(
        len(answers.metrics)
        for split in SPLITS
        for model in filled.figures[split].values()
        for kinds in model.answers.values()
        for uses in kinds.values()
        for answers in uses.values()
    )
    assert sum(1 for _ in _rows(files, "scores")) == counted
    marks = {(row["system"], row["ls_mark"]) for row in _rows(files, "table2_leakage") if row["percent"] == "5"}
    assert {system for system, mark in marks if mark} == {"KL-Min", "RMU", "GradDiff"}
    failed = [row for row in _rows(files, "robustness") if row["trial"] == "questions_5"]
    assert {(row["value"], row["reason"][:21]) for row in failed} == {("", "the training diverged")}
    few = [row for row in _rows(files, "detectability") if row["trait"] == "te"]
    assert {(row["value"], row["reason"][:7]) for row in few} == {("", "fewer t")}
    bare = unlearning_files(bare_evaluation())
    assert "tables/robustness.csv" not in bare
    (leak,) = _rows(bare, "table2_leakage")
    assert (leak["ls"], leak["ls_reason"]) == ("", "the question has no keyword")


def test_five_questions_stand_beside_ds(filled: UnlearningEvaluation) -> None:
    def check(question: str, a: float, b: float, *, passed: bool | None) -> AnswerCheck:
        reason = None if passed is not None else "too little"
        fields = {"question": question, "a": a, "b": b, "passed": passed, "reason": reason}
        return AnswerCheck(group="forget", allowed="half", limit=None, **fields)

    own, model = filled.figures["random:5"], "sim_npo-random-5"
    asked = [("length", 12.0, 11.0, True), ("pairs", 0.55, 0.02, False), ("loops", 0.25, 0.75, None)]
    checks = [check(question, a, b, passed=passed) for question, a, b, passed in asked]
    held = {**own, model: own[model].model_copy(update={"collapse": checks})}
    broken = filled.model_copy(update={"figures": {**filled.figures, "random:5": held}})
    assert "Five questions beside DS" not in Page(render_unlearning(filled)).words
    words = Page(render_unlearning(broken)).words
    assert "Five questions beside DS: do answers still read as before?" in words
    assert "✗ 0.55 → 0.02" in words
    assert "✓ 12.00 → 11.00" in words
    # What could not be asked has not failed, though it was measured.
    assert words.count("? too little") == 1
    assert "0.25 → 0.75" not in words
    rows = list(csv.DictReader(io.StringIO(unlearning_files(broken)["tables/collapse.csv"])))
    passed = [("length", "yes"), ("pairs", "no"), ("loops", "")]
    assert [(row["question"], row["passed"]) for row in rows] == passed
    assert "tables/collapse.csv" not in unlearning_files(filled)


def test_cells_are_written_plainly_and_never_as_a_formula() -> None:
    rows: list[dict[str, str | float | None]] = [
        {"name": "=1+1", "share": 0.1234567, "count": 3.0},
        {"name": "plan\u202e", "share": None, "count": -0.0, "n": 10},
        {"name": "-"},
    ]
    assert csv_text(rows).splitlines() == ["name,share,count,n", "'=1+1,0.123457,3,", "plan\ufffd,,0,10", "'-,,,"]
