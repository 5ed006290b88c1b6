"""`clinaudit pii samples` and `pii score`: what they write and print, and what they refuse."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from support.pii.marked_samples import prediction_of, sample_of

from clinaudit.audit.commands.main import run
from clinaudit.audit.pii.benchmark.sample import iter_samples
from clinaudit.reports.schema.pii_bench import BENCH_TASKS, BenchFigure, BenchTask, PiiBench
from clinaudit.reports.tables.pii_bench import find

SAMPLE = sample_of("[A full_name|Ann Lee], [A age*|41], lives in [A city|Oslo].", key="q1").model_dump(mode="json")
RIGHT = prediction_of(
    [("Ann Lee", "PER"), ("41", "DEM"), ("Oslo", "LOC")],
    sample="q1",
    system="right",
    query_related=["41"],
    masked=["Ann Lee", "Oslo"],
).model_dump(mode="json")
NAMELESS = {"subjects": [{"entities": [{"text": "Ann", "type": "NAME"}]}]}


def write_rows(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def scored(tmp_path: Path, samples: list[Any], predictions: list[Any]) -> PiiBench:
    """What the command writes for these rows."""
    out = tmp_path / "scores.json"
    given, made = write_rows(tmp_path / "s.jsonl", *samples), write_rows(tmp_path / "p.jsonl", *predictions)
    assert run(["pii", "score", str(given), str(made), "--out", str(out)]) == 0
    assert out.stat().st_mode & 0o077 == 0
    return PiiBench.model_validate_json(out.read_bytes())


def figure(scores: PiiBench, system: str, task: BenchTask, metric: str, subset: str = "all") -> BenchFigure | None:
    return find(scores, system, task, "clinical", metric, subset)


def value(scores: PiiBench, system: str, task: BenchTask, metric: str, subset: str = "all") -> float | None:
    found = figure(scores, system, task, metric, subset)
    assert found is not None
    return found.value


def test_the_scores_of_each_system_and_sample(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    half = {"sample": "q1", "system": "half", "subjects": [{"entities": [{"text": "41", "type": "DATETIME"}]}]}
    scores = scored(tmp_path, [SAMPLE, SAMPLE | {"id": "q2"}], [RIGHT, RIGHT | {"sample": "q2"}, half])
    for task in BENCH_TASKS:
        for metric in ("strict_f1", "ent_f1", "rouge_l_f"):
            assert {value(scores, "right", task, f"{metric}.{part}") for part in ("precision", "recall", "f1")} == {1}
    # On q1 no type is right and one of three texts is; q2 has no prediction.
    found = {metric: value(scores, "half", "detection", metric) for metric in ("strict_f1.f1", "given", "missing")}
    assert found == {"strict_f1.f1": 0, "given": 0.5, "missing": 0.5}
    assert [value(scores, "half", "detection", f"ent_f1.{part}") for part in ("precision", "recall", "f1")] == (
        pytest.approx([0.5, 1 / 6, 0.25])
    )
    assert figure(scores, "half", "masking", "strict_f1.f1") is None
    rows = {(row.system, row.sample, row.task): row for row in scores.by_sample}
    assert rows["half", "q1", "detection"].scores["ent_f1.recall"] == pytest.approx(1 / 3)
    assert rows["half", "q2", "detection"].answer == "missing"
    assert rows["right", "q2", "masking"].scores["leak"] == 0
    (difference,) = scores.differences
    assert (difference.task, difference.first, difference.value) == ("detection", "right", 1.0)
    assert (difference.only_first_exact, difference.p_value) == (2, 0.5)
    printed = capsys.readouterr().out
    assert "half (50% unanswered)" in printed
    assert "Clinical texts, all (2)" in printed
    written = (tmp_path / "scores.json").read_text()
    assert "Ann" not in written + printed
    assert "Oslo" not in written + printed


def test_the_same_command_writes_the_same_bytes_and_its_interval_holds_the_mean(tmp_path: Path) -> None:
    samples = [SAMPLE | {"id": f"q{number}"} for number in range(30)]
    made = [RIGHT | {"sample": f"q{number}", "masked": ["Ann Lee"] * (number % 3)} for number in range(30)]
    scores = scored(tmp_path, samples, made)
    masking = figure(scores, "right", "masking", "strict_f1.f1")
    assert masking is not None
    assert masking.value == pytest.approx(4 / 9)  # 0 or 2/3, a third and two thirds of the samples
    assert 0.3 < (masking.low or 0) < 4 / 9 - 0.08 < 4 / 9 + 0.08 < (masking.high or 0) < 0.7
    # All right: no bootstrap has a width, the interval has.
    detection = figure(scores, "right", "detection", "strict_f1.f1")
    assert detection is not None
    assert (detection.low, detection.high) == (pytest.approx(0.884, abs=1e-3), 1)
    assert scored(tmp_path, samples, made) == scores


def test_p_values_are_adjusted_over_the_pairs_of_a_task(tmp_path: Path) -> None:
    samples = [SAMPLE | {"id": f"q{number}"} for number in range(8)]
    answers = {"all": 8, "seven": 7, "none": 0}
    made = [
        {"sample": f"q{number}", "system": system, "masked": ["Ann Lee", "Oslo"] if number < right else ["41"]}
        for system, right in answers.items()
        for number in range(8)
    ]
    rows = {(row.first, row.second): row for row in scored(tmp_path, samples, made).differences}
    # 1 of 1 and 8 of 8 and 7 of 7 changes in one direction: 1, 2/256, 2/128.
    p_values = {pair: (row.p_value, row.p_value_adjusted) for pair, row in rows.items()}
    assert p_values["all", "none"] == pytest.approx((2 / 256, 6 / 256))
    assert p_values["seven", "none"] == pytest.approx((2 / 128, 4 / 128))
    assert p_values["all", "seven"] == (1, 1)
    # One difference on all samples: no bootstrap has a width.
    assert (rows["all", "none"].low or 0) > 0.4
    assert rows["all", "none"].high == 1


def test_subsets_are_scored_apart(tmp_path: Path) -> None:
    scores = scored(tmp_path, [SAMPLE, SAMPLE | {"id": "q2", "subset": "hard"}], [RIGHT])
    by_subset = [value(scores, "right", "masking", "strict_f1.f1", subset) for subset in ("single", "hard", "all")]
    assert by_subset == [1.0, 0.0, 0.5]


@pytest.mark.parametrize(
    ("samples", "predictions", "expected"),
    [
        ([SAMPLE], [RIGHT, RIGHT], "p.jsonl, row 2: is of the same system and sample as row 1; keep one of them"),
        ([SAMPLE], [RIGHT | {"sample": "Ann"}], "p.jsonl, row 1, column sample: is not the id of any sample"),
        ([SAMPLE], [RIGHT | {"masked": "Ann"}], "p.jsonl, row 1, column masked: is not a list"),
        ([SAMPLE], [RIGHT | {"masked": ["Ann", 3]}], "p.jsonl, row 1, column masked: masked[1] is not text"),
        ([SAMPLE], [RIGHT | {"system": " "}], "p.jsonl, row 1, column system: is blank"),
        ([SAMPLE], [{"sample": "q1"}], "p.jsonl, row 1, column system: is missing"),
        ([SAMPLE], [RIGHT | {"subjects": [{"text": "Ann"}]}], "column subjects: subjects[0].entities is missing"),
        ([SAMPLE], [RIGHT | NAMELESS], "column subjects: subjects[0].entities[0].type is none of 'PER', 'CODE',"),
        ([SAMPLE], [RIGHT | {"Sample": "Ann"}], "p.jsonl, row 1, column sample: is given more than once"),
        ([SAMPLE], ["Ann"], "p.jsonl, row 1: is not a JSON object"),
        ([SAMPLE], [], "p.jsonl: is empty"),
        # What else is wrong with samples: `test_sample_file`.
        ([{"id": "q1", "subjects": []}], [RIGHT], "s.jsonl, row 1, column query_related: is missing"),
        ([{name: SAMPLE[name] for name in SAMPLE if name != "description"}], [RIGHT], "column description: is missing"),
        ([SAMPLE | {"query": "And at 41?"}], [RIGHT], "s.jsonl, row 1: needed entity 0: the question names it"),
    ],
)
def test_bad_input_is_named_by_row_and_field_and_never_quoted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], samples: list[Any], predictions: list[Any], expected: str
) -> None:
    given, made = write_rows(tmp_path / "s.jsonl", *samples), write_rows(tmp_path / "p.jsonl", *predictions)
    assert run(["pii", "score", str(given), str(made), "--out", str(tmp_path / "o.json")]) == 3
    error = capsys.readouterr().err
    assert expected in error
    assert "Ann" not in error
    assert not (tmp_path / "o.json").exists()


def test_files_that_are_no_input_and_an_output_over_the_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given, made = write_rows(tmp_path / "s.jsonl", SAMPLE), write_rows(tmp_path / "p.jsonl", RIGHT)
    circle = tmp_path / "circle.jsonl"
    circle.symlink_to(circle)
    before = made.read_bytes()
    out = str(tmp_path / "o.json")
    assert run(["pii", "score", str(given), str(made), "--out", str(made)]) == 2
    assert made.read_bytes() == before
    assert run(["pii", "score", str(tmp_path / "none.jsonl"), str(made), "--out", out]) == 3
    assert run(["pii", "score", str(tmp_path), str(made), "--out", out]) == 3
    assert run(["pii", "score", str(given), str(made), "--out", str(tmp_path / "no" / "o.json")]) == 6
    assert run(["pii", "score", str(given), str(made)]) == 2
    assert run(["pii", "score", str(circle), str(made), "--out", out]) == 3
    assert run(["pii", "score", str(given), str(circle), "--out", out]) == 3
    assert capsys.readouterr().err.count("error[") == 7


def test_a_field_that_is_not_read_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores = scored(tmp_path, [SAMPLE], [RIGHT | {"strategy": "naive"}])
    assert value(scores, "right", "masking", "strict_f1.f1") == 1
    error = capsys.readouterr().err
    assert "only sample, system, subjects, query_related, masked are read; fields of other names: 1" in error
    assert "strategy" not in error  # in a broken file it could be a name


def make(out: Path, *options: str) -> int:
    return run(["pii", "samples", "--out", str(out), *options])


def test_it_writes_samples_that_read_back_and_prints_the_papers_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "samples.jsonl"
    assert make(out, "--samples", "6", "--seed", "4") == 0
    subsets = [sample.subset for sample in iter_samples(out)]
    assert [subsets.count(name) for name in ("single", "multi", "hard", "distract")] == [6] * 4
    printed = capsys.readouterr().out.splitlines()
    assert printed[3].split()[:6] == ["single:", "one", "person,", "general", "6", "1.00"]
    assert printed[4].split() == ["from", "the", "paper", "1,214", "1.00", "893.48", "7.67", "211.21", "1.95"]
    types = printed.index("Identifiers by type")
    assert printed[types + 1].split()[1:] == ["PER", "DEM", "CODE", "ORG", "LOC", "DATETIME", "QUANTITY"]
    # Table 10, PII-single.
    assert printed[types + 4].split()[3:] == ["13.0%", "13.1%", "15.7%", "17.1%", "11.3%", "14.7%", "15.0%"]
    assert printed[-1] == f"samples: {out}"
    assert stat.S_IMODE(out.stat().st_mode) == 0o600


def test_the_same_command_writes_the_same_bytes(tmp_path: Path) -> None:
    asked = ("--samples", "2", "--subset", "distract", "--subset", "multi", "--domain", "clinical", "--quiet")
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        assert make(tmp_path / f"{name}.jsonl", *asked, "--seed", seed) == 0
    first, again, other = ((tmp_path / f"{name}.jsonl").read_bytes() for name in "abc")
    assert first == again != other
    rows = [json.loads(line) for line in first.splitlines()]
    assert [row["subset"] for row in rows] == ["multi"] * 2 + ["distract"] * 2
    assert {row["domain"] for row in rows} == {"clinical"}


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        (("--subset", "easy"), 2, "'single', 'multi', 'hard', 'distract'"),
        (("--samples", "0"), 2, "a number from 1 to 100000, or full"),
        (("--out", "missing/s.jsonl"), 6, "there is no directory"),
        (("--out", "s.jsonl.gz"), 2, "the samples cannot be written to s.jsonl.gz: it is not compressed"),
    ],
)
def test_bad_usage_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], status: int, message: str
) -> None:
    assert make(tmp_path / "s.jsonl", *options) == status
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
