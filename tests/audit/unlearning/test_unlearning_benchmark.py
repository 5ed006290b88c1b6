"""benchmarks/unlearning*.py: the tables of documents and the page they go to, the order of steps, and faithfulness."""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.unlearning.many_patients import AFTER, BEFORE, figures_of
from support.unlearning.many_patients import SPLIT as MADE_SPLIT

from clinaudit.reports.schema.unlearning import FIGURES

SPLIT = "arthritis_bone:10"


@pytest.fixture
def modules(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "benchmarks"))
    return importlib.import_module


@pytest.fixture
def tables(modules):
    return modules("unlearning_tables")


@pytest.fixture
def steps(modules):
    return modules("unlearning_steps")


def rows_of(model, *figures, split=SPLIT):
    """Rows of factual questions from (metric, group, value, low, high) and, after these, the use."""
    found = []
    for metric, group, value, low, high, *use in figures:
        place = {"split": split, "model": model, "group": group, "kind": "factual", "use": use[0] if use else "train"}
        found.append({**place, "metric": metric, "value": value, "low": low, "high": high, "n": 7, "reason": None})
    return found


def figures_of_model(model, *, afe, withheld, same, others):
    return rows_of(
        model,
        ("ls", "forget", 0.0312, 0.01, 0.058),
        ("ls", "never_trained", None, None, None),
        ("ds", "forget", 0.25, 0.1, 0.5),
        ("empty", "forget", 0.25, None, None),
        ("afe", "forget", afe, 0.1, 0.9),
        ("afe", "forget", withheld, None, None, "holdout"),
        ("mu", "retain", (same + others) / 2, None, None),
        ("mu", "same", same, None, None),
        ("mu", "others", others, None, None),
        ("afe_change", "forget", afe - 0.2, -0.1, 0.4),
        ("mu_change", "same", same - 0.6, None, None),
        ("mu_change", "others", others - 0.5, None, None),
    )


@pytest.fixture
def results(tables):
    figures = figures_of_model(f"rmu {SPLIT}", afe=0.5, withheld=0.41, same=0.3, others=0.45)
    figures += figures_of_model("baseline", afe=0.2, withheld=0.3, same=0.6, others=0.5)
    record = {
        "learning_rate": 2e-4,
        "rate_choice": {
            "tuning_loss_before": 0.16,
            "tried": [
                {"learning_rate": 2e-4, "tuning_loss": 0.2, "forget_loss": 1.5},
                {"learning_rate": 6e-3, "tuning_loss": None, "forget_loss": None},
            ],
        },
    }
    return tables.Results(
        figures=pl.DataFrame(figures, schema=FIGURES),
        chosen={"rmu": record},
        forgotten={"random:5": 6, "random:10": 12},
        seconds=[("train all", 60.0), ("train without-random-10", 90.0), ("thin", 2.0)],
    )


def test_rows_hold_what_the_figures_say(tables, steps, results):
    lines = tables.report_lines(steps.Grid(), results)
    assert "150 patients trained on, 40 never; the demo's model, 12 passes." in lines
    assert "Forgotten: 6 patients at 5%, 12 patients at 10%." in lines
    # Of both trainings together; what takes no time is left out.
    assert "Minutes of a processor's time: train 2." in lines
    assert "|  | 0.0002 | 0.200 | 1.500 | chosen |" in lines
    assert "|  | 0.006 | diverged | diverged |  |" in lines
    # References first, whatever the order of the figures.
    ls, ds = "0.03 (0.01, 0.06)", "0.25 (0.10, 0.50)"
    at = lines.index(f"| 10% | baseline | {ls} | – | 0.20 (0.10, 0.90) | 0.30 | – | {ds} | 0.55 | 0.60 | 0.50 |")
    assert lines[at + 1].startswith(f"|  | rmu | {ls} | – | 0.50 (0.10, 0.90) | 0.41 |")
    # No split at random is evaluated.
    assert not any("at random" in line for line in lines)


