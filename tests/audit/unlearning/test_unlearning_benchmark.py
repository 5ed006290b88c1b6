"""benchmarks/unlearning*.py: the tables of documents and the page they go to, the order of steps, and faithfulness."""

import importlib
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.unlearning.many_patients import AFTER, BEFORE, BENCH, MAKING

from clinaudit.audit.unlearning.metrics.score_document import describe_scores
from clinaudit.reports.schema.unlearning_scores import Figure

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


def described(value, low=None, high=None):
    return {"value": value, "interval": [low, high], "answers": 7}


def scores_of_model(*, afe, withheld, same, others):
    def factual(**uses):
        return {"factual": uses}

    return {
        "ls": {
            "forget": factual(train={**described(0.0312, 0.01, 0.058), "method": "bootstrap"}),
            "never_trained": factual(train=described(None)),
        },
        "ds": {"forget": factual(train=described(0.25, 0.1, 0.5))},
        "afe": {"forget": factual(train=described(afe, 0.1, 0.9), holdout=described(withheld))},
        "mu": {"retain": factual(train=described((same + others) / 2))},
        "counts": {"forget": factual(train={"empty_or_single": 3, "answers": 12})},
        "same_category": {
            "mu": {"same": factual(train=described(same)), "others": factual(train=described(others))},
        },
        "change": {
            "afe": {"forget": factual(train=described(afe - 0.2, -0.1, 0.4))},
            "mu": {"same": factual(train=described(same - 0.6)), "others": factual(train=described(others - 0.5))},
        },
    }


@pytest.fixture
def results(tables):
    document = {
        "question_count": 1640,
        "models": {
            f"rmu {SPLIT}": scores_of_model(afe=0.5, withheld=0.41, same=0.3, others=0.45),
            "baseline": scores_of_model(afe=0.2, withheld=0.3, same=0.6, others=0.5),
        },
    }
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
        scores={SPLIT: document},
        chosen={"rmu": record},
        forgotten={"random:5": 6, "random:10": 12},
        seconds=[("train all", 60.0), ("train without-random-10", 90.0), ("thin", 2.0)],
    )


def test_rows_hold_what_the_documents_say(tables, steps, results):
    lines = tables.report_lines(steps.Grid(), results)
    assert "150 patients trained on, 40 never; the demo's model, 12 passes." in lines
    assert "1,640 questions are asked of each model, rephrased ones included." in lines
    assert "Forgotten: 6 patients at 5%, 12 patients at 10%." in lines
    # Of both trainings together; what takes no time is left out.
    assert "Minutes of a processor's time: train 2." in lines
    assert "|  | 0.0002 | 0.200 | 1.500 | chosen |" in lines
    assert "|  | 0.006 | diverged | diverged |  |" in lines
    # References first, whatever the documents' order.
    ls, ds = "0.03 [0.01, 0.06]", "0.25 (0.10, 0.50)"
    at = lines.index(f"| 10% | baseline | {ls} | – | 0.20 (0.10, 0.90) | 0.30 | – | {ds} | 0.55 | 0.60 | 0.50 |")
    assert lines[at + 1].startswith(f"|  | rmu | {ls} | – | 0.50 (0.10, 0.90) | 0.41 |")
    # No split at random is evaluated.
    assert not any("at random" in line for line in lines)


def test_patterns_are_differences_to_the_baseline(tables, steps, results):
    lines = tables.report_lines(steps.Grid(), results)
    collapse, withheld, change, disease = (
        lines.index(f"### {name}") for name in ("Collapse", "Withheld questions", "Before and after", "Same disease")
    )
    # DS, 3 of 12 answers empty, MU 0.375 of 0.55; nothing is known of reasoning questions.
    assert f"| {SPLIT} | rmu | 0.25 | – | 0.25 | – | 0.68 | – |" in lines[collapse:withheld]
    assert f"| {SPLIT} | rmu | −0.30 | −0.05 | – | – |" in lines[disease:]
    assert f"| {SPLIT} | rmu | −0.09 | – |" in lines[withheld:change]
    assert f"| {SPLIT} | rmu | 0.30 (−0.10, 0.40) | – | – | – |" in lines[change:disease]
    # Who is compared with itself is no row.
    assert not any("| baseline |" in line for line in lines[change:])