def test_patterns_are_differences_to_the_baseline(tables, steps, results):
    lines = tables.report_lines(steps.Grid(), results)
    collapse, withheld, change, disease = (
        lines.index(f"### {name}") for name in ("Collapse", "Withheld questions", "Before and after", "Same disease")
    )
    # DS, a quarter of the answers empty, MU 0.375 of 0.55; nothing is known of reasoning questions.
    assert f"| {SPLIT} | rmu | 0.25 | – | 0.25 | – | 0.68 | – |" in lines[collapse:withheld]
    assert f"| {SPLIT} | rmu | −0.30 | −0.05 | – | – |" in lines[disease:]
    assert f"| {SPLIT} | rmu | −0.09 | – |" in lines[withheld:change]
    assert f"| {SPLIT} | rmu | 0.30 (−0.10, 0.40) | – | – | – |" in lines[change:disease]
    # Who is compared with itself is no row.
    assert not any("| baseline |" in line for line in lines[change:])


def test_trials_show_what_was_got_and_what_came_back(tables, steps):
    trials = [
        ("rouge_l@1", "forget", 0.4, None, None, "sampled"),
        ("rouge_l@8", "forget", 0.7, 0.6, 0.8, "sampled"),
        ("rouge_l@8", "forget-never_trained", 0.1, -0.2, 0.4, "sampled"),
        ("rouge_l_change", "forget", -0.004, -0.1, 0.1, "questions_1"),
        ("auroc_note_loss", "forget-never_trained", 0.1, 0.0, 0.2, "read"),
    ]
    rows = [{**row, "kind": "all"} for row in rows_of(f"rmu {SPLIT}", *trials)]
    lines = tables.report_lines(steps.Grid(), tables.Results(figures=pl.DataFrame(rows, schema=FIGURES)))
    shown = "0.40 | 0.70 (0.60, 0.80) | 0.10 (−0.20, 0.40) | 0.00 (−0.10, 0.10) | – | – | – | 0.10 (0.00, 0.20)"
    assert f"| rmu | {shown} |" in lines


def test_faithfulness_is_of_models_with_and_without_the_patients(tables, steps):
    afe = {f"with {seed}": 0.2 + seed / 10 for seed in range(2)} | {
        f"without {seed}": 0.25 + seed / 2 for seed in range(2)
    }
    rows = [
        row
        for name, value in afe.items()
        for row in rows_of(
            name, ("afe", "forget", value, None, None), ("ls", "forget", 0.03, None, None), split="random:10"
        )
    ]
    results = tables.Results(faithfulness=pl.DataFrame(rows, schema=FIGURES))
    lines = {line.split(" | ")[0]: line for line in tables.report_lines(steps.Grid(), results)}
    # AFE falls with what is known. Of the four pairs (0.2, 0.3) x (0.25, 0.75) one has it the other way round.
    assert lines["| afe"].startswith("| afe | 0.75 ")
    # LS is the same of all models.
    assert lines["| ls"].startswith("| ls | 0.50 ")
    assert lines["| em"] == "| em | – | – |"


def test_each_step_stands_behind_what_it_needs(steps, tmp_path):
    planned = steps.plan_steps(steps.Grid(seeds=3), steps.Folder(tmp_path))
    names = [step.name for step in planned]
    assert len(set(names)) == len(names)
    for place, step in enumerate(planned):
        assert set(step.needs) | set(step.after) <= set(names[:place])
    forgets = [name for name in names if name.startswith("forget ")]
    assert len(forgets) == 4 * 2 * 2
    # All that is made is evaluated: what is made late, too.
    evaluated = {name for step in planned if step.name.startswith("evaluate") for name in (*step.needs, *step.after)}
    assert {name for name in names if name.startswith(("forget", "tune"))} <= evaluated