def test_robustness_reads_changes_and_the_trait_that_tells_most(tables):
    trial = {"change": {"rouge_l": described(-0.004, -0.1, 0.1)}}
    leaks = {"rouge_l": {"1": described(0.4), "8": described(0.7, 0.6, 0.8)}}
    block = {
        "sampling": {"forget": leaks, "above_never_trained": leaks},
        "relearning": {"questions_1": trial, "questions_5": {"reason": "diverged"}},
        "paraphrase": {"rephrased": {**trial, "largest": {"rouge_l": described(0.9)}}, "other_form": trial},
        "detectability": {
            "told_apart": True,
            "traits": {"te": {"auroc": {"value": 0.6}}, "note_loss": {"auroc": {"value": 0.1}}},
        },
    }
    document = {"options": {"leak_at": [1, 8]}, "models": {f"rmu {SPLIT}": block}}
    results = tables.Results(robustness={SPLIT: document})
    steps = importlib.import_module("unlearning_steps")
    lines = tables.report_lines(steps.Grid(), results)
    changed = "0.00 (−0.10, 0.10)"
    assert (
        f"| rmu | 0.40 | 0.70 (0.60, 0.80) | 0.70 (0.60, 0.80) | {changed} | – | – | {changed} | 0.90 | "
        f"{changed} | yes (note_loss 0.10) |"
    ) in lines


def test_faithfulness_is_of_models_with_and_without_the_patients(tables, steps):
    models = {f"with {seed}": scores_of_model(afe=0.2 + seed / 10, withheld=0, same=1, others=1) for seed in range(2)}
    models |= {
        f"without {seed}": scores_of_model(afe=0.25 + seed / 2, withheld=0, same=1, others=1) for seed in range(2)
    }
    lines = tables.report_lines(steps.Grid(), tables.Results(faithfulness={"models": models}))
    rows = {line.split(" | ")[0]: line for line in lines}
    # AFE falls with what is known. Of the four pairs (0.2, 0.3) x (0.25, 0.75) one has it the other way round.
    assert rows["| afe"].startswith("| afe | 0.75 ")
    # LS is the same of all models.
    assert rows["| ls"].startswith("| ls | 0.50 ")
    assert rows["| em"] == "| em | – | – |"


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


MADE_SPLIT = MAKING.split.name


@pytest.fixture
def document(modules: Any) -> dict[str, Any]:
    named = {"baseline": BEFORE, f"rmu {MADE_SPLIT}": AFTER}
    scores = {
        name: [replace(one, model=name, em=one.rouge_l, reasons={}) for one in own] for name, own in named.items()
    }
    held = json.loads(
        describe_scores(
            scores, BENCH, replace(MAKING, before="baseline", made_with={"es": "rules", "cs": "words"})
        ).text()
    )
    held["models"][f"rmu {MADE_SPLIT}"]["collapse"] = {"collapsed": None, "checks": []}
    return dict(held)


def test_the_tables_of_finished_work_are_kept(
    modules: Any, document: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    program = modules("unlearning")
    evidence = tmp_path / "work" / "result" / "evidence"
    evidence.mkdir(parents=True)
    (evidence / f"scores-{MADE_SPLIT.replace(':', '-')}.json").write_text(json.dumps(document), encoding="utf-8")
    options = ["--folder", str(tmp_path / "work"), "--report", "--percents", MADE_SPLIT.partition(":")[2]]
    monkeypatch.setattr(sys, "argv", ["unlearning", *options, "--category", "cancer"])
    program.main()
    lines = (tmp_path / "work" / "tables.txt").read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("Written on ")
    assert "finished work" in lines[0]
    own = modules("unlearning_tables").models_of(document, MADE_SPLIT)

    def cell(name: str, *place: str) -> str:
        held: Any = own[name]
        for key in place:
            held = held[key]
        found = Figure.model_validate(held)
        low, high = (f"{end:.2f}".replace("-", "−") for end in (found.low, found.high))
        begin, end = "[]" if found.method == "bootstrap" else "()"
        return f"{found.value:.2f}".replace("-", "−") + f" {begin}{low}, {high}{end}"

    of_many = cell("rmu", "mu", "retain", "factual", "train")
    of_few = cell("rmu", "afe", "forget", "factual", "train")
    row = next(line for line in lines if line.startswith("|  | rmu | "))
    assert "[" in of_many
    assert "(" in of_few
    assert row.endswith(f"| {of_many} |")
    assert f"| {of_few} |" in row
    changed = lines[lines.index("### Before and after") :]
    paired = cell("rmu", "change", "mu", "retain", "factual", "train")
    assert any(line.startswith(f"| {MADE_SPLIT} | rmu | ") and f"| {paired} |" in line for line in changed)
    assert capsys.readouterr().out.splitlines() == lines