def test_a_failed_step_stops_what_needs_it_and_nothing_else(steps, tmp_path):
    done = []

    def work(name):
        return lambda: done.append(name)

    kept = tmp_path / "kept"
    kept.touch()
    planned = [
        steps.Step(name="fails", begin=lambda: ["false"], makes=tmp_path / "a"),
        steps.Step(name="is there", begin=work("is there"), makes=kept),
        steps.Step(name="needs it", begin=work("needs it"), makes=None, needs=("fails",)),
        steps.Step(name="comes after", begin=work("comes after"), makes=None, needs=("is there",), after=("fails",)),
    ]
    missing = steps.run_steps(planned, steps.Folder(tmp_path), at_once=2)
    assert sorted(missing) == ["fails", "needs it"]
    assert done == ["comes after"]
    rows = [json.loads(line) for line in (tmp_path / steps.SECONDS_FILE).read_text(encoding="utf-8").splitlines()]
    assert {row["step"]: row["succeeded"] for row in rows} == {"fails": False, "comes after": True}


def test_pairs_of_models_are_counted(tables) -> None:
    saw = [{"ls": 0.4, "rouge_l": 0.9}, {"ls": 0.2, "rouge_l": 0.8}, {"ls": 0.3, "rouge_l": 0.7}]
    never = [{"ls": 0.3, "rouge_l": 0.1}, {"ls": 0.1, "rouge_l": 0.2}, {"ls": 0.25, "rouge_l": 0.3}]
    found = tables.measure_faithfulness(saw, never)
    # 0.4 beats three, 0.2 one, 0.3 two and ties with one.
    assert found["ls"].auroc.value == pytest.approx(6.5 / 9)
    assert found["rouge_l"].auroc.value == 1.0
    # Three of each kind are no proof, even where they never overlap.
    assert found["rouge_l"].auroc.low is not None
    assert found["rouge_l"].auroc.low < 0.9
    assert (found["ls"].with_patients, found["ls"].without_patients) == (3, 3)


def test_forget_efficacy_is_high_where_nothing_is_known(tables) -> None:
    found = tables.measure_faithfulness([{"afe": 0.1}, {"afe": 0.2}], [{"afe": 0.8}, {"afe": 0.9}])
    assert found["afe"].auroc.value == 1.0


def test_models_without_a_metric_do_not_count(tables) -> None:
    found = tables.measure_faithfulness([{"em": 0.9}, {"em": None}, {}], [{"em": 0.1}, {"em": 0.2}])
    assert (found["em"].auroc.value, found["em"].auroc.reason) == (None, tables.TOO_FEW_MODELS)
    assert (found["em"].with_patients, found["em"].without_patients) == (1, 2)
    with pytest.raises(ValueError, match="both kinds"):
        tables.measure_faithfulness([], [{"em": 0.1}])


def test_the_tables_of_finished_work_are_kept(
    modules: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    program, split = modules("unlearning"), MADE_SPLIT.name
    made = figures_of(BEFORE, AFTER).with_columns(model=pl.lit(f"rmu {split}"))
    # As if the model had been at hand.
    made = made.with_columns(pl.col("metric").str.replace("_without_em", "", literal=True))
    result = tmp_path / "work" / "result"
    result.mkdir(parents=True)
    made.write_csv(result / "figures.csv")
    options = ["--folder", str(tmp_path / "work"), "--report", "--percents", split.partition(":")[2]]
    monkeypatch.setattr(sys, "argv", ["unlearning", *options, "--category", "cancer"])
    program.main()
    lines = (tmp_path / "work" / "tables.txt").read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("Written on ")
    assert "finished work" in lines[0]

    def cell(metric: str, group: str) -> str:
        place = {"metric": metric, "group": group, "kind": "factual"}
        (value,) = made.filter(pl.col("value").is_not_null(), **place).select("value", "low", "high").iter_rows()
        shown = [f"{number:.2f}".replace("-", "−") for number in value]
        return f"{shown[0]} ({shown[1]}, {shown[2]})"

    row = next(line for line in lines if line.startswith("| 17% | rmu | "))
    assert row.endswith(f"| {cell('mu', 'retain')} |")
    assert f"| {cell('afe', 'forget')} |" in row
    changed = lines[lines.index("### Before and after") :]
    assert any(
        line.startswith(f"| {split} | rmu | ") and f"| {cell('mu_change', 'retain')} |" in line for line in changed
    )
    assert capsys.readouterr().out.splitlines() == lines
